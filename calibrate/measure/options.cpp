#include "calibrate/measure/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

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

std::string listed(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::string typed(int argc, const char* const* argv) {
  std::string all = "c3sim-measure";
  for (int i = 1; i < argc; ++i) all += fmt::format(" {}", argv[i]);
  return all;
}

void check(const Options& options) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  for (const std::string& kind : options.wish.only) {
    if (kind_of(kind) == nullptr) {
      throw UserError("--only: '{}' is no kind: {} are accepted", kind, listed(names));
    }
  }
  if (!options.list && !options.dry_run && options.out.empty()) {
    throw UserError("--out FOLDER is missing: where the tables go");
  }
}

}  // namespace

std::optional<std::string> read_options(int argc, const char* const* argv, const std::vector<std::string>& backends,
                                        Options& options) {
  CLI::App app(about, "c3sim-measure");
  app.footer(examples);
  std::vector<std::string> shapes;
  std::string pairs, out;
  int repetitions = 0;
  double minutes = 0.0;
  app.add_flag("--list", options.list, "Print the kinds of measurements and their tables, and end");
  app.add_flag("--dry-run", options.dry_run, "Print what would be measured and how long it may take, and end");
  app.add_option("--out", out, "Folder for the tables: new, empty, or one to go on with")->type_name("FOLDER");
  app.add_option("--only", options.wish.only, "These kinds alone, see --list")->delimiter(',')->type_name("KIND");
  app.add_flag("--quick", options.wish.quick, "The most needed rows alone, with fewer repetitions");
  app.add_option("--gpus", options.gpus, "So many GPUs, the first ones; all unless said otherwise")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  app.add_option("--repetitions", repetitions, "Runs that count, of each row")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--shapes", shapes, "GEMMs to measure instead of the plan's, MxNxK")
      ->delimiter(',')
      ->type_name("SHAPE");
  app.add_option("--pairs", pairs,
                 "Concurrent runs to measure, and nothing else unless --only asks for it: a CSV with columns gemm, "
                 "collective, bytes, strategy, and channels, reserved_cus, variant, prelaunch where they matter")
      ->type_name("FILE");
  app.add_option("--time-limit", minutes, "Begin nothing after so many minutes; the same command goes on later")
      ->type_name("MIN")
      ->check(CLI::Range(0.01, 1440.0));
  app.add_option("--backend", options.backend, "auto, " + listed(backends))->type_name("NAME");
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
  options.out = out;
  options.pairs = pairs;
  for (const std::string& shape : shapes) options.wish.shapes.push_back(parse_shape(shape));
  check(options);
  if (options.backend != "auto" && std::ranges::find(backends, options.backend) == backends.end()) {
    throw UserError("--backend: '{}' is not in this build: auto, {} are accepted", options.backend, listed(backends));
  }
  if (options.wish.quick) {
    options.protocol.counted = 5;
    options.protocol.hot_warm_up /= 2;
  }
  if (repetitions > 0) options.protocol.counted = repetitions;
  if (minutes > 0.0) options.time_limit = 60.0 * minutes;
  options.command = typed(argc, argv);
  return {};
}

}  // namespace c3sim::measure
