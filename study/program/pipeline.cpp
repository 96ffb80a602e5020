#include "study/program/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "study/program/layer_templates.h"
#include "study/program/step_writer.h"
#include "study/program/training.h"

namespace c3sim::study {

namespace {

StepQuestion of_one_turn(StepQuestion question) {
  question.batch /= question.micro;
  return question;
}

class Pipeline {
 public:
  Pipeline(const StepQuestion& question, std::span<const StageLayers> stages, const StepMachine& machine)
      : question_(of_one_turn(question)),
        machine_(machine),
        writer_(question_, machine, next_handle_),
        stages_(stages) {}

  std::vector<StepBlock> write() {
    for (int stage = 0; stage < question_.pp; ++stage) {
      for (const Turn& turn : turns_of(stage, question_.pp, question_.micro, question_.trains())) {
        turn.forward ? forward(stage, turn) : backward(stage, turn);
      }
      const double ends = is_end(stage) ? question_.end_share() : 0.0;
      const std::vector<LayerGroup>& updated = stages_[static_cast<std::size_t>(stage)].updated;
      if (question_.trains()) write_reduction_of_turns(writer_, updated, ends);
      write_update(writer_, updated, {}, ends);
      block(writer_, stage, {}, fmt::format("_s{}", stage));
    }
    return std::move(blocks_);
  }

 private:
  bool whole() const { return !question_.layers; }
  bool is_last(int stage) const { return stage == question_.pp - 1; }
  bool is_end(int stage) const { return stage == 0 || is_last(stage); }
  static std::string suffix(int stage, Turn turn) {
    return fmt::format("_s{}_{}{}", stage, turn.forward ? "f" : "b", turn.micro);
  }

  int first_gpu(int stage) const { return stage * question_.stage_gpus(); }
  // Moves the operations written since the last call to a block.
  void block(StepWriter& writer, int stage, std::optional<Turn> turn, const std::string& suffix,
             std::int64_t repeats = 0, std::optional<LayersOfStage> of_stage = {}) {
    std::vector<StepOperation> written = writer.take();
    if (written.empty()) return;
    for (StepOperation& one : written) {
      if (auto* const collective = std::get_if<models::CollectiveSpec>(&one.work)) collective->first = first_gpu(stage);
    }
    std::vector<int> gpus(static_cast<std::size_t>(question_.stage_gpus()));
    std::iota(gpus.begin(), gpus.end(), first_gpu(stage));
    blocks_.push_back({repeats, std::move(written), suffix, std::move(gpus), stage, turn, of_stage});
  }

  // Writes the layers kind by kind. The first layer has its own block: it waits for what the stage `from` sends.
  void write_layers(int stage, Turn turn, std::optional<int> from) {
    const auto& [groups, updated, most_behind] = stages_[static_cast<std::size_t>(stage)];
    std::vector<std::size_t> kinds(groups.size());
    std::iota(kinds.begin(), kinds.end(), std::size_t{0});
    std::erase_if(kinds, [&of = groups](std::size_t kind) { return of[kind].layers == 0; });
    if (!turn.forward) std::ranges::reverse(kinds);
    for (const std::size_t kind : kinds) {
      const LayerGroup& group = groups[kind];
      StepWriter writer(of_one_turn(group.question), machine_, next_handle_, group.prefix);
      const bool first = kind == kinds.front();
      if (first) {
        write_layer(writer, turn);
        for (int rank = 0; from && rank < question_.stage_gpus(); ++rank) {
          writer.first_waits_for(sent_by(*from, turn, rank));
        }
        block(writer, stage, turn, suffix(stage, turn) + "_first", 0, LayersOfStage{kind, true});
      }
      const std::int64_t left = std::min(most_behind, group.layers - (first ? 1 : 0));
      if (left == 0) continue;
      write_layer(writer, turn);
      block(writer, stage, turn, suffix(stage, turn), left, LayersOfStage{kind, false, first});
    }
  }

  static void write_layer(StepWriter& writer, Turn turn) {
    const StepQuestion& question = writer.question();
    if (turn.forward) {
      write_forward(writer);
      return;
    }
    if (question.recompute) write_forward(writer, true);
    write_backward(writer);
    if (turn.micro == 0) return;
    const double weights = elements_of(tensors_of_layer(question, writer.templates(), "weights"));
    writer.templates().write(writer, "accumulate", {{"weights", {weights}}}, "accumulate");
  }

