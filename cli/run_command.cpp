#include <fmt/format.h>

#include "cli/commands.h"
#include "sim/config/config.h"
#include "study/c3_study_file.h"
#include "study/choices.h"
#include "study/experiment.h"
#include "study/report/c3_study_tables.h"

namespace c3sim::cli {

namespace {

constexpr auto description = "Run an experiment file: operations on streams, or a study of C3";
constexpr auto examples =
    "Examples:\n"
    "  c3sim run configs/experiments/conccl.yaml --out out/conccl\n"
    "  c3sim run configs/experiments/layer_overlap.yaml --platform h200 --format json\n"
    "Operations that may start at the same time are launched in the order of the list, which decides who gets the CUs: "
    "list\n"
    "the collective first to give it room.\n"
    "With --out, the folder also gets the experiment; the page of a study has charts.";

}  // namespace

RunCommand::RunCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("run", description);
  command.footer(examples);
  command.add_option("FILE", file_, "Experiment, in YAML")->type_name("FILE")->required();
  session.add_run_options(command);
  session.add_c3_options(command);
  session.add_jobs_option(command);
  command.callback([this] { run(); });
}

void RunCommand::run() {
  Arguments arguments;
  session_.reads(file_);
  session_.check_output_folder(arguments, "--out", session_.out_folder(), {"experiment.yaml"});
  const int jobs = session_.jobs(arguments);
  arguments.check();
  sim::Config config = sim::Config::from_file(file_);
  sim::Section root = config.root();
  std::optional<models::Protocol> protocol;
  if (root.has("protocol")) protocol = root.choice<models::Protocol>("protocol", study::protocol_choices());
  const study::Platform platform = session_.platform(arguments, root.text("platform", "mi300x"), protocol);
  study::Testbed testbed(platform.spec);
  if (study::holds_c3_study(root)) {
    run_study(config, testbed, platform, jobs);
  } else {
    if (session_.tries_sensitivity()) {
      arguments.fault("--sensitivity", "the experiment lists operations: a study of C3, with pairs, is accepted");
      arguments.check();
    }
    const study::Experiment experiment = study::read_experiment(root, testbed);
    config.finish();
    study::Results answer = study::run_experiment(testbed, experiment);
    answer.files.push_back({"experiment.yaml", config.resolved()});
    session_.answer(testbed, platform, std::move(answer));
  }
}

void RunCommand::run_study(sim::Config& config, study::Testbed& testbed, const study::Platform& platform, int jobs) {
  const study::C3Study study = study::read_c3_study(config.root(), testbed);
  config.finish();
  const std::vector<study::StudyResult> results = study::run_study(testbed, study, session_.progress(), jobs);
  study::Results answer = study::study_results(study, results, platform.spec.name);
  answer.files.push_back({"experiment.yaml", config.resolved()});
  const auto vary = study::strategies_that_vary(study.strategies);
  const study::Question question = study::question_of(study, vary);
  if (session_.explains()) {
    answer.tables.push_back(
        study::mechanism_table(vary, study::leave_mechanisms_out(platform.spec, question, session_.progress())));
  }
  if (session_.tries_sensitivity()) {
    answer.tables.push_back(
        study::sensitivity_table(vary, study::vary_parameters(platform, question, session_.progress())));
  }
  session_.answer(testbed, platform, std::move(answer));
}

}  // namespace c3sim::cli
