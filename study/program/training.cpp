#include "study/program/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {

constexpr auto gradient_stream = "gradients";
// PyTorch's DistributedDataParallel fills a bucket with whole gradients as they come until it has this many bytes
// (bucket_cap_mb); the first bucket is smaller.
constexpr double mebibyte = 1 << 20;
constexpr sim::Bytes bucket{25.0 * mebibyte};
constexpr sim::Bytes first_bucket{1.0 * mebibyte};

// A Bucket holds gradients that are reduced together, once that of product `behind` is complete; empty: in the end.
struct Bucket {
  double weights = 0.0;
  std::string behind{};
};

// Returns the buckets that gradients fill. Those without a product, such as norms' and biases', and a remainder, which
// would go to the next layer, are in the last bucket: all layers have the same buckets.
std::vector<Bucket> buckets_of(std::span<const Tensor> tensors, sim::Bytes element, sim::Bytes limit) {
  std::vector<Bucket> buckets;
  double of_no_product = 0.0;
  bool is_full = true;
  for (const Tensor& one : tensors) {
    if (one.gradient.empty()) {
      of_no_product += one.elements;
      continue;
    }
    if (is_full) buckets.emplace_back();
    buckets.back().weights += one.elements;
    buckets.back().behind = one.gradient;
    is_full = buckets.back().weights * element >= limit;
  }
  if (buckets.empty()) buckets.emplace_back();
  buckets.back().weights += of_no_product;
  return buckets;
}

// Returns the weights of the head if its gradient, which is one tensor, fills the first bucket, so that it is reduced
// while layers compute theirs; otherwise 0.
double reduced_early(const StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (question.shard == Shard::full) return 0.0;
  const std::vector<Bucket> buckets =
      buckets_of(end_weights(question, writer.templates()), question.gradient_element(), first_bucket);
  return buckets.size() > 1 ? buckets.front().weights : 0.0;
}

double all_of_ends(const StepWriter& writer) { return elements_of(end_weights(writer.question(), writer.templates())); }

std::vector<AlikeWeights> shared_weights(const StepWriter& writer) {
  std::vector<AlikeWeights> weights = alike_weights(writer.question(), writer.templates());
  std::erase_if(weights, [](const AlikeWeights& alike) { return !alike.are_shared(); });
  return weights;
}

// Writes a part of common.yaml for weights that several GPUs hold.
WrittenPart write_for(StepWriter& writer, const AlikeWeights& alike, std::string_view part, const std::string& prefix) {
  return writer.templates().write(writer, part, {{"weights", {alike.count}}, {"holders", {1.0 * alike.holders}}},
                                  prefix + alike.of);
}

std::vector<Written> reduce_to_shares(StepWriter& writer, const std::vector<Gather>& gathers) {
  std::vector<Written> reductions;
  for (const AlikeWeights& alike : shared_weights(writer)) {
    reductions.push_back(write_for(writer, alike, "reduce_to_shares", "").collective);
    // Collectives of one communicator take turns: the gather of the next layer, then this reduction.
    for (const Gather& one : gathers) {
      if (one.of != alike.of) continue;
      if (alike.of.empty()) writer.wait(one.gather, 1);
      writer.wait(one.gather, reductions.back(), -2);
    }
  }
  return reductions;
}

const ProductGradients& gradient_of(const std::string& product, const std::vector<ProductGradients>& gradients) {
  const auto of = std::ranges::find(gradients, product, &ProductGradients::of);
  if (of != gradients.end()) return *of;
  throw sim::ConfigError({{"configs/layers", product,
                           fmt::format("is no product whose gradients the layer's backward rows give{}",
                                       sim::name_hint(product, gradients, &ProductGradients::of))}});
}

}  // namespace

std::vector<Gather> write_gather(StepWriter& writer, const std::string& prefix) {
  std::vector<Gather> gathers;
  if (writer.question().shard == Shard::none) return gathers;
  for (const AlikeWeights& alike : shared_weights(writer)) {
    const WrittenPart part = write_for(writer, alike, "gather", prefix);
    gathers.push_back({alike.of, part.first, part.collective});
  }
  return gathers;
}

void wait_for_layer_before(StepWriter& writer, const std::vector<Gather>& gathers, const Written& last) {
  for (const Gather& one : gathers) writer.wait(one.copy_in, last, -2);
}

std::vector<Written> write_reduction(StepWriter& writer, const std::vector<Gather>& gathers,
                                     const std::vector<ProductGradients>& gradients) {
  const StepQuestion& question = writer.question();
  if (question.shard == Shard::full) return reduce_to_shares(writer, gathers);
  const Written last = writer.last();
  std::vector<Written> reductions;
  for (const AlikeWeights& alike : shared_weights(writer)) {
    int number = 0;
    for (const auto& [weights, behind] : buckets_of(alike.tensors, question.gradient_element(), bucket)) {
      reductions.push_back(writer.collective(fmt::format("reduce_{}bucket{}", alike.of, number++),
                                             models::CollectiveKind::all_reduce, weights * question.gradient_element(),
                                             alike.holders, gradient_stream));
      const ProductGradients complete =
          behind.empty() ? ProductGradients{"", {}, last} : gradient_of(behind, gradients);
      writer.wait(complete.weights);
      writer.wait(complete.input);
    }
  }
  return reductions;
}

Written write_head_reduction(StepWriter& writer) {
  const Written gradient = writer.last();
  const double weights = reduced_early(writer);
  if (weights == 0.0) return {};
  const Written reduced = writer.templates().write(writer, "reduce_head", {{"weights", {weights}}}).collective;
  if (reduced) writer.wait_for_all(gradient);
  return reduced;
}

void write_reduction_of_turns(StepWriter& writer, std::span<const LayerGroup> groups, double ends) {
  const StepQuestion& question = writer.question();
  double of_ends_left = ends * all_of_ends(writer);
  for (const LayerGroup& group : groups) {
    if (group.layers == 0) continue;
    for (const AlikeWeights& alike : alike_weights(group.question, writer.templates())) {
      const double of_ends = alike.of.empty() ? std::exchange(of_ends_left, 0.0) : 0.0;
      writer.collective(group.prefix + alike.of + "reduce_gradients", models::CollectiveKind::all_reduce,
                        (static_cast<double>(group.layers) * alike.count + of_ends) * question.gradient_element(),
                        alike.holders);
    }
  }
}

void write_end_gather(StepWriter& writer) {
  writer.templates().write(writer, "gather_ends", {{"weights", {all_of_ends(writer)}}});
}

void write_end_reduction(StepWriter& writer) {
  writer.templates().write(writer, "reduce_ends", {{"weights", {all_of_ends(writer) - reduced_early(writer)}}});
}

void write_update(StepWriter& writer, std::span<const LayerGroup> groups, const std::vector<Written>& reductions,
                  double ends) {
  const StepQuestion& question = writer.question();
  if (question.optimizer == Optimizer::none) return;
  const bool shares = question.shard == Shard::full;
  double own = ends * all_of_ends(writer) / (shares ? question.replicas() : 1);
  for (const LayerGroup& group : groups) {
    for (const AlikeWeights& alike : alike_weights(group.question, writer.templates())) {
      own += static_cast<double>(group.layers) * alike.count / (shares ? alike.holders : 1);
    }
  }
  writer.templates().write(writer, question.optimizer == Optimizer::lamb ? "lamb" : "adam", {{"weights", {own}}});
  for (const Written& reduced : reductions) {
    if (reduced) writer.first_waits_for(*reduced);
  }
}

}  // namespace c3sim::study
