#include "cli/commands.h"
#include "study/answers.h"
#include "study/uncertainty.h"

namespace c3sim::cli {

namespace {

constexpr auto copy_examples =
    "Examples:\n"
    "  c3sim copy --from gpu0 --to gpu1 --bytes 64MiB --phases\n"
    "  c3sim copy --from gpu0 --to gpu1 --bytes 1KiB:64MiB:x2 --engine 4 --format csv\n"
    "Times are in microseconds: control (the host writes packets and rings the doorbell), schedule (the engine "
    "fetches\n"
    "and decodes), copy, completion (the signal travels to the host, which sees it).";

}  // namespace

CopyCommand::CopyCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand(
      "copy", "Predict one copy between two GPUs, or a GPU and the host, by an SDMA engine, and its phases");
  command.footer(copy_examples);
  command.add_option("--from", from_, "Source: gpu0, or host")->type_name("gpuN|host")->required();
  command.add_option("--to", to_, "Destination: gpu1, or host")->type_name("gpuN|host")->required();
  command.add_option("--bytes", bytes_, "Sizes and ranges, separated by commas")
      ->type_name("SIZE|LOW:HIGH:xFACTOR")
      ->required();
  command.add_option("--engine", engine_, "Engine of the source (the recommended one unless given)")->type_name("N");
  command.add_flag("--phases", phases_, "Show the four phases in tables; CSV and JSON always have them");
  session.add_run_options(command);
  session.add_uncertainty_options(command);
  command.callback([this] { run(); });
}

void CopyCommand::run() {
  Arguments arguments;
  study::CopyQuestion question{{}, arguments.sizes("--bytes", bytes_)};
  const std::optional<study::Sampling> sampling = session_.sampling(arguments);
  const study::Platform platform = session_.platform(arguments);
  const models::PlatformSpec& spec = platform.spec;
  question.copy.from = arguments.device("--from", from_, spec.gpus);
  question.copy.to = arguments.device("--to", to_, spec.gpus);
  if (!engine_.empty()) question.copy.engine = arguments.integer("--engine", engine_, 0, spec.gpu.sdma.engines - 1);
  arguments.check();

  study::Testbed testbed(spec);
  arguments.check_with(study::faults_of(question, testbed));
  auto answer = study::ask(testbed, question, session_.progress());
  if (sampling) study::add_intervals(answer, study::Ensemble(platform, *sampling), session_.progress());
  session_.answer(testbed, platform, study::to_tables(answer, spec, phases_));
}

}  // namespace c3sim::cli
