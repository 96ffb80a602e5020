#include "sim/config/config.h"
#include "study/ask/command.h"
#include "study/ask/uncertainty.h"
#include "study/experiment/experiment_reader.h"

namespace c3sim::study {

namespace {

constexpr auto run_examples =
    "Examples:\n"
    "  c3sim run configs/experiments/tensor_parallel.yaml --out out/tensor_parallel\n"
    "  c3sim run configs/experiments/layer_overlap.yaml --platform h200 --format json\n"
    "  c3sim run configs/experiments/llama_70b_fsdp.yaml --param tokens=16384 --param layers=4\n"
    "  c3sim run configs/experiments/tensor_parallel.yaml --check\n"
    "Values of parameters may be expressions: --param 'tokens=$(4 * 4096)'. docs/experiments.md describes the files,\n"
    "c3sim schema prints what editors check them with.\n"
    "Operations that may start at the same time are launched in the order of the list, which decides who gets the CUs: "
    "list\n"
    "the collective first to give it room.\n"
    "The speedup is over the same operations uncut, one after another on one stream, with collectives by RCCL.\n"
    "With --out, the folder also gets the experiment; its page opens with the streams over time.";

NamedTable sensitivity_of_run(const Request& request, const sim::Config& config, const Platform& platform) {
  const auto again = [config](Testbed& testbed) {
    sim::Config unread = config;
    return measured(testbed, read_experiment(unread, testbed));
  };
  return sensitivity_of(request.text("sensitivity"), platform, again, request.progress());
}

Results answer_experiment_file(const Request& request, sim::Config& config, Testbed& testbed,
                               const Platform& platform) {
  const sim::Config unread = config;
  const Experiment experiment = read_experiment(config, testbed);
  if (request.says("check")) return describe_experiment(testbed, experiment);
  Results results;
  try {
    results = run_experiment(testbed, experiment);
  } catch (const NeverEnds& error) {
    throw NeverEnds({{config.files().front(), "operations", error.faults().front().what}});
  }
  if (request.says("sensitivity")) results.tables.push_back(sensitivity_of_run(request, unread, platform));
  return results;
}

Results answer_run(Request& request) {
  Arguments arguments;
  const std::filesystem::path named = request.text("file");
  request.reads(named);
  request.check_output_folder(arguments, "--out", request.out_folder(), {"experiment.yaml"});
  arguments.check();
  sim::Config config = experiment_config(named);
  refuse_file_of_another(config, "run");
  for (const std::string& file : config.files()) request.reads(file);
  set_parameters(config, request.texts("param"));
  const ExperimentMachine machine = read_machine(config);
  const Platform platform = request.platform(arguments, machine.platform, machine.beside(), machine.settings);
  arguments.check();
  Testbed testbed(platform.spec);
  Results results = answer_experiment_file(request, config, testbed, platform);
  for (std::string& sentence : overridden(request.texts("param"), "--param")) {
    results.warnings.push_back(std::move(sentence));
  }
  results.files.push_back({"experiment.yaml", config.resolved()});
  return request.finish(testbed, platform, std::move(results));
}

}  // namespace

Command run_command() {
  return {"run", "Run an experiment file: operations on streams", run_examples,
          std::vector<Option>{{"file", "FILE", "Experiment, in YAML", Said::in_place, true}} + run_options() +
              gemm_options() + without_option() + sensitivity_option("makespan_us") +
              std::vector<Option>{
                  {"param", "NAME=VALUE",
                   "Give a parameter of the experiment another value: --param tokens=16384 (may be given again)",
                   Said::again},
                  {"check", "", "Read and resolve the experiment, print what would run, and run nothing", Said::alone}},
          answer_run};
}

}  // namespace c3sim::study
