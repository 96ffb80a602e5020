#include "study/step/model_spec.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "sim/config/config.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "study/work/fault_list.h"

namespace c3sim::study {

namespace {

ModelSpec read_yaml(const std::filesystem::path& file) {
  sim::Config config = sim::Config::from_file(file);
  sim::Section root = config.root();
  ModelSpec model;
  model.name = root.name("name");
  root.text("source");
  model.layers = root.integer("layers", 1, most_layers);
  model.hidden = root.integer("hidden", 1, most_features);
  model.heads = root.integer("heads", 1, most_features);
  model.kv_heads = root.integer("kv_heads", 1, most_features, model.heads);
  model.head_dim =
      root.integer("head_dim", 1, most_head_features, std::max<std::int64_t>(1, model.hidden / model.heads));
  model.ffn = root.integer("ffn", 1, most_features);
  model.vocabulary = root.integer("vocabulary", 1, most_words);
  model.position = root.choice<Positions>("position", sim::choices_of<Positions>(), Positions::rotary);
  model.positions = root.integer("positions", 0, most_positions, 0);
  model.window = root.integer("window", 0, most_positions, 0);
  model.norm = root.choice<Norm>("norm", sim::choices_of<Norm>(), Norm::rms);
  model.feed = root.choice<Feed>("feed", sim::choices_of<Feed>(), Feed::swiglu);
  model.causal = root.flag("causal", true);
  model.biases = root.flag("biases", false);
  model.qkv_biases = root.flag("qkv_biases", model.biases);
  model.tied = root.flag("tied", false);
  model.dropout = root.number("dropout", 0.0, 0.99, 0.0);
  model.attention_dropout = root.number("attention_dropout", 0.0, 0.99, model.dropout);
  model.scored = root.number("scored", 0.001, 1.0, 1.0);
  model.experts = root.integer("experts", 0, most_experts, 0);
  model.experts_used = root.integer("experts_used", 0, most_experts, 0);
  for (const sim::Fault& one : contradictions(model, root.has("head_dim"))) root.fault(one.where, one.what);
  config.finish();
  return model;
}

}  // namespace

std::int64_t ModelSpec::expert_parameters() const { return experts * (first_ffn() + ffn) * hidden; }

std::int64_t ModelSpec::whole_parameters() const {
  const std::int64_t norms = (norm == Norm::layer ? 4 : 2) * hidden;
  return norms + experts * hidden + (biases ? 2 * hidden : 0);
}

std::int64_t ModelSpec::layer_parameters() const {
  const std::int64_t attention = hidden * (2 * query_features() + 2 * kv_features());
  const std::int64_t feed_forward = experts == 0 ? (first_ffn() + ffn) * hidden : expert_parameters();
  const std::int64_t first_bias = biases || qkv_biases ? query_features() + 2 * kv_features() : 0;
  return attention + feed_forward + first_bias + (biases ? first_ffn() : 0) + whole_parameters();
}

std::int64_t ModelSpec::end_parameters() const {
  const std::int64_t learned = position == Positions::learned ? positions * hidden : 0;
  return (tied ? 1 : 2) * vocabulary * hidden + learned + hidden;
}

std::vector<sim::Fault> contradictions(const ModelSpec& model, bool says_head_dim) {
  FaultList faults;
  faults.add_if(!says_head_dim && model.hidden % model.heads != 0, "heads",
                "{} features are not {} heads of the same size: a divisor of {} is accepted", model.hidden, model.heads,
                model.hidden);
  faults.add_if(model.heads % model.kv_heads != 0, "kv_heads",
                "{} heads do not share {} heads of keys and values evenly: a divisor of {} is accepted", model.heads,
                model.kv_heads, model.heads);
  faults.add_if((model.experts == 0) != (model.experts_used == 0) || model.experts_used > model.experts, "experts_used",
                "a token cannot use {} of {} experts: 1 to all of them are accepted, or none of none",
                model.experts_used, model.experts);
  faults.add_if(model.position == Positions::learned && model.positions == 0, "positions",
                "learned positions are so many: positions is missing, a number from 1 is accepted");
  return faults.take();
}

std::vector<std::string> model_names(std::span<const std::filesystem::path> config_folders) {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : config_folders) {
    std::error_code absent;
    for (std::filesystem::directory_iterator file(folder / "models", absent), end; !absent && file != end; ++file) {
      if (file->path().extension() == ".yaml") names.insert(file->path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::filesystem::path model_file(const std::string& name_or_path,
                                 std::span<const std::filesystem::path> config_folders) {
  std::filesystem::path path = name_or_path;
  const std::string extension = path.extension().string();
  const bool is_path = name_or_path.find('/') != std::string::npos || extension == ".json" || extension == ".yaml" ||
                       extension == ".yml";
  if (is_path) return path;
  for (const std::filesystem::path& folder : config_folders) {
    std::error_code absent;
    std::filesystem::path file = folder / "models" / (name_or_path + ".yaml");
    if (std::filesystem::is_regular_file(file, absent)) return file;
  }
  throw sim::ConfigError({{"--model", "",
                           "no model is named '" + name_or_path.substr(0, 80) + "'" +
                               sim::name_hint(name_or_path, model_names(config_folders)) +
                               "; a file is accepted too, .yaml or a config.json of Hugging Face"}});
}

ModelSpec read_model(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders) {
  const std::filesystem::path file = model_file(name_or_path, config_folders);
  if (file.extension() == ".json") return read_hugging_face(sim::read_measurement_text(file), name_or_path);
  return read_yaml(file);
}

}  // namespace c3sim::study
