// A run of an experiment in charts: its streams over time, and its times beside what they are held against.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "study/play/testbed.h"
#include "study/program/operation_graph.h"
#include "study/report/chart.h"

namespace c3sim::study {

// What does operations, as the charts have it, and what runs are held against.
inline constexpr std::array doers{"GEMM", "RCCL", "copy engines", "other kernels", "host"};
inline constexpr std::array yardsticks{"alone", "uncut, one after another, by RCCL"};

// A row for each stream and the GPUs that it is of; a bar for each operation, as long as it kept its queue busy
// (study/play/queue_time.h), in the colour of what does it. A crowded stream has a row for each colour. `spans` by
// place.
TimelineChart stream_chart(const OperationGraph& graph, std::span<const Span> spans, int gpus);

// A time and what it is held against.
struct TimeBeside {
  std::string name;
  sim::Time time{0};
  std::optional<sim::Time> beside{};
};
BarChart operation_chart(std::span<const TimeBeside> operations);
BarChart makespan_chart(sim::Time makespan, sim::Time serial);

}  // namespace c3sim::study
