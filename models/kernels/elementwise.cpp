#include "models/kernels/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace c3sim::models {
namespace {

constexpr int on_a_cu = 2;  // workgroups that fit a CU, if the spec gives their number

// Returns the length of a row in pieces of StreamSpec::piece_of_row elements. No row is longer than the array.
double length_of_row(const ElementwiseSpec& spec) {
  return std::min(static_cast<double>(spec.row) / spec.width, spec.bytes().value()) / StreamSpec::piece_of_row;
}

// Returns the pieces of a row that the time of its reduction counts: `least_row` at least, however short the row is.
double pieces_of_row(const ElementwiseSpec& spec, const StreamSpec& streams) {
  return spec.reduces ? std::max(streams.least_row, length_of_row(spec)) : 0.0;
}

// Returns what a CU has under way. It grows with the length of rows of a piece or more. With shorter rows a CU has one
// row per workgroup that fits, whose two-byte elements are read and written.
sim::Bytes rows_under_way(const ElementwiseSpec& spec, const StreamSpec& streams) {
  const double length = length_of_row(spec);
  if (length >= 1.0) return length * streams.rows;
  const double elements = streams.row_workgroups * length * StreamSpec::piece_of_row;
  return std::min(streams.rows, elements * sim::Bytes(4.0));
}

sim::Bytes in_flight_of_workgroup(const ElementwiseSpec& spec, const GpuSpec& gpu) {
  if (spec.threads > 0) return spec.threads * spec.access;
  if (spec.under_way > sim::Bytes(0.0)) {
    return std::min(spec.under_way, gpu.streams.in_flight / (spec.workgroups > gpu.cus() ? on_a_cu : 1));
  }
  const sim::Bytes of_cu = spec.reduces ? rows_under_way(spec, gpu.streams) : gpu.streams.in_flight;
  return of_cu / (spec.workgroups > 0 ? on_a_cu : 1);
}

// Returns the rate at which an undisturbed kernel fills caches: that of HBM, or what is under way over the latency.
sim::BytesPerSecond fill_rate(const ElementwiseSpec& spec, const GpuSpec& gpu) {
  if (spec.workgroups == 0) return gpu.memory.hbm_rate;
  const sim::Seconds latency = sim::to_seconds(gpu.streams.latency + gpu.memory.cache_latency + gpu.memory.hbm_latency);
  if (latency.value() <= 0.0) return gpu.memory.hbm_rate;
  return std::min(gpu.memory.hbm_rate, spec.workgroups * in_flight_of_workgroup(spec, gpu) / latency);
}

// Returns the bytes that a CU can load and store in a cycle; a wave's pass also takes other instructions.
double issued_per_cycle(const ElementwiseSpec& spec, const GpuSpec& gpu) {
  constexpr double lanes = 64.0;
  if (spec.threads == 0 || gpu.streams.pass_cycles <= 0.0) return std::numeric_limits<double>::infinity();
  const double bytes = lanes * spec.access.value();
  const double moving = gpu.streams.bytes_per_cycle > 0.0 ? bytes / gpu.streams.bytes_per_cycle : 0.0;
  return bytes / (gpu.streams.pass_cycles + moving);
}

// Returns a demand whose progress counts in bytes read or written. Each passes an L2, and HBM if no cache holds it.
Demand demand_of(const ElementwiseSpec& spec, const GpuSpec& gpu, int workgroups) {
  Demand demand;
  if (spec.bytes() <= sim::Bytes(0.0)) return demand;  // an empty kernel, which begins and ends
  const double reads = spec.read / spec.bytes();
  demand.own = {1.0, {reads, 1.0 - reads, 0.0}, {}};
  // Without a `set` a workgroup never has more under way than its share of the arrays.
  demand.in_flight = in_flight_of_workgroup(spec, gpu);
  if (spec.set <= sim::Bytes(0.0)) demand.in_flight = std::min(demand.in_flight, spec.bytes() / workgroups);
  demand.waits = true;
  demand.step_latency =
      gpu.streams.latency + sim::to_time(pieces_of_row(spec, gpu.streams) * sim::to_seconds(gpu.streams.reduction));
  if (spec.set > sim::Bytes(0.0)) {
    hold_of_turn(demand, gpu.memory, spec.set, std::min(workgroups, gpu.memory.xcds));
  }
  if (spec.chases) {
    demand.step_latency +=
        sim::to_time(gpu.memory.untranslated(spec.set) * sim::to_seconds(gpu.memory.translation_latency));
    demand.step_latency -= gpu.streams.latency;
  }
  if (spec.threads > 0 && !spec.chases) {
    // Passes of a wave's loop follow each other: each stores what it has loaded, and stores end in the L2.
    if (reads <= 0.0) {
      demand.waits_for_own = false;
      demand.step_latency = gpu.streams.latency + gpu.memory.l2_latency;
    } else if (reads < 1.0) {
      demand.step_latency += gpu.streams.latency;
    }
    demand.queue_knee = gpu.streams.queue_knee;
  }
  const double cycles_per_byte = lane_cycles(spec, gpu) / spec.bytes().value();
  double per_cycle = issued_per_cycle(spec, gpu);
  if (cycles_per_byte > 0.0) {
    per_cycle = std::min(per_cycle, gpu.streams.efficiency * gpu.vector_lanes() / cycles_per_byte);
    demand.knee = gpu.streams.knee;
  }
  if (std::isfinite(per_cycle)) demand.vector_per_cycle = per_cycle;
  // Any instruction takes the energy of a fused multiply-add, which is two operations.
  demand.vector_flops = 2.0 * cycles_per_byte;
  return demand;
}

}  // namespace

