#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "study/report/statistics.h"
#include "study/serve/serve.h"

namespace c3sim::study {

namespace {

constexpr double in_percent = 100.0;

double milliseconds(sim::Time time) { return sim::to_microseconds(time) / 1000.0; }

struct Latency {
  const char* key;
  const char* heading;
  Latencies Served::*of;
};
constexpr std::array<Latency, 3> latencies{{{"ttft", "first token", &Served::first_token},
                                            {"tpot", "per token", &Served::per_token},
                                            {"e2e", "whole", &Served::whole}}};
constexpr std::array<std::pair<const char*, double>, 3> quantiles{{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}};

double share_within(const ServeResult& result) {
  return static_cast<double>(result.served.within_limits) /
         static_cast<double>(std::max<std::int64_t>(1, result.served.requests));
}

}  // namespace

std::vector<Shown<ServeResult>> shown_of_serving(bool has_limits) {
  using R = const ServeResult&;
  std::vector<Shown<ServeResult>> shown;
  for (const Latency& latency : latencies) {
    const auto when_any = [of = latency.of](auto value) {
      return [of, value](R r) {
        const Latencies& times = r.served.*of;
        return times.count() > 0 ? Cell(milliseconds(value(times))) : Cell(NoNumber{"one token"});
      };
    };
    shown.push_back({{fmt::format("{}_mean_ms", latency.key), latency.heading, "ms", 1},
                     when_any([](const Latencies& times) { return times.mean(); })});
    for (const auto& [name, share] : quantiles) {
      const bool in_text = share != 0.9 && (share != 0.5 || latency.of == &Served::first_token);
      shown.push_back({{fmt::format("{}_{}_ms", latency.key, name), name, "ms", 1, in_text},
                       when_any([below = share](const Latencies& times) { return times.quantile(below); })});
    }
  }
  const auto all = [](std::int64_t ServerCounts::*member) {
    return [member](R r) {
      std::int64_t sum = 0;
      for (const ServerCounts& counts : r.served.groups) sum += counts.*member;
      return sum;
    };
  };
  const auto when_limited = [](auto of) {
    return [of](R r) { return r.question.limits.are_any() ? Cell(of(r)) : Cell(NoNumber{"no limits"}); };
  };
  const auto percent = [](auto of) { return [of](R r) { return in_percent * std::invoke(of, r); }; };
  const std::vector<Shown<ServeResult>> others{
      {{"within_percent", "within", "%", 1, has_limits},
       when_limited([](R r) { return in_percent * share_within(r); })},
      {{"goodput_per_s", "goodput", "1/s", 2, has_limits},
       when_limited([](R r) { return r.served.per_second(r.served.within_limits); })},
      {{"requests_per_s", "requests", "1/s", 2}, [](R r) { return r.served.per_second(r.served.requests); }},
      {{"tokens_per_s", "output", "tokens/s", 0}, [](R r) { return r.served.per_second(r.served.output_tokens); }},
      {{"joules_per_token", "energy", "J/token", 2},
       [](R r) { return r.energy.value() / static_cast<double>(r.served.output_tokens); }},
      {{"busy_percent", "busy", "%", 0}, percent(&ServeResult::busy)},
      {{"cache_percent", "cache", "%", 0}, percent(&ServeResult::cache_use)},
      {{"cache_most_percent", "most", "%", 0, false}, percent(&ServeResult::most_in_use)},
      {{"reused_percent", "reused", "%", 0}, percent(&ServeResult::reused)},
      {{"preempted", "preempted", ""}, all(&ServerCounts::preempted)},
      {{"requests", "requests", "", 0, false}, [](R r) { return r.served.requests; }},
      {{"rejected", "rejected", "", 0, false}, [](R r) { return r.requests.rejected; }},
      {{"prompt_tokens", "prompts", "tokens", 0, false}, [](R r) { return r.served.prompt_tokens; }},
      {{"output_tokens", "output", "tokens", 0, false}, [](R r) { return r.served.output_tokens; }},
      {{"computed_tokens", "computed", "tokens", 0, false}, all(&ServerCounts::tokens)},
      {{"fetched_tokens", "fetched", "tokens", 0, false}, all(&ServerCounts::fetched)},
      {{"cache_tokens", "cache", "tokens", 0, false}, &ServeResult::cache_tokens},
      {{"batches", "batches", "", 0, false}, all(&ServerCounts::batches)},
      {{"duration_s", "duration", "s", 3, false}, [](R r) { return sim::to_seconds(r.served.duration()).value(); }},
      {{"energy_J", "energy", "J", 0, false}, [](R r) { return r.energy.value(); }},
      {{"batch_error_mean_percent", "batch error", "%", 1, false},
       percent([](R r) { return r.errors.empty() ? 0.0 : mean(r.errors); })},
      {{"batch_error_most_percent", "batch error", "%", 1, false},
       percent([](R r) { return r.errors.empty() ? 0.0 : std::ranges::max(r.errors); })},
      {{"fidelity", "fidelity", ""}, &ServeResult::fidelity}};
  shown.insert(shown.end(), others.begin(), others.end());
  return shown;
}

Results to_tables(const ServeResult& result, const models::PlatformSpec& platform) {
  return {platform.name,
          {{"results", "", table_of(std::span(&result, 1), shown_of_serving(result.question.limits.are_any()))}},
          {},
          {},
          {},
          serve_notes({&result, 1})};
}

namespace {

// Returns a sentence on the largest rate of several at which enough requests were within the limits; empty if there
// were no limits.
std::string note_of_limits(std::span<const ServeResult> results) {
  constexpr double most_of_them = 0.9;  // least share of requests within limits: DistServe (arXiv 2401.09670)
  const ServeResult* best = nullptr;
  bool any = false;
  for (const ServeResult& result : results) {
    if (!result.question.limits.are_any()) continue;
    any = true;
    const bool keeps = share_within(result) >= most_of_them;
    if (keeps && (best == nullptr || result.question.rate > best->question.rate)) best = &result;
  }
  if (!any || results.size() == 1) return {};
  if (best == nullptr) return "No point had 90 % of its requests within the limits.";
  return fmt::format(
      "Of all points the largest rate at which 90 % of the requests were within the limits is {:g} a second.",
      best->question.rate);
}

}  // namespace

std::vector<std::string> serve_notes(std::span<const ServeResult> results) {
  std::vector<double> errors;
  std::int64_t cut = 0;
  std::int64_t requests = 0;
  for (const ServeResult& result : results) {
    cut += result.requests.cut;
    requests += result.served.requests;
    errors.insert(errors.end(), result.errors.begin(), result.errors.end());
  }
  std::vector<std::string> notes{
      fmt::format("Times of batches are interpolated between simulated steps: {} of those served, drawn and simulated "
                  "themselves, are {:.1f} % off in the mean, {:.1f} % at most.",
                  errors.size(), errors.empty() ? 0.0 : in_percent * mean(errors),
                  errors.empty() ? 0.0 : in_percent * std::ranges::max(errors)),
      fmt::format("Quantiles are within {:g} % of those of all requests.", in_percent * Latencies::largest_error)};
  std::vector<std::string> told;  // once per trace, which several points may serve
  const auto tell = [&](std::string note) {
    if (std::ranges::find(told, note) == told.end()) told.push_back(std::move(note));
  };
  for (const ServeResult& result : results) {
    for (const std::string& remark : result.remarks) tell(remark);
    if (result.requests.rejected > 0) {
      const std::string more =
          result.requests.rejected > std::ssize(result.requests.first_rejected) ? " and others" : "";
      tell(
          fmt::format("Rejected: {} of {} requests, which are longer than the model's context and the cache have room "
                      "for: {}{}. The others are served.",
                      result.requests.rejected, result.served.requests + result.requests.rejected,
                      fmt::join(result.requests.first_rejected, ", "), more));
    }
    if (result.requests.without_output > 0)
      tell(fmt::format("Left out: {} requests of the trace of which nothing came back.",
                       result.requests.without_output));
  }
  notes.insert(notes.end(), told.begin(), told.end());
  if (std::string note = note_of_limits(results); !note.empty()) notes.push_back(std::move(note));
  if (cut > 0) {
    notes.push_back(fmt::format(
        "{} of {} requests were drawn longer than the model's context and the cache have room for, and cut to that.",
        cut, requests));
  }
  return notes;
}

}  // namespace c3sim::study
