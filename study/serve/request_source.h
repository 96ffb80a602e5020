// Gives requests over time one by one, so that their number takes no memory: drawn from a seed, or read from a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

struct ServeRequest {
  sim::Time arrival{0};
  std::int64_t prompt = 1;  // tokens
  std::int64_t output = 1;
  std::int64_t prefix = -1;  // number of the beginning that its prompt shares with others; negative: none
  std::int64_t prefix_tokens = 0;

  bool operator==(const ServeRequest&) const = default;
};

// RequestCounts counts requests of a source that are not served as asked.
struct RequestCounts {
  std::int64_t cut = 0;                       // drawn longer than there is room for, and cut
  std::int64_t rejected = 0;                  // in a trace, longer than there is room for, and not served
  std::vector<std::string> first_rejected{};  // file, line and lengths of the first rejected ones
  std::int64_t without_output = 0;            // in a trace, without any output, and left out
};

class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Returns the next request, which arrives no earlier than the one before; nothing after the last.
  virtual std::optional<ServeRequest> next() = 0;
  // Returns the counts so far.
  const RequestCounts& counts() const { return counts_; }

 protected:
  RequestCounts counts_;
};

// Draws requests of at most `longest` tokens: longer outputs are cut, then prompts. The same seed gives the same
// requests, with the same prompts in the same order at every rate. With stages, requests end with the last one.
std::unique_ptr<RequestSource> drawn_requests(const ServeQuestion& question, std::int64_t longest);

// Reads requests from a file, plain or compressed by gzip, in one of these forms. Requests of more than `longest`
// tokens are rejected. Throws sim::ConfigError with line and column for a bad number, or an arrival that is negative or
// before the last one: columns are checked here, lines when they are read; at the end, if no request could be served.
//   - CSV with the columns arrival_s, prompt_tokens and output_tokens, and for prompts with shared beginnings prefix
//     and prefix_tokens; lines that begin with # are comments;
//   - CSV of Azure's traces of LLM inference (TIMESTAMP, ContextTokens, GeneratedTokens) and of BurstGPT (Timestamp,
//     Request tokens, Response tokens): arrivals count from the first, requests without output are left out;
//   - JSON lines of Mooncake's traces (timestamp in ms, input_length, output_length, hash_ids). An id stands for 512
//     tokens and all before them. The beginning of a prompt is the longest that another request has as well, even if
//     it shares a shorter one with more requests.
std::unique_ptr<RequestSource> traced_requests(const std::filesystem::path& file, std::int64_t longest);

}  // namespace c3sim::study
