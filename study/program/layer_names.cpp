#include "study/program/layer_templates.h"

namespace c3sim::study {

namespace {

sim::Amount amount(auto value) { return {static_cast<double>(value), {}}; }
sim::Amount amount(sim::Bytes value) { return {value.value(), powers_of_bytes}; }

template <class Of>
auto of_model(Of of) {
  return [of](const StepQuestion& step) { return amount(of(step.model)); };
}
template <class Of>
auto of_step(Of of) {
  return [of](const StepQuestion& step) { return amount(of(step)); };
}

RoutedLoad load_of(const StepQuestion& step) {
  const ModelSpec& model = step.model;
  // GPUs that share out an expert each process the tokens sent to any of them.
  const std::int64_t gpus = step.ep == 1 ? 1 : step.ep * step.expert_tp();
  return model.experts == 0 ? RoutedLoad{}
                            : load_of(step.routing, model.experts, model.experts_used, step.ep,
                                      gpus * step.tokens_to_route(step.new_tokens()));
}

using M = ModelSpec;
using Q = StepQuestion;

LayerNames values_by_name() {
  LayerNames names{
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
      {"sharded", of_step([](const Q& step) { return step.shard == Shard::full; })},
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
      {"keyed", of_step([](const Q& step) { return step.batch * (step.model.seen(step.context) + step.tokens); })},
      {"sequences", of_step([](const Q& step) { return step.batch + step.decoding; })},
      {"decoding", of_step([](const Q& step) { return step.decoding; })},
      {"cached_tokens", of_step([](const Q& step) { return step.cached_tokens(); })},
      // Formats.
      {"mixes", of_step([](const Q& step) { return step.mixes(); })},
      {"wide", of_step([](const Q& step) { return step.wide_stream(); })},
      {"products_format", of_step([](const Q& step) { return size_of(step.dtype); })},
      {"activations", of_step([](const Q& step) { return size_of(step.activation_format()); })},
      {"weights_format", of_step([](const Q& step) { return step.weight_element(); })},
      {"ends_format", of_step([](const Q& step) { return step.end_element(); })},
      {"gradients_format", of_step([](const Q& step) { return step.gradient_element(); })},
      // Experts.
      {"by_peers", of_step([](const Q& step) { return step.ep > 1 && step.dispatch != Dispatch::all_to_all; })},
      {"dispatches_once", of_step([](const Q& step) { return step.dispatch == Dispatch::high_throughput; })},
      {"routed", of_step([](const Q& step) { return step.tokens_to_route(step.new_tokens()); })},
      {"over_even", of_step([](const Q& step) { return load_of(step).over_even; })},
      {"busy_of_rank", of_step([](const Q& step) { return load_of(step).busy; })},
      {"ranks_of_token", of_step([](const Q& step) {
         return ranks_of_token(step.routing, step.model.experts, step.model.experts_used, step.ep);
       })}};
  for (const Extent& extent : extents()) {
    names.emplace(extent.key, of_model([place = extent.value](const M& model) { return model.*place; }));
  }
  return names;
}

}  // namespace

const LayerNames& layer_names() {
  static const LayerNames names = values_by_name();
  return names;
}

}  // namespace c3sim::study
