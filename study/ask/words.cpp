#include "study/ask/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/collectives/algorithm.h"
#include "sim/config/config_error.h"
#include "study/config_folders.h"

namespace c3sim::study {

namespace {

using enum Needed;

constexpr int most = 1 << 24;  // of tokens, heads and the like
constexpr std::string_view gemm_help = "GEMM on every GPU, in BLAS order";
constexpr std::string_view dtype_help = "Format of its elements (bf16 unless given)";
constexpr std::string_view layout_help =
    "How its operands lie: those of a forward product (unless given), or of the gradient of its inputs or weights, of "
    "which one or both lie across the contraction";

int engines_to_peers(const models::PlatformSpec& platform) {
  return platform.gpu.sdma.engines - platform.gpu.sdma.host_engines;
}

// Reads whether commands are queued beforehand; "both" asks for one point of each.
Value prelaunch_of_each(bool& prelaunch) {
  Value value = value_of(prelaunch);
  value.form = "no|yes|both";
  value.schema = R"({"type": "boolean"})";
  value.said = Said::maybe_alone;
  value.alone = yes;
  value.several = [](const Reading& in) {
    using Ways = std::vector<std::string>;
    return in.arguments.choice<Ways>(in.option, in.text,
                                     {{"no", Ways{"no"}}, {yes, Ways{"yes"}}, {"both", Ways{"no", "yes"}}});
  };
  return value;
}

// Reads what carries collectives, by their names: "out_all_reduce=sdma,down_all_reduce=rccl/16".
Value chosen_of(CollectiveCarriers& chosen) {
  const auto read = [&chosen](const Reading& in) {
    chosen.clear();
    if (in.text.empty()) return;  // none
    for (const std::string_view part : split(in.text, ',')) {
      const std::size_t equals = part.find('=');
      if (equals == 0 || equals == std::string_view::npos) {
        in.arguments.fault(in.option, in_quotes(part) + " does not say which collective and what carries it: " +
                                          "COLLECTIVE=CARRIER and COLLECTIVE=CARRIER/CHANNELS are accepted");
        continue;
      }
      const std::string_view carrier = part.substr(equals + 1);
      const std::size_t slash = std::min(carrier.find('/'), carrier.size());
      CollectiveCarrier by{in.arguments.choice<models::Backend>(in.option, carrier.substr(0, slash))};
      if (slash < carrier.size()) {
        by.channels = in.arguments.integer(in.option, carrier.substr(slash + 1), 1, any_count);
      }
      if (!chosen.emplace(part.substr(0, equals), by).second) {
        in.arguments.fault(in.option, in_quotes(part.substr(0, equals)) + " is named twice");
      }
    }
  };
  const auto text = [&chosen] {
    std::string all;
    for (const auto& [name, carrier] : chosen) {
      all += fmt::format("{}{}={}", all.empty() ? "" : ",", name, to_string(carrier));
    }
    return all;
  };
  return {.form = "COLLECTIVE=CARRIER", .read = read, .text = text};
}

// Reads the ranks that share out experts, after tp and before dp, whose default is the fewest replicas that they need.
Value experts_over(Split& split, int most_gpus) {
  Value value = whole_of(split.ep, 1, most_gpus);
  value.read = [&split, read_ranks = std::move(value.read)](const Reading& in) {
    read_ranks(in);
    split.dp = split.least_dp();
  };
  return value;
}

Value routing_of(Routing& routing) {
  const auto read = [&routing](const Reading& in) {
    try {
      routing = read_routing(std::string(in.text));
    } catch (const sim::ConfigError& error) {
      for (const sim::Fault& one : error.faults()) {
        in.arguments.fault(in.option, one.where.starts_with("--") ? one.what : one.where + ": " + one.what);
      }
    }
  };
  return {"even|dealt|power:ALPHA|FILE", read, [&routing] { return routing.told; }};
}

constexpr std::string_view attention_name = "attention";

// Gives a value another form for help to show.
Value shown_as(std::string form, Value value) {
  value.form = std::move(form);
  return value;
}

models::AttentionShape attention_of(const KernelWords& asked, const Given& given, std::vector<sim::Fault>& faults) {
  models::AttentionShape shape = asked.attention;
  if (!says(given, "heads")) faults.push_back({"heads", "", "is missing: heads of queries"});
  for (const std::string_view word : {"elements", "element"}) {
    if (says(given, word))
      faults.push_back({std::string(word), "", "is not used by attention, whose size --tokens and --heads give"});
  }
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  shape.keys = asked.context + shape.queries;
  shape.causal = !asked.bidirectional;
  return shape;
}

constexpr int most_workgroups = 1'000'000;
constexpr int most_pieces_of_shard = 1024;
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

const Words<C3Trial>& words_of(const C3Trial&) {
  static const Words<C3Trial> words{
      {"gemm", [](auto& q) { return value_of(q.scenario.gemm); }, gemm_help, always},
      {"dtype", [](auto& q) { return value_of(q.scenario.gemm.dtype); }, dtype_help},
      {"collective", [](auto& q) { return value_of(q.scenario.collective); }, "Collective over all GPUs", always},
      {"bytes", [](auto& q) { return value_of(q.scenario.bytes); }, "Whole array of one GPU, with its unit: 896MiB",
       always},
      {"strategy", [](auto& q) { return value_of_each(q.strategy); },
       "Strategies, separated by commas, or all that the collective permits", at_points},
      {"backend", [](auto& q) { return value_of(q.scenario.kernels); },
       "Whose kernels carry the collective where kernels do (rccl unless given)"},
      {"channels", [](auto& q) { return count_of(q.scenario.channels, 1, any_count); },
       "Channels (workgroups) of the collective's kernels (as the library has it unless given); what c3_rp and "
       "c3_sp_rp are held against, alone, always has the library's"},
      {"reserve", [](auto& q) { return count_of(q.scenario.reserved, 0, all_cus); },
       "CUs of each GPU that c3_rp, c3_sp_rp and conccl_rp keep from the GEMM, 0 for none (unless given, the best "
       "power of two, as in the paper, and of conccl_rp as described below)"},
      {"delay", [](auto& q) { return value_of(q.scenario.delay); },
       "What the operation launched second is launched after the first (0s unless given)"},
      {"barrier", [](auto& q) { return value_of(q.scenario.barrier); },
       "Whether all GPUs wait for each other before each step of a benchmark; without, channels wait on their CUs for "
       "GPUs that are late (each unless given)"},
      {"operands", [](auto& q) { return value_of(q.scenario.operands); },
       "What the GEMM alone gets in a loop of its own while links sleep: the same every time, which the caches hold "
       "(warm); others (cold); or sets by turns that exceed them (rotating). Unless given, what a run by turns with "
       "the collective leaves, on awake links; with --barrier none the same, as far as caches hold them"},
      {"variant", [](auto& q) { return value_of(q.scenario.variant); },
       "Variant of the collective on engines, of conccl and conccl_rp (pcpy unless given)"},
      {"prelaunch", [](auto& q) { return value_of(q.scenario.prelaunch); },
       "Queue the engines' commands beforehand, of conccl and conccl_rp"},
  };
  return words;
}

const Words<GemmTrial>& words_of(const GemmTrial&) {
  static const Words<GemmTrial> words{
      {"gemm", [](auto& q) { return value_of(q.shape); }, gemm_help, always},
      {"dtype", [](auto& q) { return value_of(q.shape.dtype); }, dtype_help},
      {"layout", [](auto& q) { return value_of(q.shape.layout); }, layout_help},
      {"cus", [](auto& q) { return count_of_each(q.cus, 1, all_cus); },
       "CUs of each GPU, as many on every XCD; counts separated by commas (all unless given)"},
      {"before", [](auto& q) { return value_of(q.before); },
       "What the GPU did before, each time: the same GEMM (loop, unless given), the same of other operands on links "
       "that have carried data not long ago (traffic), or a collective that has just ended"},
      {"operands", [](auto& q) { return value_of(q.operands); },
       "In a loop: the same every time, which the caches hold (warm); others, after work that filled the caches "
       "(cold); or sets by turns that exceed them, as tuners have (rotating); the same, as far as caches hold them, "
       "unless given"},
      {"quantise", [](auto& q) { return value_of(q.quantise); },
       "The second operand comes in bf16, and a kernel rounds it to fp8 with a scale for each row, which is timed with "
       "the product: what a layer with fp8 weights runs"},
      {"collective", [](auto& q) { return value_of(q.collective.kind); }, "The collective that came before"},
      {"bytes", [](auto& q) { return value_of(q.collective.bytes); },
       "Whole array of one GPU, of the collective that came before"},
      {"backend", [](auto& q) { return value_of(q.collective.backend); }, "What moved its data (rccl unless given)"},
      {"channels", [](auto& q) { return count_of(q.collective.channels, 1, any_count); },
       "Channels of its kernels (as the library has it unless given)"},
      {"nth", [](auto& q) { return count_of(q.nth, 0, any_count); },
       "Which of the GEMMs that follow each other from rest is timed, counted from 0", never, Whom::tables},
      {"pause", [](auto& q) { return value_of(q.pause); }, "Pause before each group of GEMMs (none unless given)",
       never, Whom::tables},
      {"group", [](auto& q) { return whole_of(q.group, 1, any_count); },
       "GEMMs that follow each other between two pauses (1 unless given)", never, Whom::tables},
  };
  return words;
}

const Words<CollectiveTrial>& words_of(const CollectiveTrial&) {
  static const std::string moved_by =
      "What moves the data (rccl unless given): " + models::described(models::backends());
  static const std::string copied_by =
      "SDMA: how engines copy (pcpy unless given): " + models::described(models::sdma_variants()) +
      "; several separated by commas, or all that the collective has";
  static const Words<CollectiveTrial> words{
      {"collective", [](auto& q) { return value_of(q.spec.kind); }, "Collective over the GPUs", always, Whom::everybody,
       "kind"},
      {"backend", [](auto& q) { return value_of(q.spec.backend); }, moved_by},
      {"bytes", [](auto& q) { return value_of_each(q.spec.bytes); },
       "Whole array of one GPU: sizes and ranges, separated by commas", always},
      {"gpus", [](auto& q) { return whole_of(q.spec.gpus, 2, all_gpus_of); },
       "GPUs that take part, the first ones of the node (all unless given)"},
      {"first", [](auto& q) { return gpu_of(q.spec.first); },
       "The GPU at which those that take part begin (0 unless given)", never, Whom::files},
      {"prelaunch", [](auto& q) { return prelaunch_of_each(q.spec.prelaunch); },
       "SDMA: whether commands are queued beforehand and wait for a word from the host (alone: yes)"},
      {"variant", [](auto& q) { return value_of_each(q.spec.variant); }, copied_by},
      {"engines", [](auto& q) { return whole_of(q.spec.engines, 1, engines_to_peers); },
       "SDMA, b2b: ways that the copies of a GPU are dealt to, each on an engine of its own (1 unless given)"},
      {"host_threads", [](auto& q) { return value_of(q.spec.host_threads); },
       "SDMA: one host thread drives all GPUs, or each GPU has its own (as the platform says unless given)"},
      {"cus", [](auto& q) { return count_of(q.spec.cus, 1, all_cus); },
       "CUs of each GPU that RCCL's kernels are confined to (all unless given)", never, Whom::commands},
      {"channels", [](auto& q) { return count_of(q.spec.channels, 1, any_count); },
       "Channels (workgroups) of RCCL's kernels (as the library has it unless given)"},
      {"graph", [](auto& q) { return value_of(q.spec.graph); }, "RCCL's kernels are launched from a captured graph"},
      {"algorithm", [](auto& q) { return value_of(q.spec.algorithm); },
       "How the kernels of NCCL or RCCL go about it: around rings (ring), up a tree of GPUs and down again (tree), or "
       "by reduction and multicast in the switch (nvls); as the library chooses unless given"},
      {"dtype", [](auto& q) { return value_of(q.spec.dtype); },
       "Of the elements (bf16 unless given): which algorithms a reduction has"},
  };
  return words;
}

const Words<CopyTrial>& words_of(const CopyTrial&) {
  static const Words<CopyTrial> words{
      {"from", [](auto& q) { return device_of(q.spec.from); }, "Source: gpu0, or host", always},
      {"to", [](auto& q) { return device_of(q.spec.to); }, "Destination: gpu1, or host", always},
      {"bytes", [](auto& q) { return value_of_each(q.spec.bytes); }, "Sizes and ranges, separated by commas", always},
      {"engine", [](auto& q) { return count_of(q.spec.engine, 0, last_engine, "N"); },
       "Engine of the source (the recommended one unless given)"},
      {"copies", [](auto& q) { return whole_of(q.spec.copies, 1, models::most_blocks); },
       "Blocks of so many bytes each, scattered, that a runtime is asked to copy (1 unless given)"},
      {"submit", [](auto& q) { return value_of(q.spec.submit); },
       "How it is asked: a call for each block in one stream, a batch in one call, a captured graph, or a kernel that "
       "gathers them (each, of several; of one, packets written by hand)"},
      {"pull", [](auto& q) { return value_of(q.spec.pull); }, "By an engine of the GPU that it goes to", never,
       Whom::files},
      {"host_threads", [](auto& q) { return value_of(q.spec.host_threads); },
       "Whose instructions they are: one thread's for all GPUs, or one's for each", never, Whom::files},
      {"phases", [](auto& q) { return value_of(q.phases); },
       "Show the four phases in tables; CSV and JSON always have them", never, Whom::commands},
  };
  return words;
}

const GemmTrial& trial_in(const GemmTrial& asked, const Given& given, std::vector<sim::Fault>& faults) {
  if (asked.before == Before::collective) return asked;
  for (const std::string_view word : {"collective", "bytes", "backend", "channels"}) {
    if (!says(given, word)) continue;
    faults.push_back(
        {std::string(word), "",
         "tells of a collective that came before the GEMM, and none did: --before collective says that one did"});
  }
  return asked;
}

const StepWords& trial_in(const StepWords& asked, const Given& given, std::vector<sim::Fault>& faults) {
  if (asked.phase != Phase::decode && !says(given, "tokens"))
    faults.push_back({"tokens", "", "is missing: how many new tokens a sequence has"});
  return asked;
}

Value dtypes_of(StepQuestion& question) {
  const auto read = [&question](const Reading& in) {
    question.dtype = models::Dtype::bf16;
    question.formats = {};
    std::vector<std::string_view> told;  // parts, of which that of products has no name
    for (const std::string_view part : split(in.text, ',')) {
      const std::size_t equals = part.find('=');
      const std::string_view of = equals == std::string_view::npos ? std::string_view() : part.substr(0, equals);
      if (std::ranges::count(told, of) > 0) {
        in.arguments.fault(in.option, fmt::format("{} is a second format of {}: one is accepted", in_quotes(part),
                                                  of.empty() ? "products" : of));
      }
      told.push_back(of);
      if (equals == std::string_view::npos) {
        question.dtype = in.arguments.choice<models::Dtype>(in.option, part);
        continue;
      }
      const auto known = std::ranges::find(parts_with_formats, of, [](const auto& one) { return one.first; });
      if (known == parts_with_formats.end()) {
        in.arguments.fault(in.option, in_quotes(of) +
                                          " has no format: weights, attention, activations, cache and "
                                          "gradients are accepted, and a format by itself, of products");
      } else {
        question.formats.*known->second = in.arguments.choice<models::Dtype>(in.option, part.substr(equals + 1));
      }
    }
  };
  const auto text = [&question] { return to_string(question.dtype, question.formats); };
  return {names_of<models::Dtype>() + "|PART=FORMAT,...", read, text};
}

const Words<StepWords>& words_of(const StepWords&) {
  constexpr int most_gpus = 64;
  static const Words<StepWords> words{
      {"model", [](auto& q) { return word_of(q.model_name, "NAME|FILE"); },
       "Name in configs/models, a file like those, a config.json of Hugging Face, or experts alone (--half experts): "
       "features of a token, of an expert between its products, experts, and those that a token uses",
       always},
      {"phase", [](auto& q) { return value_of(q.phase); }, "What the step is", always},
      {"layers", [](auto& q) { return count_of(q.layers, 1, any_count); },
       "So many layers and nothing else (all, embedding and head unless given)"},
      {"batch", [](auto& q) { return whole_of(q.batch, 1, most); }, "Sequences of each replica (1 unless given)"},
      {"tokens", [](auto& q) { return whole_of(q.tokens, 1, most); }, "New tokens of each sequence (1 in decode)"},
      {"context", [](auto& q) { return whole_of(q.context, 0, most); },
       "Cached tokens of each sequence (none unless given)"},
      {"decoding", [](auto& q) { return whole_of(q.decoding, 0, most); },
       "Sequences that decode beside a prefill in the same step, as serving systems have it (none unless given)"},
      {"decoding_context", [](auto& q) { return whole_of(q.decoding_context, 0, most); },
       "Cached tokens of each of these"},
      {"tp", [](auto& q) { return whole_of(q.tp, 1, most_gpus); }, "GPUs that share out each product (1 unless given)"},
      {"ep", [](auto& q) { return experts_over(q, most_gpus); },
       "Of the GPUs of --tp and --dp, ranks that share out the experts, each with whole ones: a divisor, which adds no "
       "GPUs (1 unless given)"},
      {"dp", [](auto& q) { return whole_of(q.dp, 1, most_gpus); },
       "Replicas with sequences of their own (as many as --ep needs beside --tp unless given: 8 of --ep 8 alone)"},
      {"cp", [](auto& q) { return whole_of(q.cp, 1, most_gpus); },
       "GPUs that share out each sequence (1 unless given)"},
      {"pp", [](auto& q) { return whole_of(q.pp, 1, most_gpus); },
       "Stages of a pipeline, each with its share of the layers, on GPUs of its own (1 unless given)"},
      {"micro", [](auto& q) { return whole_of(q.micro, 1, most); },
       "Micro-batches that the sequences of a replica are shared out to (1 unless given)"},
      {"shard", [](auto& q) { return value_of(q.shard); },
       "What replicas share out: none, or weights, gradients and states (none unless given)"},
      {"dtype", [](auto& q) { return dtypes_of(q); },
       "Format of products and of all else that is not told apart: bf16,weights=int4,cache=fp8 (bf16, or as a "
       "config.json has it, unless given)"},
      {"routing", [](auto& q) { return routing_of(q.routing); },
       "How tokens choose experts: at random, all alike (even, unless given) or by power:ALPHA, where the n-th most "
       "likely has a share in proportion to n to the power of -ALPHA; by a file with the share of each on a line; or "
       "in turn (dealt)"},
      {"dispatch", [](auto& q) { return value_of(q.dispatch); },
       "How tokens get to experts on other GPUs and back: a copy for each expert by an all-to-all (all_to_all, unless "
       "given); or by kernels over peer memory (engines, where these carry collectives) once to each GPU that has any, "
       "behind an exchange of counts (high_throughput), or a copy for each expert without one (low_latency)"},
      {"overlap", [](auto& q) { return value_of(q.overlap); },
       "What computes while tokens travel: nothing (none, unless given), experts that all tokens use (shared_experts), "
       "or also the other half of the sequences, of which each computes while the other communicates (two_batches)"},
      {"kernels", [](auto& q) { return value_of(q.kernels); },
       "Whose kernels run between products: a framework's, one for each operation (eager, unless given), or what a "
       "compiler fuses them to, as systems that serve have it (compiled)"},
      {"ignore", [](auto& q) { return word_of(q.ignored_keys, "KEY,KEY..."); },
       "Keys of a config.json that are not known and are to be left out"},
      {"like", [](auto& q) { return word_of(q.like, "TYPE|FILE"); },
       "What a config.json is read as: a model_type that is known, or that of another config.json"},
      {"graph", [](auto& q) { return value_of(q.graph); }, "Launched from a captured graph; else op by op by the host"},
      {"optimizer", [](auto& q) { return value_of(q.optimizer); }, "What updates the weights (none unless given)"},
      {"forward", [](auto& q) { return value_of(q.forward); }, "Training without gradients"},
      {"recompute", [](auto& q) { return value_of(q.recompute); },
       "Training computes a layer again before its gradient"},
      {"half", [](auto& q) { return value_of(q.half); }, "Of --layers, one half alone (both unless given)"},
      {"pieces", [](auto& q) { return count_of(q.pieces, 1, any_count); },
       "Tensor-parallel products gather and reduce their tokens in so many pieces that overlap with them, as FiCCO has "
       "it (all-reduces behind whole products unless given)"},
      {"ffn_pieces", [](auto& q) { return count_of(q.ffn_pieces, 1, any_count); },
       "Pieces of the feed-forward half (as many as --pieces unless given)"},
      {"collectives", [](auto& q) { return value_of(q.collectives); },
       "What moves data between GPUs, where it can; by_size: all-reduces of up to 8 MiB in one shot or two, as serving "
       "frameworks have them, and the library the rest; t3: engines, and products whose results are added up over --tp "
       "are fused with the reduce-scatter; auto: of each kind what makes the step fastest (rccl unless given)"},
      {"chosen", [](auto& q) { return chosen_of(q.chosen); },
       "Collectives that something else carries than --collectives, by their names in the step (a wrong one is "
       "answered with those that there are), with channels of their own or without: "
       "out_all_reduce=sdma,down_all_reduce=rccl/16"},
      {"channels", [](auto& q) { return count_of(q.channels, 1, any_count); },
       "Channels (workgroups, which hold CUs) of kernels that carry collectives (as the library has it unless given)"},
      {"variant", [](auto& q) { return value_of(q.variant); },
       "Variant of collectives on engines, of those that have it (pcpy unless given)"},
      {"prelaunch", [](auto& q) { return value_of(q.prelaunch); }, "Commands of engines are queued before the step"},
      {"pause", [](auto& q) { return value_of(q.pause); },
       "Pause of the host before each step, as between barriers: governors that hold a mean of power give it back (0s "
       "unless given)"},
  };
  return words;
}

const Words<KernelWords>& words_of(const KernelWords&) {
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

KernelTrial trial_in(const KernelWords& asked, const Given& given, std::vector<sim::Fault>& faults) {
  const auto says = [&given](std::string_view word) { return study::says(given, word); };
  constexpr std::array of_remote{"gpu", "peers", "bytes"};
  const bool remote = std::ranges::any_of(of_remote, says);
  const bool named = says("operator") || says("elements") || says("element");
  const bool counted = says("read") || says("write") || says("flops");
  const auto refuse = [&](bool is_so, std::string_view word, const char* what) {
    if (is_so) faults.push_back({std::string(word), "", what});
  };
  refuse(named && counted, "operator",
         "has bytes and operations of its own: --read, --write and --flops do not go with it");
  for (const std::string_view word : {"batch", "tokens", "context", "heads", "kv_heads", "head_dim", "bidirectional",
                                      "gradient", "dropout", "dtype"}) {
    refuse(says(word) && asked.named.name != attention_name, word, "is of --operator attention alone");
  }
  refuse(!remote && says("access"), "access", "is how a kernel reaches into other GPUs: --gpu and --peers name them");
  refuse(remote && (named || counted), "read", "goes through the GPU's own memory: --gpu, --peers and --bytes do not");
  refuse(!remote && !named && !counted, "read",
         "is missing: --read and --write, --operator and --elements, or --gpu, --peers and --bytes");
  refuse(remote && says("operands"), "operands",
         "are of kernels that go through their GPU's own memory: --gpu, --peers and --bytes do not");
  if (!faults.empty()) return {};
  const auto trial = [&](auto kernel) { return KernelTrial{std::move(kernel), asked.cus, asked.operands}; };
  if (asked.named.name == attention_name) return trial(attention_of(asked, given, faults));
  if (named) return trial(kernel_of(asked.named, faults));
  if (counted) return trial(asked.elementwise);
  for (const std::string_view word : of_remote) {
    refuse(!says(word), word, "is missing: --gpu reaches into --peers, --bytes of each");
  }
  return trial(asked.remote);
}

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
      {"width", [](auto& s) { return number_of(s.width, 1.0, most_width); },
       "how much faster than a framework's norms it reduces a row, as compiled kernels do; 1 unless given"},
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
      {"weights", [](auto& s) { return value_of(s.gemm.weights); },
       "format of weights that its GEMM unpacks; that of the product unless given", never, Whom::files},
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
