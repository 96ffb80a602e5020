#include "study/report/figure.h"

#include <algorithm>
#include <array>

#include "sim/units.h"

namespace c3sim::study {

namespace {

using sim::Dimension;

constexpr double hour = 3600.0;

// Returns the form of a figure in a unit of sim/units.h, or of a ratio if there is no such unit.
constexpr FigureForm figure_in(Figure figure, std::string_view key, std::string_view heading, std::string_view unit,
                               double low, double high) {
  const sim::Unit* const known = sim::unit_of(unit);
  if (known == nullptr) return {figure, key, heading, Dimension::number, unit, 1.0, low, high};
  return {figure, key, heading, known->dimension, unit, known->worth(), low, high};
}
constexpr FigureForm of_time(Figure figure, std::string_view key, std::string_view heading) {
  return figure_in(figure, key, heading, "us", 1e-9, hour);
}
constexpr FigureForm of_request(Figure figure, std::string_view key, std::string_view heading) {
  return figure_in(figure, key, heading, "ms", 1e-6, 100.0 * hour);
}
constexpr FigureForm of_ratio(Figure figure, std::string_view key, std::string_view heading) {
  return figure_in(figure, key, heading, "", 1e-6, 1e6);
}
constexpr FigureForm of_share(Figure figure, std::string_view key, std::string_view heading) {
  return {figure, key, heading, Dimension::number, "%", 1e-2, 0.0, 1.0, ErrorKind::points};
}
constexpr FigureForm of_rate(Figure figure, std::string_view key, std::string_view heading) {
  return figure_in(figure, key, heading, "GB/s", 1.0, 1e16);
}
constexpr FigureForm of_bytes(Figure figure, std::string_view key, std::string_view heading) {
  return figure_in(figure, key, heading, "GB", 1.0, 1e16);
}

constexpr std::array forms = [] {
  using enum Figure;
  return std::array{
      of_time(time, "time", "time"),
      of_time(kernel_time, "kernel_time", "kernel"),
      of_time(gemm_time, "gemm_time", "GEMM"),
      of_time(collective_time, "collective_time", "collective"),
      of_ratio(over_longer, "over_longer", "over the longer alone"),
      of_ratio(gemm_stretch, "gemm_stretch", "GEMM over alone"),
      of_ratio(collective_stretch, "collective_stretch", "collective over alone"),
      figure_in(latency, "latency", "latency", "ns", 1e-10, 1.0),
      of_share(control_share, "control_share", "control"),
      of_share(schedule_share, "schedule_share", "schedule"),
      of_share(copy_share, "copy_share", "copy"),
      of_share(completion_share, "completion_share", "completion"),
      of_ratio(over_parallel_copies, "over_parallel_copies", "over parallel copies"),
      of_rate(rate, "rate", "rate"),
      of_rate(link_rate, "link_rate", "rate of a link"),
      of_rate(bus_bandwidth, "bus_bandwidth", "bus bandwidth"),
      figure_in(flop_rate, "flop_rate", "rate", "TFLOP/s", 1.0, 1e18),
      FigureForm{efficiency, "efficiency", "of peak at its clock", Dimension::number, "%", 1e-2, 1e-6, 1.0},
      figure_in(power, "power", "board power", "W", 1e-3, 1e5),
      figure_in(clock, "clock", "clock", "MHz", 1e6, 1e11),
      of_bytes(l2_hit_bytes, "l2_hit_bytes", "L2 hits"),
      of_bytes(l2_miss_bytes, "l2_miss_bytes", "L2 misses"),
      of_share(cache_hit_share, "cache_hit_share", "Infinity Cache hits"),
      figure_in(energy, "energy", "board energy", "J", 1e-9, 1e9),
      of_ratio(over_longer_in_turn, "over_longer_in_turn", "over the longer in turn"),
      of_ratio(gemm_stretch_in_turn, "gemm_stretch_in_turn", "GEMM over in turn"),
      of_ratio(collective_stretch_in_turn, "collective_stretch_in_turn", "collective over in turn"),
      of_request(first_token, "first_token", "first token"),
      of_request(first_token_median, "first_token_median", "first token, median"),
      of_request(first_token_p90, "first_token_p90", "first token, p90"),
      of_request(first_token_p99, "first_token_p99", "first token, p99"),
      of_request(per_token, "per_token", "per token"),
      of_request(per_token_median, "per_token_median", "per token, median"),
      of_request(per_token_p99, "per_token_p99", "per token, p99"),
      of_request(end_to_end, "end_to_end", "end to end"),
      of_request(end_to_end_median, "end_to_end_median", "end to end, median"),
      of_request(end_to_end_p90, "end_to_end_p90", "end to end, p90"),
      of_request(end_to_end_p99, "end_to_end_p99", "end to end, p99"),
      figure_in(request_rate, "request_rate", "requests", "1/s", 1e-6, 1e9),
      figure_in(token_rate, "token_rate", "output", "tokens/s", 1e-6, 1e12),
  };
}();

// Returns whether the forms are in the order of Figure, which form_of() relies on.
constexpr bool in_order() {
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (static_cast<std::size_t>(forms[i].figure) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const FigureForm> all_figures() { return forms; }

const FigureForm* figure_named(std::string_view key) {
  const auto found = std::ranges::find(forms, key, &FigureForm::key);
  return found == forms.end() ? nullptr : &*found;
}

const FigureForm& form_of(Figure figure) { return forms[static_cast<std::size_t>(figure)]; }

}  // namespace c3sim::study
