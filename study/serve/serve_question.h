// What can be asked of a model that serves requests on one node.
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
// How cached blocks reach the GPUs: they do not and are computed again, or one of the ways that study/serve/fetch.h
// knows; and from where.
enum class Fetch { none, each, batch, graph, kernel, back_to_back, prelaunched, single };
constexpr auto all_names(Fetch) {
  return sim::names("none", "each", "batch", "graph", "kernel", "back_to_back", "prelaunched", "single");
}
enum class Store { host, peer };
constexpr auto all_names(Store) { return sim::names("host", "peer"); }
enum class Waits { request, batch };  // who waits for a fetch
constexpr auto all_names(Waits) { return sim::names("request", "batch"); }
// A router gives requests to replicas in turn (round_robin), to the one with the fewest requests under way
// (least_loaded), or to the one that got requests with the same beginning before, and the least loaded one at first
// (prefix).
enum class Router { round_robin, least_loaded, prefix };
constexpr auto all_names(Router) { return sim::names("round_robin", "least_loaded", "prefix"); }
using sim::to_string;

// Requests that arrive at one rate for some time.
struct LoadStage {
  double rate = 1.0;  // a second
  sim::Time time{0};

  auto operator<=>(const LoadStage&) const = default;
};

// How long requests may take, as a service promises; what is none is not promised.
struct ServiceLimits {
  std::optional<sim::Time> first_token{};  // from the arrival
  std::optional<sim::Time> per_token{};    // behind the first, mean
  std::optional<sim::Time> whole{};

  bool are_any() const { return first_token || per_token || whole; }
  auto operator<=>(const ServiceLimits&) const = default;
};

inline constexpr std::int64_t every_batch = std::int64_t{1} << 30;
inline constexpr const char* draft_for_nothing = "tokens";  // of n-grams of the prompt, say

// The step of a batch runs a compiler's kernels unless a question says otherwise, as systems that serve do.
inline StepWords served_step(std::string model = {}) {
  StepWords step;
  step.model_name = std::move(model);
  step.kernels = Kernels::compiled;
  return step;
}

struct ServeQuestion {
  StepWords step = served_step();  // model, parallelism, format and collectives of a batch; requests tell the rest
  int replicas = 1;                // of all of it, each with requests of its own
  Router router = Router::round_robin;
  int apart = 0;  // other GPUs, that compute prompts alone, in groups as those that decode; 0: the same GPUs do both

  std::string trace{};  // a file of requests; empty: they are drawn
  Arrivals arrivals = Arrivals::poisson;
  double rate = 1.0;                // requests a second
  std::vector<LoadStage> stages{};  // in place of the rate and the number of requests: one behind the other
  std::int64_t concurrency = 0;     // so many requests at any time, each behind the end of another; 0: by rate
  ServiceLimits limits{};
  std::int64_t burst = 1;  // requests that arrive together
  std::int64_t requests = 1000;
  std::int64_t seed = 1;
  std::int64_t prompt = 1024;  // tokens, means
  std::int64_t output = 128;
  double spread = 0.0;        // of both, log-normal: standard deviation over mean
  double least = 1.0;         // or from this share of them to all of them, each length as likely
  double reuse = 0.0;         // share of requests whose prompt begins as others have: with one of so many
  std::int64_t prefixes = 1;  // beginnings, all as likely, of so many
  std::int64_t prefix = 0;    // tokens

  std::int64_t budget = 8192;           // tokens of a batch, of each replica
  std::int64_t sequences = 256;         // that are served at once, of each replica
  std::int64_t block = 16;              // tokens of a block of the cache
  double memory = 0.9;                  // share of a GPU's memory that weights, activations and cache may take
  sim::Time pause{0};                   // of the GPUs between two batches, while the host schedules
  sim::Time frontend{0};                // of each request, until it can be scheduled
  bool ahead = false;                   // a batch is put together while the one before it is computed
  bool by_op = false;                   // batches are launched op by op, not from a captured graph
  std::int64_t captured = every_batch;  // tokens of the largest batch that a graph was captured of
  std::string draft{};                  // a model that drafts tokens, or "tokens": they cost nothing; empty: none
  std::int64_t draft_tokens = 4;
  double acceptance = 0.0;  // of tokens of a draft, each behind accepted ones: the share that is accepted
  bool keep = false;        // beginnings stay in the GPUs' cache while nobody else needs the room

  Fetch fetch = Fetch::none;
  Store store = Store::host;
  sim::Bytes store_size{1e12};  // that holds beginnings, least recently used ones leaving first
  Waits waits = Waits::request;

  auto operator<=>(const ServeQuestion&) const = default;
};

}  // namespace c3sim::study
