// A StepWriter appends the operations of a step, with the extents of a question.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/network/step_question.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

inline constexpr auto compute_stream = "compute";
inline constexpr auto exchange_stream = "exchange";  // for communication concurrent with computation

inline double elements_of(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

// Returns the carrier with StepQuestion::channels if it uses kernels and has no number of its own.
CollectiveCarrier with_channels(CollectiveCarrier carrier, models::CollectiveKind kind, const StepQuestion& question,
                                const models::SdmaSpec& engines);

// A Written is an operation that others can wait for; nothing if nothing was written.
using Written = std::optional<Handle>;

class StepWriter {
 public:
  // `next_handle` counts the operations of the whole step.
  StepWriter(StepQuestion question, const StepMachine& machine, Handle& next_handle, std::string prefix = "")
      : question_(std::move(question)), machine_(machine), next_handle_(next_handle), prefix_(std::move(prefix)) {}

  const StepQuestion& question() const { return question_; }
  // Makes the next operations those of another question, and returns the one before.
  StepQuestion ask(StepQuestion question) { return std::exchange(question_, std::move(question)); }
  const ModelSpec& model() const { return question_.model; }
  const LayerTemplates& templates() const { return machine_.templates; }
  std::int64_t tokens() const { return question_.tokens_of_gpu(question_.new_tokens()); }  // per GPU
  // Returns the element of the stream between layers.
  sim::Bytes stream_element() const { return question_.wide_stream() ? single_precision : element(); }
  sim::Bytes element() const { return size_of(question_.activation_format()); }  // of data between products
  // Appends a GEMM in the format of products or, if it is `plain`, of the stream.
  Written product(const std::string& name, models::GemmShape shape, bool plain = false);
  // Prepares the last product's result to be added up over the GPUs of tensor parallelism: carriers that fuse make it a
  // fused GEMM, after which each GPU holds the sums of a shard of tokens.
  void reduce_last();
  // Appends attention, with context parallelism as two kernels: each GPU has a part near the start of a sequence and
  // one near its end, which together attend to as much as any other such pair. `absorbed`: all heads of latent
  // attention read the cached features themselves rather than keys and values made of them.
  void attention(const std::string& name, bool backward, bool absorbed = false);
  // Appends attention of the sequences that decode in the step of a prefill.
  void decoding_attention(const std::string& name, bool absorbed = false);
  // Appends an element-wise operator on elements of this size; `row` is the number of elements in a row that it
  // reduces.
  Written operate(const std::string& name, Kind kind, const ElementwiseOperator& operation, double elements,
                  sim::Bytes element, std::int64_t row = usual_row);
  // Appends a collective over `gpus` GPUs; `bytes` are the whole array of one GPU. For one GPU it appends nothing.
  Written collective(const std::string& name, models::CollectiveKind kind, sim::Bytes bytes, int gpus,
                     const std::string& stream = compute_stream);
  // Makes the next operation wait for `on`.
  void next_waits_for(const Written& on) { awaited_ = on; }
  // Queues the last operation on another stream.
  void queue_on(const std::string& stream) { operations_.back().stream = stream; }
  // Makes the last operation wait for `on` of its own layer, or of the layer at `shift` (negative: earlier);
  // wait_for_all() makes it wait for `on` of all layers.
  void wait(const Written& on, std::int64_t shift = 0) { wait(last(), on, shift); }
  void wait_for_all(const Written& on) {
    if (on) operations_.back().after.push_back({*on});
  }
  // Makes operation `who`, written earlier, wait for `on` of the layer at `shift`, which may be written after it.
  void wait(const Written& who, const Written& on, std::int64_t shift);
  // Makes the first operation since take() wait for all repetitions of `on`.
  void first_waits_for(Handle on) { operations_.front().after.push_back({on}); }
  // Returns the last operation since take(), if there is one.
  Written last() const { return operations_.empty() ? Written{} : Written{operations_.back().handle}; }
  // Says whether the next operations are recomputations, which changes their names.
  void do_again(bool again) { again_ = again; }
  // Says which part of the FLOPs of the next operations the model has: see StepOperation.
  void count_products(double of_model) { of_model_ = of_model; }
  // Says whether the next operations go with attention: see StepOperation.
  void go_with_attention(bool with_attention) { with_attention_ = with_attention; }
  // Returns the operations since the last call.
  std::vector<StepOperation> take() { return std::exchange(operations_, {}); }

 private:
  std::string full(const std::string& name) const { return prefix_ + (again_ ? "again_" : "") + name; }
  Written add(const std::string& name, Kind kind, Work work, const std::string& stream = compute_stream);
  models::AttentionShape attention_shape(bool absorbed) const;

  StepQuestion question_;
  StepMachine machine_;
  Handle& next_handle_;
  std::string prefix_;
  std::vector<StepOperation> operations_;
  Written awaited_;
  double of_model_ = 1.0;
  bool with_attention_ = false;
  bool again_ = false;
};

}  // namespace c3sim::study
