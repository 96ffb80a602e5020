#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/output_file.h"
#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/run/testbed.h"
#include "study/step/model_remarks.h"
#include "study/step/step.h"
#include "study/step/step_carriers.h"
#include "study/step/step_faults.h"
#include "study/uncertainty/ensemble.h"
#include "study/work/config_folders.h"
#include "study/work/operators.h"

namespace c3sim::study {

namespace {

constexpr auto step_examples =
    "Examples:\n"
    "  c3sim step --model llama3-70b --phase decode --tp 8 --batch 64 --context 4096 --graph\n"
    "  c3sim step --model llama3-8b --layers 4 --phase prefill --tokens 2048 --tp 8\n"
    "  c3sim step --model bert-large --phase train --batch 32 --tokens 128 --optimizer lamb --dtype fp32\n"
    "  c3sim step --model llama3-70b --layers 8 --phase train --dp 8 --shard full --tokens 4096\n"
    "  c3sim step --model llama3-8b --phase prefill --tokens 2048 --tp 2 --platform h200 --uncertainty\n"
    "  c3sim step --model llama3-8b --phase train --dp 8 --shard full --tokens 4096 --chosen "
    "gather=sdma,backward_gather=rccl/16\n"
    "  c3sim step --model path/to/config.json --phase decode --context 1024 --write step.yaml\n"
    "Kernels are those that PyTorch launches; --batch is of each replica (--dp). With --layers there is no embedding "
    "and no head.";

// Carriers that were chosen stay as they are.
void add_intervals(Results& results, const StepResult& result, const Platform& platform, const Sampling& sampling,
                   std::span<const ElementwiseOperator> operators, const Progress& progress, int jobs) {
  const Ensemble ensemble(platform, sampling, jobs, progress);
  const std::vector<StepResult> drawn = ensemble.ask_each(
      [&](const Testbed& member) { return ask(member.platform(), result.question, operators, member.factor()); }, jobs,
      progress);
  Intervals intervals;
  for (const auto figure : {&StepResult::time, &StepResult::exposed}) {
    std::vector<double> values;
    for (const StepResult& one : drawn) values.push_back(sim::to_seconds(one.*figure).value());
    intervals.push_back(interval_of(std::move(values)));
  }
  add_intervals(results.tables.front().table, std::span(&intervals, 1), {{"time", "time"}, {"exposed", "exposed"}});
  for (std::string& warning : ensemble.warnings()) results.warnings.push_back(std::move(warning));
}

Results answer_step(Request& request) {
  Arguments arguments;
  const std::filesystem::path written = request.text("write");
  request.check_output(arguments, "--write", written);
  const StepQuestion question = read_step(request, arguments);
  const std::optional<Sampling> sampling = request.sampling(arguments);
  const int jobs = request.jobs(arguments);
  const Platform platform = request.platform(arguments);
  arguments.check_with(faults_of(question, platform.spec));
  const std::vector<ElementwiseOperator> operators = read_operators(config_folders());
  arguments.check_with(faults_of_carriers(question, platform.spec, operators));
  const StepResult result = ask(platform.spec, question, operators);
  if (!written.empty()) {
    const std::string text = experiment_text(result.question, platform.spec, operators);
    if (text.size() > sim::max_config_bytes) {
      throw sim::ConfigError(
          {{"--write", "",
            fmt::format("the step is {} KiB of text, and run takes files of up to {}: fewer --micro, "
                        "--pp or --layers are accepted",
                        text.size() >> 10, sim::max_config_bytes >> 10)}});
    }
    sim::write_file(written, text);
  }
  Results results = to_tables(result, platform.spec);
  for (std::string& remark : remarks_of_model(request.text("model")).ignored)
    results.warnings.push_back(std::move(remark));
  if (sampling) add_intervals(results, result, platform, *sampling, operators, request.progress(), jobs);
  Testbed testbed(launching(platform.spec, question.launch()));
  return request.finish(testbed, platform, std::move(results));
}

}  // namespace

StepQuestion read_step(const Request& request, Arguments& arguments) {
  StepWords asked;
  read_words(asked, request.given(), arguments, nullptr);
  if (!request.says("tokens") && asked.phase != Phase::decode) {
    arguments.fault("--tokens", "is missing: how many new tokens a sequence has");
  }
  if (asked.model_name.empty()) {
    arguments.fault("--model", "is empty: a name in configs/models, a file like those, or a config.json is accepted");
    arguments.check();
  }
  asked.model = read_model(asked.model_name, config_folders());
  if (remarks_of_model(asked.model_name).fp8_weights && !request.says("dtype")) asked.dtype = models::Dtype::fp8;
  return asked;
}

Command step_command() {
  return {"step", "Predict a whole step of a model: decode, prefill or training", step_examples,
          options_of<StepWords>() +
              std::vector<Option>{{"write", "FILE", "Write the step as an experiment that c3sim run takes"}} +
              run_options() + uncertainty_options() + jobs_option(),
          answer_step};
}

}  // namespace c3sim::study
