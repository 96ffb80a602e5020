// Defines the words of c3sim kernel, makes the kernel that they describe, and defines the words of operations in
// experiment files for work that no question describes.
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

namespace {

using enum Needed;

constexpr int most_workgroups = 1'000'000;
constexpr int most_pieces_of_shard = 1024;
constexpr int most = models::AttentionShape::largest_extent;
constexpr sim::Limits<sim::Bytes> none_too{sim::Bytes(0.0), largest_array};
constexpr sim::Limits<sim::Bytes> element_sizes{sim::Bytes(1.0), sim::Bytes(64.0)};
constexpr std::string_view operation_dtype_help = "format of its elements; bf16 unless given";
constexpr std::string_view workgroups_help = "of 1024 threads; one that fills it on every CU unless given";

// The schema has no broadcast, which is never fused. A table's all_reduce fuses its reduce-scatter alone.
Value fused_kind_of(models::CollectiveKind& kind) {
  Value value = value_of(kind);
  value.schema = R"({"enum": ["reduce_scatter", "all_reduce", "all_to_all", "all_gather"]})";
  return value;
}

int last_queue(const models::PlatformSpec& platform) { return platform.gpu.sdma.queues_per_engine - 1; }

}  // namespace

const Words<models::GemmShape>& words_of(const models::GemmShape&) {
  static const Words<models::GemmShape> words{
      {"gemm", [](auto& s) { return value_of(s); }, "m x n x k as BLAS has them, n being tokens: 8192x57344x8192",
       always},
      {"dtype", [](auto& s) { return value_of(s.dtype); }, operation_dtype_help},
      {"layout", [](auto& s) { return value_of(s.layout); },
       "how its operands lie: forward unless given, input_gradient or weight_gradient"},
      {"weights", [](auto& s) { return value_of(s.weights); },
       "format of weights that its kernel unpacks; that of the product unless given"},
      {"of_experts", [](auto& s) { return value_of(s.of_experts); },
       "by a serving framework's kernels for experts, where the platform names some; false unless given"}};
  return words;
}

const Words<models::AttentionShape>& words_of(const models::AttentionShape&) {
  static const Words<models::AttentionShape> words{
      {"batch", [](auto& s) { return whole_of(s.batch, 1, most); }, "sequences; 1 unless given"},
      {"heads", [](auto& s) { return whole_of(s.heads, 1, most); }, "of queries", always},
      {"kv_heads", [](auto& s) { return whole_of(s.kv_heads, 1, most); }, "of keys and values; as many unless given"},
      {"queries", [](auto& s) { return whole_of(s.queries, 1, most); }, "of each sequence", always},
      {"keys", [](auto& s) { return whole_of(s.keys, 1, most); },
       "of each sequence, cached ones included; as many as queries unless given"},
      {"head_dim", [](auto& s) { return whole_of(s.head_dim, 1, 4096); }, "elements of a query, key or value", always},
      {"causal", [](auto& s) { return value_of(s.causal); }, "each query sees the keys before it; true unless given"},
      {"gradient", [](auto& s) { return value_of(s.backward); }, "of queries, keys and values"},
      {"dropout", [](auto& s) { return value_of(s.dropout); }, "some scores, drawn at random, do not count"},
      {"dtype", [](auto& s) { return value_of(s.dtype); }, operation_dtype_help},
      {"value_dim", [](auto& s) { return whole_of(s.value_dim, 0, 4096); },
       "elements of a value; as many as of a key unless given"},
      {"window", [](auto& s) { return whole_of(s.window, 0, most); },
       "keys that a query sees at most; all before it unless given"},
      {"shared_values", [](auto& s) { return value_of(s.shared_values); },
       "a value is the beginning of its key, as in latent attention"},
      {"soft_cap", [](auto& s) { return value_of(s.soft_cap); }, "scores pass a hyperbolic tangent"},
      {"cache", [](auto& s) { return value_of(s.cache); },
       "format of keys and values in memory; that of products unless given"}};
  return words;
}

