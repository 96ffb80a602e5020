// The points of a stream that no other beats in every objective. Memory grows with the front, not with the stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace c3sim::study {

class ParetoFront {
 public:
  struct Member {
    std::vector<double> costs;  // by objective: less is better
    std::uint64_t index = 0;
  };

  // A point joins unless a member is as good in all objectives; those that it beats leave. Of points with the same
  // costs the first stays.
  void add(std::vector<double> costs, std::uint64_t index);

  std::span<const Member> members() const { return members_; }

 private:
  std::vector<Member> members_;
};

}  // namespace c3sim::study
