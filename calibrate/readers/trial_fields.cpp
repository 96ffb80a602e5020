#include "calibrate/readers/trial_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"
#include "sim/config/quantity_text.h"
#include "study/ask/arguments.h"
#include "study/work/choices.h"
#include "study/work/config_folders.h"

namespace c3sim::calibrate {

namespace {

using study::RemoteTrial;

constexpr int most_units = 4096;  // CUs, channels, peers, engines
constexpr int most_gpus = 64;

// ConCCL (arXiv 2412.14335), Table I: m x n x k.
constexpr std::array<std::pair<std::string_view, models::GemmShape>, 7> table_i{{{"cb1", {8192, 8192, 8192}},
                                                                                 {"cb2", {16384, 8192, 16384}},
                                                                                 {"cb3", {16384, 16384, 8192}},
                                                                                 {"cb4", {18432, 8192, 16384}},
                                                                                 {"cb5", {106496, 8192, 16384}},
                                                                                 {"mb1", {8192, 57344, 8192}},
                                                                                 {"mb2", {16384, 106496, 8192}}}};

// Reads fields one by one, and notes what is wrong.
class FieldReader {
 public:
  explicit FieldReader(const Fields& fields) : fields_(fields) {}

  bool has(std::string_view name) const { return fields_.contains(name); }

  models::GemmShape gemm() {
    for (const auto& [name, shape] : table_i) {
      if (name == required("gemm")) return shape;
    }
    constexpr std::string_view or_by_name = ", or cb1 to cb5, mb1, mb2 of ConCCL's Table I";
    if (!has("gemm")) {
      fault("gemm", fmt::format("is missing: MxNxK such as 8192x57344x8192 is accepted{}", or_by_name));
      return {};
    }
    const models::ParsedGemmShape parsed = models::parse_gemm_shape(required("gemm"));
    if (!parsed.ok()) fault("gemm", fmt::format("{}{}", parsed.error, or_by_name));
    return parsed.shape;
  }

  // What a GEMM is of: only one type has a model, and a name of it is all that is accepted.
  void dtype() {
    constexpr std::array<std::string_view, 4> bf16{"bf16", "BF16", "bfloat16", "bf16_r"};
    if (!has("dtype") || std::ranges::find(bf16, required("dtype")) != bf16.end()) return;
    fault("dtype", fmt::format("'{}' has no model: bf16 is accepted", required("dtype").substr(0, 40)));
  }

  // A size that a trial must have.
  sim::Bytes bytes(std::string_view name = "bytes") {
    if (has(name)) return arguments_.size(name, required(name));
    fault(name, fmt::format("is missing: 1B to {} are accepted", sim::to_string(study::largest_array)));
    return {};
  }

  // From 0 to `most`, base units which `accepted` spells for people.
  double quantity(std::string_view name, sim::Dimension dimension, double most, std::string_view accepted) {
    if (!has(name)) return 0.0;
    const sim::ParsedQuantity parsed = sim::parse_quantity(required(name), dimension);
    if (!parsed.ok()) {
      fault(name, parsed.error);
    } else if (parsed.value > most) {
      fault(name, fmt::format("'{}' is out of bounds: {} are accepted", required(name), accepted));
    } else {
      return parsed.value;
    }
    return 0.0;
  }

  sim::Time time(std::string_view name) {
    return has(name) ? arguments_.time(name, required(name)) : sim::Time::zero();
  }

  std::optional<int> integer(std::string_view name, int low) {
    if (!has(name)) return {};
    return arguments_.integer(name, required(name), low, most_units);
  }

  std::optional<std::int64_t> whole(std::string_view name, std::int64_t low) {
    if (!has(name)) return {};
    const sim::Parsed<std::int64_t> parsed = sim::parse_integer(required(name));
    if (parsed.error.empty() && parsed.value >= low) return parsed.value;
    fault(name, parsed.error.empty() ? fmt::format("'{}' is below {}", required(name), low) : parsed.error);
    return {};
  }

  bool flag(std::string_view name) {
    return choice<bool>(name, {{"no", false}, {"yes", true}, {"false", false}, {"true", true}}, false);
  }

  int device(std::string_view name) {
    if (has(name)) return arguments_.device(name, required(name), most_gpus);
    fault(name, fmt::format("is missing: gpu0 to gpu{} and host are accepted", most_gpus - 1));
    return 0;
  }

  // What a trial must have.
  int count(std::string_view name, int low) {
    if (!has(name)) fault(name, fmt::format("is missing: {} to {} are accepted", low, most_units));
    return integer(name, low).value_or(low);
  }

