#include "calibrate/readers/trial_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/config/nearest_name.h"
#include "study/ask/words.h"

namespace c3sim::calibrate {

namespace {

using study::Value;
using study::value_of;

constexpr int most_units = 4096;  // for peers, arrays and GPUs

// Fields may use other names: for GEMMs (m x n x k) those of ConCCL (arXiv 2412.14335), Table I, and for formats those
// of libraries and frameworks.
struct OtherNames {
  std::string_view field, meaning;
  std::array<std::string_view, 3> names;
};
constexpr std::array other_names{OtherNames{"gemm", "8192x8192x8192", {"cb1"}},
                                 OtherNames{"gemm", "16384x8192x16384", {"cb2"}},
                                 OtherNames{"gemm", "16384x16384x8192", {"cb3"}},
                                 OtherNames{"gemm", "18432x8192x16384", {"cb4"}},
                                 OtherNames{"gemm", "106496x8192x16384", {"cb5"}},
                                 OtherNames{"gemm", "8192x57344x8192", {"mb1"}},
                                 OtherNames{"gemm", "16384x106496x8192", {"mb2"}},
                                 OtherNames{"dtype", "bf16", {"BF16", "bfloat16", "bf16_r"}},
                                 OtherNames{"dtype", "fp16", {"FP16", "float16", "f16_r"}},
                                 OtherNames{"dtype", "fp8", {"FP8", "f8_r"}},
                                 OtherNames{"dtype", "tf32", {"TF32"}},
                                 OtherNames{"dtype", "fp32", {"FP32", "float32", "f32_r"}}};
constexpr auto or_by_name = ", or cb1 to cb5, mb1, mb2 of ConCCL's Table I";

// A FieldReader reads fields one by one, and records faults.
class FieldReader {
 public:
  explicit FieldReader(const Fields& fields) : fields_(fields) {}

  bool has(std::string_view name) const { return fields_.contains(name); }

  // Leaves the value as it is if the field is absent.
  void read(std::string_view name, const Value& value) {
    asked_.push_back(name);
    if (const auto found = fields_.find(name); found != fields_.end())
      value.read({.arguments = arguments_, .option = name, .text = found->second});
  }
  // Records a fault if the field is absent.
  void need(std::string_view name, const Value& value) {
    if (!has(name)) fault(name, "is missing" + hint_of(value));
    read(name, value);
  }
  // Reads all words of a question, one value each: the table of study/ask/words.h.
  template <class Question>
  void read_words_of(Question& question) {
    for (const study::Word<Question>& word : study::words_of(question)) {
      if (word.whom == study::Whom::files) continue;
      if (word.needed != study::Needed::never) {
        need(word.name, word.of(question));
      } else if (has(word.name)) {
        read(word.name, word.of(question));
      } else {
        asked_.push_back(word.name);
      }
    }
  }

  void fault(std::string_view name, std::string what) { arguments_.fault(name, std::move(what)); }

  // After reading, these return all faults and the names of all fields that were asked for.
  const std::vector<sim::Fault>& faults() const { return arguments_.faults(); }
  const std::vector<std::string_view>& asked() const { return asked_; }

