#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "calibrate/measurement_files.h"
#include "study/ask/words.h"
#include "study/config_folders.h"
#include "study/report/statistics.h"
#include "tune/step_tuning.h"
#include "tune/tuning.h"
#include "validate/ask/commands.h"

namespace c3sim::validate {

namespace {

constexpr auto tune_examples =
    "Examples:\n"
    "  c3sim tune --gemm 8192x57344x8192,8192x8192x28672 --collective all_gather,all_to_all --bytes 64MiB,896MiB --out "
    "out/tuned\n"
    "  c3sim tune configs/tuning/llm_layers.yaml --out out/llm\n"
    "  c3sim tune --collective all_reduce,all_gather --out out/rccl       # out/rccl/rccl_tuner_gfx942.csv\n"
    "  c3sim tune --step --model llama3-70b --phase decode --tp 8 --batch 64 --context 4096 --graph\n"
    "  c3sim tune --step --model llama3-8b --layers 8 --phase train --dp 8 --shard full --tokens 4096\n"
    "  c3sim tune mine.yaml --measured all_gather.log,pairs.csv --out out/mine\n"
    "For every pair it chooses the launch order, channels and CUs kept for the collective, or engines, their variant "
    "and\n"
    "whether their commands are queued beforehand. A speedup over default compares with what runs if nothing is "
    "chosen:\n"
    "the library's kernels for a collective alone, GEMM and collective one after the other for a pair.\n"
    "The folder gets decisions.yaml and decisions.h (rules on static sizes), a file for the tuner of RCCL,\n"
    "thresholds.csv (from which size on engines are faster), measure.sh (measurements that would decide where\n"
    "predictions do not) and page.html. docs/tuning.md describes them.\n"
    "A collective beside a GEMM neither needs the result of the GEMM nor gives the GEMM its input. If one needs the\n"
    "result of the other, as in tensor parallelism, --schedules (schedules: true in a file) tunes them.";

// Stretches holds measured over simulated times of isolated work, by which simulated times of such work are multiplied.
// The outer key of a collective has size 0, and the inner key is its size in bytes.
using Stretches = std::map<study::Work, std::map<double, double>>;

double size_of(const study::Work& work) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  return collective == nullptr ? 0.0 : collective->bytes.value();
}

study::Work without_size(const study::Work& work) {
  study::Work key = work;
  if (auto* const collective = std::get_if<models::CollectiveSpec>(&key)) {
    collective->bytes = sim::Bytes(0.0);
    collective->host_threads.reset();
    collective->lateness = {};
  }
  return key;
}

// Interpolates between the two nearest sizes, linearly in logarithms. Sizes beyond the range use the nearest end.
double factor_of(const Stretches& stretches, const study::Work& work) {
  const auto found = stretches.find(without_size(work));
  if (found == stretches.end()) return 1.0;
  const double size = size_of(work);
  const auto above = found->second.lower_bound(size);
  if (above == found->second.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == found->second.end()) return below->second;
  const double share = std::log(size / below->first) / std::log(above->first / below->first);
  return std::exp(std::lerp(std::log(below->second), std::log(above->second), share));
}

// Returns the work that the trial runs alone on whole GPUs, or nothing if it is another one.
std::optional<study::Work> isolated_work(const study::Trial& trial, const models::PlatformSpec& platform) {
  if (const auto* const gemm = std::get_if<study::GemmTrial>(&trial)) {
    const int all = platform.gpu.cus();
    if (gemm->cus.value_or(all) != all || gemm->nth || gemm->pause > sim::Time::zero()) return {};
    return gemm->shape;
  }
  if (const auto* const collective = std::get_if<study::CollectiveTrial>(&trial)) {
    const models::CollectiveSpec spec = study::on_gpus_of(platform, collective->spec);
    if (spec.cus || spec.graph || spec.gpus != platform.gpus) return {};
    return spec;
  }
  return {};
}

// Returns the measured pair as a choice for tuning, or nothing if tuning has no such alternative.
std::optional<tune::MeasuredChoice> measured_pair(const study::C3Trial& trial, sim::Time time,
                                                  const models::PlatformSpec& platform) {
  const study::Scenario& scenario = trial.scenario;
  if (scenario.delay > sim::Time::zero()) return {};
  const tune::Alternatives pairs = tune::pair_alternatives(scenario.collective, platform);
  const std::optional<std::size_t> alternative = pairs.of_trial(trial);
  if (!alternative) return {};
  return tune::MeasuredChoice{pairs.key, {scenario.gemm, scenario.bytes}, pairs.all[*alternative].name, time};
}

// Returns the machine that a row was measured on, the platform with the row's own parameters, or null where what it
// takes says nothing of the platform: it has another number of GPUs, or other kernels for GEMMs.
std::unique_ptr<study::Testbed> machine_of(const study::Platform& platform,
                                           const std::vector<std::string>& assignments) {
  try {
    const models::PlatformSpec spec = study::reassign(platform, assignments);
    const models::PlatformSpec& ours = platform.spec;
    const bool is_ours = spec.gpus == ours.gpus && spec.gpu.gemm.library.name == ours.gpu.gemm.library.name;
    return is_ours ? std::make_unique<study::Testbed>(spec) : nullptr;
  } catch (const sim::ConfigError&) {
    return nullptr;  // the platform has no such library
  }
}

// Measured holds what measurements say of what is tuned. Repetitions of a time alone count as their median. Times alone
// that a table of pairs tells count where no row is of that work.
struct Measured {
  std::vector<tune::MeasuredChoice> pairs;
  Stretches stretches;
  std::size_t used = 0, of = 0;
};

Measured measured_of(const calibrate::MeasurementFiles& files, const study::Platform& platform) {
  Measured measured;
  std::map<study::Work, std::map<double, std::vector<double>>> of_rows, of_pairs;  // measured over predicted times
  std::map<std::vector<std::string>, std::unique_ptr<study::Testbed>> machines;    // by assignments
  const auto add = [&](const calibrate::Measurement& one, study::Testbed& testbed) {
    const auto timed = std::ranges::find_if(one.seen, [](const calibrate::Seen& seen) {
      return seen.figure == study::Figure::time || seen.figure == study::Figure::kernel_time;
    });
    if (timed == one.seen.end() || !study::why_impossible(testbed, one.trial).empty()) return;
    if (const auto* const pair = std::get_if<study::C3Trial>(&one.trial)) {
      // Their times stand beside predictions as they are, so they have to be of the same protocol.
      if (testbed.platform().host.protocol != platform.spec.host.protocol) return;
      const auto choice = measured_pair(*pair, sim::to_time(sim::Seconds(timed->value)), testbed.platform());
      if (choice) measured.pairs.push_back(*choice);
      measured.used += choice ? 1 : 0;
      // Alternatives that nobody measured are stretched by the times alone of a pair, too, so that measured ones do not
      // lose against predictions of a faster machine.
      const auto add_alone = [&](const std::optional<double>& seconds, const study::Work& work) {
        if (!seconds) return;
        of_pairs[without_size(work)][size_of(work)].push_back(*seconds / sim::to_seconds(testbed.alone(work)).value());
      };
      add_alone(one.alone.gemm, pair->scenario.gemm);
      add_alone(one.alone.collective, study::collective_of(pair->scenario, pair->strategy, testbed.platform()));
    } else if (const std::optional<study::Work> work = isolated_work(one.trial, testbed.platform())) {
      const study::Figures predicted = study::observe(testbed, one.trial, {timed->figure});
      const auto same = predicted.find(timed->figure);
      if (same == predicted.end()) return;
      of_rows[without_size(*work)][size_of(*work)].push_back(timed->value / same->second);
      ++measured.used;
    }
  };
  for (const calibrate::Reading& reading : files.readings) {
    for (const calibrate::Measurement& one : reading.measurements) {
      ++measured.of;
      const auto [machine, is_new] = machines.try_emplace(one.assignments);
      if (is_new) machine->second = machine_of(platform, one.assignments);
      if (machine->second) add(one, *machine->second);
    }
  }
  for (const auto* const ratios : {&of_rows, &of_pairs}) {
    for (const auto& [work, by_size] : *ratios) {
      for (const auto& [size, ratio] : by_size) measured.stretches[work].try_emplace(size, study::median(ratio));
    }
  }
  return measured;
}

tune::TuningQuestion question_of(const study::Request& request, study::Arguments& arguments) {
  tune::TuningQuestion question;
  const std::string& gemms = request.text("gemm");
  if (!gemms.empty()) {
    for (const std::string_view text : study::split(gemms, ',')) {
      question.gemms.push_back({std::string(text), arguments.gemm("--gemm", text)});
    }
    question.gemms = study::each_once(std::move(question.gemms));
  }
  if (request.says("collective")) {
    question.collectives = arguments.choice_list<models::CollectiveKind>("--collective", request.text("collective"));
  }
  if (request.says("bytes")) question.sizes = arguments.sizes("--bytes", request.text("bytes"));
  question.schedules = request.says("schedules");
  if (request.says("error")) question.error = arguments.number("--error", request.text("error"), 0.0, 100.0) / 100.0;
  return question;
}

study::Results answer_on(study::Request& request, tune::TuningQuestion question, study::Arguments& arguments,
                         const study::Platform& platform, std::optional<sim::Config> config) {
  const std::vector<std::filesystem::path> measured_files = request.files("measured");
  const int jobs = request.jobs(arguments);
  arguments.check();
  study::Testbed plain(platform.spec);
  if (config) {
    question = tune::read_tuning_question(config->root(), plain);
    config->finish();
  } else {
    std::vector<sim::Fault> faults = tune::faults_of(question, plain);
    for (sim::Fault& fault : faults) {
      if (fault.where == "gemms" || fault.where == "collectives") fault.where.pop_back();
    }
    arguments.check_with(faults);
  }
  Measured measured;
  std::vector<std::string> warnings;
  if (!measured_files.empty()) {
    calibrate::require_files(measured_files);
    calibrate::ScreenedFor target{platform.spec.name, platform.spec.name};
    const calibrate::MeasurementFiles files =
        calibrate::read_measurement_files(reader_of_everything(library_of(request, arguments)), measured_files,
                                          [&target](const calibrate::Reading&) { return target; });
    // These are the warnings of c3sim read.
    warnings = calibrate::report(files, false).warnings;
    if (!files.is_usable()) {
      for (const std::string& warning : warnings) request.warn(warning);
      throw sim::ConfigError({{"--measured", "", "no measurement is left that can be used"}});
    }
    measured = measured_of(files, platform);
    question.measured = std::move(measured.pairs);
  }
  study::Testbed testbed(platform.spec,
                         [stretches = measured.stretches](const study::Work& work, const study::Company&) {
                           return factor_of(stretches, work);
                         });
  study::Results results = tune::tuning_results(tune::tune(testbed, question, request.progress(), jobs), platform.spec);
  results.warnings = std::move(warnings);
  if (!measured_files.empty()) {
    results.notes.push_back(
        fmt::format("{} of {} measurements say something of what is tuned.", measured.used, measured.of));
  }
  if (config) results.files.push_back({"question.yaml", config->resolved()});
  return request.finish(platform, std::move(results));
}

// Returns the options of c3sim step except those that are tuned. None is required, since --step is optional.
std::vector<study::Option> step_options() {
  std::vector<study::Option> options = study::options_of<study::StepWords>();
  std::erase_if(options, [](const study::Option& option) {
    return std::ranges::count(std::array{"chosen", "channels", "pieces", "ffn_pieces"}, option.name) > 0;
  });
  for (study::Option& option : options) {
    option.required = false;
    option.help = "--step: " + option.help;
  }
  return options;
}

constexpr std::array words_of_pairs{"gemm", "collective", "bytes", "schedules", "error"};

study::Results answer_step(study::Request& request) {
  study::Arguments arguments;
  const study::Platform platform = request.platform(arguments);
  const auto refuse = [&](const std::string& word, const std::string& typed) {
    if (request.says(word))
      arguments.fault(typed, "belongs to the tuning of GEMMs and collectives, and --step tunes a whole step");
  };
  refuse("file", "FILE");
  for (const std::string word : words_of_pairs) refuse(word, study::typed_name(word));
  refuse("measured", "--measured");
  for (const char* const needed : {"model", "phase"}) {
    if (!request.says(needed)) arguments.fault(fmt::format("--{}", needed), "is missing: --step asks for a step of it");
  }
  arguments.check();
  const study::StepQuestion question = study::read_step(request, arguments);
  const int jobs = request.jobs(arguments);
  arguments.check();
  const study::LayerTemplates templates(study::config_folders());
  const tune::StepTuning tuning = tune::tune({platform.spec, templates}, question, request.progress(), jobs);
  study::Given beside;
  for (const char* const option : {"model", "platform", "set"}) {
    if (request.says(option)) beside[option] = request.texts(option);
  }
  return request.finish(platform, tune::to_tables(tuning, question, platform, templates, beside));
}

study::Results answer_tune(study::Request& request) {
  if (request.says("step")) return answer_step(request);
  study::Arguments arguments;
  const std::filesystem::path named = request.text("file");
  const bool by_file = !named.empty();
  const bool by_options = std::ranges::any_of(words_of_pairs, [&](const char* option) { return request.says(option); });
  bool of_step = false;
  for (const study::Option& option : step_options()) {
    if (!request.says(option.name)) continue;
    arguments.fault(option.typed(), "is not used without --step, which tunes a whole step");
    of_step = true;
  }
  if (request.says("bytes") && !request.says("gemm")) {
    request.warn(
        "--bytes is the size beside a GEMM, and --gemm is not given: collectives alone are tuned at all sizes");
  }
  if (by_file && by_options) {
    arguments.fault("FILE",
                    "the file says what to tune: --gemm, --collective, --bytes, --schedules and --error are for a "
                    "question without one");
  } else if (!by_file && !by_options && !of_step) {
    arguments.fault("FILE", "there is nothing to tune: a file, or --gemm and --collective, are needed");
  }
  if (by_file) request.reads(named);
  for (const std::filesystem::path& file : request.files("measured")) request.reads(file);
  tune::TuningQuestion question = question_of(request, arguments);
  arguments.check();
  if (!by_file) return answer_on(request, std::move(question), arguments, request.platform(arguments), {});
  sim::Config config = sim::Config::from_file(named);
  study::refuse_file_of_another(config, "tune");
  const std::string preset = config.root().text("platform", "mi300x");
  return answer_on(request, std::move(question), arguments, request.platform(arguments, preset), std::move(config));
}

}  // namespace

