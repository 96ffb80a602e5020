#include <algorithm>

#include "cli/commands.h"
#include "study/answers.h"

namespace c3sim::cli {

namespace {

using models::CollectiveSpec;

constexpr auto description = "Predict a collective alone, by RCCL's kernels or by SDMA engines";
constexpr auto examples =
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
  CLI::App& command = *app.add_subcommand("collective", description);
  command.footer(examples);
  command.add_option("--collective", collective_, "Collective over the GPUs")
      ->type_name(names_of(study::collective_choices()))
      ->required();
  command.add_option("--backend", backend_, "What moves the data (rccl unless given)")
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
  command.callback([this] { run(); });
}

// Options of kernels where all runs on copy engines, and the other way round. An all-reduce may have parts on both.
void CollectiveCommand::check_parts(Arguments& arguments, const CollectiveSpec& spec,
                                    const models::SdmaSpec& sdma) const {
  if (!models::engine_part(spec, sdma)) {
    if (!variants_.empty()) arguments.fault("--variant", "RCCL has no variants: --backend sdma has");
    if (!prelaunch_.empty()) arguments.fault("--prelaunch", "RCCL is not prelaunched: --backend sdma can be");
    if (!engines_.empty()) arguments.fault("--engines", "RCCL uses no copy engines: --backend sdma does");
    if (!host_threads_.empty()) {
      arguments.fault("--host-threads", "RCCL's kernels are launched by a thread per GPU: --backend sdma has a choice");
    }
  }
  if (!models::kernel_part(spec, sdma)) {
    if (!cus_.empty()) arguments.fault("--cus", "copy engines take no CUs: --backend rccl does");
    if (!channels_.empty()) arguments.fault("--channels", "copy engines have no channels: --backend rccl has");
    if (graph_) arguments.fault("--graph", "copy engines are not launched from graphs: --backend rccl can be");
  }
}

// `base` in every variant, prelaunched or not and of every size that was asked for, if it is possible. Of --variant all
// the others are left out with a warning; elsewhere they are faults.
std::vector<CollectiveSpec> CollectiveCommand::asked_for(Arguments& arguments, const study::Testbed& testbed,
                                                         const CollectiveSpec& base,
                                                         std::vector<std::string>& warnings) const {
  using models::SdmaVariant;
  std::vector<SdmaVariant> variants{base.variant};
  if (!variants_.empty()) variants = arguments.choice_list("--variant", variants_, study::variant_choices());
  std::vector<bool> prelaunches{false};
  if (!prelaunch_.empty()) prelaunches = arguments.choice("--prelaunch", prelaunch_, prelaunch_choices());
  const std::vector<sim::Bytes> sizes = arguments.sizes("--bytes", bytes_);
  if (base.engines > 1 && std::find(variants.begin(), variants.end(), SdmaVariant::b2b) == variants.end()) {
    arguments.fault("--engines", "a number of engines is a choice of b2b: --variant b2b has it");
  }
  arguments.check();  // what cannot be read is not asked about
  std::vector<CollectiveSpec> possible;
  for (const SdmaVariant variant : variants) {
    for (const bool prelaunch : prelaunches) {
      for (const sim::Bytes size : sizes) {
        CollectiveSpec spec = base;
        spec.variant = variant;
        spec.prelaunch = prelaunch;
        spec.bytes = size;
        if (variant != SdmaVariant::b2b) spec.engines = 1;
        std::string reason = testbed.why_impossible(spec);
        if (reason.empty()) {
          possible.push_back(spec);
        } else if (std::find(warnings.begin(), warnings.end(), reason) == warnings.end()) {
          warnings.push_back(std::move(reason));
        }
      }
    }
  }
  if (!warnings.empty() && (possible.empty() || variants_ != "all")) {
    arguments.fault("--collective", warnings.front());
  }
  return possible;
}

void CollectiveCommand::run() {
  Arguments arguments;
  CollectiveSpec spec;
  spec.kind = arguments.choice("--collective", collective_, study::collective_choices());
  spec.backend = arguments.choice("--backend", backend_, study::backend_choices());
  spec.graph = graph_;
  if (!host_threads_.empty()) {
    spec.host_threads = arguments.choice("--host-threads", host_threads_, study::host_thread_choices());
  }
  const study::Platform platform = session_.platform(arguments);
  const models::GpuSpec& gpu = platform.spec.gpu;
  check_parts(arguments, spec, gpu.sdma);
  study::Testbed testbed(platform.spec);

  spec.gpus = platform.spec.gpus;
  if (!gpus_.empty()) spec.gpus = arguments.integer("--gpus", gpus_, 2, platform.spec.gpus);
  if (!cus_.empty()) spec.cus = arguments.integer("--cus", cus_, 1, gpu.cus());
  if (!channels_.empty()) spec.channels = arguments.integer("--channels", channels_, 1, models::most_channels);
  if (!engines_.empty()) {
    spec.engines = arguments.integer("--engines", engines_, 1, gpu.sdma.engines - gpu.sdma.host_engines);
  }
  std::vector<std::string> left_out;
  const std::vector<CollectiveSpec> collectives = asked_for(arguments, testbed, spec, left_out);
  arguments.check();
  study::Results results = study::answer_collectives(testbed, collectives, session_.progress());
  for (const std::string& reason : left_out) results.warnings.push_back("left out: " + reason);
  session_.answer(testbed, platform, std::move(results));
}

}  // namespace c3sim::cli
