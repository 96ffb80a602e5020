// A ServeQuestion is what can be asked of a model that serves requests on one node.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/choice.h"
#include "study/network/step_question.h"

namespace c3sim::study {

enum class Arrivals { poisson, even, at_once };
constexpr auto all_names(Arrivals) { return sim::names("poisson", "even", "at_once"); }
// A Fetch says how cached blocks reach the GPUs: `none` computes them again, the others are ways of
// study/serve/fetch.h. A Store says where they are.
enum class Fetch { none, each, batch, graph, kernel, back_to_back, prelaunched, single };
constexpr auto all_names(Fetch) {
  return sim::names("none", "each", "batch", "graph", "kernel", "back_to_back", "prelaunched", "single");
}
enum class Store { host, peer };
constexpr auto all_names(Store) { return sim::names("host", "peer"); }
enum class Waits { request, batch };  // what a fetch delays: its own request, or the whole batch
constexpr auto all_names(Waits) { return sim::names("request", "batch"); }
// A Router assigns requests to replicas: in turn (round_robin), to the one with the fewest requests in progress
// (least_loaded), or to the one that got earlier requests with the same beginning, for new beginnings the least loaded
// one (prefix).
enum class Router { round_robin, least_loaded, prefix };
constexpr auto all_names(Router) { return sim::names("round_robin", "least_loaded", "prefix"); }
using sim::to_string;

// A LoadStage is a time in which requests arrive at one rate.
struct LoadStage {
  double rate = 1.0;  // requests per second
  sim::Time time{0};

  auto operator<=>(const LoadStage&) const = default;
};

// ServiceLimits are the longest times that a service promises; nullopt is no promise.
struct ServiceLimits {
  std::optional<sim::Time> first_token{};  // from the arrival
  std::optional<sim::Time> per_token{};    // after the first, mean
  std::optional<sim::Time> whole{};

  bool are_any() const { return first_token || per_token || whole; }
  auto operator<=>(const ServiceLimits&) const = default;
};

inline constexpr int most_requests = 10'000'000;  // drawn ones, up to five minutes' work, and 1.5 GB where they queue
inline constexpr std::int64_t every_batch = std::int64_t{1} << 30;
inline constexpr const char* draft_for_nothing = "tokens";  // drafts cost nothing, as with n-grams of the prompt

// Serving systems run a compiler's kernels, which is therefore the default here.
inline StepWords served_step(std::string model = {}) {
  StepWords step;
  step.model_name = std::move(model);
  step.kernels = Kernels::compiled;
  return step;
}

struct ServeQuestion {
  StepWords step = served_step();  // model, parallelism, formats and collectives of a batch; requests give its size
  int replicas = 1;                // copies of the whole deployment, each with its own requests
  Router router = Router::round_robin;
  int apart = 0;  // extra GPUs that only compute prompts; 0: the same GPUs do both

  std::string trace{};  // a file of requests; empty: they are drawn
  Arrivals arrivals = Arrivals::poisson;
  double rate = 1.0;                // requests per second
  std::vector<LoadStage> stages{};  // consecutive; they replace `rate` and `requests`
  std::int64_t concurrency = 0;     // constant number of requests in progress; 0: arrivals by rate
  ServiceLimits limits{};
  std::int64_t burst = 1;  // requests that arrive together
  std::int64_t requests = 1000;
  std::int64_t seed = 1;
  std::int64_t prompt = 1024;  // mean tokens, as is `output`, unless `least` is below 1
  std::int64_t output = 128;
  double spread = 0.0;        // standard deviation over mean of both lengths, log-normal
  double least = 1.0;         // below 1: lengths are uniform between this share of `prompt` or `output` and all of it
  double reuse = 0.0;         // share of requests whose prompt begins like others
  std::int64_t prefixes = 1;  // number of such beginnings, equally likely
  std::int64_t prefix = 0;    // tokens of each beginning

  std::int64_t budget = 8192;           // tokens of a batch on each replica of attention
  std::int64_t sequences = 256;         // sequences served at once on each replica of attention
  std::int64_t block = 16;              // tokens of a block of the cache
  double memory = 0.9;                  // share of a GPU's memory for weights, activations and cache
  sim::Time pause{0};                   // of the GPUs between two batches, while the host schedules
  sim::Time frontend{0};                // of each request, until it can be scheduled
  bool ahead = false;                   // a batch is composed during the one before it
  bool by_op = false;                   // batches are launched op by op, not from a captured graph
  std::int64_t captured = every_batch;  // tokens of the largest batch with a captured graph
  std::string draft{};                  // a model that drafts tokens, or "tokens" for free drafts; empty: none
  std::int64_t draft_tokens = 4;
  double acceptance = 0.0;  // probability that a token of a draft is accepted if those before are
  bool keep = false;        // beginnings stay in the GPUs' cache until the room is needed

  Fetch fetch = Fetch::none;
  Store store = Store::host;
  sim::Bytes store_size{1e12};  // room for beginnings; the least recently used is dropped first
  Waits waits = Waits::request;

  auto operator<=>(const ServeQuestion&) const = default;

  std::int64_t drafted() const { return draft.empty() ? 0 : draft_tokens; }  // after each next token
};

}  // namespace c3sim::study