const Words<models::ElementwiseSpec>& words_of(const models::ElementwiseSpec&) {
  static const Words<models::ElementwiseSpec> words{
      {"workgroups", [](auto& s) { return whole_of(s.workgroups, 1, most_workgroups); }, workgroups_help},
      {"read", [](auto& s) { return value_of(s.read, none_too); }, "on each GPU"},
      {"write", [](auto& s) { return value_of(s.written, none_too); }, "on each GPU"},
      {"flops", [](auto& s) { return number_of(s.flops, 0.0, 1e18); }, "vector operations"},
      {"reduces", [](auto& s) { return value_of(s.reduces); },
       "rows to numbers that their elements wait for, as norms do"},
      {"row", [](auto& s) { return whole_of(s.row, 1, most); }, "elements of such a row; 4096 unless given"},
      {"strided", [](auto& s) { return value_of(s.strided); },
       "the place of each element is worked out, as in parts of arrays"}};
  return words;
}

const Words<NamedKernel>& words_of(const NamedKernel&) {
  static const Words<NamedKernel> words{
      {"workgroups", [](auto& s) { return whole_of(s.workgroups, 1, most_workgroups); }, workgroups_help},
      {"operator", [](auto& s) { return word_of(s.name, "NAME"); }, "of configs/operators.yaml", always},
      {"elements", [](auto& s) { return word_of(s.elements, "AxB"); }, "of its result: a count, or a product", always},
      {"element", [](auto& s) { return value_of(s.element, element_sizes); }, "of one element; 2B unless given"}};
  return words;
}

const Words<models::RemoteKernelSpec>& words_of(const models::RemoteKernelSpec&) {
  static const Words<models::RemoteKernelSpec> words{
      {"gpu", [](auto& s) { return gpu_of(s.gpu); }, "that runs it", always},
      {"peers", [](auto& s) { return devices_of(s.peers); }, "that it reaches into", always},
      {"access", [](auto& s) { return value_of(s.access); }, "store unless given"},
      {"bytes", [](auto& s) { return value_of(s.bytes); }, "of each peer", always},
      {"cus", [](auto& s) { return whole_of(s.workgroups, 1, all_cus); }, "all unless given"}};
  return words;
}

const Words<models::FusedSpec>& words_of(const models::FusedSpec&) {
  static const Words<models::FusedSpec> words{
      {"gemm", [](auto& s) { return value_of(s.gemm); }, "of each GPU", always},
      {"dtype", [](auto& s) { return value_of(s.gemm.dtype); }, operation_dtype_help},
      {"layout", [](auto& s) { return value_of(s.gemm.layout); },
       "how the operands of its GEMM lie: forward unless given, input_gradient or weight_gradient", never, Whom::files},
      {"kind", [](auto& s) { return fused_kind_of(s.kind); },
       "of its result, or all_gather of its operand; reduce_scatter unless given", at_points},
      {"path", [](auto& s) { return value_of(s.path); }, "direct unless given"},
      {"trigger", [](auto& s) { return value_of(s.trigger); }, "how it is seen that a piece is complete", always},
      {"stores", [](auto& s) { return value_of(s.stores); }, "the first hop is stored by the GEMM itself"},
      {"pieces", [](auto& s) { return whole_of(s.pieces, 1, most_pieces_of_shard); }, "of each shard; 1 unless given"},
      {"gpus", [](auto& s) { return whole_of(s.gpus, 2, all_gpus_of); },
       "the first of the node, that take part; all unless given", never, Whom::files}};
  return words;
}

const Words<models::SdmaPacketList>& words_of(const models::SdmaPacketList&) {
  static const Words<models::SdmaPacketList> words{
      {"gpu", [](auto& s) { return gpu_of(s.gpu); }, "whose engine it is", always},
      {"engine", [](auto& s) { return whole_of(s.engine, 0, last_engine); }, "that they are queued on", always},
      {"queue", [](auto& s) { return whole_of(s.queue, 0, last_queue); }, "of the engine; 0 unless given"}};
  return words;
}

const Words<StoredRange>& words_of(const StoredRange&) {
  static const Words<StoredRange> words{
      {"from", [](auto& s) { return value_of(s.begin, none_too); }, "0B unless given"},
      {"to", [](auto& s) { return value_of(s.end, none_too); }, "the end of the range", always},
      {"trigger", [](auto& s) { return value_of(s.trigger); }, "how it is seen that it is there", always}};
  return words;
}

}  // namespace c3sim::study