 private:
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

// Reads a quantity from 0 to `most` base units, which `accepted` spells for people.
Value quantity_of(double& quantity, sim::Dimension dimension, double most, std::string_view accepted) {
  return {.form = "",
          .read =
              [&quantity, dimension, most, accepted](const study::Reading& in) {
                quantity = in.arguments.quantity(in.option, in.text, dimension, {0.0, most}, accepted);
              },
          .text = {}};
}

template <class Question>
void read(Question& question, FieldReader& fields) {
  fields.read_words_of(question);
}

void read(study::RestTrial&, FieldReader&) {}
void read(study::EmptyKernelTrial&, FieldReader&) {}

void read(study::GemmTrial& trial, FieldReader& fields) {
  fields.read_words_of(trial);
  if (trial.group > 1 && trial.pause == sim::Time::zero())
    fields.fault("group", "counts GEMMs between two pauses: pause is needed, too");
  if (trial.pause > sim::Time::zero() && trial.nth.value_or(0) >= trial.group)
    fields.fault("nth", "counts from 0 up to group - 1");
  if (trial.before == study::Before::collective) {
    fields.need("collective", value_of(trial.collective.kind));
    fields.need("bytes", value_of(trial.collective.bytes));
  } else {
    trial.collective = study::collective_of_all();
  }
}

void read(models::AttentionShape& shape, FieldReader& fields) {
  fields.read_words_of(shape);
  if (!fields.has("kv_heads")) shape.kv_heads = shape.heads;
  if (!fields.has("keys")) shape.keys = shape.queries;
  std::optional<study::Operands> operands;
  fields.read("operands", value_of(operands));
  if (operands == study::Operands::warm) shape.set = shape.arrays();
}

void read(models::CollectiveSpec& spec, FieldReader& fields) {
  study::CollectiveTrial trial;
  read(trial, fields);
  spec = trial.spec;
}

void read(study::FanOutTrial& trial, FieldReader& fields) {
  Value peers = study::whole_of(trial.peers, 1, most_units);
  peers.accepted = fmt::format("1 to {} are accepted", most_units);
  fields.need("peers", peers);
  fields.need("bytes", value_of(trial.bytes));
}

void read(study::RemoteTrial& trial, FieldReader& fields) {
  fields.need("access", value_of(trial.access));
  fields.need("pattern", value_of(trial.pattern));
  fields.read("gpu", study::whole_of(trial.gpu, 0, most_units));
  fields.read("peer", study::whole_of(trial.peer, 0, most_units));
  fields.need("bytes", value_of(trial.bytes));
  fields.read("cus", study::count_of(trial.cus, 1, study::all_cus));
}

void read_arrays(study::StreamTrial& trial, FieldReader& fields) {
  fields.read("read", study::whole_of(trial.arrays_read, 0, most_units));
  fields.read("written", study::whole_of(trial.arrays_written, 0, most_units));
  if (trial.arrays_read + trial.arrays_written == 0) {
    fields.fault("written", "'0' beside no array that is read: at least one array is accepted");
  }
  fields.read("workgroups", study::count_of(trial.workgroups, 1, study::any_count));
  fields.read("threads", study::count_of(trial.threads, 1, 1 << 16));
  fields.read("set", value_of(trial.set));
  fields.read("flops_per_byte", quantity_of(trial.flops_per_byte, sim::Dimension::number, 1e6, "0 to 1000000"));
}

void read(study::StreamTrial& trial, FieldReader& fields) {
  read_arrays(trial, fields);
  fields.need("bytes", value_of(trial.bytes));
}

void read(study::StreamAndCollectiveTrial& trial, FieldReader& fields) {
  read_arrays(trial.stream, fields);
  fields.need("stream_bytes", value_of(trial.stream.bytes));
  read(trial.collective, fields);
}

void read(study::StreamAndCopiesTrial& trial, FieldReader& fields) {
  study::StreamTrial stream;
  read_arrays(stream, fields);
  if (fields.has("read") || fields.has("written")) trial.stream = stream;
  fields.need("bytes", value_of(trial.bytes));
  fields.read("both_ways", value_of(trial.both_ways));
  fields.read("gpu", study::whole_of(trial.gpu, 0, most_units));
}

// The hog runs beside a GEMM if one is named, and else beside a collective.
void read(study::HogTrial& trial, FieldReader& fields) {
  constexpr int most_workgroups = 1 << 20;
  fields.need("hog", value_of(trial.hog));
  int workgroups = 1;
  fields.need("workgroups", study::whole_of(workgroups, 1, most_workgroups));
  fields.read("read", study::whole_of(trial.arrays.arrays_read, 0, most_units));
  fields.read("written", study::whole_of(trial.arrays.arrays_written, 0, most_units));
  fields.read("under_way", value_of(trial.arrays.under_way));
  trial.arrays.workgroups = workgroups;
  models::GemmShape shape;
  fields.read("gemm", value_of(shape));
  if (fields.has("gemm")) {
    trial.beside = shape;
    return;
  }
  models::CollectiveSpec collective;
  read(collective, fields);
  trial.beside = collective;
}

void read(study::LoadTrial& trial, FieldReader& fields) {
  double beside = 0.0;
  fields.need("bytes", value_of(trial.working_set));
  fields.read("beside", quantity_of(beside, sim::Dimension::bytes_per_second, 1e16, "0 to 10000000 GB/s"));
  fields.read("beside_reads", quantity_of(trial.beside_reads, sim::Dimension::number, 1.0, "0 to 1"));
  trial.beside = sim::BytesPerSecond(beside);
}

void read(study::DependentTrial& trial, FieldReader& fields) {
  fields.need("gemm", value_of(trial.shape));
  fields.read("dtype", value_of(trial.shape.dtype, {{"bf16", models::Dtype::bf16}}));  // the only format with a model
  fields.need("schedule", value_of(trial.schedule, sim::choices_of(study::all_dependent_schedules())));
}

void read(study::FusedTrial& trial, FieldReader& fields) {
  fields.read_words_of(trial.spec);
  trial.gathered = trial.spec.kind == models::CollectiveKind::all_reduce;
  if (trial.gathered) trial.spec.kind = models::CollectiveKind::reduce_scatter;
}

// The model comes from the first folder of configurations that has it.
void read(study::StepTrial& trial, FieldReader& fields) {
  study::StepWords& words = trial.question;
  fields.read_words_of(words);
  fields.read("kind", value_of(trial.kind));
  if (words.model_name.empty()) return;
  try {
    words.take(study::read_model_of(words));
  } catch (const sim::ConfigError& error) {
    fields.fault("model", error.faults().front().what);
  }
}

// Whoever runs the trial reads the model, and reports a missing one.
void read(study::ServeTrial& trial, FieldReader& fields) { read(trial.question, fields); }

void read(study::ReplayTrial& trial, FieldReader& fields) {
  fields.read("trace", study::word_of(trial.trace, ""));
  fields.read("collective", value_of(trial.collective));
  fields.read("simulated", value_of(trial.simulated));
}

struct Kind {
  std::string_view name;
  study::Trial (*read)(FieldReader&);
};

template <class T>
constexpr Kind named(std::string_view name) {
  return {name, [](FieldReader& fields) {
            T trial;
            read(trial, fields);
            return study::Trial(std::move(trial));
          }};
}

constexpr std::array kinds{named<study::RestTrial>("rest"),
                           named<study::EmptyKernelTrial>("empty_kernel"),
                           named<study::GemmTrial>("gemm"),
                           named<models::AttentionShape>("attention"),
                           named<study::CollectiveTrial>("collective"),
                           named<study::CopyTrial>("copy"),
                           named<study::ReplayTrial>("replay"),
                           named<study::FanOutTrial>("fan_out"),
                           named<study::RemoteTrial>("remote"),
                           named<study::StreamTrial>("stream"),
                           named<study::LoadTrial>("load"),
                           named<study::C3Trial>("c3"),
                           named<study::DependentTrial>("dependent"),
                           named<study::FusedTrial>("fused"),
                           named<study::StepTrial>("step"),
                           named<study::ServeTrial>("serve"),
                           named<study::StreamAndCollectiveTrial>("stream_beside_collective"),
                           named<study::StreamAndCopiesTrial>("copies_in_a_row"),
                           named<study::HogTrial>("beside_hog")};

const Kind& kind_of(std::string_view name) { return *std::ranges::find(kinds, name, &Kind::name); }

}  // namespace

std::vector<std::string_view> trial_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds) names.push_back(kind.name);
  return names;
}

// Returns the names for which the kind's function asks when no field is set.
std::vector<std::string_view> fields_of(std::string_view kind) {
  const Fields nothing;
  FieldReader reader(nothing);
  kind_of(kind).read(reader);
  return reader.asked();
}

study::Trial read_trial(std::string_view kind, const Fields& fields, std::vector<sim::Fault>& faults) {
  if (std::ranges::find(kinds, kind, &Kind::name) == kinds.end()) {
    faults.push_back({"trial", {}, study::in_quotes(kind) + " is no trial" + sim::name_hint(kind, kinds, &Kind::name)});
    return {};
  }
  Fields shaped = fields;
  for (const auto& [field, meaning, names] : other_names) {
    const auto said = shaped.find(field);
    if (said == shaped.end() || said->second.empty() || std::ranges::find(names, said->second) == names.end()) continue;
    said->second = meaning;
  }
  FieldReader reader(shaped);
  study::Trial trial = kind_of(kind).read(reader);
  for (const sim::Fault& fault : reader.faults()) {
    faults.push_back({fault.where, {}, fault.what + (fault.where == "gemm" ? or_by_name : "")});
  }
  return trial;
}

}  // namespace c3sim::calibrate
