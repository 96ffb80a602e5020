#include "cli/commands.h"
#include "study/answers.h"
#include "study/choices.h"
#include "study/config_folders.h"
#include "study/operators.h"

namespace c3sim::cli {

namespace {

constexpr auto kernel_examples =
    "Examples:\n"
    "  c3sim kernel --read 2GiB --write 1GiB                     on every GPU; two arrays are read, one is written\n"
    "  c3sim kernel --read 2GiB --write 1GiB --flops 5e11 --cus 304,152\n"
    "  c3sim kernel --operator swiglu --elements 8192x28672\n"
    "  c3sim kernel --gpu gpu0 --peers gpu1,gpu2 --bytes 64MiB --access load\n"
    "Times are in microseconds, launch included; operations are vector operations in single precision, on each GPU.";

}  // namespace

KernelCommand::KernelCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand(
      "kernel", "Predict a kernel alone that streams through memory, or that reaches into other GPUs");
  command.footer(kernel_examples);
  command.add_option("--read", read_, "Bytes that an element-wise kernel reads on each GPU")->type_name("SIZE");
  command.add_option("--write", written_, "Bytes that it writes")->type_name("SIZE");
  command.add_option("--flops", flops_, "Vector operations that it does on the way (none unless given)")
      ->type_name("NUMBER");
  command.add_option("--operator", operator_, "Element-wise operator by its name in configs/operators.yaml, instead")
      ->type_name("NAME");
  command.add_option("--elements", elements_, "Elements of its result, on each GPU: a count, or a product")
      ->type_name("AxB");
  command.add_option("--element", element_, "Size of an element (2B unless given)")->type_name("SIZE");
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
  const bool named = !operator_.empty() || !elements_.empty() || !element_.empty();
  const bool counted = !read_.empty() || !written_.empty() || !flops_.empty();
  if (named && counted) {
    arguments.fault("--operator", "has bytes and operations of its own: --read, --write and --flops do not go with it");
  }
  const bool local = named || counted;
  if (remote && local) {
    arguments.fault("--read", "goes through the GPU's own memory: --gpu, --peers and --bytes do not");
  }
  if (!remote && !local)
    arguments.fault("--read",
                    "is missing: --read and --write, --operator and --elements, or --gpu, --peers and --bytes");
  const study::Platform platform = session_.platform(arguments);
  study::KernelQuestion question;
  if (remote) {
    question.kernel = remote_kernel(arguments, platform.spec);
  } else {
    question.kernel = named ? named_operator(arguments) : elementwise(arguments);
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

models::ElementwiseSpec KernelCommand::named_operator(Arguments& arguments) const {
  const std::vector<study::ElementwiseOperator> known = study::read_operators(study::config_folders());
  const study::ElementwiseOperator* const found = study::find_operator(known, operator_);
  if (found == nullptr) {
    arguments.fault("--operator", operator_.empty() ? "is missing: --elements are those of an operator"
                                                    : in_quotes(operator_) + " is not known" +
                                                          study::operator_hint(known, operator_));
  }
  const std::int64_t elements = study::parse_elements(elements_);
  if (elements == 0) {
    arguments.fault("--elements",
                    elements_.empty()
                        ? "is missing: how many --operator works on"
                        : in_quotes(elements_) + " is no number of elements: " + std::string(study::elements_accepted));
  }
  const sim::Bytes element = element_.empty() ? study::usual_element : arguments.size("--element", element_);
  return found == nullptr ? models::ElementwiseSpec{} : study::kernel_of(*found, elements, element);
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
