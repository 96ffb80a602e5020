#include <fmt/format.h>

#include <array>
#include <utility>

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

}  // namespace

std::vector<Column> serve_columns() {
  std::vector<Column> columns;
  for (const Latency& latency : latencies) {
    columns.push_back({fmt::format("{}_mean_ms", latency.key), latency.heading, "ms", 1});
    for (const auto& [name, share] : quantiles) {
      const bool in_text = share != 0.9 && (share != 0.5 || latency.of == &Served::first_token);
      columns.push_back({fmt::format("{}_{}_ms", latency.key, name), name, "ms", 1, in_text});
    }
  }
  const std::vector<Column> others{{"requests_per_s", "requests", "1/s", 2},
                                   {"tokens_per_s", "output", "tokens/s", 0},
                                   {"joules_per_token", "energy", "J/token", 2},
                                   {"busy_percent", "busy", "%", 0},
                                   {"cache_percent", "cache", "%", 0},
                                   {"cache_most_percent", "most", "%", 0, false},
                                   {"reused_percent", "reused", "%", 0},
                                   {"preempted", "preempted", ""},
                                   {"requests", "requests", "", 0, false},
                                   {"prompt_tokens", "prompts", "tokens", 0, false},
                                   {"output_tokens", "output", "tokens", 0, false},
                                   {"computed_tokens", "computed", "tokens", 0, false},
                                   {"fetched_tokens", "fetched", "tokens", 0, false},
                                   {"cache_tokens", "cache", "tokens", 0, false},
                                   {"batches", "batches", "", 0, false},
                                   {"duration_s", "duration", "s", 3, false},
                                   {"energy_J", "energy", "J", 0, false},
                                   {"batch_error_mean_percent", "batch error", "%", 1, false},
                                   {"batch_error_most_percent", "batch error", "%", 1, false}};
  columns.insert(columns.end(), others.begin(), others.end());
  return columns;
}

std::vector<Cell> serve_cells(const ServeResult& result) {
  const Served& served = result.served;
  std::vector<Cell> cells;
  for (const Latency& latency : latencies) {
    const Latencies& times = served.*latency.of;
    const bool any = times.count() > 0;
    const NoNumber none{"one token"};
    cells.push_back(any ? Cell(milliseconds(times.mean())) : Cell(none));
    for (const auto& [name, share] : quantiles) {
      cells.push_back(any ? Cell(milliseconds(times.quantile(share))) : Cell(none));
    }
  }
  ServerCounts all;
  for (const ServerCounts& counts : served.groups) {
    all.batches += counts.batches;
    all.tokens += counts.tokens;
    all.fetched += counts.fetched;
    all.preempted += counts.preempted;
  }
  const std::vector<Cell> others{served.per_second(served.requests),
                                 served.per_second(served.output_tokens),
                                 result.energy.value() / static_cast<double>(served.output_tokens),
                                 in_percent * result.busy(),
                                 in_percent * result.cache_use,
                                 in_percent * result.most_in_use,
                                 in_percent * result.reused(),
                                 all.preempted,
                                 served.requests,
                                 served.prompt_tokens,
                                 served.output_tokens,
                                 all.tokens,
                                 all.fetched,
                                 result.cache_tokens,
                                 all.batches,
                                 sim::to_seconds(served.duration()).value(),
                                 result.energy.value(),
                                 in_percent * result.mean_error(),
                                 in_percent * result.largest_error()};
  cells.insert(cells.end(), others.begin(), others.end());
  return cells;
}

Results to_tables(const ServeResult& result, const models::PlatformSpec& platform) {
  ResultTable table(serve_columns());
  table.add_row(serve_cells(result));
  return {platform.name, {{"results", "", std::move(table)}}, {}, {}, {}, serve_notes({&result, 1})};
}

std::vector<std::string> serve_notes(std::span<const ServeResult> results) {
  double mean = 0.0;
  double most = 0.0;
  std::size_t batches = 0;
  for (const ServeResult& result : results) {
    mean += result.mean_error() * static_cast<double>(result.errors.size());
    most = std::max(most, result.largest_error());
    batches += result.errors.size();
  }
  return {
      fmt::format("Times of batches are interpolated between simulated steps: {} of those served, drawn and simulated "
                  "themselves, are {:.1f} % off in the mean, {:.1f} % at most.",
                  batches, batches == 0 ? 0.0 : in_percent * mean / static_cast<double>(batches), in_percent * most),
      fmt::format("Quantiles are within {:g} % of those of all requests.", in_percent * Latencies::largest_error)};
}

}  // namespace c3sim::study
