// Defines the words of a kernel, and makes the kernel that they describe.
#include <array>

#include "study/ask/words.h"
#include "study/config_folders.h"

namespace c3sim::study {

namespace {

constexpr std::string_view attention_name = "attention";

// Gives a value another form for help to show.
Value shown_as(std::string form, Value value) {
  value.form = std::move(form);
  return value;
}

}  // namespace

const Words<KernelWords>& words_of(const KernelWords&) {
  constexpr int most = 1 << 24;
  static const Words<KernelWords> words{
      {"read", [](auto& q) { return value_of(q.elementwise.read); },
       "Bytes that an element-wise kernel reads on each GPU"},
      {"write", [](auto& q) { return value_of(q.elementwise.written); }, "Bytes that it writes"},
      {"flops", [](auto& q) { return number_of(q.elementwise.flops, 0.0, 1e18); },
       "Vector operations that it does on the way (none unless given)"},
      {"operator", [](auto& q) { return word_of(q.named.name, "NAME"); },
       "Operator by its name in configs/operators.yaml, instead, or attention"},
      {"elements", [](auto& q) { return word_of(q.named.elements, "AxB"); },
       "Elements of its result, on each GPU: a count, or a product"},
      {"element", [](auto& q) { return value_of(q.named.element); }, "Size of an element (2B unless given)"},
      {"batch", [](auto& q) { return whole_of(q.attention.batch, 1, most); }, "Attention: sequences (1 unless given)"},
      {"tokens", [](auto& q) { return whole_of(q.attention.queries, 1, most); },
       "Attention: new tokens of each sequence (1 unless given: decoding)"},
      {"context", [](auto& q) { return whole_of(q.context, 0, most); },
       "Attention: cached tokens of each sequence (none unless given)"},
      {"heads", [](auto& q) { return whole_of(q.attention.heads, 1, most); }, "Attention: heads of queries"},
      {"kv_heads", [](auto& q) { return whole_of(q.attention.kv_heads, 0, most); },
       "Attention: heads of keys and values (as many as of queries unless given)"},
      {"head_dim", [](auto& q) { return whole_of(q.attention.head_dim, 1, 4096); },
       "Attention: features of a head (128 unless given)"},
      {"bidirectional", [](auto& q) { return value_of(q.bidirectional); },
       "Attention: each token sees all, rather than those before it"},
      {"gradient", [](auto& q) { return value_of(q.attention.backward); }, "Attention: its gradient"},
      {"dropout", [](auto& q) { return value_of(q.attention.dropout); }, "Attention: some scores do not count"},
      {"dtype", [](auto& q) { return value_of(q.attention.dtype); },
       "Attention: format of its products (bf16 unless given)"},
      {"gpu", [](auto& q) { return shown_as("gpuN", device_of(q.remote.gpu)); },
       "GPU whose kernel reaches into others"},
      {"peers", [](auto& q) { return devices_of(q.remote.peers); }, "Those others, separated by commas"},
      {"bytes", [](auto& q) { return value_of(q.remote.bytes); }, "Bytes of each of them"},
      {"access", [](auto& q) { return value_of(q.remote.access); }, "How it does (store unless given)"},
      {"cus", [](auto& q) { return count_of_each(q.cus, 1, all_cus); },
       "CUs of each GPU; counts separated by commas (all unless given)"},
      {"operands", [](auto& q) { return value_of(q.operands); },
       "In a loop: the same arrays every time, which the caches hold (warm), or others, of which they hold nothing "
       "(cold and rotating; cold unless given)"},
  };
  return words;
}

models::ElementwiseSpec kernel_of(const NamedKernel& asked, std::vector<sim::Fault>& faults) {
  const std::vector<ElementwiseOperator> known = read_operators(config_folders());
  const ElementwiseOperator* const found = find_operator(known, asked.name);
  if (found == nullptr) {
    faults.push_back({"operator", "",
                      asked.name.empty() ? "is missing: --elements are those of an operator"
                                         : in_quotes(asked.name) + " is not known" + operator_hint(known, asked.name)});
  }
  const std::int64_t elements = parse_elements(asked.elements);
  if (elements == 0) {
    faults.push_back({"elements", "",
                      asked.elements.empty() ? "is missing: how many the operator works on"
                                             : in_quotes(asked.elements) +
                                                   " is no number of elements: " + std::string(elements_accepted)});
  }
  if (found == nullptr || elements == 0) return {};
  models::ElementwiseSpec kernel = kernel_of(*found, elements, asked.element, row_of(asked.elements));
  kernel.workgroups = asked.workgroups;
  return kernel;
}

namespace {

models::AttentionShape attention_of(const KernelWords& asked, const Given& given, std::vector<sim::Fault>& faults) {
  models::AttentionShape shape = asked.attention;
  if (!says(given, "heads")) faults.push_back({"heads", "", "is missing: heads of queries"});
  for (const std::string_view word : {"elements", "element"}) {
    if (says(given, word))
      faults.push_back({std::string(word), "", "is of other operators: attention has --tokens and --heads"});
  }
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  shape.keys = asked.context + shape.queries;
  shape.causal = !asked.bidirectional;
  return shape;
}

}  // namespace

KernelTrial trial_in(const KernelWords& asked, const Given& given, std::vector<sim::Fault>& faults) {
  const auto fault = [&faults](std::string_view word, std::string what) {
    faults.push_back({std::string(word), "", std::move(what)});
  };
  const auto says = [&given](std::string_view word) { return study::says(given, word); };
  constexpr std::array of_remote{"gpu", "peers", "bytes"};
  const bool remote = std::ranges::any_of(of_remote, says);
  const bool named = says("operator") || says("elements") || says("element");
  const bool counted = says("read") || says("write") || says("flops");
  if (named && counted) {
    fault("operator", "has bytes and operations of its own: --read, --write and --flops do not go with it");
  }
  if (asked.named.name != attention_name) {
    for (const std::string_view word : {"batch", "tokens", "context", "heads", "kv_heads", "head_dim", "bidirectional",
                                        "gradient", "dropout", "dtype"}) {
      if (says(word)) fault(word, "is of --operator attention alone");
    }
  }
  if (!remote && says("access"))
    fault("access", "is how a kernel reaches into other GPUs: --gpu and --peers name them");
  if (remote && (named || counted)) {
    fault("read", "goes through the GPU's own memory: --gpu, --peers and --bytes do not");
  }
  if (!remote && !named && !counted) {
    fault("read", "is missing: --read and --write, --operator and --elements, or --gpu, --peers and --bytes");
  }
  if (remote && says("operands")) {
    fault("operands", "are of kernels that go through their GPU's own memory: --gpu, --peers and --bytes do not");
  }
  if (!faults.empty()) return {};
  const auto trial = [&](auto kernel) { return KernelTrial{std::move(kernel), asked.cus, asked.operands}; };
  if (asked.named.name == attention_name) return trial(attention_of(asked, given, faults));
  if (named) return trial(kernel_of(asked.named, faults));
  if (counted) return trial(asked.elementwise);
  for (const std::string_view word : of_remote) {
    if (!says(word)) fault(word, "is missing: --gpu reaches into --peers, --bytes of each");
  }
  return trial(asked.remote);
}

}  // namespace c3sim::study
