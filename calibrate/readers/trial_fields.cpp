#include "calibrate/readers/trial_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/config/nearest_name.h"
#include "sim/config/quantity_text.h"
#include "study/ask/words.h"
#include "study/work/choices.h"
#include "study/work/config_folders.h"

namespace c3sim::calibrate {

namespace {

using study::Value;
using study::value_of;

constexpr int most_units = 4096;  // peers, arrays, GEMMs, pieces

// ConCCL (arXiv 2412.14335), Table I: m x n x k.
constexpr std::array<std::pair<std::string_view, models::GemmShape>, 7> table_i{{{"cb1", {8192, 8192, 8192}},
                                                                                 {"cb2", {16384, 8192, 16384}},
                                                                                 {"cb3", {16384, 16384, 8192}},
                                                                                 {"cb4", {18432, 8192, 16384}},
                                                                                 {"cb5", {106496, 8192, 16384}},
                                                                                 {"mb1", {8192, 57344, 8192}},
                                                                                 {"mb2", {16384, 106496, 8192}}}};
// What libraries and frameworks call the formats of a GEMM.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> dtype_names{{{"BF16", "bf16"},
                                                                                     {"bfloat16", "bf16"},
                                                                                     {"bf16_r", "bf16"},
                                                                                     {"FP16", "fp16"},
                                                                                     {"float16", "fp16"},
                                                                                     {"f16_r", "fp16"},
                                                                                     {"FP8", "fp8"},
                                                                                     {"f8_r", "fp8"},
                                                                                     {"TF32", "tf32"},
                                                                                     {"FP32", "fp32"},
                                                                                     {"float32", "fp32"},
                                                                                     {"f32_r", "fp32"}}};
constexpr auto or_by_name = ", or cb1 to cb5, mb1, mb2 of ConCCL's Table I";

// Reads fields one by one, and notes what is wrong.
class FieldReader {
 public:
  explicit FieldReader(const Fields& fields) : fields_(fields) {}

  bool has(std::string_view name) const { return fields_.contains(name); }

  // What is not said stays as it is.
  void read(std::string_view name, const Value& value) {
    look_up(name, [&] { return value; });
  }
  // What a trial must have.
  void need(std::string_view name, const Value& value) {
    if (!has(name)) fault(name, "is missing" + hint_of(value));
    read(name, value);
  }
  // All that a question can be told, one value each: the table of study/ask/words.h.
  template <class Question>
  void read_words_of(Question& question) {
    for (const study::Word<Question>& word : study::words_said(question)) {
      if (word.needed != study::Needed::never && !has(word.name)) {
        fault(word.name, "is missing" + hint_of(word.of(question)));
      }
      look_up(word.name, [&] { return word.of(question); });
    }
  }

  void fault(std::string_view name, std::string what) { arguments_.fault(name, std::move(what)); }

  // All that is wrong, and all that was asked for.
  const std::vector<sim::Fault>& faults() const { return arguments_.faults(); }
  const std::vector<std::string_view>& asked() const { return asked_; }

 private:
  template <class ValueOf>
  void look_up(std::string_view name, const ValueOf& make) {
    asked_.push_back(name);
    const auto found = fields_.find(name);
    if (found == fields_.end()) return;
    make().read({.arguments = arguments_, .option = name, .text = found->second, .one = true});
  }
  static std::string hint_of(const Value& value) {
    if (!value.accepted.empty()) return ": " + value.accepted;
    std::vector<std::string> names;
    for (const std::string_view name : study::split(value.form, '|')) {
      if (name != "all") names.emplace_back(name);
    }
    return sim::name_hint("", names);
  }

  const Fields& fields_;
  study::Arguments arguments_;
  std::vector<std::string_view> asked_;
};

// From 0 to `most`, base units which `accepted` spells for people.
Value quantity_of(double& quantity, sim::Dimension dimension, double most, std::string accepted) {
  const auto read = [&quantity, dimension, most, accepted](const study::Reading& in) {
    const sim::ParsedQuantity parsed = sim::parse_quantity(in.text, dimension);
    if (!parsed.ok()) return in.arguments.fault(in.option, parsed.error);
    if (parsed.value <= most) {
      quantity = parsed.value;
    } else {
      in.arguments.fault(in.option, fmt::format("'{}' is out of bounds: {} are accepted", in.text, accepted));
    }
  };
  return {.form = "", .read = read, .text = {}};
}

