#include "cli/commands.h"
#include "study/answers.h"
#include "study/choices.h"
#include "study/cu_partition.h"

namespace c3sim::cli {

namespace {

constexpr auto description = "Predict a kernel alone that streams through memory, or that reaches into other GPUs";
constexpr auto examples =
    "Examples:\n"
    "  c3sim kernel --read 2GiB --write 1GiB                     on every GPU; two arrays are read, one is written\n"
    "  c3sim kernel --read 2GiB --write 1GiB --flops 5e11 --cus 304,152\n"
    "  c3sim kernel --gpu gpu0 --peers gpu1,gpu2 --bytes 64MiB --access load\n"
    "Times are in microseconds, launch included; operations are vector operations in single precision, on each GPU.";

}  // namespace

KernelCommand::KernelCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("kernel", description);
  command.footer(examples);
  command.add_option("--read", read_, "Bytes that an element-wise kernel reads on each GPU")->type_name("SIZE");
  command.add_option("--write", written_, "Bytes that it writes")->type_name("SIZE");
  command.add_option("--flops", flops_, "Vector operations that it does on the way (none unless given)")
      ->type_name("NUMBER");
  command.add_option("--gpu", gpu_, "GPU whose kernel reaches into others")->type_name("gpuN");
  command.add_option("--peers", peers_, "Those others, separated by commas")->type_name("gpuN,...");
  command.add_option("--bytes", bytes_, "Bytes of each of them")->type_name("SIZE");
  command.add_option("--access", access_, "store, uncached_store or load")->capture_default_str()->type_name("HOW");
  command.add_option("--cus", cus_, "CUs of each GPU; counts separated by commas (all unless given)")
      ->type_name("COUNTS");
  session.add_run_options(command);
  command.callback([this] { run(); });
}

void KernelCommand::run() {
  Arguments arguments;
  const bool remote = !gpu_.empty() || !peers_.empty() || !bytes_.empty();
  const bool local = !read_.empty() || !written_.empty() || !flops_.empty();
  if (remote && local) {
    arguments.fault("--read", "goes through the GPU's own memory: --gpu, --peers and --bytes do not");
  }
  if (!remote && !local) arguments.fault("--read", "is missing: --read and --write, or --gpu, --peers and --bytes");
  const study::Platform platform = session_.platform(arguments);
  study::Testbed testbed(platform.spec);
  const int all = platform.spec.gpu.cus();
  const std::vector<int> cus = cus_.empty() ? std::vector{all} : arguments.integers("--cus", cus_, 1, all);
  std::vector<study::KernelQuestion> questions;
  for (const int count : cus) {
    questions.push_back(remote ? study::KernelQuestion{remote_kernel(arguments, platform.spec, count), count}
                               : study::KernelQuestion{elementwise(arguments), count});
    if (remote) continue;
    const std::string reason = study::why_no_mask(platform.spec, count);
    if (!reason.empty()) arguments.fault("--cus", reason);
  }
  arguments.check();
  for (const study::KernelQuestion& question : questions) {
    const std::string reason = testbed.why_impossible(question.work);
    if (!reason.empty()) arguments.fault(remote ? "--peers" : "--read", reason);
  }
  arguments.check();
  session_.answer(testbed, platform, study::answer_kernel(testbed, questions));
}

models::ElementwiseSpec KernelCommand::elementwise(Arguments& arguments) const {
  models::ElementwiseSpec spec;
  if (!read_.empty()) spec.read = arguments.size("--read", read_);
  if (!written_.empty()) spec.written = arguments.size("--write", written_);
  if (!flops_.empty()) spec.flops = sim::Flops(arguments.number("--flops", flops_, 0.0, 1e18));
  return spec;
}

models::RemoteKernelSpec KernelCommand::remote_kernel(Arguments& arguments, const models::PlatformSpec& platform,
                                                      int cus) const {
  models::RemoteKernelSpec spec;
  spec.gpu = arguments.device("--gpu", gpu_, platform.gpus);
  for (const std::string_view peer : split(peers_, ',')) {
    spec.peers.push_back(arguments.device("--peers", peer, platform.gpus));
  }
  spec.access = arguments.choice("--access", access_, study::remote_access_choices());
  spec.bytes = arguments.size("--bytes", bytes_);
  spec.workgroups = cus;
  return spec;
}

}  // namespace c3sim::cli
