// Requests over time, one by one, so that any number of them takes no memory: drawn from a seed, or read from a file.
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
  std::int64_t prefix = -1;  // which beginning its prompt shares with others; below 0: none
  std::int64_t prefix_tokens = 0;

  bool operator==(const ServeRequest&) const = default;
};

// Requests of a source that are not served as they were asked.
struct RequestCounts {
  std::int64_t cut = 0;                       // that were longer than there is room for, and were cut
  std::int64_t rejected = 0;                  // of a trace, that were and so are not served
  std::vector<std::string> first_rejected{};  // the first of them, by their places
  std::int64_t without_output = 0;            // of a trace that says that nothing came of them, which are left out
};

class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // The next one, that arrives no earlier than the one before; nothing after the last.
  virtual std::optional<ServeRequest> next() = 0;
  // Of those so far.
  const RequestCounts& counts() const { return counts_; }

 protected:
  RequestCounts counts_;
};

// Drawn lengths have at most `longest` tokens, prompt and output together: outputs are cut, then prompts. The same seed
// gives the same requests, and the same prompts in the same order at every rate. With stages they end with the last.
std::unique_ptr<RequestSource> drawn_requests(const ServeQuestion& question, std::int64_t longest);

// A file of requests, compressed by gzip or not, in one of these forms. Requests of more than `longest` tokens are
// rejected. Throws sim::ConfigError with line and column where a number is none, or an arrival lies before the last one
// or below 0: here for the columns, and, line by line, when it is read; at the end where no request could be served.
//   - CSV with the columns arrival_s, prompt_tokens and output_tokens, and, of prompts that begin as others do, prefix
//     and prefix_tokens; lines that begin with # are comments;
//   - CSV of Azure's traces of LLM inference (TIMESTAMP, ContextTokens, GeneratedTokens) and of BurstGPT (Timestamp,
//     Request tokens, Response tokens): arrivals count from the first, requests without output are left out;
//   - JSON lines as Mooncake's traces have them (timestamp in ms, input_length, output_length, hash_ids). An id stands
//     for 512 tokens and all before them. A prompt's beginning is the longest that another request has as well, which
//     leaves out that it may share a shorter one with others again.
std::unique_ptr<RequestSource> traced_requests(const std::filesystem::path& file, std::int64_t longest);

}  // namespace c3sim::study
