// Requests over time, one by one, so that any number of them takes no memory: drawn from a seed, or read from a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "sim/units.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

struct ServeRequest {
  sim::Time arrival{0};
  std::int64_t prompt = 1;  // tokens
  std::int64_t output = 1;
  std::int64_t prefix = -1;  // which beginning its prompt shares with others; below 0: none
  std::int64_t prefix_tokens = 0;

  bool operator==(const ServeRequest&) const = default;
};

class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // The next one, that arrives no earlier than the one before; nothing after the last.
  virtual std::optional<ServeRequest> next() = 0;
  // How many so far were longer than there is room for, and were cut.
  std::int64_t cut() const { return cut_; }

 protected:
  std::int64_t cut_ = 0;
};

// Drawn lengths have at most `longest` tokens, prompt and output together: outputs are cut, then prompts. The same seed
// gives the same requests, and the same prompts in the same order at every rate.
std::unique_ptr<RequestSource> drawn_requests(const ServeQuestion& question, std::int64_t longest);

// A CSV file with the columns arrival_s, prompt_tokens and output_tokens, and, of prompts that begin as others do,
// prefix and prefix_tokens; lines that begin with # are comments. Throws sim::ConfigError with line and column where a
// number is none, an arrival lies before the last one or below 0, or a request has more than `longest` tokens: here for
// the columns, and, line by line, when it is read.
std::unique_ptr<RequestSource> traced_requests(const std::filesystem::path& file, std::int64_t longest);

}  // namespace c3sim::study