  void forward(int stage, Turn turn) {
    if (stage == 0 && whole()) writer_.templates().write(writer_, "embedding");
    block(writer_, stage, turn, suffix(stage, turn));
    write_layers(stage, turn, stage > 0 ? std::optional(stage - 1) : std::nullopt);
    if (!is_last(stage)) {
      send("activations", stage, stage + 1, turn);
    } else if (whole()) {
      writer_.templates().write(writer_, "head");
    }
    block(writer_, stage, turn, suffix(stage, turn));
  }

  void backward(int stage, Turn turn) {
    if (is_last(stage) && whole()) {
      writer_.templates().write(writer_, "head_gradient", {{"accumulates", {turn.micro > 0 ? 1.0 : 0.0}}});
    }
    block(writer_, stage, turn, suffix(stage, turn));
    write_layers(stage, turn, is_last(stage) ? std::nullopt : std::optional(stage + 1));
    if (stage > 0) {
      send("gradients", stage, stage - 1, turn);
    } else if (whole()) {
      writer_.templates().write(writer_, "embedding_gradient", {{"accumulates", {turn.micro > 0 ? 1.0 : 0.0}}});
    }
    block(writer_, stage, turn, suffix(stage, turn));
  }

  // Returns a suffix for a GPU of a stage that has several.
  std::string of_rank(int rank) const { return question_.stage_gpus() == 1 ? "" : fmt::format("_gpu{}", rank); }

  // Sends from each GPU to the same rank of the other stage, after the last operation written.
  void send(const std::string& name, int from, int to, Turn turn) {
    const Handle last = blocks_.back().operations.back().handle;
    for (int rank = 0; rank < question_.stage_gpus(); ++rank) {
      const std::vector<int> gpus{first_gpu(from) + rank, first_gpu(to) + rank};
      StepOperation operation{sent_by(from, turn, rank), name, Kind::send, what_is_sent(gpus.front(), gpus.back()),
                              fmt::format("{}_s{}{}", name, from, of_rank(rank))};
      operation.after.push_back({last});
      blocks_.push_back({0, {std::move(operation)}, of_rank(rank) + suffix(from, turn), gpus, from, turn});
    }
  }

  // Returns the handle of what a GPU of a stage sends after a turn, which stages may wait for before it is written.
  Handle sent_by(int stage, Turn turn, int rank) {
    const auto [sent, is_new] = sent_.try_emplace({stage, turn.forward, turn.micro, rank});
    if (is_new) sent->second = next_handle_++;
    return sent->second;
  }

  Work what_is_sent(int from, int to) const {
    const sim::Bytes bytes = elements_of(writer_.tokens(), question_.model.hidden) * writer_.stream_element();
    if (question_.collectives == models::Backend::sdma) {
      models::SdmaCopySpec copy{.from = from, .to = to, .bytes = bytes, .host_threads = models::HostThreads::per_gpu};
      return copy;
    }
    const int channels = machine_.platform.rccl.channels_to_peer(machine_.platform.gpus);
    return models::RemoteKernelSpec{from, {to}, models::RemoteAccess::store, bytes, channels};
  }

  const StepQuestion question_;  // of one micro-batch
  StepMachine machine_;
  Handle next_handle_ = 0;
  std::map<std::tuple<int, bool, int, int>, Handle> sent_;
  StepWriter writer_;
  std::span<const StageLayers> stages_;
  std::vector<StepBlock> blocks_;
};

}  // namespace

std::vector<Turn> turns_of(int stage, int stages, int micro_batches, bool trains) {
  const int ahead = trains ? std::min(stages - 1 - stage, micro_batches) : micro_batches;
  std::vector<Turn> turns;
  for (int micro = 0; micro < ahead; ++micro) turns.push_back({true, micro});
  if (!trains) return turns;
  for (int micro = 0; micro < micro_batches; ++micro) {
    if (ahead + micro < micro_batches) turns.push_back({true, ahead + micro});
    turns.push_back({false, micro});
  }
  return turns;
}

std::vector<StepBlock> pipeline_blocks(const StepQuestion& question, std::int64_t layers, const StepMachine& machine) {
  std::vector<StageLayers> stages;
  for (int stage = 0; stage < question.pp; ++stage) {
    stages.push_back({question.groups(layers, stage), question.groups(most_layers, stage)});
  }
  return pipeline_blocks(question, stages, machine);
}

std::vector<StepBlock> pipeline_blocks(const StepQuestion& question, std::span<const StageLayers> stages,
                                       const StepMachine& machine) {
  return Pipeline(question, stages, machine).write();
}

}  // namespace c3sim::study
