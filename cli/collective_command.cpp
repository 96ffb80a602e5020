#include "cli/commands.h"
#include "study/answers.h"

namespace cli {

namespace {

constexpr auto description = "Predict a collective alone, by RCCL's kernels or by SDMA engines";
constexpr auto examples =
    "Examples:\n"
    "  c3sim collective --collective all_gather --bytes 1KiB:2GiB:x2\n"
    "  c3sim collective --collective all_gather --backend sdma --variant bcst --prelaunch --bytes 64KiB,1MiB\n"
    "Times are in microseconds from the host's first instruction to its knowledge of the end; bus bandwidth is in "
    "GB/s\n"
    "as RCCL's tests define it.";

}  // namespace

CollectiveCommand::CollectiveCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("collective", description);
  command.footer(examples);
  command.add_option("--collective", collective_, "Collective over all GPUs")
      ->type_name("all_gather|all_to_all|all_reduce|reduce_scatter|broadcast")
      ->required();
  command.add_option("--backend", backend_, "What moves the data (rccl unless given)")->type_name("rccl|sdma");
  command
      .add_option(
          "--variant", variant_,
          "SDMA: a copy per peer on its own engine (unless given), two peers per broadcast command, exchange in "
          "place, all copies on one engine")
      ->type_name("pcpy|bcst|swap|b2b");
  command.add_flag("--prelaunch", prelaunch_, "SDMA: commands are queued beforehand and wait for a word from the host");
  command.add_option("--cus", cus_, "RCCL: CUs of each GPU that its kernels are confined to (all unless given)")
      ->type_name("COUNT");
  command.add_option("--bytes", bytes_, "Whole array of one GPU: sizes and ranges, separated by commas")
      ->type_name("SIZE|LOW:HIGH:xFACTOR")
      ->required();
  session.add_run_options(command);
  command.callback([this] { run(); });
}

void CollectiveCommand::run() {
  Arguments arguments;
  models::CollectiveSpec spec;
  spec.kind = arguments.choice("--collective", collective_, study::collective_choices());
  spec.backend = arguments.choice("--backend", backend_, study::backend_choices());
  if (!variant_.empty()) spec.variant = arguments.choice("--variant", variant_, study::variant_choices());
  spec.prelaunch = prelaunch_;
  const std::vector<sim::Bytes> sizes = arguments.sizes("--bytes", bytes_);
  const bool on_copy_engines = spec.backend == models::Backend::sdma;
  if (!on_copy_engines && !variant_.empty()) arguments.fault("--variant", "RCCL has no variants: --backend sdma has");
  if (!on_copy_engines && prelaunch_) arguments.fault("--prelaunch", "RCCL is not prelaunched: --backend sdma can be");
  if (on_copy_engines && !cus_.empty()) arguments.fault("--cus", "copy engines take no CUs: --backend rccl does");
  const study::Platform platform = session_.platform(arguments);
  study::Testbed testbed(platform.spec);

  spec.gpus = platform.spec.gpus;
  if (!cus_.empty()) spec.cus = arguments.integer("--cus", cus_, 1, platform.spec.gpu.cus());
  for (const sim::Bytes size : sizes) {
    spec.bytes = size;
    const std::string reason = testbed.why_impossible(spec);
    if (reason.empty()) continue;
    arguments.fault(on_copy_engines ? "--variant" : "--collective", reason);
    break;
  }
  arguments.check();
  session_.answer(testbed, platform, study::answer_collective(testbed, spec, sizes));
}

}  // namespace cli
