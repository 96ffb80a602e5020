#include "calibrate/measure/program.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/options.h"
#include "calibrate/measure/session.h"

namespace c3sim::measure {

namespace {

constexpr int fine = 0, trouble = 1, wrong = 2;

// The first runtime that has a GPU. UserError in one line where there is none.
std::unique_ptr<Runtime> open_runtime(const Options& options, const std::vector<Backend>& backends) {
  std::string why;
  for (const Backend& backend : backends) {
    if (options.backend != "auto" && options.backend != backend.name) continue;
    try {
      std::unique_ptr<Runtime> runtime = backend.open(options.library_folders);
      if (runtime->gpus() > 0) return runtime;
      why += fmt::format("; {}: no GPU", backend.name);
    } catch (const GpuError& error) {
      why += fmt::format("; {}: {}", backend.name, error.what());
    }
  }
  throw UserError("no GPU to measure was found{}", why);
}

std::vector<std::unique_ptr<Gpu>> open_gpus(Runtime& runtime, int wanted) {
  const int there = runtime.gpus();
  if (wanted > there) throw UserError("--gpus: {} are wanted and {} are there", wanted, there);
  std::vector<std::unique_ptr<Gpu>> gpus;
  for (int number = 0; number < (wanted == 0 ? there : wanted); ++number) gpus.push_back(runtime.open(number));
  return gpus;
}

Machine machine_of(Bench& bench) {
  const Device& device = bench.gpu(0).device();
  Machine machine{.gpus = bench.gpus(),
                  .cus = device.cus,
                  .memory = device.memory,
                  .local_memory = device.local_memory,
                  .peers = {}};
  for (int peer = 0; peer < bench.gpus(); ++peer) {
    machine.peers.push_back(peer == 0 ? std::vector<int>{} : bench.gpu(0).copy_engines(bench.gpu(peer)));
  }
  return machine;
}

std::vector<Arguments> pairs_of(const std::filesystem::path& file, int gpus) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || !std::filesystem::is_regular_file(file)) {
    throw UserError("{}: cannot be read", file.string());
  }
  return read_pairs(text, file.string(), gpus);
}

std::string environment_of(Bench& bench, const Runtime& runtime) {
  const Device& device = bench.gpu(0).device();
  for (int gpu = 1; gpu < bench.gpus(); ++gpu) {
    if (bench.gpu(gpu).device().name != device.name) {
      throw UserError("GPU 0 is a {}, GPU {} a {}: equal ones are accepted, --gpus takes the first", device.name, gpu,
                      bench.gpu(gpu).device().name);
    }
  }
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  std::string text = fmt::format("{} x {} ({}, {} CUs, {:.0f} GiB", bench.gpus(), device.name, device.architecture,
                                 device.cus, static_cast<double>(device.memory) / gib);
  if (device.power_cap) text += fmt::format(", power cap {:.0f} W", *device.power_cap);
  if (device.top_clock) text += fmt::format(", highest clock {:.0f} MHz", *device.top_clock);
  text += ")";
  for (const std::string& version : runtime.versions()) text += ", " + version;
  return text;
}

std::string protocol_of(const Protocol& protocol) {
  return fmt::format(
      "one host thread per GPU, all behind a barrier before each run; {} runs and {} s of warm-up at least, {} s with "
      "GEMMs, then {} runs that count; median, 10th and 90th percentile",
      protocol.least_warm_ups, protocol.warm_up.count(), protocol.hot_warm_up.count(), protocol.counted);
}

std::string now() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

void print_kinds(std::ostream& out) {
  for (const Kind& kind : kinds()) out << fmt::format("{:13} {}\n", kind.name, kind.about);
}

void print_plan(const std::vector<Item>& plan, std::ostream& out) {
  double all = 0.0;
  for (const Kind& kind : kinds()) {
    double seconds = 0.0;
    std::size_t rows = 0;
    for (const Item& item : plan) {
      if (item.kind != &kind) continue;
      out << item.name() << '\n';
      seconds += item.seconds;
      ++rows;
    }
    if (rows > 0) out << fmt::format("# {}: {} measurements, some {:.0f} s\n", kind.name, rows, seconds);
    all += seconds;
  }
  out << fmt::format("# all: {} measurements, some {:.1f} min\n", plan.size(), all / 60.0);
}

std::string summary_of(const SessionEnd& end, const std::filesystem::path& folder) {
  std::string text = fmt::format("{}: {} measured", folder.string(), end.measured);
  if (end.already > 0) text += fmt::format(", {} were there already", end.already);
  if (end.left_out > 0) text += fmt::format(", {} left out", end.left_out);
  if (end.left > 0) text += fmt::format(", {} not begun: the same command goes on with them", end.left);
  return text;
}

int measure(Options& options, const Surroundings& surroundings) {
  const std::unique_ptr<Runtime> runtime = open_runtime(options, surroundings.backends);
  Protocol& protocol = options.protocol;
  for (auto* const time : {&protocol.warm_up, &protocol.hot_warm_up, &protocol.rest, &protocol.patience}) {
    *time *= surroundings.pace;
  }
  for (const std::string& line : runtime->missing()) surroundings.err << "note: " << line << '\n';
  Lab lab(open_gpus(*runtime, options.gpus), options.protocol, *runtime,
          (options.wish.quick ? 0.6 : 1.0) * surroundings.pace);
  if (!options.pairs.empty()) options.wish.pairs = pairs_of(options.pairs, lab.gpus());
  const std::vector<Item> plan = make_plan(options.wish, machine_of(lab), options.protocol);
  if (options.dry_run) {
    print_plan(plan, surroundings.out);
    return fine;
  }
  ResultFolder folder(options.out, {.environment = environment_of(lab, *runtime),
                                    .protocol = protocol_of(options.protocol),
                                    .occasion = fmt::format("{}, command: {}", now(), options.command)});
  const SessionEnd end = carry_out(plan, lab, folder, options.time_limit, surroundings);
  const std::string summary = summary_of(end, options.out);
  if (end.broken) {
    surroundings.abandon(summary);
    return trouble;
  }
  surroundings.err << summary << '\n';
  return fine;
}

}  // namespace

int run_program(int argc, const char* const* argv, const Surroundings& surroundings) {
  Options options;
  std::vector<std::string> names;
  for (const Backend& backend : surroundings.backends) names.push_back(backend.name);
  try {
    if (const auto help = read_options(argc, argv, names, options)) {
      surroundings.out << *help;
      return fine;
    }
    if (options.list) {
      print_kinds(surroundings.out);
      return fine;
    }
    return measure(options, surroundings);
  } catch (const UserError& fault) {
    surroundings.err << "error: " << fault.what() << '\n';
    return wrong;
  } catch (const GpuError& fault) {
    surroundings.err << "error: " << fault.what() << '\n';
    return fault.kind() == GpuError::Kind::unsupported ? wrong : trouble;
  }
}

}  // namespace c3sim::measure
