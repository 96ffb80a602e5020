#include "study/program/layer_names.h"

#include <functional>
#include <map>

namespace c3sim::study {

namespace {

using Names = std::map<std::string, std::function<sim::Amount(const LayerNames&)>, std::less<>>;

sim::Amount amount(auto value) { return {static_cast<double>(value), {}}; }
sim::Amount amount(sim::Bytes value) { return {value.value(), powers_of_bytes}; }

template <class Of>
auto of_model(Of of) {
  return [of](const LayerNames& names) { return amount(of(names.question().model)); };
}
template <class Of>
auto of_step(Of of) {
  return [of](const LayerNames& names) { return amount(of(names.question())); };
}

using M = ModelSpec;
using Q = StepQuestion;

Names values_by_name() {
  Names names{
      // The model.
      {"value_dim", of_model([](const M& model) { return model.values(); })},  // also where the file has 0
      {"rms", of_model([](const M& model) { return model.norm == Norm::rms; })},
      {"gates", of_model([](const M& model) { return model.gates(); })},
      {"gelu", of_model([](const M& model) { return model.feed == Feed::gelu; })},
      {"rotary", of_model([](const M& model) { return model.position == Positions::rotary; })},
      {"learned", of_model([](const M& model) { return model.position == Positions::learned; })},
      {"query_norm", of_model([](const M& model) { return model.query_norm != QueryNorm::none; })},
      {"norms_heads", of_model([](const M& model) { return model.query_norm == QueryNorm::heads; })},
      {"biases", of_model([](const M& model) { return model.biases; })},
      {"qkv_biases", of_model([](const M& model) { return model.qkv_biases; })},
      {"after_norms", of_model([](const M& model) { return model.after_norms; })},
      {"sinks", of_model([](const M& model) { return model.sinks; })},
      {"tied", of_model([](const M& model) { return model.tied; })},
      {"dropout", of_model([](const M& model) { return model.dropout > 0.0; })},
      {"scored_share", of_model([](const M& model) { return model.scored; })},
      {"head_soft_cap", of_model([](const M& model) { return model.head_soft_cap; })},
      {"experts_alone", of_model([](const M& model) { return model.experts_alone; })},
      // The split.
      {"tp", of_step([](const Q& step) { return step.tp; })},
      {"ep", of_step([](const Q& step) { return step.ep; })},
      {"cp", of_step([](const Q& step) { return step.cp; })},
      {"expert_tp", of_step([](const Q& step) { return step.expert_tp(); })},
      {"replicas", of_step([](const Q& step) { return step.replicas(); })},
      {"expert_replicas", of_step([](const Q& step) { return step.expert_replicas(); })},
      {"stage_gpus", of_step([](const Q& step) { return step.stage_gpus(); })},
      {"own_kv_heads", of_step([](const Q& step) { return step.kv_heads(); })},
      {"gpus_of_kv_head", of_step([](const Q& step) { return step.gpus_of_kv_head(); })},
      {"sharded", of_step([](const Q& step) { return step.shard == Shard::full; })},
      {"routes_shares", of_step([](const Q& step) { return step.routes_shares(); })},
      {"fuses", of_step([](const Q& step) { return step.fuses(); })},
      {"pieces", of_step([](const Q& step) { return step.pieces.value_or(0); })},
      {"ffn_pieces", of_step([](const Q& step) { return step.pieces ? step.ffn_pieces.value_or(*step.pieces) : 0; })},
      // The step and its tokens.
      {"decode", of_step([](const Q& step) { return step.phase == Phase::decode; })},
      {"prefill", of_step([](const Q& step) { return step.phase == Phase::prefill; })},
      {"train", of_step([](const Q& step) { return step.phase == Phase::train; })},
      {"recompute", of_step([](const Q& step) { return step.recompute; })},
      {"compiled", of_step([](const Q& step) { return step.kernels == Kernels::compiled; })},
      {"overlaps", of_step([](const Q& step) { return step.overlap != Overlap::none; })},
      {"tokens", of_step([](const Q& step) { return step.tokens_of_gpu(step.new_tokens()); })},
      {"tokens_of_replica", of_step([](const Q& step) { return step.new_tokens(); })},
      {"keyed", of_step([](const Q& step) { return step.tokens_with_keys(); })},
      {"sequences", of_step([](const Q& step) { return step.batch + step.decoding; })},
      {"decoding", of_step([](const Q& step) { return step.decoding; })},
      {"cached_tokens", of_step([](const Q& step) { return step.cached_tokens(); })},
      // Formats.
      {"mixes", of_step([](const Q& step) { return step.mixes(); })},
      {"wide", of_step([](const Q& step) { return step.wide_stream(); })},
      {"quantises", of_step([](const Q& step) { return step.quantises(); })},
      {"products_format", of_step([](const Q& step) { return size_of(step.dtype); })},
      {"activations", of_step([](const Q& step) { return size_of(step.activation_format()); })},
      {"weights_format", of_step([](const Q& step) { return step.weight_element(); })},
      {"ends_format", of_step([](const Q& step) { return step.end_element(); })},
      {"gradients_format", of_step([](const Q& step) { return step.gradient_element(); })},
      // Experts.
      {"by_peers", of_step([](const Q& step) { return step.ep > 1 && step.dispatch != Dispatch::all_to_all; })},
      {"dispatches_once", of_step([](const Q& step) { return step.dispatch == Dispatch::high_throughput; })},
      {"routed", of_step([](const Q& step) { return step.tokens_to_route(step.new_tokens()); })},
      {"over_even", [](const LayerNames& of) { return amount(of.load().over_even); }},
      {"busy_of_rank", [](const LayerNames& of) { return amount(of.load().busy); }},
      {"ranks_of_token", of_step([](const Q& step) {
         return ranks_of_token(step.routing, step.model.experts, step.model.experts_used, step.ep);
       })}};
  for (const Extent& extent : extents()) {
    names.emplace(extent.key, of_model([place = extent.value](const M& model) { return model.*place; }));
  }
  return names;
}

const Names& known_names() {
  static const Names names = values_by_name();
  return names;
}

}  // namespace

std::set<std::string, std::less<>> LayerNames::all() {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, value] : known_names()) names.insert(name);
  return names;
}

sim::Amount LayerNames::at(std::string_view name) const { return known_names().find(name)->second(*this); }

const RoutedLoad& LayerNames::load() const {
  if (!load_) {
    const ModelSpec& model = question_.model;
    // GPUs that share out an expert each process the tokens sent to any of them.
    const std::int64_t gpus = question_.ep == 1 ? 1 : question_.ep * question_.expert_tp();
    load_ = model.experts == 0 ? RoutedLoad{}
                               : load_of(question_.routing, model.experts, model.experts_used, question_.ep,
                                         gpus * question_.tokens_to_route(question_.new_tokens()));
  }
  return *load_;
}

}  // namespace c3sim::study
