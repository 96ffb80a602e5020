#include <array>

#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/work/choices.h"
#include "study/work/config_folders.h"
#include "study/work/operators.h"

namespace c3sim::study {

namespace {

constexpr auto kernel_examples =
    "Examples:\n"
    "  c3sim kernel --read 2GiB --write 1GiB                     on every GPU; two arrays are read, one is written\n"
    "  c3sim kernel --read 2GiB --write 1GiB --flops 5e11 --cus 304,152\n"
    "  c3sim kernel --operator swiglu --elements 8192x28672\n"
    "  c3sim kernel --operator attention --heads 8 --kv-heads 1 --batch 64 --context 4096      decoding\n"
    "  c3sim kernel --operator attention --heads 32 --tokens 4096 --gradient\n"
    "  c3sim kernel --gpu gpu0 --peers gpu1,gpu2 --bytes 64MiB --access load\n"
    "Times are in microseconds, launch included; operations are vector operations in single precision, on each GPU.";

models::ElementwiseSpec elementwise(const KernelWords& asked, Arguments& arguments) {
  models::ElementwiseSpec spec;
  if (!asked.read.empty()) spec.read = arguments.size("--read", asked.read);
  if (!asked.write.empty()) spec.written = arguments.size("--write", asked.write);
  if (!asked.flops.empty()) spec.flops = sim::Flops(arguments.number("--flops", asked.flops, 0.0, 1e18));
  return spec;
}

models::ElementwiseSpec named_operator(const KernelWords& asked, Arguments& arguments) {
  const std::vector<ElementwiseOperator> known = read_operators(config_folders());
  const ElementwiseOperator* const found = find_operator(known, asked.operator_name);
  if (found == nullptr) {
    arguments.fault("--operator", asked.operator_name.empty() ? "is missing: --elements are those of an operator"
                                                              : in_quotes(asked.operator_name) + " is not known" +
                                                                    operator_hint(known, asked.operator_name));
  }
  const std::int64_t elements = parse_elements(asked.elements);
  if (elements == 0) {
    arguments.fault("--elements",
                    asked.elements.empty()
                        ? "is missing: how many --operator works on"
                        : in_quotes(asked.elements) + " is no number of elements: " + std::string(elements_accepted));
  }
  const sim::Bytes element = asked.element.empty() ? usual_element : arguments.size("--element", asked.element);
  return found == nullptr ? models::ElementwiseSpec{} : kernel_of(*found, elements, element);
}

constexpr std::string_view attention_name = "attention";
constexpr std::array<const char*, 9> words_of_attention{"batch",    "tokens",        "context",  "heads", "kv_heads",
                                                        "head_dim", "bidirectional", "gradient", "dtype"};

models::AttentionShape attention_of(const KernelWords& asked, const Given& given, Arguments& arguments) {
  models::AttentionShape shape = asked.attention;
  if (given.count("heads") == 0) arguments.fault("--heads", "is missing: heads of queries");
  if (!asked.elements.empty())
    arguments.fault("--elements", "is of other operators: attention has --tokens and --heads");
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  shape.keys = asked.context + shape.queries;
  shape.causal = !asked.bidirectional;
  return shape;
}

models::RemoteKernelSpec remote_kernel(const KernelWords& asked, Arguments& arguments,
                                       const models::PlatformSpec& platform) {
  models::RemoteKernelSpec spec;
  spec.gpu = arguments.device("--gpu", asked.gpu, platform.gpus);
  for (const std::string_view peer : split(asked.peers, ',')) {
    spec.peers.push_back(arguments.device("--peers", peer, platform.gpus));
  }
  spec.access = arguments.choice("--access", asked.access, remote_access_choices());
  spec.bytes = arguments.size("--bytes", asked.bytes);
  return spec;
}

Results answer_kernel(Request& request) {
  Arguments arguments;
  KernelWords asked;
  read_words(asked, request.given(), arguments, nullptr);
  const bool remote = !asked.gpu.empty() || !asked.peers.empty() || !asked.bytes.empty();
  const bool named = !asked.operator_name.empty() || !asked.elements.empty() || !asked.element.empty();
  const bool counted = !asked.read.empty() || !asked.write.empty() || !asked.flops.empty();
  if (named && counted) {
    arguments.fault("--operator", "has bytes and operations of its own: --read, --write and --flops do not go with it");
  }
  if (asked.operator_name != attention_name) {
    for (const char* const word : words_of_attention) {
      if (request.given().contains(word)) {
        arguments.fault(Option{word, {}, {}}.typed(), "is of --operator attention alone");
      }
    }
  }
  const bool local = named || counted;
  if (remote && local) {
    arguments.fault("--read", "goes through the GPU's own memory: --gpu, --peers and --bytes do not");
  }
  if (!remote && !local)
    arguments.fault("--read",
                    "is missing: --read and --write, --operator and --elements, or --gpu, --peers and --bytes");
  const Platform platform = request.platform(arguments);
  arguments.check();
  KernelQuestion question;
  if (asked.operator_name == attention_name) {
    question.kernel = attention_of(asked, request.given(), arguments);
  } else if (remote) {
    question.kernel = remote_kernel(asked, arguments, platform.spec);
  } else {
    question.kernel = named ? named_operator(asked, arguments) : elementwise(asked, arguments);
  }
  read_words(asked, request.given(), arguments, &platform.spec);
  question.cus = asked.cus;
  arguments.check();

  Testbed testbed(platform.spec);
  arguments.check_with(faults_of(question, testbed));
  return request.finish(testbed, platform, to_tables(question, ask(testbed, question), platform.spec));
}

}  // namespace

Command kernel_command() {
  return {"kernel", "Predict a kernel alone that streams through memory, or that reaches into other GPUs",
          kernel_examples, options_of<KernelWords>() + run_options(), answer_kernel};
}

}  // namespace c3sim::study
