#include "study/network/model_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/split.hpp>
#include <system_error>

#include "sim/config/config.h"
#include "sim/config/config_text.h"
#include "sim/config/csv_file.h"
#include "sim/config/files_read.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "study/fault_list.h"

namespace c3sim::study {

namespace {

// Reads the variants of a network file: the layers of each, and the extents that differ.
std::vector<LayerVariant> read_variants(sim::Section& root, const ModelSpec& model) {
  std::vector<LayerVariant> variants;
  for (sim::Section& one : root.list("variants")) {
    LayerVariant variant;
    variant.name = one.name("name");
    const std::int64_t first = one.integer("first", 0, most_layers, 0);
    const std::int64_t every = one.integer("every", 1, most_layers, 1);
    if (one.has("first") == one.has("every")) {
      one.fault("name",
                "holds for the first layers or for every so many-th: one of first and every is needed, not both");
    }
    variant.layers = layers_of_pattern(model.layers, one.has("first") ? first : 0, one.has("every") ? every : 0);
    for (const Extent& extent : extents()) {
      if (extent.varies == nullptr || !one.has(extent.key)) continue;
      variant.*extent.varies = one.integer(extent.key, std::min<std::int64_t>(0, extent.least), extent.most);
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

ReadModel read_yaml(const std::filesystem::path& file) {
  sim::Config config = sim::Config::from_file(file);
  sim::Section root = config.root();
  const std::string name = root.name("name");
  root.text("source");
  ModelSpec model = read_network(root);
  model.name = name;
  model.attention = root.name("attention", "");
  model.feed_forward = root.name("feed_forward", "");
  if (root.has("variants")) model.variants = read_variants(root, model);
  for (const sim::Fault& one : contradictions(model, root.has("head_dim"))) root.fault(one.where, one.what);
  config.finish();
  return {std::move(model)};
}

// Parses experts alone, as in "experts:7168x2048x33x9".
ModelSpec read_experts(const std::string& name) {
  const std::vector<std::int64_t> extents = sim::parse_extents(std::string_view(name).substr(experts_prefix.size()));
  ModelSpec model;
  model.name = name;
  model.experts_alone = true;
  constexpr std::array places{&ModelSpec::hidden, &ModelSpec::ffn, &ModelSpec::experts, &ModelSpec::experts_used};
  constexpr std::array most{most_features, most_features, most_experts, most_experts};
  bool reads = extents.size() == places.size();
  for (std::size_t i = 0; i < places.size() && reads; ++i) {
    reads = extents[i] <= most[i];
    model.*places[i] = extents[i];
  }
  if (!reads) {
    throw sim::ConfigError({{"--model", "",
                             fmt::format("'{}' are no experts: four numbers are accepted, as experts:7168x2048x33x9, "
                                         "features up to {}, experts up to {}",
                                         name.substr(0, 80), most_features, most_experts)}});
  }
  if (model.experts_used > model.experts) {
    throw sim::ConfigError({{"--model", "",
                             fmt::format("a token cannot use {} of {} experts: 1 to {} are accepted",
                                         model.experts_used, model.experts, model.experts)}});
  }
  return model;
}

bool begins_with(std::string_view name, std::string_view beginning) {
  return boost::istarts_with(name, beginning) && (name.size() == beginning.size() || name[beginning.size()] == '-');
}

// Returns the row of the table with the longest matching beginning, even if it has no model.
std::optional<HeldModel> told_of(std::string_view name, std::span<const std::filesystem::path> config_folders) {
  const std::optional<std::filesystem::path> file = sim::first_file(config_folders, "models/repositories.csv");
  if (!file) return {};
  std::optional<HeldModel> told;
  const std::string text = sim::read_measurement_text(*file);
  sim::CsvLexer lexer(text);
  std::size_t longest = 0;
  sim::CsvRow row;
  lexer.next(row);  // skips the header
  while (lexer.next(row)) {
    if (row.cells.size() < 2 || row.cells[0].text.size() <= longest || !begins_with(name, row.cells[0].text)) continue;
    longest = row.cells[0].text.size();
    told = HeldModel{std::string(row.cells[1].text), row.cells.size() < 3 ? "" : std::string(row.cells[2].text)};
  }
  return told;
}

// Returns the first file of this name in the model folders.
std::optional<std::filesystem::path> named_model_file(std::string_view name,
                                                      std::span<const std::filesystem::path> config_folders) {
  if (name.find('\0') != std::string_view::npos) return {};  // the file system would cut the name here
  return sim::first_file(config_folders, "models/" + std::string(name) + ".yaml");
}

}  // namespace

std::vector<std::int64_t> layers_of_pattern(std::int64_t layers, std::int64_t first, std::int64_t every) {
  std::vector<std::int64_t> indices;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (layer < first || (every > 0 && layer % every == every - 1)) indices.push_back(layer);
  }
  return indices;
}

std::span<const Extent> extents() {
  using M = ModelSpec;
  using V = LayerVariant;
  static constexpr std::array all{Extent{"layers", &M::layers, 1, most_layers},
                                  Extent{"hidden", &M::hidden, 1, most_features},
                                  Extent{"heads", &M::heads, 1, most_features},
                                  Extent{"kv_heads", &M::kv_heads, 1, most_features},
                                  Extent{"head_dim", &M::head_dim, 1, most_head_features},
                                  Extent{"value_dim", &M::value_dim, 0, most_head_features},
                                  Extent{"query_rank", &M::query_rank, 0, most_features},
                                  Extent{"kv_rank", &M::kv_rank, 0, most_features},
                                  Extent{"rotary_dim", &M::rotary_dim, 0, most_head_features},
                                  Extent{"ffn", &M::ffn, 1, most_features, &V::ffn},
                                  Extent{"vocabulary", &M::vocabulary, 1, most_words},
                                  Extent{"positions", &M::positions, 0, most_positions},
                                  Extent{"window", &M::window, 0, most_positions, &V::window},
                                  Extent{"experts", &M::experts, 0, most_experts, &V::experts},
                                  Extent{"experts_used", &M::experts_used, 0, most_experts, &V::experts_used},
                                  Extent{"shared_ffn", &M::shared_ffn, 0, most_features, &V::shared_ffn}};
  return all;
}

std::vector<LayerKind> ModelSpec::kinds(std::int64_t of_layers) const { return kinds(of_layers, 0, of_layers); }

std::vector<LayerKind> ModelSpec::kinds(std::int64_t of_layers, std::int64_t from, std::int64_t to) const {
  if (variants.empty()) return {{*this, "", to - from}};
  std::vector<LayerKind> kinds;
  for (std::int64_t layer = 0; layer < of_layers; ++layer) {
    ModelSpec own = *this;
    own.variants.clear();
    std::string prefix;
    for (const LayerVariant& variant : variants) {
      if (!std::ranges::binary_search(variant.layers, layer % layers)) continue;
      const ModelSpec before = own;
      for (const Extent& extent : extents()) {
        if (extent.varies != nullptr && variant.*extent.varies) own.*extent.value = *(variant.*extent.varies);
      }
      if (own != before) prefix += variant.name + "_";
    }
    if (own.experts == 0) own.experts_used = own.shared_ffn = 0;
    auto found = std::ranges::find(kinds, own, &LayerKind::model);
    if (found == kinds.end()) found = kinds.insert(found, {std::move(own), std::move(prefix), 0});
    if (from <= layer && layer < to) ++found->layers;
  }
  return kinds;
}

std::vector<sim::Fault> contradictions(const ModelSpec& model, bool says_head_dim) {
  FaultList faults;
  faults.add_if(!says_head_dim && model.hidden % model.heads != 0, "heads",
                "{} features are not {} heads of the same size: a divisor of {} is accepted", model.hidden, model.heads,
                model.hidden);
  faults.add_if(model.heads % model.kv_heads != 0, "kv_heads",
                "{} heads do not share {} heads of keys and values evenly: a divisor of {} is accepted", model.heads,
                model.kv_heads, model.heads);
  // Each pair is a layer's number of experts and that of a token. Layers without experts use none, whatever was said.
  std::vector<std::pair<std::int64_t, std::int64_t>> uses;
  const bool has_experts = model.experts > 0 || std::ranges::any_of(model.variants, [](const LayerVariant& variant) {
                             return variant.experts.value_or(0) > 0;
                           });
  if (!has_experts) {
    uses.emplace_back(0, model.experts_used);
    for (const LayerVariant& variant : model.variants) uses.emplace_back(0, variant.experts_used.value_or(0));
  }
  for (const LayerKind& kind : model.kinds(model.layers)) {
    uses.emplace_back(kind.model.experts, kind.model.experts_used);
  }
  for (const auto& [experts, used] : uses) {
    const bool is_possible = (experts == 0) == (used == 0) && used <= experts;
    faults.add_if(!is_possible, "experts_used",
                  "a token cannot use {} of {} experts: 1 to all of them are accepted, or none of none", used, experts);
    if (!is_possible) break;
  }
  faults.add_if(
      model.is_latent() && (model.rotary_dim >= model.head_dim || model.kv_heads != model.heads), "kv_rank",
      "latent attention has {} features of a key that all heads share, fewer than the {} of each, and as many "
      "heads of keys as the {} of queries",
      model.rotary_dim, model.head_dim, model.heads);
  faults.add_if(!model.is_latent() && (model.query_rank > 0 || model.rotary_dim > 0), "kv_rank",
                "query_rank and rotary_dim are of latent attention: a kv_rank of at least 1 is accepted beside them");
  for (const auto& [kind, prefix, layers] : model.kinds(model.layers)) {
    const bool cuts = model.positions == 0 || kind.window <= model.positions;
    faults.add_if(
        !cuts, "window",
        "a window of {} tokens is longer than the {} that the model knows the place of: up to {} are accepted, "
        "or 0 for none",
        kind.window, model.positions, model.positions);
    if (!cuts) break;
  }
  faults.add_if(model.position == Positions::learned && model.positions == 0, "positions",
                "learned positions are so many: positions is missing, a number from 1 is accepted");
  return faults.take();
}

std::vector<std::string> model_names(std::span<const std::filesystem::path> config_folders) {
  return sim::yaml_names(config_folders, "models");
}

std::optional<HeldModel> held_by_repository(std::string_view repository,
                                            std::span<const std::filesystem::path> config_folders) {
  const std::string_view name = repository.substr(repository.rfind('/') + 1);
  std::optional<HeldModel> told = told_of(name, config_folders);
  const bool is_told = told && !told->model.empty();
  const bool is_called_as_told = is_told && told->model == name;
  if (!is_called_as_told && named_model_file(name, config_folders)) return HeldModel{std::string(name), ""};
  if (!is_told) return {};
  return told;
}

std::filesystem::path model_file(const std::string& name_or_path,
                                 std::span<const std::filesystem::path> config_folders) {
  std::filesystem::path path = name_or_path;
  const std::string extension = path.extension().string();
  std::error_code absent;
  const bool is_file = extension == ".json" || extension == ".yaml" || extension == ".yml";
  const bool is_path = is_file || name_or_path.find('/') != std::string::npos;
  if (is_file || (is_path && std::filesystem::exists(path, absent))) return path;
  if (const auto named = named_model_file(name_or_path, config_folders)) return *named;
  if (const std::optional<HeldModel> held = held_by_repository(name_or_path, config_folders)) {
    if (const auto known = named_model_file(held->model, config_folders)) return *known;
  }
  if (is_path) return path;
  throw sim::ConfigError({{"--model", "",
                           "no model is named '" + name_or_path.substr(0, 80) + "'" +
                               sim::name_hint(name_or_path, model_names(config_folders)) +
                               "; a file is accepted too, .yaml or a config.json of Hugging Face"}});
}

ReadModel read_model_file(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders,
                          const std::string& ignored_keys, const std::string& like) {
  std::vector<std::string> ignores;
  if (!ignored_keys.empty()) boost::split(ignores, ignored_keys, [](char mark) { return mark == ','; });
  if (names_experts(name_or_path) && ignores.empty() && like.empty()) return {read_experts(name_or_path)};
  const std::filesystem::path file = model_file(name_or_path, config_folders);
  if (file.extension() == ".json") {
    return read_hugging_face(sim::read_measurement_text(file), name_or_path, config_folders, ignores,
                             like.ends_with(".json") ? read_model(like, config_folders).name : like);
  }
  if (!ignores.empty() || !like.empty()) {
    throw sim::ConfigError(
        {{ignores.empty() ? "--like" : "--ignore", "", "is for a config.json, and the model is no such file"}});
  }
  return read_yaml(file);
}

std::string to_string(models::Dtype products, const Formats& parts) {
  std::string all(models::to_string(products));
  for (const auto& [name, place] : parts_with_formats) {
    if (const std::optional<models::Dtype> format = parts.*place) {
      all += fmt::format(",{}={}", name, models::to_string(*format));
    }
  }
  return all;
}

}  // namespace c3sim::study
