#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "study/ask/command.h"
#include "study/experiment/experiment.h"
#include "study/play/digest.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_results.h"

namespace c3sim::study {

namespace {

constexpr auto sweep_examples =
    "Examples:\n"
    "  c3sim sweep configs/studies/sdma_engines.yaml --out out/engines      # out/engines/page.html has the chart\n"
    "  c3sim sweep mine.yaml --out out/mine --resume                        # goes on where a run was stopped\n"
    "  c3sim sweep mine.yaml --check                                        # checks the file and counts its points\n"
    "  c3sim sweep mine.yaml --out out/part_2 --shard 2/64                  # one of 64 parts, for several machines\n"
    "  c3sim sweep mine.yaml --out out/mine --merge out/part_1,out/part_2   # joins parts, answers what they lack\n"
    "Each point is stored in DIR/points.sqlite as soon as it is finished; DIR/points.csv has all points at the end.\n"
    "Results are the same bytes, however many threads or parts made them. docs/studies.md describes the file.";

std::uint64_t most_points_of(const Request& request, Arguments& arguments) {
  constexpr std::uint64_t unless_given = 100'000;
  if (!request.says("most_points")) return unless_given;
  return static_cast<std::uint64_t>(arguments.number("--most-points", request.text("most_points"), 1.0, 1e12));
}

// Reads a shard such as "2/64".
StudyShard shard_of(const Request& request, Arguments& arguments) {
  constexpr int most = 1'000'000;
  const std::string& text = request.text("shard");
  if (text.empty()) return {};
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() != 2) {
    arguments.fault("--shard", in_quotes(text) + " is no part: 1/64 to 64/64 are accepted, of up to a million parts");
    return {};
  }
  const int of = arguments.integer("--shard", parts[1], 1, most);
  return {static_cast<std::uint64_t>(arguments.integer("--shard", parts[0], 1, of)), static_cast<std::uint64_t>(of)};
}

// Returns the folders whose points are merged into the folder of --out.
std::vector<std::filesystem::path> merged_folders(const Request& request, Arguments& arguments) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& name : request.texts("merge")) {
    folders.emplace_back(name);
    if (!std::filesystem::exists(folders.back() / SweepStore::file_name)) {
      arguments.fault("--merge", fmt::format("{} has no {}: folders that sweeps wrote are accepted", in_quotes(name),
                                             SweepStore::file_name));
    }
  }
  return folders;
}

std::optional<sim::Config> experiment_of(Request& request, sim::Section& root) {
  if (!root.has("experiment")) return {};
  const std::filesystem::path file =
      std::filesystem::path(request.text("file")).parent_path() / root.text("experiment");
  request.reads(file);
  return experiment_config(file);
}

// Returns the text of all files that words of the study name, models and requests; the study's digest covers it.
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
  Results results = sweep_results(study, store, platforms);
  results.files.push_back({"study.yaml", study_text});
  results = request.finish(platforms.base(), std::move(results), store.lock());
  results.long_files.clear();  // which refer to the store
  return results;
}

// Adds the points of these folders to the store. Throws sim::ConfigError where they belong to another study.
void merge(const std::vector<std::filesystem::path>& folders, const StoreKey& key, SweepStore& store) {
  constexpr std::size_t at_once = 4096;
  for (const std::filesystem::path& folder : folders) {
    std::vector<PointAnswer> answers;
    SweepStore(folder, key).for_each([&](const PointAnswer& answer) {
      answers.push_back(answer);
      if (answers.size() < at_once) return;
      store.add(answers);
      answers.clear();
    });
    store.add(answers);
  }
}

Results kept(Request& request, const SweepStudy& study, const StoreKey& key, Distribution distribution,
             const std::vector<std::filesystem::path>& merged, const Platforms& platforms,
             const std::string& study_text) {
  const std::filesystem::path folder = request.out_folder();
  SweepStore store(folder, key);
  const std::uint64_t before = store.size();
  if (before > 0 && !request.says("resume")) {
    throw sim::ConfigError({{"--out", "",
                             fmt::format("{} has {} of the {} points of this study: --resume goes on with "
                                         "them; another folder starts anew",
                                         folder.string(), before, distribution.size)}});
  }
  try {
    merge(merged, key, store);
    distribution.progress = request.progress();
    distribution.interrupted = request.interruptible();
    if (!run(distribution, store)) {
      throw Interrupted(how_to_go_on(request, store, distribution));
    }
    if (distribution.shard.of == 1) return written(request, study, store, platforms, study_text);
    return {.text = fmt::format("{} of {} points are in {}. Once all parts are done, --merge FOLDER,... makes the "
                                "study's results of them.\n",
                                store.size(), distribution.size, folder.string())};
  } catch (const std::system_error& error) {
    if (folder.empty() || error.code() == std::errc::interrupted) throw;
    // The most frequent reason is a full disk.
    throw sim::ConfigError({{folder.string(), "",
                             fmt::format("{}; what was finished before is kept, and once that is mended the same "
                                         "command with --resume goes on",
                                         error.what())}});
  }
}

