#include "study/sweep/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "sim/config/output_file.h"
#include "sim/config/quantity_text.h"
#include "study/experiment/experiment_reader.h"
#include "study/run/digest.h"
#include "study/sweep/distribution.h"
#include "study/sweep/rank_messages.h"
#include "study/sweep/sweep_results.h"

namespace c3sim::study {

namespace {

constexpr auto sweep_examples =
    "Examples:\n"
    "  c3sim sweep configs/studies/sdma_engines.yaml --out out/engines      # out/engines/page.html has the chart\n"
    "  c3sim sweep mine.yaml --out out/mine --resume                        # goes on where a run was stopped\n"
    "  c3sim sweep mine.yaml --check                                        # how many points, and whether all is "
    "right\n"
    "  mpirun -n 64 c3sim sweep mine.yaml --out out/mine                    # on several machines: docs/studies.md\n"
    "Each finished point is in DIR/points.sqlite at once; DIR/points.csv has all at the end. Results are the same "
    "bytes\n"
    "however many threads or processes there were. Points that failed, as a file was gone, make exit code 1 and are\n"
    "asked again with --resume. docs/studies.md describes the file.";

constexpr std::int64_t most_points_at_all = 1'000'000'000'000;

StudyLimits limits_of(const Request& request, Arguments& arguments) {
  StudyLimits limits;
  const std::string& most_points = request.text("most_points");
  if (most_points.empty()) return limits;
  const sim::Parsed<std::int64_t> parsed = sim::parse_integer(most_points);
  if (!parsed.error.empty() || parsed.value < 1 || parsed.value > most_points_at_all) {
    arguments.fault("--most-points",
                    in_quotes(most_points) + " is no count: a whole number from 1 to 1e12 is accepted");
  } else {
    limits.most_points = static_cast<std::uint64_t>(parsed.value);
  }
  return limits;
}

std::chrono::milliseconds patience_of(const Request& request, Arguments& arguments) {
  constexpr std::chrono::seconds shortest(1);
  const std::string& text = request.text("patience");
  if (text.empty()) return Distribution{}.patience;
  const sim::Time patience = arguments.time("--patience", text);
  if (patience > sim::Time::zero() && patience < shortest) {
    arguments.fault("--patience", in_quotes(text) + " is too short: from 1s on is accepted");
  }
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(patience), std::chrono::milliseconds(shortest));
}

std::optional<sim::Config> experiment_of(Request& request, sim::Section& root) {
  if (!root.has("experiment")) return {};
  const std::filesystem::path file =
      std::filesystem::path(request.text("file")).parent_path() / root.text("experiment");
  request.reads(file);
  return experiment_config(file);
}

// All that stands in the files that words of the study name: models, requests. An answer of other files is another's.
std::string texts_of_files(const SweepStudy& study) {
  std::string texts;
  for (const SweepAxis& axis : study.points.axes()) {
    for (const AxisValue& value : axis.values) {
      for (const Assignment& word : value.assignments) {
        if (is_of_platform(word)) continue;
        const std::string text = study.question.text_of_file(word);
        if (!text.empty()) texts += fmt::format("# {} {}\n{}", word.name, word.value, text);
      }
    }
  }
  return texts;
}

std::string how_to_go_on(const Request& request, const SweepStore& store, const Distribution& distribution) {
  const std::string count = fmt::format("{} of {} points were finished", store.size(), distribution.size);
  if (request.out_folder().empty()) return count + " and are lost: --out DIR keeps them";
  return fmt::format("{} and are in {}; the same command with --resume goes on", count, request.out_folder().string());
}

Results written(Request& request, const SweepStudy& study, const SweepStore& store, const Platforms& platforms,
                const std::string& study_text) {
  const std::filesystem::path folder = request.out_folder();
  const SweepResults answers(study, store, platforms);
  Results results = answers.results();
  results.files.push_back({"study.yaml", study_text});
  if (!folder.empty()) {
    sim::OutputFile file(folder / "points.csv");
    answers.write_csv(file.stream());
    file.commit();
  }
  if (answers.failures() > 0) request.fail_check();
  return request.finish(platforms.base(), std::move(results), store.lock());
}

Results kept(Request& request, const SweepStudy& study, Distribution distribution, const Platforms& platforms,
             const std::string& study_text, Ranks* ranks) {
  const std::filesystem::path folder = request.out_folder();
  SweepStore store(folder, {distribution.digest, study.name, study.columns()});
  const std::uint64_t before = store.size();
  if (before > 0 && !request.says("resume")) {
    throw sim::ConfigError({{"--out", "",
                             fmt::format("{} has {} of the {} points of this study: --resume goes on with "
                                         "them; another folder starts anew",
                                         folder.string(), before, distribution.size)}});
  }
  try {
    distribution.progress = request.progress();
    distribution.interrupted = request.interruptible();
    if (!run(distribution, store, ranks)) {
      throw std::system_error(std::make_error_code(std::errc::interrupted), how_to_go_on(request, store, distribution));
    }
    return written(request, study, store, platforms, study_text);
  } catch (const std::system_error& error) {
    if (folder.empty() || error.code() == std::errc::interrupted) throw;
    // A full disk, most often.
    throw sim::ConfigError({{folder.string(), "",
                             fmt::format("{}; what was finished before is kept, and once that is mended the same "
                                         "command with --resume goes on",
                                         error.what())}});
  }
}

// `serves` is set when this process begins to answer points that rank 0 deals.
Results answer_as(Ranks* ranks, Request& request, bool& serves) {
  Arguments arguments;
  const std::filesystem::path named = request.text("file");
  request.reads(named);
  const bool writes = ranks == nullptr || ranks->rank() == 0;
  const bool has_folder = !request.out_folder().empty();
  if (!writes) request.leave_out_folder();
  request.check_output_folder(arguments, "--out", request.out_folder(), {"study.yaml"});
  const int jobs = request.jobs(arguments);
  const StudyLimits limits = limits_of(request, arguments);
  if (ranks != nullptr && jobs > 1) arguments.fault("--jobs", "each process that mpirun starts is one: -n has them");
  const std::chrono::milliseconds patience = patience_of(request, arguments);
  if (request.says("resume") && !has_folder) arguments.fault("--resume", "--out names the folder to go on with");
  arguments.check();

  sim::Config config = sim::Config::from_file(named);
  sim::Section root = config.root();
  std::optional<sim::Config> experiment = experiment_of(request, root);
  const std::string experiment_text = experiment ? sim::Config(*experiment).resolved() : "";
  ExperimentMachine machine{.platform = "mi300x", .assignments = {}, .protocol = {}, .launch = {}};
  if (experiment) {
    sim::Config copy = *experiment;
    set_parameters(copy, {});
    machine = read_machine(copy);
  }
  const Platform platform =
      request.platform(arguments, root.text("platform", machine.platform), machine.beside(), machine.assignments);
  arguments.check();
  Platforms platforms(platform);
  const SweepStudy study = read_sweep_study(root, platforms, std::move(experiment), limits);
  config.finish();
  if (request.says("check")) {
    if (ranks != nullptr) ranks->leave(true);
    return {.text = writes ? fmt::format("{} points\n", study.points.size()) : ""};
  }
  const Distribution distribution{
      .make_answerer =
          [&] {
            return [&study, machines = std::make_shared<MachineCache>(platforms)](std::uint64_t index) {
              return answer_point(study, *machines, index);
            };
          },
      .size = study.points.size(),
      .digest = sha256(request.origin().version + config.resolved() + experiment_text + platforms.text() +
                       texts_of_files(study)),
      .jobs = jobs,
      .patience = patience};
  if (writes) return kept(request, study, distribution, platforms, config.resolved(), ranks);
  serves = true;
  serve(distribution, *ranks);
  return {};
}

Results answer_sweep(Request& request) {
  bool serves = false;
  const std::unique_ptr<Ranks> ranks = join_ranks();
  if (ranks == nullptr) return answer_as(nullptr, request, serves);
  const bool keeps = ranks->rank() == 0;
  try {
    return answer_as(ranks.get(), request, serves);
  } catch (const sim::ConfigError& error) {
    if (keeps) throw;
    if (serves) {  // rank 0 is dead, and nobody else says so
      ranks->leave(false);
      throw;
    }
    // All processes read the same files: rank 0 says it once for all, or learns that it is the others' fault alone.
    ranks->send(0, packed(Report{.failure = error.what(), .users_fault = true}));
    ranks->leave(true);
    request.fail_check();
    return {};
  }
}

}  // namespace

Command sweep_command() {
  return {"sweep", "Ask thousands of points: machines, sizes and schedules that a study file spans", sweep_examples,
          std::vector<Option>{{"file", "FILE", "Study, in YAML", Said::in_place, true}} + platform_options() +
              jobs_option() +
              std::vector<Option>{
                  {"resume", "", "Go on with the points that the folder of --out has", Said::alone},
                  {"check", "", "Only check the file, and say how many points it has", Said::alone},
                  {"most_points", "COUNT", "Points that a study may have (100000 unless given)"},
                  {"patience", "TIME",
                   "Between processes of mpirun: how long one that does not answer is waited for (60s unless given)"}},
          answer_sweep};
}

}  // namespace c3sim::study
