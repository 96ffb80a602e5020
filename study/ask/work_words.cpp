// Defines the words of operations in experiment files for work that no question describes.
#include "study/ask/words.h"

namespace c3sim::study {

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
