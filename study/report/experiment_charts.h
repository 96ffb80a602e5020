// Draws one run of an experiment as charts: its streams over time, and its times next to reference times.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "study/play/testbed.h"
#include "study/program/operation_graph.h"
#include "study/report/chart.h"

namespace c3sim::study {

// `doers` names what performs operations, and `yardsticks` names what runs are compared with, as charts spell them.
inline constexpr std::array doers{"GEMM", "RCCL", "copy engines", "other kernels", "host"};
inline constexpr std::array yardsticks{"alone", "uncut, one after another, by RCCL"};

// Returns a timeline with a row for each stream on each set of GPUs. A bar lasts as long as an operation kept its queue
// busy (study/play/queue_time.h), in the colour of its doer. A crowded stream has a row for each colour. `spans` holds
// one span per node of the graph, in order.
TimelineChart stream_chart(const OperationGraph& graph, std::span<const Span> spans, int gpus);

// A TimeBeside is a time and the reference time that it is compared with, if there is one.
struct TimeBeside {
  std::string name;
  sim::Time time{0};
  std::optional<sim::Time> beside{};
};
BarChart operation_chart(std::span<const TimeBeside> operations);
BarChart makespan_chart(sim::Time makespan, sim::Time serial);

}  // namespace c3sim::study
