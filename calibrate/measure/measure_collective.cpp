// Collectives alone and beside GEMMs.
#include "calibrate/measure/gpu.h"
#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr double phase_seconds = 1.5;

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

// Replays what the operation enqueues, recorded once on every GPU.
Timing time_of_graph(Lab& lab, const Operation& operation) {
  std::vector<Graph> graphs(static_cast<std::size_t>(lab.gpus()));
  lab.time({operation});  // all is made and loaded by now
  lab.each([&](int gpu) {
    const Stream stream = lab.stream(gpu, operation.lane);
    graphs[static_cast<std::size_t>(gpu)] = lab.gpu(gpu).capture(stream, [&] { operation.launch(gpu, stream); });
  });
  const auto launch = [&](int gpu, Stream stream) {
    lab.gpu(gpu).launch(graphs[static_cast<std::size_t>(gpu)], stream);
  };
  Timing timing = lab.time({{.launch = launch, .lane = operation.lane}});
  lab.each([&](int gpu) { lab.gpu(gpu).release(graphs[static_cast<std::size_t>(gpu)]); });
  return timing;
}

}  // namespace

Rows measure_collective(Lab& lab, const Arguments& arguments) {
  const Operation operation = operation_of(lab, arguments, arguments.text("backend") == "sdma");
  return {row_of(arguments.text("graph") == "yes" ? time_of_graph(lab, operation) : lab.time({operation}))};
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
  const Timing timing = gemm_first ? lab.time({gemm, collective}) : lab.time({collective, gemm});
  Row row = row_of(timing, 1.0, "makespan");
  row["gemm_us"] = spelled(timing.each[gemm_first ? 0 : 1].median);
  row["collective_us"] = spelled(timing.each[gemm_first ? 1 : 0].median);
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
  const std::size_t place_of_gemm = gemm_first ? 0 : 1;
  const auto in_order = [&] {
    return gemm_first ? std::vector<Operation>{gemm, collective} : std::vector<Operation>{collective, gemm};
  };
  const Timing both = lab.time(in_order());
  collective.lane = gemm.lane;
  const Timing in_turn = lab.time(in_order());
  Row row = row_of(both, 1.0, "wall");
  row["gemm_us"] = spelled(both.each[place_of_gemm].median);
  row["collective_us"] = spelled(both.each[1 - place_of_gemm].median);
  row["gemm_alone_us"] = spelled(in_turn.each[place_of_gemm].median);
  row["collective_alone_us"] = spelled(in_turn.each[1 - place_of_gemm].median);
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

}  // namespace c3sim::measure