study::Trial read_gemm(FieldReader& fields) {
  study::GemmQuestion question;
  fields.read_words_of(question);
  study::GemmTrial trial{.shape = question.gemm, .before = question.before};
  if (!question.cus.empty()) trial.cus = question.cus.front();
  fields.read("nth", study::count_of(trial.nth, 0, study::any_count));
  fields.read("pause", value_of(trial.pause));
  fields.read("group", study::whole_of(trial.group, 1, most_units));
  if (trial.group > 1 && trial.pause == sim::Time::zero())
    fields.fault("group", "is of GEMMs between pauses: give pause");
  if (trial.pause > sim::Time::zero() && trial.nth.value_or(0) >= trial.group)
    fields.fault("nth", "counts from 0 up to group - 1");
  if (trial.before == study::Before::collective) {
    trial.collective = question.collective;
    trial.collective.gpus = 0;
    fields.need("collective", value_of(trial.collective.kind, study::collective_choices()));
    fields.need("bytes", value_of(trial.collective.bytes));
  }
  return trial;
}

models::CollectiveSpec read_collective_spec(FieldReader& fields) {
  study::CollectiveQuestion question;
  fields.read_words_of(question);
  return study::spec_of(question);
}

study::Trial read_copy(FieldReader& fields) {
  study::CopyQuestion question;
  fields.read_words_of(question);
  if (!question.sizes.empty()) question.copy.bytes = question.sizes.front();
  return study::CopyTrial{question.copy};
}

study::Trial read_fan_out(FieldReader& fields) {
  study::FanOutTrial trial;
  Value peers = study::whole_of(trial.peers, 1, most_units);
  peers.accepted = fmt::format("1 to {} are accepted", most_units);
  fields.need("peers", peers);
  fields.need("bytes", value_of(trial.bytes));
  return trial;
}

study::Trial read_remote(FieldReader& fields) {
  using Pattern = study::RemoteTrial::Pattern;
  const std::vector<study::Choice<Pattern>> patterns{
      {"one_way", Pattern::one_way}, {"both_ways", Pattern::both_ways}, {"all", Pattern::all}};
  study::RemoteTrial trial;
  fields.need("access", value_of(trial.access, study::remote_access_choices()));
  fields.need("pattern", value_of(trial.pattern, patterns));
  fields.read("gpu", study::whole_of(trial.gpu, 0, most_units));
  fields.read("peer", study::whole_of(trial.peer, 0, most_units));
  fields.need("bytes", value_of(trial.bytes));
  fields.read("cus", study::count_of(trial.cus, 1, study::all_cus));
  return trial;
}

study::StreamTrial read_arrays(FieldReader& fields) {
  study::StreamTrial trial;
  fields.read("read", study::whole_of(trial.arrays_read, 0, most_units));
  fields.read("written", study::whole_of(trial.arrays_written, 0, most_units));
  if (trial.arrays_read + trial.arrays_written == 0) {
    fields.fault("written", "'0' beside no array that is read: at least one array is accepted");
  }
  fields.read("workgroups", study::count_of(trial.workgroups, 1, study::any_count));
  return trial;
}

study::Trial read_stream(FieldReader& fields) {
  study::StreamTrial trial = read_arrays(fields);
  fields.need("bytes", value_of(trial.bytes));
  return trial;
}

study::Trial read_stream_and_collective(FieldReader& fields) {
  study::StreamAndCollectiveTrial trial;
  trial.stream = read_arrays(fields);
  fields.need("stream_bytes", value_of(trial.stream.bytes));
  trial.collective = read_collective_spec(fields);
  return trial;
}

study::Trial read_stream_and_copies(FieldReader& fields) {
  study::StreamAndCopiesTrial trial;
  const study::StreamTrial stream = read_arrays(fields);
  if (fields.has("read") || fields.has("written")) trial.stream = stream;
  fields.need("bytes", value_of(trial.bytes));
  fields.read("both_ways", value_of(trial.both_ways));
  fields.read("gpu", study::whole_of(trial.gpu, 0, most_units));
  return trial;
}

study::Trial read_loads(FieldReader& fields) {
  study::LoadTrial trial;
  double beside = 0.0;
  fields.need("bytes", value_of(trial.working_set));
  fields.read("beside", quantity_of(beside, sim::Dimension::bytes_per_second, 1e16, "0 to 10000000 GB/s"));
  fields.read("beside_reads", quantity_of(trial.beside_reads, sim::Dimension::number, 1.0, "0 to 1"));
  trial.beside = sim::BytesPerSecond(beside);
  return trial;
}