study::Command tune_command() {
  return {"tune", "Say what to choose for GEMMs and collectives, as tables that libraries and programs read",
          tune_examples,
          std::vector<study::Option>{
              {"file", "FILE", "File of the question, in YAML; without it, the options below ask the question",
               study::Said::in_place},
              {"gemm", "MxNxK", "GEMMs of one GPU, each as MxNxK in the order of BLAS, separated by commas"},
              {"collective", study::names_of<models::CollectiveKind>() + "|all",
               "Collectives, separated by commas, or all; each is tuned beside every GEMM, and alone"},
              {"bytes", "SIZES", "Sizes of the array of one GPU beside a GEMM: 64MiB,1GiB or 64MiB:4GiB:x4"},
              {"schedules", "",
               "Also tune schedules of each GEMM with an all-gather that it needs or a reduce-scatter that needs it, "
               "as tensor parallelism has them",
               study::Said::alone},
              {"error", "PERCENT",
               "Two predicted times that differ by less than this do not tell which is faster (5 unless given)"},
              {"step", "",
               "Tune a whole step instead: how the GPUs share out its model, and what carries its collectives, all "
               "together and one by one",
               study::Said::alone},
              {"measured", "FILE",
               "Files of measurements, in any format that c3sim read knows: measured pairs replace their predictions, "
               "and measured isolated work corrects predictions",
               study::Said::listed}} +
              step_options() + study::platform_options() + study::jobs_option(),
          answer_tune};
}

}  // namespace c3sim::validate