double lane_cycles(const ElementwiseSpec& spec, const GpuSpec& gpu) {
  const auto known = gpu.operator_cycles.find(spec.operation);
  return known == gpu.operator_cycles.end() ? 0.5 * spec.flops.value() : known->second * spec.elements;
}

std::string to_string(const ElementwiseSpec& spec) {
  std::string text = fmt::format("{} read, {} written", sim::to_string(spec.read), sim::to_string(spec.written));
  if (!spec.operation.empty()) {
    text += fmt::format(", operator {}", spec.operation);
  } else if (spec.flops > sim::Flops(0.0)) {
    text += fmt::format(", {:.3g} operations", spec.flops.value());
  }
  if (spec.reduces) text += fmt::format(", rows of {} reduced", spec.row);
  if (spec.strided) text += ", strided";
  if (spec.threads > 0) text += fmt::format(", {} threads of {}", spec.threads, sim::to_string(spec.access));
  if (spec.set > sim::Bytes(0.0)) text += fmt::format(", in {} again and again", sim::to_string(spec.set));
  if (spec.chases) text += ", each load behind the other";
  if (spec.workgroups > 0) text += fmt::format(", {} workgroups", spec.workgroups);
  if (spec.under_way > sim::Bytes(0.0)) text += fmt::format(" with {} under way each", sim::to_string(spec.under_way));
  return text;
}

std::string why_impossible(const ElementwiseSpec& spec, const GpuSpec& gpu) {
  if (spec.bytes() < sim::Bytes(1.0)) return "an element-wise kernel reads or writes at least 1 byte";
  if (lane_cycles(spec, gpu) > 0.0 && gpu.vector_flops_per_cycle_per_cu == 0.0) {
    return "the platform does not say how many vector operations a CU does (gpu.vector_flops_per_cycle_per_cu): only "
           "kernels without any are accepted";
  }
  return {};
}

Kernel elementwise_kernel(const GpuSpec& gpu, const ElementwiseSpec& spec, const Stream& stream) {
  const CuMask mask = stream.mask;
  Kernel kernel;
  kernel.shape.name = "elementwise";
  kernel.subject = to_string(spec);
  kernel.shape.tenant = Tenant::stream;
  const bool counted = spec.workgroups > 0;
  kernel.shape.workgroups = counted ? spec.workgroups : gpu.memory.xcds * mask.cus(gpu.cus_per_xcd);
  kernel.shape.workgroup = counted ? gpu.cu / on_a_cu : gpu.cu;
  kernel.shape.stream = stream;
  if (spec.strided) kernel.start_up += gpu.streams.indexing;
  kernel.work = spec.bytes().value() / kernel.shape.workgroups;
  kernel.streaming = counted ? 1.0 / on_a_cu : 1.0;
  // The kernel fills caches with everything that it touches.
  kernel.l2_fill = fill_rate(spec, gpu);
  kernel.cache_fill = kernel.l2_fill;
  kernel.demand = [demand = demand_of(spec, gpu, kernel.shape.workgroups)](int, const Footing&) { return demand; };
  return kernel;
}

sim::Task<> run_elementwise(Node& node, ElementwiseSpec spec, Stream stream, std::vector<int> gpus) {
  return launch_kernel(node, elementwise_kernel(node.spec().gpu, spec, stream), std::move(gpus));
}

}  // namespace c3sim::models
