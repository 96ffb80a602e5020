#include "cli/commands.h"
#include "study/answers.h"
#include "study/choices.h"

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
  study::KernelQuestion question;
  if (remote) {
    question.kernel = remote_kernel(arguments, platform.spec);
  } else {
    question.kernel = elementwise(arguments);
  }
  if (!cus_.empty()) question.cus = arguments.integers("--cus", cus_, 1, platform.spec.gpu.cus());
  arguments.check();

  study::Testbed testbed(platform.spec);
  arguments.check_with(study::faults_of(question, testbed));
  session_.answer(testbed, platform, study::to_tables(study::ask(testbed, question), platform.spec));
}

models::ElementwiseSpec KernelCommand::elementwise(Arguments& arguments) const {
  models::ElementwiseSpec spec;
  if (!read_.empty()) spec.read = arguments.size("--read", read_);
  if (!written_.empty()) spec.written = arguments.size("--write", written_);
  if (!flops_.empty()) spec.flops = sim::Flops(arguments.number("--flops", flops_, 0.0, 1e18));
  return spec;
}

models::RemoteKernelSpec KernelCommand::remote_kernel(Arguments& arguments,
                                                      const models::PlatformSpec& platform) const {
  models::RemoteKernelSpec spec;
  spec.gpu = arguments.device("--gpu", gpu_, platform.gpus);
  for (const std::string_view peer : split(peers_, ',')) {
    spec.peers.push_back(arguments.device("--peers", peer, platform.gpus));
  }
  spec.access = arguments.choice("--access", access_, study::remote_access_choices());
  spec.bytes = arguments.size("--bytes", bytes_);
  return spec;
}

}  // namespace c3sim::cli
