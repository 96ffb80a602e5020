#include <fmt/format.h>

#include "cli/commands.h"
#include "sim/config/config.h"
#include "study/c3_study_file.h"
#include "study/choices.h"
#include "study/config_folders.h"
#include "study/experiment_reader.h"
#include "study/finer_grain.h"
#include "study/report/c3_study_tables.h"

namespace c3sim::cli {

namespace {

constexpr auto run_examples =
    "Examples:\n"
    "  c3sim run configs/experiments/conccl.yaml --out out/conccl\n"
    "  c3sim run configs/experiments/layer_overlap.yaml --platform h200 --format json\n"
    "  c3sim run configs/experiments/llama_70b_fsdp.yaml --param tokens=16384 --param layers=4\n"
    "  c3sim run configs/experiments/tensor_parallel.yaml --check\n"
    "Values of parameters may be expressions: --param 'tokens=$(4 * 4096)'. docs/experiments.md describes the files,\n"
    "c3sim schema prints what editors check them with.\n"
    "Operations that may start at the same time are launched in the order of the list, which decides who gets the CUs: "
    "list\n"
    "the collective first to give it room.\n"
    "The speedup is over the same operations uncut, one after another on one stream, with collectives by RCCL.\n"
    "With --out, the folder also gets the experiment; its page opens with the streams over time, that of a study has "
    "charts.";

study::Results nothing_ran(const study::Platform& platform, const std::string& what) {
  study::Results answer{platform.spec.name, {}, {}, {}};
  answer.notes.push_back(what + " would run; nothing has.");
  return answer;
}

}  // namespace

RunCommand::RunCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("run", "Run an experiment file: operations on streams, or a study of C3");
  command.footer(run_examples);
  command.add_option("FILE", file_, "Experiment, in YAML")->type_name("FILE")->required();
  session.add_run_options(command);
  session.add_c3_options(command);
  command
      .add_option("--param", parameters_,
                  "Give a parameter of the experiment another value: --param tokens=16384 (may be given again)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--check", check_, "Read and resolve the experiment, print what would run, and run nothing");
  session.add_jobs_option(command);
  command.callback([this] { run(); });
}

void RunCommand::run() {
  Arguments arguments;
  session_.reads(file_);
  session_.check_output_folder(arguments, "--out", session_.out_folder(), {"experiment.yaml"});
  const int jobs = session_.jobs(arguments);
  arguments.check();
  sim::Config config = study::experiment_config(file_);
  for (const std::string& file : config.files()) session_.reads(file);
  study::set_parameters(config, parameters_);
  const study::ExperimentMachine machine = study::read_machine(config);
  const study::Platform platform =
      session_.platform(arguments, machine.platform, machine.protocol, machine.assignments);
  study::Testbed testbed(platform.spec);
  if (study::holds_c3_study(config.root())) {
    study::resolve_parameters(config, platform.spec);
    run_study(config, testbed, platform, jobs);
  } else if (study::holds_finer_grain_study(config.root())) {
    study::resolve_parameters(config, platform.spec);
    const study::FinerGrainStudy study = study::read_finer_grain_study(config.root(), testbed);
    config.finish();
    study::Results answer =
        check_ ? nothing_ran(platform, fmt::format("{}: {} GEMMs by {} schedules", study.name, study.gemms.size(),
                                                   study.schedules.size() + 1))
               : study::finer_grain_results(
                     study, study::run_finer_grain_study(testbed, study, true, session_.progress(), jobs),
                     platform.spec.name);
    answer.files.push_back({"experiment.yaml", config.resolved()});
    session_.answer(testbed, platform, std::move(answer));
  } else {
    if (session_.tries_sensitivity()) {
      arguments.fault("--sensitivity", "the experiment lists operations: a study of C3, with pairs, is accepted");
      arguments.check();
    }
    const study::Experiment experiment = study::read_experiment(config, testbed);
    study::Results answer =
        check_ ? study::describe_experiment(testbed, experiment) : study::run_experiment(testbed, experiment);
    answer.files.push_back({"experiment.yaml", config.resolved()});
    session_.answer(testbed, platform, std::move(answer));
  }
}

void RunCommand::run_study(sim::Config& config, study::Testbed& testbed, const study::Platform& platform, int jobs) {
  const study::C3Study study = study::read_c3_study(config.root(), testbed);
  config.finish();
  if (check_) {
    study::Results answer =
        nothing_ran(platform, fmt::format("{}: {} pairs with {} collectives by {} strategies", study.name,
                                          study.pairs.size(), study.collectives.size(), study.strategies.size()));
    answer.files.push_back({"experiment.yaml", config.resolved()});
    return session_.answer(testbed, platform, std::move(answer));
  }
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
