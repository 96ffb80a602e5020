#include "study/ask/words.h"

#include <fmt/format.h>

#include "study/work/choices.h"

namespace c3sim::study {

namespace {

using enum Needed;

constexpr std::string_view gemm_help = "GEMM on every GPU, in BLAS order";
constexpr std::string_view dtype_help = "Format of its elements (bf16 unless given)";

int engines_to_peers(const models::PlatformSpec& platform) {
  return platform.gpu.sdma.engines - platform.gpu.sdma.host_engines;
}

// Whether commands are queued beforehand; asked both ways, or, at a point, one way.
Value prelaunch_of(std::vector<bool>& prelaunch) {
  const std::vector<Choice<std::vector<bool>>> ways{{"no", {false}}, {yes, {true}}, {"both", {false, true}}};
  Value value = value_of(prelaunch, ways);
  value.read = [&prelaunch, ways](const Reading& in) {
    const std::vector<Choice<std::vector<bool>>> at_a_point{{"no", {}}, {yes, {true}}, {"false", {}}, {"true", {true}}};
    prelaunch = in.arguments.choice(in.option, in.text, in.one ? at_a_point : ways);
  };
  value.take = [&prelaunch](const Entry& in) {
    prelaunch.clear();
    if (in.section.flag(in.key)) prelaunch = {true};
  };
  value.schema = R"({"type": "boolean"})";
  value.said = Said::maybe_alone;
  value.alone = yes;
  return value;
}

Value access_of(std::string& access) {
  Value value = word_of(access, "HOW");
  value.otherwise = access;
  return value;
}

}  // namespace

const Words<C3Question>& words_of(const C3Question&) {
  static const Words<C3Question> words{
      {"gemm", [](auto& q) { return value_of(q.scenario.gemm); }, gemm_help, always},
      {"dtype", [](auto& q) { return value_of(q.scenario.gemm.dtype, dtype_choices()); }, dtype_help},
      {"collective", [](auto& q) { return value_of(q.scenario.collective, collective_choices()); },
       "Collective over all GPUs", always},
      {"bytes", [](auto& q) { return value_of(q.scenario.bytes); }, "Whole array of one GPU, with its unit: 896MiB",
       always},
      {"strategy", [](auto& q) { return value_of(q.strategies, strategy_choices()); },
       "Strategies, separated by commas, or all that the collective permits", at_points},
      {"backend", [](auto& q) { return value_of(q.scenario.kernels, backend_choices()); },
       "Whose kernels carry the collective where kernels do (rccl unless given)"},
      {"channels", [](auto& q) { return count_of(q.scenario.channels, 1, any_count); },
       "Channels (workgroups) of the collective's kernels (as the library has it unless given)"},
      {"reserve", [](auto& q) { return count_of(q.scenario.reserved, 0, all_cus); },
       "CUs of each GPU that c3_rp, c3_sp_rp and conccl_rp keep from the GEMM, 0 for none (unless given, the best of "
       "--splits, and of conccl_rp as described below)"},
      {"splits", [](auto& q) { return value_of(q.scenario.splits, split_choices()); },
       "Reservations that c3_rp and c3_sp_rp try: powers of two, as the paper does, or none and every multiple of the "
       "XCDs (paper unless given)"},
      {"delay", [](auto& q) { return value_of(q.scenario.delay); },
       "What the operation launched second is launched after the first (0s unless given)"},
      {"barrier", [](auto& q) { return value_of(q.scenario.barrier, barrier_choices()); },
       "Whether all GPUs wait for each other before each step of a benchmark; without, channels wait on their CUs for "
       "GPUs that are late (each unless given)"},
      {"variant", [](auto& q) { return value_of(q.scenario.variant, variant_choices()); },
       "Variant of the collective on engines, of conccl and conccl_rp (pcpy unless given)"},
      {"prelaunch", [](auto& q) { return value_of(q.scenario.prelaunch); },
       "Queue the engines' commands beforehand, of conccl and conccl_rp"},
  };
  return words;
}

const Words<GemmQuestion>& words_of(const GemmQuestion&) {
  static const Words<GemmQuestion> words{
      {"gemm", [](auto& q) { return value_of(q.gemm); }, gemm_help, always},
      {"dtype", [](auto& q) { return value_of(q.gemm.dtype, dtype_choices()); }, dtype_help},
      {"cus", [](auto& q) { return counts_of(q.cus, 1, all_cus); },
       "CUs of each GPU, as many on every XCD; counts separated by commas (all unless given)"},
      {"before", [](auto& q) { return value_of(q.before, before_choices()); },
       "What the GPU did before, each time: the same GEMM (loop, unless given), the same of other operands on links "
       "that have carried data not long ago (traffic), or a collective that has just ended"},
      {"collective", [](auto& q) { return value_of(q.collective.kind, collective_choices()); },
       "The collective that came before"},
      {"bytes", [](auto& q) { return value_of(q.collective.bytes); },
       "Whole array of one GPU, of the collective that came before"},
      {"backend", [](auto& q) { return value_of(q.collective.backend, backend_choices()); },
       "What moved its data (rccl unless given)"},
      {"channels", [](auto& q) { return count_of(q.collective.channels, 1, any_count); },
       "Channels of its kernels (as the library has it unless given)"},
  };
  return words;
}

const Words<CollectiveQuestion>& words_of(const CollectiveQuestion&) {
  static const Words<CollectiveQuestion> words{
      {"collective",
       [](auto& q) { return value_of(q.collective, collective_choices()); },
       "Collective over the GPUs",
       always,
       {},
       Whom::everybody,
       "kind"},
      {"backend", [](auto& q) { return value_of(q.backend, backend_choices()); },
       "What moves the data: RCCL's kernels (unless given), SDMA engines, or kernels that load from all peers at once, "
       "in one shot or in two"},
      {"bytes", [](auto& q) { return value_of(q.sizes); },
       "Whole array of one GPU: sizes and ranges, separated by commas", always},
      {"gpus", [](auto& q) { return count_of(q.gpus, 2, all_gpus_of); },
       "GPUs that take part, the first ones of the node (all unless given)"},
      {"first",
       [](auto& q) { return whole_of(q.first, 0, last_gpu); },
       "The GPU at which those that take part begin (0 unless given)",
       never,
       {},
       Whom::files},
      {"variant", [](auto& q) { return value_of(q.variants, variant_choices(), &q.all_variants); },
       "SDMA: a copy per peer on its own engine (unless given), two peers per broadcast command, exchange in place, "
       "all copies back to back; several separated by commas, or all that the collective has"},
      {"prelaunch", [](auto& q) { return prelaunch_of(q.prelaunch); },
       "SDMA: whether commands are queued beforehand and wait for a word from the host (alone: yes)"},
      {"engines", [](auto& q) { return count_of(q.engines, 1, engines_to_peers); },
       "SDMA, b2b: ways that the copies of a GPU are dealt to, each on an engine of its own (1 unless given)", never,
       "ways"},
      {"host_threads", [](auto& q) { return value_of(q.host_threads, host_thread_choices()); },
       "SDMA: one host thread drives all GPUs, or each GPU has its own (as the platform says unless given)"},
      {"cus",
       [](auto& q) { return count_of(q.cus, 1, all_cus); },
       "CUs of each GPU that RCCL's kernels are confined to (all unless given)",
       never,
       {},
       Whom::commands},
      {"channels", [](auto& q) { return count_of(q.channels, 1, any_count); },
       "Channels (workgroups) of RCCL's kernels (as the library has it unless given)"},
      {"graph", [](auto& q) { return value_of(q.graph); }, "RCCL's kernels are launched from a captured graph"},
  };
  return words;
}

const Words<CopyQuestion>& words_of(const CopyQuestion&) {
  static const Words<CopyQuestion> words{
      {"from", [](auto& q) { return device_of(q.copy.from); }, "Source: gpu0, or host", always},
      {"to", [](auto& q) { return device_of(q.copy.to); }, "Destination: gpu1, or host", always},
      {"bytes", [](auto& q) { return value_of(q.sizes); }, "Sizes and ranges, separated by commas", always},
      {"engine", [](auto& q) { return count_of(q.copy.engine, 0, last_engine, "N"); },
       "Engine of the source (the recommended one unless given)"},
      {"copies", [](auto& q) { return whole_of(q.copy.copies, 1, models::most_blocks); },
       "Blocks of so many bytes each, scattered, that a runtime is asked to copy (1 unless given)"},
      {"submit", [](auto& q) { return value_of(q.copy.submit, submission_choices()); },
       "How it is asked: a call for each block in one stream, a batch in one call, a captured graph, or a kernel that "
       "gathers them (each, of several; of one, packets written by hand)"},
      {"pull",
       [](auto& q) { return value_of(q.copy.pull); },
       "By an engine of the GPU that it goes to",
       never,
       {},
       Whom::files},
      {"phases",
       [](auto& q) { return value_of(q.phases); },
       "Show the four phases in tables; CSV and JSON always have them",
       never,
       {},
       Whom::commands},
  };
  return words;
}

const Words<StepWords>& words_of(const StepWords&) {
  constexpr int most = 1 << 24;
  constexpr int most_gpus = 64;
  static const Words<StepWords> words{
      {"model", [](auto& q) { return word_of(q.model, "NAME|FILE"); },
       "Name in configs/models, a file like those, or a config.json of Hugging Face", always},
      {"phase", [](auto& q) { return value_of(q.question.phase, phase_choices()); }, "What the step is", always},
      {"layers", [](auto& q) { return count_of(q.question.layers, 1, any_count); },
       "So many layers and nothing else (all, embedding and head unless given)"},
      {"batch", [](auto& q) { return whole_of(q.question.batch, 1, most); },
       "Sequences of each replica (1 unless given)"},
      {"tokens", [](auto& q) { return whole_of(q.question.tokens, 1, most); },
       "New tokens of each sequence (1 in decode)"},
      {"context", [](auto& q) { return whole_of(q.question.context, 0, most); },
       "Cached tokens of each sequence (none unless given)"},
      {"decoding", [](auto& q) { return whole_of(q.question.decoding, 0, most); },
       "Sequences that decode beside a prefill in the same step, as serving systems have it (none unless given)"},
      {"decoding_context", [](auto& q) { return whole_of(q.question.decoding_context, 0, most); },
       "Cached tokens of each of these"},
      {"tp", [](auto& q) { return whole_of(q.question.tp, 1, most_gpus); },
       "GPUs that share out each product (1 unless given)"},
      {"ep", [](auto& q) { return whole_of(q.question.ep, 1, most_gpus); },
       "GPUs that share out the experts (1 unless given)"},
      {"dp", [](auto& q) { return whole_of(q.question.dp, 1, most_gpus); },
       "Replicas with sequences of their own (1 unless given)"},
      {"cp", [](auto& q) { return whole_of(q.question.cp, 1, most_gpus); },
       "GPUs that share out each sequence (1 unless given)"},
      {"pp", [](auto& q) { return whole_of(q.question.pp, 1, most_gpus); },
       "Stages of a pipeline, each with its share of the layers, on GPUs of its own (1 unless given)"},
      {"micro", [](auto& q) { return whole_of(q.question.micro, 1, most); },
       "Micro-batches that the sequences are shared out to (1 unless given)"},
      {"shard", [](auto& q) { return value_of(q.question.shard, shard_choices()); },
       "What replicas share out: none, or weights, gradients and states (none unless given)"},
      {"dtype", [](auto& q) { return value_of(q.question.dtype, dtype_choices()); },
       "Format of products (bf16 unless given)"},
      {"graph", [](auto& q) { return value_of(q.question.graph); },
       "Launched from a captured graph; else op by op by the host"},
      {"optimizer", [](auto& q) { return value_of(q.question.optimizer, optimizer_choices()); },
       "What updates the weights (none unless given)"},
      {"forward", [](auto& q) { return value_of(q.question.forward); }, "Training without gradients"},
      {"recompute", [](auto& q) { return value_of(q.question.recompute); },
       "Training computes a layer again before its gradient"},
      {"half", [](auto& q) { return value_of(q.question.half, half_choices()); },
       "Of --layers, one half alone (both unless given)"},
      {"pieces", [](auto& q) { return count_of(q.question.pieces, 1, any_count); },
       "Tensor-parallel products gather and reduce their tokens in so many pieces that overlap with them, as FiCCO has "
       "it (all-reduces behind whole products unless given)"},
      {"collectives", [](auto& q) { return value_of(q.question.collectives, carrier_choices()); },
       "What moves data between GPUs, where it can; t3: engines, and products whose results are added up over --tp are "
       "fused with the reduce-scatter; auto: of each kind what makes the step fastest (rccl unless given)"},
      {"variant", [](auto& q) { return value_of(q.question.variant, variant_choices()); },
       "Variant of collectives on engines, of those that have it (pcpy unless given)"},
      {"prelaunch", [](auto& q) { return value_of(q.question.prelaunch); },
       "Commands of engines are queued before the step"},
      {"pause", [](auto& q) { return value_of(q.question.pause); },
       "Pause of the host before each step, as between barriers: governors that hold a mean of power give it back (0s "
       "unless given)"},
  };
  return words;
}

const Words<KernelWords>& words_of(const KernelWords&) {
  constexpr int most = 1 << 24;
  static const Words<KernelWords> words{
      {"read", [](auto& q) { return word_of(q.read, "SIZE"); }, "Bytes that an element-wise kernel reads on each GPU"},
      {"write", [](auto& q) { return word_of(q.write, "SIZE"); }, "Bytes that it writes"},
      {"flops", [](auto& q) { return word_of(q.flops, "NUMBER"); },
       "Vector operations that it does on the way (none unless given)"},
      {"operator", [](auto& q) { return word_of(q.operator_name, "NAME"); },
       "Operator by its name in configs/operators.yaml, instead, or attention"},
      {"elements", [](auto& q) { return word_of(q.elements, "AxB"); },
       "Elements of its result, on each GPU: a count, or a product"},
      {"element", [](auto& q) { return word_of(q.element, "SIZE"); }, "Size of an element (2B unless given)"},
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
      {"dtype", [](auto& q) { return value_of(q.attention.dtype, dtype_choices()); },
       "Attention: format of its products (bf16 unless given)"},
      {"gpu", [](auto& q) { return word_of(q.gpu, "gpuN"); }, "GPU whose kernel reaches into others"},
      {"peers", [](auto& q) { return word_of(q.peers, "gpuN,..."); }, "Those others, separated by commas"},
      {"bytes", [](auto& q) { return word_of(q.bytes, "SIZE"); }, "Bytes of each of them"},
      {"access", [](auto& q) { return access_of(q.access); }, "store, uncached_store or load"},
      {"cus", [](auto& q) { return counts_of(q.cus, 1, all_cus); },
       "CUs of each GPU; counts separated by commas (all unless given)"},
  };
  return words;
}

}  // namespace c3sim::study
