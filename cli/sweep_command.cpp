#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "cli/commands.h"
#include "cli/interruption.h"
#include "sim/config/output_file.h"
#include "study/choices.h"
#include "study/digest.h"
#include "study/experiment_reader.h"
#include "study/sweep/distribution.h"
#include "study/sweep/rank_messages.h"
#include "study/sweep/sweep_results.h"

namespace c3sim::cli {

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

}  // namespace

SweepCommand::SweepCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command =
      *app.add_subcommand("sweep", "Ask thousands of points: machines, sizes and schedules that a study file spans");
  command.footer(sweep_examples);
  command.add_option("FILE", file_, "Study, in YAML")->type_name("FILE")->required();
  session.add_platform_options(command);
  session.add_jobs_option(command);
  command.add_flag("--resume", resume_, "Go on with the points that the folder of --out has");
  command.add_flag("--check", check_, "Only check the file, and say how many points it has");
  command.add_option("--most-points", most_points_, "Points that a study may have (100000 unless given)")
      ->type_name("COUNT");
  command
      .add_option("--patience", patience_,
                  "Between processes of mpirun: how long one that does not answer is waited for (60s unless given)")
      ->type_name("TIME");
  command.callback([this] { run(); });
}

void SweepCommand::run() {
  const std::unique_ptr<study::Ranks> ranks = study::join_ranks();
  if (ranks == nullptr) return answer(nullptr);
  const bool keeps = ranks->rank() == 0;
  try {
    answer(ranks.get());
  } catch (const sim::ConfigError& error) {
    if (keeps) throw;
    if (serves_) {  // rank 0 is dead, and nobody else says so
      ranks->leave(false);
      throw;
    }
    // All processes read the same files: rank 0 says it once for all, or learns that it is the others' fault alone.
    ranks->send(0, study::packed(study::Report{.failure = error.what(), .users_fault = true}));
    ranks->leave(true);
    session_.fail_check();
  }
}

study::StudyLimits SweepCommand::limits(Arguments& arguments) const {
  study::StudyLimits limits;
  if (most_points_.empty()) return limits;
  const sim::Parsed<std::int64_t> parsed = sim::parse_integer(most_points_);
  if (!parsed.error.empty() || parsed.value < 1 || parsed.value > most_points_at_all) {
    arguments.fault("--most-points",
                    in_quotes(most_points_) + " is no count: a whole number from 1 to 1e12 is accepted");
  } else {
    limits.most_points = static_cast<std::uint64_t>(parsed.value);
  }
  return limits;
}

std::chrono::milliseconds SweepCommand::patience(Arguments& arguments) const {
  constexpr std::chrono::seconds shortest(1);
  if (patience_.empty()) return study::Distribution{}.patience;
  const sim::Time patience = arguments.time("--patience", patience_);
  if (patience > sim::Time::zero() && patience < shortest) {
    arguments.fault("--patience", in_quotes(patience_) + " is too short: from 1s on is accepted");
  }
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(patience), std::chrono::milliseconds(shortest));
}

std::optional<sim::Config> SweepCommand::experiment_of(sim::Section& root) {
  if (!root.has("experiment")) return {};
  const std::filesystem::path file = file_.parent_path() / root.text("experiment");
  session_.reads(file);
  return study::experiment_config(file);
}

