#include <fmt/format.h>

#include <string>

#include "study/step/step.h"

namespace c3sim::study {

namespace {

constexpr double percent = 100.0;

// Operations of the model that a GPU did over those that its matrix units could have done at the highest clock.
double model_flops_utilisation(const StepResult& result, const models::PlatformSpec& platform) {
  const double peak = platform.gpu.peak_flops(result.question.dtype);
  return result.flops.value() / (peak * sim::to_seconds(result.time).value());
}

ResultTable answer_of(const StepResult& result, const models::PlatformSpec& platform) {
  const StepQuestion& question = result.question;
  std::vector<Column> columns{{"model", "model", ""},
                              {"phase", "phase", ""},
                              {"gpus", "GPUs", ""},
                              {"batch", "batch", ""},
                              {"tokens", "tokens", ""},
                              {"context", "context", ""},
                              {"dtype", "dtype", ""},
                              {"time_us", "time", "us", 1},
                              {"tokens_per_s", "tokens", "1/s", 0},
                              {"compute_us", "compute", "us", 1},
                              {"communication_us", "communication", "us", 1},
                              {"exposed_us", "exposed", "us", 1},
                              {"overlapped_us", "overlapped", "us", 1},
                              {"energy_J", "energy", "J", 3},
                              {"power_W", "power", "W", 0},
                              {"mfu", "MFU", "", 3},
                              {"memory_GB", "memory", "GB", 1}};
  std::vector<Cell> cells{question.model.name,
                          std::string(to_string(question.phase)),
                          std::int64_t{question.gpus()},
                          question.batch,
                          question.tokens,
                          question.context,
                          std::string(models::to_string(question.dtype)),
                          sim::to_microseconds(result.time),
                          result.tokens_per_second(),
                          sim::to_microseconds(result.compute),
                          sim::to_microseconds(result.communication),
                          sim::to_microseconds(result.exposed),
                          sim::to_microseconds(result.overlapped()),
                          result.energy().value(),
                          result.power.value(),
                          model_flops_utilisation(result, platform),
                          result.memory.total().value() / 1e9};
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const std::string name(to_string(static_cast<Kind>(kind)));
    columns.push_back({name, name, "us", 1, false, true, "by_kind"});
    cells.emplace_back(sim::to_microseconds(result.by_kind[kind]));
  }
  ResultTable table(std::move(columns));
  table.add_row(std::move(cells));
  return table;
}

ResultTable kinds_of(const StepResult& result) {
  ResultTable table({{"kind", "kind", ""}, {"time_us", "time", "us", 1}, {"share_percent", "of the step", "%", 1}});
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const sim::Time time = result.by_kind[kind];
    if (time == sim::Time(0)) continue;
    table.add_row({std::string(to_string(static_cast<Kind>(kind))), sim::to_microseconds(time),
                   percent * (sim::to_seconds(time) / sim::to_seconds(result.time))});
  }
  return table;
}

}  // namespace

Results to_tables(const StepResult& result, const models::PlatformSpec& platform) {
  Results results{platform.name, {}, result.warnings, {}};
  results.tables.push_back({"results", "", answer_of(result, platform)});
  results.tables.push_back({"kinds", "Kernels of one GPU", kinds_of(result), true, {}, true});
  results.runs.push_back({std::string(to_string(result.question.phase)), result.schedule});
  results.notes.push_back(fmt::format("Of one GPU: {}.", to_string(result.memory)));
  results.notes.push_back(
      "Energy and power are of one GPU; kernels of several streams overlap, so that their times may "
      "sum up to more than the step.");
  return results;
}

}  // namespace c3sim::study
