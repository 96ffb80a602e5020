// Puts operations of a step one behind the other, in the extents of a question.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/network/step_question.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

inline constexpr auto compute_stream = "compute";
inline constexpr auto exchange_stream = "exchange";  // of what communicates beside what computes

inline double elements_of(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

// The same carrier, with the channels that kernels of all collectives are given where it has none of its own.
CollectiveCarrier with_channels(CollectiveCarrier carrier, models::CollectiveKind kind, const StepQuestion& question,
                                const models::SdmaSpec& engines);

// An operation that was written, for others to wait for; none where there was nothing to write.
struct Written {
  std::string name{};
};

class StepWriter {
 public:
  // `prefix` is put before the names of all operations.
  StepWriter(const StepQuestion& question, const StepMachine& machine, std::string prefix = "")
      : question_(question), machine_(machine), prefix_(std::move(prefix)) {}

  const StepQuestion& question() const { return question_; }
  const ModelSpec& model() const { return question_.model; }
  std::int64_t tokens() const { return question_.tokens_of_gpu(question_.new_tokens()); }  // of a GPU
  std::int64_t tokens_to_route() const { return question_.tokens_to_route(question_.new_tokens()); }
  // Whether GPUs that share out products have results of experts for a share of their tokens each.
  bool routes_shares() const { return question_.ep > 1 && question_.tp > 1; }
  // Of the stream between layers.
  sim::Bytes stream_element() const { return question_.wide_stream() ? single_precision : element(); }
  // Whether norms are what PyTorch makes of them where their weights are in another format than what they norm: kernel
  // by kernel, in single precision.
  bool composes_norms() const { return question_.mixes() && !question_.wide_stream() && model().norm == Norm::rms; }
  // Of a GPU: its share of features that tensor parallelism shares out evenly.
  std::int64_t share(std::int64_t features) const { return features / question_.tp; }
  // Tokens of a GPU between products: its share where GPUs that share out products share them out, else all.
  double tokens_between() const { return static_cast<double>(tokens()) / (question_.pieces ? question_.tp : 1); }
  // Of a GPU: features of the shared experts, all where GPUs that share out products have tokens of their own there.
  std::int64_t shared_ffn() const { return routes_shares() ? model().shared_ffn : share(model().shared_ffn); }
  // Of a GPU: its words of a vocabulary, which is filled up where it does not come out even, as frameworks do.
  std::int64_t words() const { return (model().vocabulary + question_.tp - 1) / question_.tp; }
  sim::Bytes element() const { return size_of(question_.activation_format()); }  // of what goes between products
  // What a product of a batch of tokens has for each of them: features out of features, both of one GPU; so many
  // products in one kernel.
  Written gemm(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t tokens,
               std::int64_t products = 1) {
    return product(name, {.m = out, .n = tokens, .k = in, .products = products});
  }
  // The same of so many experts. What serving systems compile has kernels of its own for these.
  Written gemm_of_experts(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t tokens,
                          std::int64_t experts) {
    return product(
        name,
        {.m = out, .n = tokens, .k = in, .products = experts, .of_experts = question_.kernels == Kernels::compiled});
  }
  // One whose operands are as the stream is, whatever format others are multiplied in.
  Written plain_gemm(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t tokens) {
    return add(name, Kind::gemm,
               models::GemmShape{.m = out, .n = tokens, .k = in, .dtype = question_.activation_format()});
  }
  // Its gradients: that of the weights, and that of what it had been given.
  Written weight_gradient(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t tokens,
                          std::int64_t products = 1) {
    return product(name,
                   {.m = out, .n = in, .k = tokens, .products = products, .layout = models::Layout::weight_gradient});
  }
  Written input_gradient(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t tokens,
                         std::int64_t products = 1) {
    return product(name,
                   {.m = in, .n = tokens, .k = out, .products = products, .layout = models::Layout::input_gradient});
  }
  // The result of the product just written is to be added up over the GPUs of tensor parallelism: where carriers fuse,
  // each GPU keeps the sums of a shard of the tokens.
  void reduce_last();
  // Adds it up: `elements` on each GPU; where they are `reduced` already, what is left is to gather them.
  void add_up(const std::string& name, double elements, bool reduced);
  // Shares of the tokens, which GPUs that share out products have given to experts, to all of these GPUs.
  void gather_tokens(const std::string& name);
  // Of a sequence that GPUs share out each has a part near its start and one near its end, which together see as much
  // as any two such parts: two kernels.
  // `absorbed`: of latent attention, all heads see the cached features themselves; else what heads make of them.
  void attention(const std::string& name, bool backward, bool absorbed = false);
  // The sequences that decode beside a prefill.
  void decoding_attention(const std::string& name, bool absorbed = false);
  // An operator of configs/operators.yaml; `element`: of its arrays, that of the question unless given; `row`: elements
  // of those that it reduces.
  Written operate(const std::string& name, Kind kind, const std::string& operation, double elements,
                  std::optional<sim::Bytes> element = {}, std::int64_t row = usual_row);
  // Writes a compiler's kernel that adds to the stream of so many tokens and norms the sum.
  Written add_and_normalise(const std::string& name, std::int64_t tokens) {
    return operate(name, Kind::norm, "compiled_norm_add", elements_of(tokens, model().hidden), {}, model().hidden);
  }
  // Over so many GPUs, bytes of one GPU's whole array; nothing for one GPU.
  Written collective(const std::string& name, models::CollectiveKind kind, sim::Bytes bytes, int gpus,
                     const std::string& stream = compute_stream);
  // Of the operation that is written next.
  void next_waits_for(const Written& on) { awaited_ = on; }
  // Where the last operation is queued, and what it waits for beside its stream.
  void queue_on(const std::string& stream) { operations_.back().stream = stream; }
  // For one of its own layer, or of a layer `shift` before (-) or behind it; and of all layers.
  void wait(const Written& on, std::int64_t shift = 0) { wait({operations_.back().name}, on, shift); }
  void wait_for_all(const Written& on) {
    if (!on.name.empty()) operations_.back().after.push_back({on.name});
  }
  // What was written before waits for what was written behind it, of a layer before.
  void wait(const Written& who, const Written& on, std::int64_t shift);
  void wait_first(Wait wait) { operations_.front().after.push_back(std::move(wait)); }  // of those since take()
  Written last() const { return {operations_.back().name}; }
  // Whether what is written next was done before, which its names say.
  void do_again(bool again) { again_ = again; }
  // The operations since the last call.
  std::vector<StepOperation> take() { return std::exchange(operations_, {}); }

 private:
  std::string full(const std::string& name) const { return prefix_ + (again_ ? "again_" : "") + name; }
  Written add(const std::string& name, Kind kind, Work work, const std::string& stream = compute_stream);
  Written product(const std::string& name, models::GemmShape shape);
  models::AttentionShape attention_shape(bool absorbed) const;

  const StepQuestion& question_;
  StepMachine machine_;
  std::string prefix_;
  std::vector<StepOperation> operations_;
  Written awaited_;
  bool again_ = false;
};

}  // namespace c3sim::study
