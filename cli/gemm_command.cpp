#include "cli/commands.h"
#include "study/answers.h"
#include "study/uncertainty.h"

namespace c3sim::cli {

namespace {

constexpr auto gemm_examples =
    "Examples:\n"
    "  c3sim gemm --gemm 8192x8192x8192\n"
    "  c3sim gemm --gemm 8192x57344x8192 --cus 304,272,240 --format csv\n"
    "  c3sim gemm --gemm 8192x8192x8192 --before collective --collective all_reduce --bytes 64MiB\n"
    "  c3sim gemm --gemm 8192x8192x8192 --platform fitted.yaml --uncertainty --seed 7\n"
    "Times are in microseconds, launch included; rates in TFLOP/s of one GPU.";

}  // namespace

GemmCommand::GemmCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("gemm", "Predict a GEMM alone, on all CUs or on fewer");
  command.footer(gemm_examples);
  command.add_option("--gemm", gemm_, "GEMM on every GPU, in BLAS order, two bytes per element")
      ->type_name("MxNxK")
      ->required();
  command
      .add_option("--cus", cus_, "CUs of each GPU, as many on every XCD; counts separated by commas (all unless given)")
      ->type_name("COUNTS");
  command
      .add_option("--before", before_,
                  "What the GPU did before, each time: the same GEMM (loop, unless given), the same of other operands "
                  "on links that have carried data not long ago (traffic), or a collective that has just ended")
      ->type_name(names_of(study::before_choices()));
  command.add_option("--collective", collective_, "The collective that came before")
      ->type_name(names_of(study::collective_choices()));
  command.add_option("--bytes", bytes_, "Whole array of one GPU, of the collective that came before")
      ->type_name("SIZE");
  command.add_option("--backend", backend_, "What moved its data (rccl unless given)")
      ->type_name(names_of(study::backend_choices()));
  command.add_option("--channels", channels_, "Channels of its kernels (as the library has it unless given)")
      ->type_name("COUNT");
  session.add_run_options(command);
  session.add_uncertainty_options(command);
  command.callback([this] { run(); });
}

void GemmCommand::run() {
  Arguments arguments;
  study::GemmQuestion question{arguments.gemm("--gemm", gemm_)};
  const std::optional<study::Sampling> sampling = session_.sampling(arguments);
  const study::Platform platform = session_.platform(arguments);
  if (!cus_.empty()) question.cus = arguments.integers("--cus", cus_, 1, platform.spec.gpu.cus());
  read_before(arguments, question);
  arguments.check();

  study::Testbed testbed(platform.spec);
  arguments.check_with(study::faults_of(question, testbed));
  auto answer = study::ask(testbed, question, session_.progress());
  if (sampling) study::add_intervals(answer, study::Ensemble(platform, *sampling), session_.progress());
  session_.answer(testbed, platform, study::to_tables(answer, platform.spec));
}

void GemmCommand::read_before(Arguments& arguments, study::GemmQuestion& question) const {
  models::CollectiveSpec& collective = question.collective;
  if (!before_.empty()) question.before = arguments.choice("--before", before_, study::before_choices());
  if (!collective_.empty()) {
    collective.kind = arguments.choice("--collective", collective_, study::collective_choices());
  }
  if (!bytes_.empty()) collective.bytes = arguments.size("--bytes", bytes_);
  if (!backend_.empty()) collective.backend = arguments.choice("--backend", backend_, study::backend_choices());
  if (!channels_.empty()) collective.channels = arguments.integer("--channels", channels_, 1, models::most_channels);
}

}  // namespace c3sim::cli
