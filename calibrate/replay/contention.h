// What a model of a machine says of the collectives of a trace: how long each takes alone, and by how much it and the
// computation beside it slow each other down.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/readers/profile.h"
#include "study/run/pair_slowdown.h"
#include "study/run/queue_time.h"

namespace c3sim::calibrate {

// How collectives are to be carried out.
struct ByWhat {
  models::Backend backend = models::Backend::rccl;
  std::optional<int> channels{};
  bool channels_as_traced = true;  // where none are asked for; else as the library has it
};

// Beside matrix products, and beside kernels that stream through memory.
using Beside = study::Neighbour;
inline constexpr std::size_t besides = 2;

struct Tenant {
  std::optional<sim::Time> alone{};              // of the collective; nothing where it cannot be simulated
  std::string why_not{};                         // there
  std::array<double, besides> slows{1.0, 1.0};   // the time of such kernels beside it over that alone
  std::array<double, besides> slowed{1.0, 1.0};  // its own beside such kernels
};

// Answers each question once. Slowdowns are those of a pair of equal length: the collective, of the next power of two
// of bytes from 64 MiB up, where times are long against launches, and one kernel beside it.
class Contention {
 public:
  Contention(study::Testbed& testbed, ByWhat by_what) : testbed_(testbed), by_what_(by_what) {}

  const Tenant& tenant(const models::CollectiveSpec& collective);
  const models::PlatformSpec& platform() const { return testbed_.platform(); }
  // Collectives that are not carried out as asked for, but by the library's kernels, and why.
  const std::map<std::string, std::size_t>& by_library() const { return by_library_; }

 private:
  // As it is carried out; nothing where it cannot be, and why.
  std::optional<models::CollectiveSpec> carried_out(const models::CollectiveSpec& collective, std::string& why_not);
  sim::Time alone_on_queue(const models::CollectiveSpec& collective) {
    return study::alone_on_queue(testbed_, study::operation_of(collective), false, study::Between::communication);
  }
  void add_slowdowns(const models::CollectiveSpec& collective, Tenant& tenant);

  study::Testbed& testbed_;
  ByWhat by_what_;
  std::map<models::CollectiveSpec, Tenant> tenants_;
  std::map<models::CollectiveSpec, Tenant> pairs_;  // by the collective of the pair
  std::map<std::string, std::size_t> by_library_;
};

}  // namespace c3sim::calibrate