study::Trial read_c3(FieldReader& fields) {
  study::C3Question question;
  fields.read_words_of(question);
  fields.read("reserved", study::count_of(question.scenario.reserved, 0, study::all_cus));  // another name of reserve
  study::C3Trial trial{.scenario = question.scenario};
  if (!question.strategies.empty()) trial.strategy = question.strategies.front();
  return trial;
}

study::Trial read_dependent(FieldReader& fields) {
  study::DependentTrial trial;
  fields.need("gemm", value_of(trial.shape));
  const std::vector<study::Choice<models::Dtype>> modelled{{"bf16", models::Dtype::bf16}};
  fields.read("dtype", value_of(trial.shape.dtype, modelled));
  fields.need("schedule", value_of(trial.schedule, study::choices_of(study::all_dependent_schedules())));
  return trial;
}

study::Trial read_fused(FieldReader& fields) {
  study::FusedTrial trial;
  fields.read_words_of(trial.spec);
  trial.gathered = trial.spec.kind == models::CollectiveKind::all_reduce;
  if (trial.gathered) trial.spec.kind = models::CollectiveKind::reduce_scatter;
  return trial;
}

// The model is of the first folder of configurations that has it.
study::Trial read_step(FieldReader& fields) {
  study::StepWords words;
  study::StepTrial trial;
  fields.read_words_of(words);
  fields.read("kind", value_of(trial.kind, study::kind_choices()));
  trial.question = words.question;
  if (words.model.empty()) return trial;
  try {
    trial.question.model = study::read_model(words.model, study::config_folders());
  } catch (const sim::ConfigError& error) {
    fields.fault("model", error.faults().front().what);
  }
  return trial;
}

study::Trial read_replay(FieldReader& fields) {
  study::ReplayTrial trial;
  fields.read("trace", study::word_of(trial.trace, ""));
  fields.read("collective", value_of(trial.collective, study::collective_choices()));
  fields.read("simulated", value_of(trial.simulated));
  return trial;
}

struct Kind {
  std::string_view name;
  study::Trial (*read)(FieldReader&);
};

constexpr std::array kinds{
    Kind{"rest", [](FieldReader&) { return study::Trial(study::RestTrial{}); }},
    Kind{"empty_kernel", [](FieldReader&) { return study::Trial(study::EmptyKernelTrial{}); }},
    Kind{"gemm", read_gemm},
    Kind{"collective",
         [](FieldReader& fields) { return study::Trial(study::CollectiveTrial{read_collective_spec(fields)}); }},
    Kind{"copy", read_copy},
    Kind{"replay", read_replay},
    Kind{"fan_out", read_fan_out},
    Kind{"remote", read_remote},
    Kind{"stream", read_stream},
    Kind{"load", read_loads},
    Kind{"c3", read_c3},
    Kind{"dependent", read_dependent},
    Kind{"fused", read_fused},
    Kind{"step", read_step},
    Kind{"stream_beside_collective", read_stream_and_collective},
    Kind{"copies_in_a_row", read_stream_and_copies},
};

const Kind& kind_of(std::string_view name) { return *std::ranges::find(kinds, name, &Kind::name); }

}  // namespace

std::vector<std::string_view> trial_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds) names.push_back(kind.name);
  return names;
}

// What it asks for where nothing is said.
std::vector<std::string_view> fields_of(std::string_view kind) {
  const Fields nothing;
  FieldReader reader(nothing);
  kind_of(kind).read(reader);
  return reader.asked();
}

study::Trial read_trial(std::string_view kind, const Fields& fields, std::vector<FieldFault>& faults) {
  Fields shaped = fields;
  for (const auto& [name, shape] : table_i) {
    const auto gemm = shaped.find("gemm");
    if (gemm != shaped.end() && gemm->second == name) gemm->second = models::to_string(shape);
  }
  if (const auto dtype = shaped.find("dtype"); dtype != shaped.end()) {
    const auto* const known = std::ranges::find(dtype_names, dtype->second, &decltype(dtype_names)::value_type::first);
    if (known != dtype_names.end()) dtype->second = known->second;
  }
  FieldReader reader(shaped);
  study::Trial trial = kind_of(kind).read(reader);
  for (const sim::Fault& fault : reader.faults()) {
    faults.push_back({fault.where, fault.what + (fault.where == "gemm" ? or_by_name : "")});
  }
  return trial;
}

}  // namespace c3sim::calibrate
