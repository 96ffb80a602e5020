// GEMMs: how long they take, and what they do to clock and power.
#include <fmt/format.h>

#include "calibrate/measure/board_watch.h"
#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/kind.h"
#include "calibrate/measure/sustained.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr double steady_seconds = 2.5;
constexpr double duty_seconds = 1.5;
constexpr double power_seconds = 2.5;

void put_board(Row& row, const BoardWatch::Mean& mean) {
  row["power_W"] = fmt::format("{:.1f}", mean.state.power);
  row["clock_MHz"] = fmt::format("{:.0f}", mean.state.clock);
  row["samples"] = std::to_string(mean.samples);
}

std::optional<int> cus_of(Lab& lab, const Arguments& arguments) {
  const int cus = static_cast<int>(arguments.number("cus"));
  if (cus == 0 || cus == lab.bench.gpu(0).device().cus) return {};
  return cus;
}

}  // namespace

Rows measure_gemm(Lab& lab, const Arguments& arguments) {
  Row row;
  put(row, lab.bench.time({lab.operations.gemm(arguments.shape(), cus_of(lab, arguments))}));
  return {row};
}

Rows measure_steady(Lab& lab, const Arguments& arguments) {
  Row row;
  if (arguments.text("gemm") == "-") {
    rest(lab.bench.protocol().rest);
    const BoardWatch watch(lab.bench);
    const double begin = host_microseconds();
    rest(lab.bench.protocol().rest);
    put_board(row, watch.since(begin));
    return {row};
  }
  const Operation gemm = lab.operations.gemm(arguments.shape());
  const int batch = batch_of(lab.bench, gemm);
  const BoardWatch watch(lab.bench);
  const Sustained sustained = sustain(lab.bench, gemm, lab.brevity * steady_seconds, batch);
  row["gemm_us"] = spelled(sustained.time);
  put_board(row, watch.since(sustained.half));
  return {row};
}

Rows measure_duty_cycle(Lab& lab, const Arguments& arguments) {
  const Operation gemm = lab.operations.gemm(arguments.shape());
  lab.bench.time({gemm});
  const BoardWatch watch(lab.bench);
  const std::chrono::duration<double, std::milli> pause(static_cast<double>(arguments.number("pause_ms")));
  const Sustained sustained = sustain(lab.bench, gemm, lab.brevity * duty_seconds, 1, pause);
  Row row;
  row["period_us"] = spelled(sustained.period);
  row["gemm_us"] = spelled(sustained.time);
  put_board(row, watch.since(sustained.half));
  return {row};
}

Rows measure_series(Lab& lab, const Arguments& arguments) {
  constexpr double long_enough = 0.6e6;  // us: for the governor to settle
  constexpr double most = 100.0;
  const Operation gemm = lab.operations.gemm(arguments.shape());
  const double once = lab.bench.time({gemm}).all.median;
  const int count = static_cast<int>(std::clamp(lab.brevity * long_enough / std::max(once, 1.0), 2.0, most));
  rest(2 * lab.bench.protocol().rest);
  lab.bench.each([&](int number) {
    Gpu& gpu = lab.bench.gpu(number);
    const Stream stream = lab.bench.stream(number, gemm.lane);
    for (int i = 0; i < count; ++i) lab.bench.event(number, i);  // made before time counts
    lab.bench.event(number, count);
    gpu.record(lab.bench.event(number, 0), stream);
    for (int i = 0; i < count; ++i) {
      gemm.launch(number, stream);
      gpu.record(lab.bench.event(number, i + 1), stream);
    }
    lab.bench.finish(number, stream);
  });
  Rows rows;
  lab.bench.on(0, [&] {
    Gpu& gpu = lab.bench.gpu(0);
    for (int i = 0; i < count; ++i) {
      const double end = gpu.microseconds(lab.bench.event(0, 0), lab.bench.event(0, i + 1));
      const double duration = gpu.microseconds(lab.bench.event(0, i), lab.bench.event(0, i + 1));
      rows.push_back(
          {{"index", std::to_string(i)}, {"end_ms", spelled(end * 1e-3)}, {"duration_us", spelled(duration)}});
    }
  });
  return rows;
}

Rows measure_matrix_power(Lab& lab, const Arguments& arguments) {
  const GemmShape shape = arguments.shape();
  const Operands operands = arguments.text("operands") == "zero" ? Operands::zero : Operands::normal;
  const Operation gemm = lab.operations.gemm(shape, cus_of(lab, arguments), operands);
  const int batch = batch_of(lab.bench, gemm);
  const BoardWatch watch(lab.bench);
  const Sustained sustained = sustain(lab.bench, gemm, lab.brevity * power_seconds, batch);
  const double operations =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  Row row;
  row["rate_TFLOPs"] = fmt::format("{:.1f}", operations / sustained.time * 1e-6);
  put_board(row, watch.since(sustained.half));
  return {row};
}

}  // namespace c3sim::measure
