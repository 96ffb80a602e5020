// Measures GEMMs and collectives: alone, their clock and power, both at once, and where one feeds the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr double steady_seconds = 2.5;
constexpr double duty_seconds = 1.5;
constexpr double phase_seconds = 1.5;

// Returns the number of CUs that is asked for, or nothing if that is all.
std::optional<int> cus_of(Lab& lab, const Arguments& arguments) {
  const int cus = arguments.count("cus");
  if (cus == 0 || cus == lab.gpu(0).device().cus) return {};
  return cus;
}

}  // namespace

Rows measure_gemm(Lab& lab, const Arguments& arguments) {
  return {row_of(lab.time({lab.gemm(arguments.shape(), cus_of(lab, arguments))}))};
}

// Runs a GEMM for seconds, back to back or with a pause after each, or leaves the GPUs idle.
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
    for (int i = 0; i < count; ++i) lab.event(number, i);  // made before timing begins
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

// Throws GpuError for what is beyond copies on streams: packets of another kind, and commands that wait in queues.
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

// Keeps `reserved_cus` CUs from the GEMM, which gets the first ones: by its stream's mask or its own kernel. A
// collective by kernels gets the others, where streams have masks.
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

// Times both operations: at once or, if they are in one lane, one after the other.
Timing time_pair(Lab& lab, const Operation& gemm, const Operation& collective, bool gemm_first) {
  return lab.time(gemm_first ? std::vector{gemm, collective} : std::vector{collective, gemm});
}

// Adds columns of what each operation took by events, such as gemm_alone_us.
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
  Operation collective = operation_of(lab, arguments, by_copies);  // first: it may throw
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

// Times both operations at once, and each of them in a loop of both one after the other, whose mean power and so clocks
// are the same except for what the operations do to each other.
Row probe_of_pair(Lab& lab, const Arguments& arguments) {
  Operation collective = operation_of(lab, arguments, false);  // first: it may throw
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

// Times a GEMM, or a collective, that is launched after a hog has taken all its places.
Row probe_beside_hog(Lab& lab, const Arguments& arguments) {
  constexpr double later_us = 50.0;
  constexpr double longest = 20.0;  // times what the operation takes alone
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
  row["role"] = "probe";  // a fit may read it, although it is concurrent
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

// The schedules of a GEMM and the all-gather that feeds it have the names and the dependencies of c3sim's
// (study/program/dependent.h): the columns of B (tokens) lie on the GPUs in equal shards, and every GPU needs all.

namespace {

constexpr int pieces_of_a_shard = 8;
constexpr int library_lane = 300;  // the lanes of peers follow
constexpr int fork_event = 2000;   // the events of copies and collectives follow

enum class Grain { serial, shard, finer };

struct Form {
  std::string_view name;
  Grain grain = Grain::serial;
  bool by_library = false;       // by the library's all-gather; else every GPU pulls from its peers
  bool own_shard_apart = false;  // the own shard is multiplied first
};

constexpr std::array forms{Form{"serial_rccl", Grain::serial, true},
                           Form{"serial_sdma"},
                           Form{"shard_overlap", Grain::shard},
                           Form{"finer_uniform_fused_1d", Grain::finer},
                           Form{"finer_hetero_fused_1d", Grain::finer, false, true},
                           Form{"rccl_finer_uniform_fused_1d", Grain::finer, true},
                           Form{"rccl_finer_hetero_fused_1d", Grain::finer, true, true}};

// A DependentSchedule is steps of arriving tokens and the GEMM that needs them, made ready once, enqueued in each run.
struct DependentSchedule {
  Lab& lab;
  const Form& form;
  GemmShape shape;
  int gpus = lab.gpus();
  int steps = form.grain == Grain::serial ? 1 : form.grain == Grain::finer ? pieces_of_a_shard : gpus - 1;
  std::int64_t shard = shape.n / gpus;                                                   // in tokens
  std::int64_t tokens = form.grain == Grain::finer ? shard / pieces_of_a_shard : shard;  // of each shard, in a step
  std::size_t token = bytes_of_bfloat16 * static_cast<std::size_t>(shape.k);             // bytes of a token
  std::size_t bytes = token * static_cast<std::size_t>(shape.n);                         // of all tokens together
  bool has_own = form.grain == Grain::shard || form.own_shard_apart;                     // a GEMM for the own shard
  std::optional<Operation> own_gemm = has_own ? std::optional(lab.gemm({shape.m, shard, shape.k})) : std::nullopt;
  int shards = form.grain == Grain::shard ? 1 : form.own_shard_apart ? gpus - 1 : gpus;  // shards in a step
  Operation gemm = lab.gemm({shape.m, tokens* shards, shape.k});
  std::optional<Operation> collective =
      form.by_library ? std::optional(lab.collective(Collective::all_gather, bytes / static_cast<std::size_t>(steps)))
                      : std::nullopt;

  void enqueue(int gpu, Stream compute) const {
    lab.gpu(gpu).record(lab.event(gpu, fork_event), compute);
    for (int lane = 0; lane < gpus; ++lane) {
      lab.gpu(gpu).wait(lab.stream(gpu, library_lane + lane), lab.event(gpu, fork_event));
    }
    if (own_gemm) own_gemm->launch(gpu, compute);
    for (int step = 0; step < steps; ++step) {
      if (form.grain == Grain::shard) {
        pull(gpu, compute, step + 1, 1, 0);  // from one peer after another
      } else {
        gather(gpu, compute, step);
      }
      gemm.launch(gpu, compute);
    }
  }
  // Gathers a step's tokens of every shard for what follows on `compute`.
  void gather(int gpu, Stream compute, int step) const {
    if (!collective) {
      for (int distance = 1; distance < gpus; ++distance) pull(gpu, compute, distance, distance, step);
      return;
    }
    const Stream lane = lab.stream(gpu, library_lane);
    collective->launch(gpu, lane);
    hand_over(gpu, lane, compute, step * gpus);
  }
  void pull(int gpu, Stream compute, int distance, int lane, int step) const {
    const int peer = (gpu + distance) % gpus;
    const std::size_t own = token * static_cast<std::size_t>(step * tokens);
    const std::size_t place = token * static_cast<std::size_t>(shard * peer) + own;
    const Stream stream = lab.stream(gpu, library_lane + lane);
    lab.gpu(gpu).copy(lab.destination(gpu, bytes) + place, lab.source(peer, bytes) + own,
                      token * static_cast<std::size_t>(tokens), stream);
    hand_over(gpu, stream, compute, step * gpus + distance);
  }
  void hand_over(int gpu, Stream from, Stream to, int event) const {
    const Event arrived = lab.event(gpu, fork_event + 1 + event);
    lab.gpu(gpu).record(arrived, from);
    lab.gpu(gpu).wait(to, arrived);
  }
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
  const DependentSchedule schedule{lab, *form, shape};
  lab.reserve(schedule.bytes, schedule.bytes);
  const auto launch = [&schedule](int gpu, Stream stream) { schedule.enqueue(gpu, stream); };
  return {row_of(lab.time({{.launch = launch, .hot = true}}))};
}

}  // namespace c3sim::measure
