// GEMMs: how long they take, and what they do to clock and power.
#include <fmt/format.h>

#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr double steady_seconds = 2.5;
constexpr double duty_seconds = 1.5;

// As many as are asked for, where that is not all.
std::optional<int> cus_of(Lab& lab, const Arguments& arguments) {
  const int cus = arguments.count("cus");
  if (cus == 0 || cus == lab.gpu(0).device().cus) return {};
  return cus;
}

}  // namespace

Rows measure_gemm(Lab& lab, const Arguments& arguments) {
  return {row_of(lab.time({lab.gemm(arguments.shape(), cus_of(lab, arguments))}))};
}

// For seconds, back to back or with a pause after each; or nothing at all.
Rows measure_steady(Lab& lab, const Arguments& arguments) {
  if (arguments.text("gemm") == "-") return {row_of(sustain_rest(lab).all)};
  const GemmShape shape = arguments.shape();
  const Operands operands = arguments.text("operands") == "zero" ? Operands::zero : Operands::normal;
  std::optional<std::chrono::duration<double, std::milli>> pause;
  if (!arguments.text("pause_ms").empty()) pause.emplace(arguments.count("pause_ms"));
  const Sustained sustained =
      sustain(lab, lab.gemm(shape, cus_of(lab, arguments), operands), pause ? duty_seconds : steady_seconds, {}, pause);
  const double operations =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  Row row = row_of(sustained.all);
  row["period_us"] = spelled(sustained.period);
  row["gemm_us"] = spelled(sustained.time);
  row["rate_TFLOPs"] = fmt::format("{:.1f}", operations / sustained.time * 1e-6);
  return {row};
}

Rows measure_series(Lab& lab, const Arguments& arguments) {
  constexpr double long_enough = 0.6e6;  // us: for the governor to settle
  constexpr double most = 100.0;
  const Operation gemm = lab.gemm(arguments.shape());
  const double once = lab.time({gemm}).all.median;
  const int count = static_cast<int>(std::clamp(lab.brevity() * long_enough / std::max(once, 1.0), 2.0, most));
  rest(2 * lab.protocol().rest);
  lab.each([&](int number) {
    Gpu& gpu = lab.gpu(number);
    const Stream stream = lab.stream(number, gemm.lane);
    for (int i = 0; i < count; ++i) lab.event(number, i);  // made before time counts
    lab.event(number, count);
    gpu.record(lab.event(number, 0), stream);
    for (int i = 0; i < count; ++i) {
      gemm.launch(number, stream);
      gpu.record(lab.event(number, i + 1), stream);
    }
    lab.finish(number, stream);
  });
  Rows rows;
  lab.on(0, [&] {
    Gpu& gpu = lab.gpu(0);
    for (int i = 0; i < count; ++i) {
      const double end = gpu.microseconds(lab.event(0, 0), lab.event(0, i + 1));
      const double duration = gpu.microseconds(lab.event(0, i), lab.event(0, i + 1));
      rows.push_back(
          {{"index", std::to_string(i)}, {"end_ms", spelled(end * 1e-3)}, {"duration_us", spelled(duration)}});
    }
  });
  return rows;
}

}  // namespace c3sim::measure