Results answer_sweep(Request& request) {
  Arguments arguments;
  const std::filesystem::path named = request.text("file");
  request.reads(named);
  const bool has_folder = !request.out_folder().empty();
  request.check_output_folder(arguments, "--out", request.out_folder(),
                              {"study.yaml", "points.csv", "best.csv", "choices.csv", "inputs.csv"});
  const int jobs = request.jobs(arguments);
  const std::uint64_t most_points = most_points_of(request, arguments);
  const StudyShard shard = shard_of(request, arguments);
  const std::vector<std::filesystem::path> merged = merged_folders(request, arguments);
  if (request.says("resume") && !has_folder) arguments.fault("--resume", "--out names the folder to go on with");
  if (shard.of > 1 && !has_folder) arguments.fault("--shard", "--out names the folder that keeps the part's points");
  arguments.check();

  sim::Config config = sim::Config::from_file(named);
  refuse_file_of_another(config, "sweep");
  sim::Section root = config.root();
  std::optional<sim::Config> experiment = experiment_of(request, root);
  const std::string experiment_text = experiment ? sim::Config(*experiment).resolved() : "";
  ExperimentMachine machine{.platform = "mi300x", .settings = {}, .protocol = {}, .launch = {}};
  if (experiment) {
    sim::Config copy = *experiment;
    set_parameters(copy, {});
    machine = read_machine(copy);
  }
  const Platform platform =
      request.platform(arguments, root.text("platform", machine.platform), machine.beside(), machine.settings);
  arguments.check();
  Platforms platforms(platform);
  const SweepStudy study = read_sweep_study(root, platforms, std::move(experiment), most_points);
  config.finish();
  std::vector<std::string> of_summaries;
  for (const TableSummary& summary : study.summaries) of_summaries.push_back(summary.key + ".csv");
  request.check_output_folder(arguments, "--out", request.out_folder(), of_summaries);
  arguments.check();
  if (request.says("check")) {
    ResultTable points({{"points", "points", ""}});
    points.add_row({static_cast<std::int64_t>(study.points.size())});
    return {.platform = platform.spec.name,
            .tables = {{"check", "", std::move(points), false}},
            .notes = {fmt::format("{} points", study.points.size())}};
  }
  const Distribution distribution{.make_answerer =
                                      [&] {
                                        return
                                            [&study, machines = std::make_shared<MachineCache>(platforms)](
                                                std::uint64_t index) { return answer_point(study, *machines, index); };
                                      },
                                  .size = study.points.size(),
                                  .shard = shard,
                                  .jobs = jobs};
  sim::Config of_points = config;
  of_points.leave_out("summaries");  // they change no point, and may be mended before a study goes on
  const StoreKey key{sha256(request.origin().version + of_points.resolved() + experiment_text + platforms.text() +
                            texts_of_files(study)),
                     study.name, study.columns()};
  return kept(request, study, key, distribution, merged, platforms, config.resolved());
}

}  // namespace

Command sweep_command() {
  return {
      "sweep", "Ask thousands of points: machines, sizes and schedules that a study file spans", sweep_examples,
      std::vector<Option>{{"file", "FILE", "File of the study, in YAML", Said::in_place, true}} + platform_options() +
          without_option() + jobs_option() +
          std::vector<Option>{
              {"resume", "", "Keep the points that the folder of --out has, and answer the others", Said::alone},
              {"check", "", "Only check the file, and print how many points it has", Said::alone},
              {"most_points", "COUNT", "Refuse a study of more points than this (100000 unless given)"},
              {"shard", "I/N", "Answer only part I of N parts of the study: each of several machines can answer one"},
              {"merge", "FOLDER,...",
               "Take over the points of these folders, which runs with --shard wrote, and answer the others",
               Said::listed}},
      answer_sweep};
}

}  // namespace c3sim::study
