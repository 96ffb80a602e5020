#include "study/figure.h"

#include <array>

namespace study {

namespace {

using enum Figure;
using sim::Dimension;

constexpr double us = 1e-6;
constexpr double ns = 1e-9;
constexpr double percent = 1e-2;
constexpr double giga = 1e9;

constexpr std::array forms{
    FigureForm{time, "time", "time", Dimension::time, "us", us},
    FigureForm{gemm_time, "gemm_time", "GEMM", Dimension::time, "us", us},
    FigureForm{collective_time, "collective_time", "collective", Dimension::time, "us", us},
    FigureForm{over_longer, "over_longer", "over the longer alone", Dimension::number, "", 1.0},
    FigureForm{gemm_stretch, "gemm_stretch", "GEMM over alone", Dimension::number, "", 1.0},
    FigureForm{latency, "latency", "latency", Dimension::time, "ns", ns},
    FigureForm{control_share, "control_share", "control", Dimension::number, "%", percent, ErrorKind::points},
    FigureForm{schedule_share, "schedule_share", "schedule", Dimension::number, "%", percent, ErrorKind::points},
    FigureForm{copy_share, "copy_share", "copy", Dimension::number, "%", percent, ErrorKind::points},
    FigureForm{completion_share, "completion_share", "completion", Dimension::number, "%", percent, ErrorKind::points},
    FigureForm{over_parallel_copies, "over_parallel_copies", "over pcpy", Dimension::number, "", 1.0},
    FigureForm{rate, "rate", "rate", Dimension::bytes_per_second, "GB/s", giga},
    FigureForm{link_rate, "link_rate", "rate of a link", Dimension::bytes_per_second, "GB/s", giga},
    FigureForm{bus_bandwidth, "bus_bandwidth", "bus bandwidth", Dimension::bytes_per_second, "GB/s", giga},
    FigureForm{flop_rate, "flop_rate", "rate", Dimension::flops_per_second, "TFLOP/s", 1e12},
    FigureForm{efficiency, "efficiency", "of peak at its clock", Dimension::number, "%", percent},
    FigureForm{power, "power", "board power", Dimension::power, "W", 1.0},
    FigureForm{clock, "clock", "clock", Dimension::frequency, "MHz", 1e6},
    FigureForm{l2_hit_bytes, "l2_hit_bytes", "L2 hits", Dimension::bytes, "GB", giga},
    FigureForm{l2_miss_bytes, "l2_miss_bytes", "L2 misses", Dimension::bytes, "GB", giga},
    FigureForm{cache_hit_share, "cache_hit_share", "Infinity Cache hits", Dimension::number, "%", percent,
               ErrorKind::points},
};

// form_of relies on it.
constexpr bool in_order() {
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (static_cast<std::size_t>(forms[i].figure) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const FigureForm> all_figures() { return forms; }

const FigureForm& form_of(Figure figure) { return forms[static_cast<std::size_t>(figure)]; }

}  // namespace study
