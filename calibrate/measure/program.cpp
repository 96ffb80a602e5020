#include "calibrate/measure/program.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr int fine = 0, trouble = 1, wrong = 2;

struct Options {
  bool list = false;
  bool dry_run = false;
  Wish wish;
  std::filesystem::path out;
  std::filesystem::path pairs;  // a file of them; empty: none
  int gpus = 0;                 // 0: all
  Protocol protocol;
  std::optional<double> time_limit;  // min
  std::vector<std::string> library_folders;
  std::string command = "c3sim-measure";  // as it was typed
};

constexpr const char* about =
    "Measures, on the GPUs of this machine, what c3sim's parameters are fitted to, and concurrent runs to compare "
    "with.\n"
    "A session that was killed goes on where it was when the same command is given again.";

constexpr const char* examples =
    "Examples:\n"
    "  c3sim-measure --out measured                      all kinds, on all GPUs: about 10 minutes\n"
    "  c3sim-measure --out measured --quick              the most needed rows: about 3 minutes\n"
    "  c3sim-measure --out measured --only gemms,copies  two kinds; others can follow in the same folder\n"
    "  c3sim-measure --out probes --only probes          what running at once costs: under a minute\n"
    "  c3sim-measure --out test --pairs pairs.csv        these concurrent runs and no others\n"
    "  c3sim-measure --dry-run --quick                   what would be measured, and how long it may take";

// Fills in the options, or says what to print instead of going on: the help. UserError says what is wrong.
std::optional<std::string> read_options(int argc, const char* const* argv, Options& options) {
  std::vector<std::string> kind_names, shapes;
  for (const Kind& kind : kinds()) kind_names.emplace_back(kind.name);
  CLI::App app(about, "c3sim-measure");
  app.footer(examples);
  app.add_flag("--list", options.list, "Print the kinds of measurements and their tables, and end");
  app.add_flag("--dry-run", options.dry_run, "Print what would be measured and how long it may take, and end");
  app.add_option("--out", options.out, "Folder for the tables: new, empty, or one to go on with")->type_name("FOLDER");
  app.add_option("--only", options.wish.only, "These kinds alone, see --list")
      ->delimiter(',')
      ->type_name("KIND")
      ->check(CLI::IsMember(kind_names));
  app.add_flag("--quick", options.wish.quick, "The most needed rows alone, with fewer repetitions");
  app.add_option("--gpus", options.gpus, "So many GPUs, the first ones; all unless said otherwise")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  const CLI::Option* const repetitions =
      app.add_option("--repetitions", options.protocol.counted, "Runs that count, of each row")
          ->type_name("N")
          ->check(CLI::Range(1, 1000));
  app.add_option("--shapes", shapes, "GEMMs to measure instead of the plan's, MxNxK")
      ->delimiter(',')
      ->type_name("SHAPE");
  app.add_option("--pairs", options.pairs,
                 "Concurrent runs to measure, and nothing else unless --only asks for it: a CSV with columns gemm, "
                 "collective, bytes, strategy, and channels, reserved_cus, variant, prelaunch where they matter")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  app.add_option("--time-limit", options.time_limit,
                 "Begin nothing after so many minutes; the same command goes on later")
      ->type_name("MIN")
      ->check(CLI::Range(0.01, 1440.0));
  app.add_option("--library-path", options.library_folders, "Folders to look for the GPU's libraries in first")
      ->delimiter(',')
      ->type_name("FOLDER");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    std::ostringstream text, fault;
    if (app.exit(end, text, fault) == 0) return text.str();
    throw UserError("{}; c3sim-measure --help lists what is accepted", end.what());
  }
  for (const std::string& shape : shapes) options.wish.shapes.push_back(parse_shape(shape));
  if (!options.list && !options.dry_run && options.out.empty()) {
    throw UserError("--out FOLDER is missing: where the tables go");
  }
  if (options.wish.quick) {
    if (repetitions->count() == 0) options.protocol.counted = 5;
    options.protocol.hot_warm_up /= 2;
  }
  for (int i = 1; i < argc; ++i) options.command += fmt::format(" {}", argv[i]);
  return {};
}

// The first runtime that has a GPU. UserError in one line where there is none.
std::unique_ptr<Runtime> open_runtime(const Options& options, const std::vector<Backend>& backends) {
  std::string why;
  for (const Backend& backend : backends) {
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

Machine machine_of(Lab& lab) {
  const Device& device = lab.gpu(0).device();
  Machine machine{
      .gpus = lab.gpus(), .cus = device.cus, .memory = device.memory, .local_memory = device.local_memory, .peers = {}};
  for (int peer = 0; peer < lab.gpus(); ++peer) {
    machine.peers.push_back(peer == 0 ? std::vector<int>{} : lab.gpu(0).copy_engines(lab.gpu(peer)));
  }
  return machine;
}

std::vector<Arguments> pairs_of(const std::filesystem::path& file, int gpus) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw UserError("{}: cannot be read", file.string());
  return read_pairs(text, file.string(), gpus);
}

std::string environment_of(Lab& lab, const Runtime& runtime) {
  const Device& device = lab.gpu(0).device();
  for (int gpu = 1; gpu < lab.gpus(); ++gpu) {
    if (lab.gpu(gpu).device().name != device.name) {
      throw UserError("GPU 0 is a {}, GPU {} a {}: equal ones are accepted, --gpus takes the first", device.name, gpu,
                      lab.gpu(gpu).device().name);
    }
  }
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  std::string text = fmt::format("{} x {} ({}, {} CUs, {:.0f} GiB", lab.gpus(), device.name, device.architecture,
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
                                    .occasion = fmt::format("{:%Y-%m-%d}, command: {}", fmt::gmtime(std::time(nullptr)),
                                                            options.command)});
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
  try {
    if (const auto help = read_options(argc, argv, options)) {
      surroundings.out << *help;
      return fine;
    }
    if (options.list) {
      for (const Kind& kind : kinds()) surroundings.out << fmt::format("{:13} {}\n", kind.name, kind.about);
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