  void fault(std::string_view name, std::string what) { arguments_.fault(name, std::move(what)); }

  // All that is wrong.
  const std::vector<sim::Fault>& faults() const { return arguments_.faults(); }

  template <class T>
  T choice(std::string_view name, const std::vector<study::Choice<T>>& choices, std::optional<T> otherwise = {}) {
    if (has(name)) return arguments_.choice(name, required(name), choices);
    if (otherwise) return *otherwise;
    std::vector<std::string> known;
    for (const auto& choice : choices) known.emplace_back(choice.first);
    fault(name, "is missing" + sim::name_hint("", known));
    return choices.front().second;
  }

  const std::string& word(std::string_view name) const { return required(name); }

 private:
  // An empty text where the field is absent.
  const std::string& required(std::string_view name) const {
    static const std::string absent;
    const auto found = fields_.find(name);
    return found == fields_.end() ? absent : found->second;
  }

  const Fields& fields_;
  study::Arguments arguments_;
};

models::CollectiveSpec read_collective_spec(FieldReader& fields);

study::Trial read_gemm(FieldReader& fields) {
  study::GemmTrial trial;
  trial.shape = fields.gemm();
  fields.dtype();
  trial.cus = fields.integer("cus", 1);
  trial.nth = fields.integer("nth", 0);
  trial.pause = fields.time("pause");
  trial.group = fields.integer("group", 1).value_or(1);
  if (trial.group > 1 && trial.pause == sim::Time::zero())
    fields.fault("group", "is of GEMMs between pauses: give pause");
  if (trial.pause > sim::Time::zero() && trial.nth.value_or(0) >= trial.group)
    fields.fault("nth", "counts from 0 up to group - 1");
  trial.before = fields.choice<study::Before>("before", study::before_choices(), study::Before::loop);
  if (trial.before == study::Before::collective) trial.collective = read_collective_spec(fields);
  return trial;
}

models::CollectiveSpec read_collective_spec(FieldReader& fields) {
  models::CollectiveSpec spec;
  spec.kind = fields.choice("collective", study::collective_choices());
  spec.bytes = fields.bytes();
  spec.backend = fields.choice<models::Backend>("backend", study::backend_choices(), models::Backend::rccl);
  spec.gpus = fields.integer("gpus", 2).value_or(0);
  spec.variant = fields.choice<models::SdmaVariant>("variant", study::variant_choices(), models::SdmaVariant::pcpy);
  spec.prelaunch = fields.flag("prelaunch");
  spec.engines = fields.integer("engines", 1).value_or(1);
  spec.cus = fields.integer("cus", 1);
  spec.channels = fields.integer("channels", 1);
  spec.graph = fields.flag("graph");
  if (fields.has("host_threads")) spec.host_threads = fields.choice("host_threads", study::host_thread_choices());
  return spec;
}

study::Trial read_collective(FieldReader& fields) { return study::CollectiveTrial{read_collective_spec(fields)}; }

study::Trial read_copy(FieldReader& fields) {
  models::SdmaCopySpec spec;
  spec.from = fields.device("from");
  spec.to = fields.device("to");
  spec.bytes = fields.bytes();
  spec.engine = fields.integer("engine", 0);
  if (fields.has("submit")) spec.submit = fields.choice("submit", study::submission_choices());
  spec.copies = fields.integer("copies", 1).value_or(1);
  return study::CopyTrial{spec};
}

study::Trial read_remote(FieldReader& fields) {
  using Pattern = RemoteTrial::Pattern;
  RemoteTrial trial;
  trial.access = fields.choice("access", study::remote_access_choices());
  trial.pattern = fields.choice<Pattern>(
      "pattern", {{"one_way", Pattern::one_way}, {"both_ways", Pattern::both_ways}, {"all", Pattern::all}});
  trial.gpu = fields.integer("gpu", 0).value_or(0);
  trial.peer = fields.integer("peer", 0).value_or(1);
  trial.bytes = fields.bytes();
  trial.cus = fields.integer("cus", 1);
  return trial;
}

study::StreamTrial read_arrays(FieldReader& fields) {
  study::StreamTrial trial;
  trial.arrays_read = fields.integer("read", 0).value_or(2);
  trial.arrays_written = fields.integer("written", 0).value_or(1);
  if (trial.arrays_read + trial.arrays_written == 0) {
    fields.fault("written", "'0' beside no array that is read: at least one array is accepted");
  }
  trial.workgroups = fields.integer("workgroups", 1);
  return trial;
}

study::Trial read_stream(FieldReader& fields) {
  study::StreamTrial trial = read_arrays(fields);
  trial.bytes = fields.bytes();
  return trial;
}

study::Trial read_stream_and_collective(FieldReader& fields) {
  study::StreamAndCollectiveTrial trial;
  trial.stream = read_arrays(fields);
  trial.stream.bytes = fields.bytes("stream_bytes");
  trial.collective = read_collective_spec(fields);
  return trial;
}

study::Trial read_stream_and_copies(FieldReader& fields) {
  study::StreamAndCopiesTrial trial;
  if (fields.has("read") || fields.has("written")) trial.stream = read_arrays(fields);
  trial.bytes = fields.bytes();
  trial.both_ways = fields.flag("both_ways");
  trial.gpu = fields.integer("gpu", 0).value_or(0);
  return trial;
}

study::Trial read_loads(FieldReader& fields) {
  study::LoadTrial trial;
  trial.working_set = fields.bytes();
  trial.beside =
      sim::BytesPerSecond(fields.quantity("beside", sim::Dimension::bytes_per_second, 1e16, "0 to 10000000 GB/s"));
  if (fields.has("beside_reads")) {
    trial.beside_reads = fields.quantity("beside_reads", sim::Dimension::number, 1.0, "0 to 1");
  }
  return trial;
}

study::Trial read_c3(FieldReader& fields) {
  study::C3Trial trial;
  trial.scenario.gemm = fields.gemm();
  fields.dtype();
  trial.scenario.collective = fields.choice("collective", study::collective_choices());
  trial.scenario.bytes = fields.bytes();
  trial.scenario.kernels = fields.choice<models::Backend>("backend", study::backend_choices(), models::Backend::rccl);
  trial.scenario.channels = fields.integer("channels", 1);
  trial.scenario.reserved = fields.integer("reserved", 0);
  trial.scenario.delay = fields.time("delay");
  trial.strategy = fields.choice("strategy", study::strategy_choices());
  trial.scenario.barrier = fields.choice<study::Barrier>("barrier", study::barrier_choices(), study::Barrier::each);
  trial.scenario.variant =
      fields.choice<models::SdmaVariant>("variant", study::variant_choices(), models::SdmaVariant::pcpy);
  trial.scenario.prelaunch = fields.flag("prelaunch");
  return trial;
}

study::Trial read_dependent(FieldReader& fields) {
  study::DependentTrial trial;
  trial.shape = fields.gemm();
  fields.dtype();
  trial.schedule = fields.choice("schedule", study::choices_of(study::all_dependent_schedules()));
  return trial;
}

study::Trial read_fused(FieldReader& fields) {
  study::FusedTrial trial;
  trial.spec.gemm = fields.gemm();
  trial.spec.gemm.dtype = fields.choice<models::Dtype>("dtype", study::dtype_choices(), models::Dtype::bf16);
  trial.spec.kind = fields.choice("kind", study::collective_choices());
  trial.gathered = trial.spec.kind == models::CollectiveKind::all_reduce;
  if (trial.gathered) trial.spec.kind = models::CollectiveKind::reduce_scatter;
  if (fields.has("path")) trial.spec.path = fields.choice("path", study::fused_path_choices());
  trial.spec.trigger = fields.choice("trigger", study::trigger_choices());
  if (fields.has("stores")) trial.spec.stores = fields.flag("stores");
  if (fields.has("pieces")) trial.spec.pieces = fields.integer("pieces", 1).value_or(1);
  return trial;
}

// Of the first folder of configurations that has the model.
study::ModelSpec read_step_model(FieldReader& fields) {
  if (!fields.has("model")) {
    fields.fault("model", "is missing: a name in configs/models is accepted");
    return {};
  }
  try {
    return study::read_model(fields.word("model"), study::config_folders());
  } catch (const sim::ConfigError& error) {
    fields.fault("model", error.faults().front().what);
    return {};
  }
}

study::Trial read_step(FieldReader& fields) {
  study::StepTrial trial;
  study::StepQuestion& question = trial.question;
  question.model = read_step_model(fields);
  question.phase = fields.choice("phase", study::phase_choices());
  if (const std::optional<int> layers = fields.integer("layers", 1)) question.layers = layers;
  question.batch = fields.whole("batch", 1).value_or(1);
  question.tokens = fields.whole("tokens", 1).value_or(1);
  question.context = fields.whole("context", 0).value_or(0);
  question.tp = fields.integer("tp", 1).value_or(1);
  question.ep = fields.integer("ep", 1).value_or(1);
  question.dp = fields.integer("dp", 1).value_or(1);
  question.cp = fields.integer("cp", 1).value_or(1);
  question.half = fields.choice<study::Half>("half", study::half_choices(), study::Half::both);
  question.shard = fields.choice<study::Shard>("shard", study::shard_choices(), study::Shard::none);
  question.dtype = fields.choice<models::Dtype>("dtype", study::dtype_choices(), models::Dtype::bf16);
  question.graph = fields.flag("graph");
  question.optimizer = fields.choice<study::Optimizer>("optimizer", study::optimizer_choices(), study::Optimizer::none);
  question.forward = fields.flag("forward");
  question.recompute = fields.flag("recompute");
  question.collectives = fields.choice<study::Carrier>("collectives", study::carrier_choices(), models::Backend::rccl);
  question.variant = fields.choice<models::SdmaVariant>("variant", study::variant_choices(), models::SdmaVariant::pcpy);
  question.prelaunch = fields.flag("prelaunch");
  question.pause = fields.time("pause");
  if (fields.has("kind")) trial.kind = fields.choice("kind", study::kind_choices());
  return trial;
}

study::Trial read_replay(FieldReader& fields) {
  study::ReplayTrial trial;
  trial.trace = fields.word("trace");
  if (fields.has("collective")) trial.collective = fields.choice("collective", study::collective_choices());
  trial.simulated = fields.flag("simulated");
  return trial;
}

struct Kind {
  std::string_view name;
  std::vector<std::string_view> fields;
  study::Trial (*read)(FieldReader&);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"rest", {}, [](FieldReader&) { return study::Trial(study::RestTrial{}); }},
      {"empty_kernel", {}, [](FieldReader&) { return study::Trial(study::EmptyKernelTrial{}); }},
      {"gemm",
       {"gemm", "cus", "dtype", "nth", "pause", "group", "before", "collective", "bytes", "channels"},
       read_gemm},
      {"collective",
       {"collective", "bytes", "backend", "gpus", "variant", "prelaunch", "engines", "cus", "channels", "graph",
        "host_threads"},
       read_collective},
      {"copy", {"from", "to", "bytes", "engine", "submit", "copies"}, read_copy},
      {"replay", {"trace", "collective", "simulated"}, read_replay},
      {"fan_out",
       {"peers", "bytes"},
       [](FieldReader& fields) {
         return study::Trial(study::FanOutTrial{fields.count("peers", 1), fields.bytes()});
       }},
      {"remote", {"access", "pattern", "gpu", "peer", "bytes", "cus"}, read_remote},
      {"stream", {"read", "written", "workgroups", "bytes"}, read_stream},
      {"load", {"bytes", "beside", "beside_reads"}, read_loads},
      {"c3",
       {"gemm", "dtype", "collective", "bytes", "strategy", "backend", "channels", "reserved", "delay", "barrier",
        "variant", "prelaunch"},
       read_c3},
      {"dependent", {"gemm", "dtype", "schedule"}, read_dependent},
      {"fused", {"gemm", "dtype", "kind", "path", "trigger", "stores", "pieces"}, read_fused},
      {"step",
       {"model",     "phase",       "layers",  "half",      "batch", "tokens", "context",   "tp",
        "ep",        "dp",          "cp",      "shard",     "dtype", "graph",  "optimizer", "forward",
        "recompute", "collectives", "variant", "prelaunch", "pause", "kind"},
       read_step},
      {"stream_beside_collective",
       {"read", "written", "workgroups", "stream_bytes", "collective", "bytes", "backend", "gpus", "variant",
        "prelaunch", "engines", "cus", "channels", "graph", "host_threads"},
       read_stream_and_collective},
      {"copies_in_a_row", {"bytes", "both_ways", "gpu", "read", "written", "workgroups"}, read_stream_and_copies},
  };
  return all;
}

const Kind& kind_of(std::string_view name) {
  return *std::ranges::find_if(kinds(), [name](const Kind& kind) { return kind.name == name; });
}

}  // namespace

std::span<const std::string_view> trial_kinds() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Kind& kind : kinds()) all.push_back(kind.name);
    return all;
  }();
  return names;
}

std::span<const std::string_view> fields_of(std::string_view kind) { return kind_of(kind).fields; }

study::Trial read_trial(std::string_view kind, const Fields& fields, std::vector<FieldFault>& faults) {
  FieldReader reader(fields);
  study::Trial trial = kind_of(kind).read(reader);
  for (const sim::Fault& fault : reader.faults()) faults.push_back({fault.where, fault.what});
  return trial;
}

}  // namespace c3sim::calibrate
