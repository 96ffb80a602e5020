#include "cli/commands.h"
#include "study/answers.h"
#include "study/uncertainty.h"

namespace c3sim::cli {

namespace {

constexpr auto collective_examples =
    "Examples:\n"
    "  c3sim collective --collective all_gather --bytes 1KiB:2GiB:x2\n"
    "  c3sim collective --collective all_reduce --bytes 64KiB --graph\n"
    "  c3sim collective --collective all_reduce --backend sdma --bytes 64MiB   (RCCL reduces, engines gather)\n"
    "  c3sim collective --collective all_gather --backend sdma --variant bcst --prelaunch --bytes 64KiB,1MiB\n"
    "  c3sim collective --collective all_to_all --backend sdma --variant all --prelaunch both --bytes 1KiB:2GiB:x2\n"
    "  c3sim collective --collective all_gather --backend sdma --variant b2b --engines 4 --gpus 6 --bytes 1MiB\n"
    "  c3sim collective --collective all_gather --backend sdma --host-threads per_gpu --bytes 64KiB --explain\n"
    "Times are in microseconds from the host's first instruction to its knowledge of the end; bus bandwidth is in "
    "GB/s\n"
    "as RCCL's tests define it.";

std::vector<study::Choice<std::vector<bool>>> prelaunch_choices() {
  return {{"no", {false}}, {"yes", {true}}, {"both", {false, true}}};
}

}  // namespace

CollectiveCommand::CollectiveCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("collective", "Predict a collective alone, by kernels or by SDMA engines");
  command.footer(collective_examples);
  command.add_option("--collective", collective_, "Collective over the GPUs")
      ->type_name(names_of(study::collective_choices()))
      ->required();
  command
      .add_option(
          "--backend", backend_,
          "What moves the data: RCCL's kernels (unless given), SDMA engines, or kernels that load from all peers "
          "at once, in one shot or in two")
      ->type_name(names_of(study::backend_choices()));
  command.add_option("--bytes", bytes_, "Whole array of one GPU: sizes and ranges, separated by commas")
      ->type_name("SIZE|LOW:HIGH:xFACTOR")
      ->required();
  command.add_option("--gpus", gpus_, "GPUs that take part, the first ones of the node (all unless given)")
      ->type_name("COUNT");
  command
      .add_option("--variant", variants_,
                  "SDMA: a copy per peer on its own engine (unless given), two peers per broadcast command, exchange "
                  "in place, all copies back to back; several separated by commas, or all that the collective has")
      ->type_name(names_of(study::variant_choices()) + "|all");
  command
      .add_option("--prelaunch", prelaunch_,
                  "SDMA: whether commands are queued beforehand and wait for a word from the host (alone: yes)")
      ->type_name(names_of(prelaunch_choices()))
      ->expected(0, 1)
      ->default_str("yes");
  command
      .add_option(
          "--engines,--ways", engines_,
          "SDMA, b2b: ways that the copies of a GPU are dealt to, each on an engine of its own (1 unless given)")
      ->type_name("COUNT");
  command
      .add_option("--host-threads", host_threads_,
                  "SDMA: one host thread drives all GPUs, or each GPU has its own (as the platform says unless given)")
      ->type_name(names_of(study::host_thread_choices()));
  command.add_option("--cus", cus_, "CUs of each GPU that RCCL's kernels are confined to (all unless given)")
      ->type_name("COUNT");
  command
      .add_option("--channels", channels_,
                  "Channels (workgroups) of RCCL's kernels (as the library has it unless given)")
      ->type_name("COUNT");
  command.add_flag("--graph", graph_, "RCCL's kernels are launched from a captured graph");
  session.add_run_options(command);
  session.add_uncertainty_options(command);
  command.callback([this] { run(); });
}

void CollectiveCommand::run() {
  Arguments arguments;
  study::CollectiveQuestion question;
  question.collective = arguments.choice("--collective", collective_, study::collective_choices());
  question.backend = arguments.choice("--backend", backend_, study::backend_choices());
  question.sizes = arguments.sizes("--bytes", bytes_);
  question.all_variants = variants_ == "all";
  if (!variants_.empty() && !question.all_variants) {
    question.variants = arguments.choice_list("--variant", variants_, study::variant_choices());
  }
  if (!prelaunch_.empty()) question.prelaunch = arguments.choice("--prelaunch", prelaunch_, prelaunch_choices());
  if (!host_threads_.empty()) {
    question.host_threads = arguments.choice("--host-threads", host_threads_, study::host_thread_choices());
  }
  question.graph = graph_;
  const std::optional<study::Sampling> sampling = session_.sampling(arguments);
  const study::Platform platform = session_.platform(arguments);
  read_counts(arguments, platform.spec, question);
  arguments.check();

  study::Testbed testbed(platform.spec);
  arguments.check_with(study::faults_of(question, testbed));
  auto answer = study::ask(testbed, question, session_.progress());
  if (sampling) study::add_intervals(answer, study::Ensemble(platform, *sampling), session_.progress());
  session_.answer(testbed, platform, study::to_tables(answer, platform.spec));
}

void CollectiveCommand::read_counts(Arguments& arguments, const models::PlatformSpec& platform,
                                    study::CollectiveQuestion& question) const {
  const models::SdmaSpec& sdma = platform.gpu.sdma;
  if (!gpus_.empty()) question.gpus = arguments.integer("--gpus", gpus_, 2, platform.gpus);
  if (!cus_.empty()) question.cus = arguments.integer("--cus", cus_, 1, platform.gpu.cus());
  if (!channels_.empty()) question.channels = arguments.integer("--channels", channels_, 1, models::most_channels);
  if (!engines_.empty()) {
    question.engines = arguments.integer("--engines", engines_, 1, sdma.engines - sdma.host_engines);
  }
}

}  // namespace c3sim::cli
