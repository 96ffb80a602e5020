// GEMMs and collectives: alone, what they do to clock and power, at once, and where one feeds the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr double steady_seconds = 2.5;
constexpr double duty_seconds = 1.5;
constexpr double phase_seconds = 1.5;

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
  Row row = row_of(sustained.all);
  row["period_us"] = spelled(sustained.period);
  row["gemm_us"] = spelled(sustained.time);
  row["rate_TFLOPs"] = fmt::format("{:.1f}", shape.operations() / sustained.time * 1e-6);
  return {row};
}

Rows measure_series(Lab& lab, const Arguments& arguments) {
  constexpr double long_enough = 0.6e6;  // us: for the governor to settle
  constexpr double most = 100.0;
  const Operation gemm = lab.gemm(arguments.shape());
  const double once = lab.time({gemm}).all.median;
  const int count = static_cast<int>(std::clamp(lab.brevity() * long_enough / std::max(once, 1.0), 2.0, most));
  std::this_thread::sleep_for(2 * lab.protocol().rest);
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

namespace {

// GpuError for what copies on streams are not: packets of another kind, and commands that wait in their queues.
void require_copies(const Arguments& arguments) {
  const std::string& variant = arguments.text("variant");
  if (variant == "bcst" || variant == "swap") {
    throw GpuError(GpuError::Kind::unsupported,
                   "no runtime lets programs queue the packets of variant {}: pcpy and b2b can be measured", variant);
  }
  if (arguments.text("prelaunch") == "yes") {
    throw GpuError(GpuError::Kind::unsupported,
                   "commands of engines that are queued beforehand (prelaunch yes) cannot be measured");
  }
}

Operation operation_of(Lab& lab, const Arguments& arguments, bool by_copies) {
  const Collective kind = parse_collective(arguments.text("collective"));
  if (by_copies) {
    require_copies(arguments);
    return lab.copies(kind, arguments.bytes(), arguments.text("variant") == "b2b");
  }
  return lab.collective(kind, arguments.bytes(), arguments.count("channels"));
}

// So many CUs are kept from the GEMM, which gets the first ones: by its stream's mask or its own kernel. A collective
// by kernels gets the others, where streams have masks.
void reserve(Lab& lab, const Arguments& arguments, Operation& gemm, Operation& collective, bool by_copies) {
  const int reserved = arguments.count("reserved_cus");
  const int all = lab.gpu(0).device().cus;
  if (reserved == 0) return;
  if (reserved >= all) {
    throw GpuError(GpuError::Kind::unsupported, "{} CUs cannot be kept from a GEMM of {}", reserved, all);
  }
  gemm = lab.gemm(arguments.shape(), all - reserved);
  if (by_copies) return;
  collective.cus = reserved;
  collective.first_cu = all - reserved;
}

// Both at once, or one behind the other in one lane.
Timing time_pair(Lab& lab, const Operation& gemm, const Operation& collective, bool gemm_first) {
  return lab.time(gemm_first ? std::vector{gemm, collective} : std::vector{collective, gemm});
}

// What either took of both, by events: columns such as gemm_alone_us.
void tell_each(Row& row, const Timing& timing, bool gemm_first, const std::string& what = "") {
  row["gemm" + what + "_us"] = spelled(timing.each[gemm_first ? 0 : 1].median);
  row["collective" + what + "_us"] = spelled(timing.each[gemm_first ? 1 : 0].median);
}

}  // namespace

Rows measure_collective(Lab& lab, const Arguments& arguments) {
  const Operation operation = operation_of(lab, arguments, arguments.text("backend") == "sdma");
  const auto timed = [&lab](const Operation& one) { return row_of(lab.time({one})); };
  return {arguments.text("graph") == "yes" ? lab.replay(operation, {}, timed) : timed(operation)};
}

Rows measure_pair(Lab& lab, const Arguments& arguments) {
  const std::string& strategy = arguments.text("strategy");
  const bool by_copies = strategy.starts_with("conccl");
  Operation collective = operation_of(lab, arguments, by_copies);  // first: it says what cannot be measured
  Operation gemm = lab.gemm(arguments.shape());
  const double gemm_alone = lab.time({gemm}).wall.median;
  const double collective_alone = lab.time({collective}).wall.median;
  const bool gemm_first = strategy == "c3_base" || strategy == "c3_rp" || strategy == "serial";
  if (strategy.ends_with("_rp")) reserve(lab, arguments, gemm, collective, by_copies);
  if (strategy == "serial") collective.lane = gemm.lane;
  const Timing timing = time_pair(lab, gemm, collective, gemm_first);
  Row row = row_of(timing, 1.0, "makespan");
  tell_each(row, timing, gemm_first);
  row["isolated_gemm_us"] = spelled(gemm_alone);
  row["collective_alone_us"] = spelled(collective_alone);
  return {row};
}

namespace {

// Either operation alone by the protocol of the run: a loop of both one after the other has the same mean power, and so
// the same clocks, as one of both at once has but for what they do to each other.
Row probe_of_pair(Lab& lab, const Arguments& arguments) {
  Operation collective = operation_of(lab, arguments, false);  // first: it says what cannot be measured
  const Operation gemm = lab.gemm(arguments.shape());
  const bool gemm_first = arguments.text("first") == "gemm";
  const Timing both = time_pair(lab, gemm, collective, gemm_first);
  collective.lane = gemm.lane;
  Row row = row_of(both, 1.0, "wall");
  tell_each(row, both, gemm_first);
  tell_each(row, time_pair(lab, gemm, collective, gemm_first), gemm_first, "_alone");
  return row;
}

Hog parse_hog(const std::string& text) {
  if (text == "stay") return Hog::stay;
  if (text == "fma") return Hog::fma;
  return text == "cache" ? Hog::cache : Hog::memory;
}

// A GEMM, or a collective, behind a hog that has all its places by then.
Row probe_beside_hog(Lab& lab, const Arguments& arguments) {
  constexpr double later_us = 50.0;
  constexpr double longest = 20.0;  // times what the other takes alone
  const bool is_gemm = !arguments.text("gemm").empty();
  const Operation operation = is_gemm ? lab.gemm(arguments.shape()) : operation_of(lab, arguments, false);
  const Operation pause = lab.pause(operation.lane, later_us);
  const double alone = lab.time({pause, operation}).each[1].median;
  const Operation hog =
      lab.hog(parse_hog(arguments.text("hog")), arguments.count("hog_workgroups"), longest * alone + 1e4);
  const Timing beside = lab.time({hog, pause, operation, lab.stop_hogs(operation.lane)});
  Row row = row_of(beside, 1.0, "wall");
  const std::string name = is_gemm ? "gemm" : "collective";
  row[name + "_us"] = spelled(beside.each[2].median);
  row[name + "_alone_us"] = spelled(alone);
  return row;
}

}  // namespace

Rows measure_probe(Lab& lab, const Arguments& arguments) {
  Row row = arguments.text("hog").empty() ? probe_of_pair(lab, arguments) : probe_beside_hog(lab, arguments);
  row["role"] = "probe";  // a fit may read it, though it ran at once
  return {row};
}

Rows measure_phase(Lab& lab, const Arguments& arguments) {
  constexpr std::string_view by_kernels = "nccl_ag_", by_copies = "ce_ag_";
  const std::string& phase = arguments.text("phase");
  const auto bytes_after = [&](std::string_view prefix) {
    return static_cast<std::size_t>(parse_count(phase.substr(prefix.size()), 1, std::int64_t{1} << 40));
  };
  const auto operation = [&] {
    if (phase.starts_with(by_kernels)) return lab.collective(Collective::all_gather, bytes_after(by_kernels));
    if (phase.starts_with(by_copies)) return lab.copies(Collective::all_gather, bytes_after(by_copies));
    return lab.streaming(std::size_t{12} << 30, 2, 1);
  };
  const Sustained sustained = phase == "idle" ? sustain_rest(lab) : sustain(lab, operation(), phase_seconds);
  return {row_of(sustained.all, "mean_power_W", "mean_sm_clock_MHz")};
}

// Schedules of a GEMM and the all-gather that feeds it, by the names and with the dependencies of c3sim's
// (study/work/dependent.h): the columns of B (tokens) lie on the GPUs in equal shards, and every GPU needs them all.

namespace {

constexpr int pieces_of_a_shard = 8;
constexpr int library_lane = 300;  // peers have those behind it
constexpr int fork_event = 2000;   // copies and collectives have those behind it

enum class Grain { serial, shard, finer };

struct Form {
  std::string_view name;
  Grain grain = Grain::serial;
  bool by_library = false;       // else every GPU pulls from its peers
  bool own_shard_apart = false;  // multiplied first
};

constexpr std::array forms{Form{"serial_rccl", Grain::serial, true},
                           Form{"serial_sdma"},
                           Form{"shard_overlap", Grain::shard},
                           Form{"finer_uniform_fused_1d", Grain::finer},
                           Form{"finer_hetero_fused_1d", Grain::finer, false, true},
                           Form{"rccl_finer_uniform_fused_1d", Grain::finer, true},
                           Form{"rccl_finer_hetero_fused_1d", Grain::finer, true, true}};

// Made ready once, enqueued on every GPU in each run: steps of tokens that arrive and the GEMM that needs them.
class DependentSchedule {
 public:
  DependentSchedule(Lab& lab, const Form& form, GemmShape shape)
      : lab_(lab),
        form_(form),
        gpus_(lab.gpus()),
        steps_(form.grain == Grain::serial  ? 1
               : form.grain == Grain::finer ? pieces_of_a_shard
                                            : lab.gpus() - 1),
        shard_(shape.n / gpus_),
        tokens_(form.grain == Grain::finer ? shard_ / pieces_of_a_shard : shard_),
        token_(bytes_of_bfloat16 * static_cast<std::size_t>(shape.k)),
        bytes_(token_ * static_cast<std::size_t>(shape.n)) {
    if (form.grain == Grain::shard || form.own_shard_apart) own_ = lab.gemm({shape.m, shard_, shape.k});
    const int shards = form.grain == Grain::shard ? 1 : form.own_shard_apart ? gpus_ - 1 : gpus_;
    step_ = lab.gemm({shape.m, tokens_ * shards, shape.k});
    if (form.by_library) gather_ = lab.collective(Collective::all_gather, bytes_ / static_cast<std::size_t>(steps_));
    lab.reserve(bytes_, bytes_);
  }

  Operation operation() const {
    return {.launch = [this](int gpu, Stream stream) { enqueue(gpu, stream); }, .hot = true};
  }

 private:
  void enqueue(int gpu, Stream compute) const {
    lab_.gpu(gpu).record(lab_.event(gpu, fork_event), compute);
    for (int lane = 0; lane < gpus_; ++lane) {
      lab_.gpu(gpu).wait(lab_.stream(gpu, library_lane + lane), lab_.event(gpu, fork_event));
    }
    if (own_) own_->launch(gpu, compute);
    for (int step = 0; step < steps_; ++step) {
      if (form_.grain == Grain::shard) {
        pull(gpu, compute, step + 1, 1, 0);  // from one peer after another
      } else {
        gather(gpu, compute, step);
      }
      step_.launch(gpu, compute);
    }
  }
  // A step's tokens of every shard; what follows on `compute` has them.
  void gather(int gpu, Stream compute, int step) const {
    if (!gather_) {
      for (int distance = 1; distance < gpus_; ++distance) pull(gpu, compute, distance, distance, step);
      return;
    }
    const Stream lane = lab_.stream(gpu, library_lane);
    gather_->launch(gpu, lane);
    hand_over(gpu, lane, compute, step * gpus_);
  }
  void pull(int gpu, Stream compute, int distance, int lane, int step) const {
    const int peer = (gpu + distance) % gpus_;
    const std::size_t own = token_ * static_cast<std::size_t>(step * tokens_);
    const std::size_t place = token_ * static_cast<std::size_t>(shard_ * peer) + own;
    const Stream stream = lab_.stream(gpu, library_lane + lane);
    lab_.gpu(gpu).copy(lab_.destination(gpu, bytes_) + place, lab_.source(peer, bytes_) + own,
                       token_ * static_cast<std::size_t>(tokens_), stream);
    hand_over(gpu, stream, compute, step * gpus_ + distance);
  }
  void hand_over(int gpu, Stream from, Stream to, int event) const {
    const Event arrived = lab_.event(gpu, fork_event + 1 + event);
    lab_.gpu(gpu).record(arrived, from);
    lab_.gpu(gpu).wait(to, arrived);
  }

  Lab& lab_;
  const Form& form_;
  int gpus_, steps_;
  std::int64_t shard_, tokens_;  // tokens of a shard, and how many of each a step waits for
  std::size_t token_;            // bytes
  std::size_t bytes_;            // gathered
  std::optional<Operation> own_, gather_;
  Operation step_;
};

}  // namespace

std::vector<std::string> dependent_schedules() {
  std::vector<std::string> names;
  for (const Form& form : forms) names.emplace_back(form.name);
  return names;
}

bool can_be_cut(GemmShape shape, int gpus) { return shape.n % (std::int64_t{gpus} * pieces_of_a_shard) == 0; }

Rows measure_dependent(Lab& lab, const Arguments& arguments) {
  const auto form = std::ranges::find(forms, arguments.text("schedule"), &Form::name);
  const GemmShape shape = arguments.shape();
  if (form == forms.end() || !can_be_cut(shape, lab.gpus())) {
    throw GpuError(GpuError::Kind::unsupported, "there is no schedule {} of {} on {} GPUs", arguments.text("schedule"),
                   to_string(shape), lab.gpus());
  }
  const DependentSchedule schedule(lab, *form, shape);
  return {row_of(lab.time({schedule.operation()}))};
}

}  // namespace c3sim::measure
