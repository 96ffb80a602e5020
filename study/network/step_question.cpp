#include "study/network/step_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/collectives/algorithm.h"
#include "study/config_folders.h"

namespace c3sim::study {

std::string_view to_string(const Carrier& carrier) {
  if (carrier.fuses) return "t3";
  if (carrier.by_size) return "by_size";
  return carrier.backend ? models::to_string(*carrier.backend) : "auto";
}

std::vector<sim::Choice<Carrier>> plain_carriers() {
  std::vector<sim::Choice<Carrier>> choices;
  for (const auto& [name, backend] : sim::choices_of<models::Backend>()) choices.emplace_back(name, backend);
  choices.emplace_back(to_string(carrier_by_size()), carrier_by_size());
  return choices;
}

std::vector<sim::Choice<Carrier>> all_choices(Carrier) {
  std::vector<sim::Choice<Carrier>> choices = plain_carriers();
  for (const Carrier& other : {Carrier(models::Backend::sdma, true), Carrier(std::nullopt)}) {
    choices.emplace_back(to_string(other), other);
  }
  return choices;
}

std::string to_string(const CollectiveCarrier& carrier) {
  const std::string_view backend = models::to_string(carrier.backend);
  return carrier.channels ? fmt::format("{}/{}", backend, *carrier.channels) : std::string(backend);
}

std::string_view collective_name(std::string_view operation) {
  const std::size_t end = operation.find_last_not_of("0123456789");
  if (end + 1 == operation.size()) return operation;
  return operation.substr(0, operation[end] == '_' ? end : end + 1);
}

void StepQuestion::take(const ReadModel& read) {
  model = read.model;
  if (dtype != models::Dtype::bf16 || formats != Formats{}) return;
  dtype = read.products.value_or(dtype);
  formats = read.formats;
}

StepQuestion StepQuestion::of_attention() const {
  StepQuestion one = *this;
  if (!formats.attention) return one;
  one.dtype = activation_format();
  one.formats.weights.reset();
  return one;
}

std::vector<LayerGroup> StepQuestion::groups(FewLayers few, int stage) const {
  std::int64_t before = 0;
  for (int earlier = 0; earlier < stage; ++earlier) before += layers_of(earlier);
  std::vector<LayerGroup> groups;
  for (LayerKind& kind : model.kinds(layer_count(), before, before + layers_of(stage))) {
    const std::int64_t fewer = groups.size() == few.kind ? few.fewer : 0;
    const std::int64_t simulated = half == Half::experts && kind.model.experts == 0 ? 0 : kind.layers;
    LayerGroup group{*this, std::move(kind.prefix), std::min(few.each, simulated) - fewer};
    group.question.model = std::move(kind.model);
    groups.push_back(std::move(group));
  }
  return groups;
}

models::Backend StepQuestion::carrier_of(models::CollectiveKind kind) const {
  models::Backend wanted = collectives.backend.value_or(models::Backend::rccl);
  const bool is_by_peers = dispatch != Dispatch::all_to_all && kind == models::CollectiveKind::all_to_all;
  if (is_by_peers && wanted != models::Backend::sdma) wanted = models::Backend::one_shot;
  // SDMA engines of today do not add, so that a reduce-scatter stays with kernels.
  const bool adds = wanted == models::Backend::sdma && kind == models::CollectiveKind::reduce_scatter;
  const bool able = std::ranges::count(models::algorithm_of(wanted).kinds, kind) > 0;
  return able && !adds ? wanted : models::Backend::rccl;
}

CollectiveCarrier StepQuestion::carrier_of(std::string_view collective, models::CollectiveKind kind) const {
  const auto one = chosen.find(collective);
  return one == chosen.end() ? CollectiveCarrier{carrier_of(kind)} : one->second;
}

namespace {

// Follows vLLM's choice (csrc/custom_all_reduce.cuh, and its 8 MiB of buffers), which SGLang adopted.
models::Backend all_reduce_of(sim::Bytes bytes, int gpus) {
  constexpr double kib = 1024.0;
  if (bytes > sim::Bytes(8192.0 * kib)) return models::Backend::rccl;
  const bool in_one_shot = gpus == 2 || bytes < sim::Bytes((gpus <= 4 ? 512.0 : 256.0) * kib);
  return in_one_shot ? models::Backend::one_shot : models::Backend::two_shot;
}

}  // namespace

bool StepQuestion::decides_by_size(std::string_view collective, models::CollectiveKind kind) const {
  return collectives.by_size && kind == models::CollectiveKind::all_reduce && !chosen.contains(collective);
}

CollectiveCarrier StepQuestion::carrier_of(std::string_view collective, models::CollectiveKind kind, sim::Bytes bytes,
                                           int gpus) const {
  if (decides_by_size(collective, kind)) return {all_reduce_of(bytes, gpus)};
  return carrier_of(collective, kind);
}

ReadModel read_model_of(const StepWords& words) {
  return read_model_file(words.model_name, config_folders(), words.ignored_keys, words.like);
}

}  // namespace c3sim::study