void SweepCommand::answer(study::Ranks* ranks) {
  Arguments arguments;
  session_.reads(file_);
  const bool writes = ranks == nullptr || ranks->rank() == 0;
  const bool has_folder = !session_.out_folder().empty();
  if (!writes) session_.leave_out_folder();
  session_.check_output_folder(arguments, "--out", session_.out_folder(), {"study.yaml"});
  const int jobs = session_.jobs(arguments);
  const study::StudyLimits limits = this->limits(arguments);
  if (ranks != nullptr && jobs > 1) arguments.fault("--jobs", "each process that mpirun starts is one: -n has them");
  const std::chrono::milliseconds patience = this->patience(arguments);
  if (resume_ && !has_folder) arguments.fault("--resume", "--out names the folder to go on with");
  arguments.check();

  sim::Config config = sim::Config::from_file(file_);
  sim::Section root = config.root();
  std::optional<sim::Config> experiment = experiment_of(root);
  const std::string experiment_text = experiment ? sim::Config(*experiment).resolved() : "";
  study::ExperimentMachine machine{.platform = "mi300x", .assignments = {}, .protocol = {}};
  if (experiment) {
    sim::Config copy = *experiment;
    study::set_parameters(copy, {});
    machine = study::read_machine(copy);
  }
  const study::Platform platform =
      session_.platform(arguments, root.text("platform", machine.platform), machine.protocol, machine.assignments);
  study::Platforms platforms(platform);
  const study::SweepStudy study = study::read_sweep_study(root, platforms, std::move(experiment), limits);
  config.finish();
  if (check_) {
    if (writes) session_.out() << study.points.size() << " points\n";
    if (ranks != nullptr) ranks->leave(true);
    return;
  }
  const study::Distribution distribution{
      .make_answerer =
          [&] {
            return [&study, machines = std::make_shared<study::MachineCache>(platforms)](std::uint64_t index) {
              return study::answer_point(study, *machines, index);
            };
          },
      .size = study.points.size(),
      .digest = study::sha256(session_.origin().version + config.resolved() + experiment_text + platforms.text()),
      .jobs = jobs,
      .patience = patience};
  if (!writes) {
    serves_ = true;
    serve(distribution, *ranks);
  } else {
    keep(study, distribution, platform, config.resolved(), ranks);
  }
}

void SweepCommand::keep(const study::SweepStudy& study, study::Distribution distribution,
                        const study::Platform& platform, const std::string& study_text, study::Ranks* ranks) {
  const std::filesystem::path& folder = session_.out_folder();
  study::SweepStore store(folder, {distribution.digest, study.name, study.columns()});
  const std::uint64_t before = store.size();
  if (before > 0 && !resume_) {
    throw sim::ConfigError({{"--out", "",
                             fmt::format("{} has {} of the {} points of this study: --resume goes on with "
                                         "them; another folder starts anew",
                                         folder.string(), before, distribution.size)}});
  }
  try {
    ask(distribution, store, ranks);
    write(study, store, platform, study_text);
  } catch (const std::system_error& error) {
    if (folder.empty() || error.code() == std::errc::interrupted) throw;
    // A full disk, most often.
    throw sim::ConfigError({{folder.string(), "",
                             fmt::format("{}; what was finished before is kept, and once that is mended the same "
                                         "command with --resume goes on",
                                         error.what())}});
  }
}

void SweepCommand::ask(study::Distribution& distribution, study::SweepStore& store, study::Ranks* ranks) {
  const Interruption interruption;
  distribution.progress = session_.progress();
  distribution.interrupted = [&interruption] { return interruption.asked(); };
  if (!study::run(distribution, store, ranks)) {
    throw std::system_error(std::make_error_code(std::errc::interrupted), how_to_go_on(store, distribution));
  }
}

void SweepCommand::write(const study::SweepStudy& study, const study::SweepStore& store,
                         const study::Platform& platform, const std::string& study_text) {
  const std::filesystem::path& folder = session_.out_folder();
  const study::SweepResults answers(study, store, platform);
  study::Results results = answers.results();
  results.files.push_back({"study.yaml", study_text});
  if (!folder.empty()) {
    sim::OutputFile file(folder / "points.csv");
    answers.write_csv(file.stream());
    file.commit();
  }
  session_.answer(platform, std::move(results), store.lock());
  if (answers.failures() > 0) session_.fail_check();
}

std::string SweepCommand::how_to_go_on(const study::SweepStore& store, const study::Distribution& distribution) const {
  const std::string count = fmt::format("{} of {} points were finished", store.size(), distribution.size);
  if (session_.out_folder().empty()) return count + " and are lost: --out DIR keeps them";
  return fmt::format("{} and are in {}; the same command with --resume goes on", count, session_.out_folder().string());
}

}  // namespace c3sim::cli
