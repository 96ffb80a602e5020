#include "study/serve/batch_times.h"

#include <algorithm>
#include <cmath>

#include "study/step/step.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t any_context = 1 << 20;  // of a model without a limit
constexpr int few_layers = 2;  // simulated layers of each kind; further ones are taken to be like the last

// Returns the seconds of attention. Those of latent attention include the products that make keys and values of cached
// features, or multiply queries and results by the same weights: which of them run depends on phase and context.
double attention_time(const StepResult& result) {
  double seconds = 0.0;
  for (const auto& [name, share] : result.operations) {
    if (share.kind == Kind::attention || share.with_attention) seconds += share.time;
  }
  return seconds;
}

std::int64_t whole(double count) { return std::llround(count); }

// Sets the cached tokens, at most as many as leave room for the new ones in the model.
void set_context(StepQuestion& question, std::int64_t tokens) {
  const std::int64_t places = question.model.positions;
  question.context = places > 0 ? std::min(tokens, places - question.tokens) : tokens;
}

// Returns values from `low` to `high`, both included, with `per_octave` values to each doubling.
std::vector<std::int64_t> axis_of(std::int64_t low, std::int64_t high, int per_octave) {
  std::vector<std::int64_t> values{low};
  for (int step = 1; values.back() < high; ++step) {
    const std::int64_t value = whole(static_cast<double>(low) * std::exp2(static_cast<double>(step) / per_octave));
    if (value > values.back()) values.push_back(std::min(value, high));
  }
  return values;
}

// An AxisPlace lies between two values of an axis: the index of the lower one, and the fraction of the way beyond it.
struct AxisPlace {
  std::size_t at = 0;
  double beyond = 0.0;
};
AxisPlace place_on(const std::vector<std::int64_t>& axis, double value) {
  const auto above = std::ranges::upper_bound(axis, value, {}, [](std::int64_t of) { return static_cast<double>(of); });
  if (above == axis.begin()) return {};
  if (above == axis.end()) return {axis.size() - 1};
  const double low = static_cast<double>(*(above - 1));
  const double width = static_cast<double>(*above) - low;
  return {static_cast<std::size_t>(above - axis.begin()) - 1, (value - low) / width};
}

}  // namespace

StepQuestion step_of(StepQuestion question, const Batch& batch) {
  const double decoding = static_cast<double>(std::max<std::int64_t>(1, batch.decoding));
  const std::int64_t context = whole(static_cast<double>(batch.decoding_context) / decoding);
  if (batch.chunks == 0) {
    question.phase = Phase::decode;
    question.batch = batch.decoding;
    question.context = context;
    return question;
  }
  question.phase = Phase::prefill;
  question.batch = batch.chunks;
  question.tokens = std::max<std::int64_t>(1, whole(batch.tokens_of_chunk()));
  set_context(question, whole(batch.context_of_chunk()));
  question.decoding = batch.decoding;
  question.decoding_context = context;
  return question;
}

BatchTimes::BatchTimes(const StepMachine& machine, const StepQuestion& question, std::int64_t most_tokens,
                       std::int64_t captured, BatchGrid fineness)
    : machine_(machine), roomy_(machine.platform), question_(question), captured_(question.graph ? captured : 0) {
  question_.graph = true;
  roomy_.gpu.memory.hbm_capacity = sim::Bytes(1e18);
  const int per_octave = fineness == BatchGrid::fine ? 2 : 1;
  const std::int64_t longest = question.model.positions > 0 ? question.model.positions : any_context;
  const std::vector<std::int64_t> counts = axis_of(1, most_tokens, per_octave);
  std::vector<std::int64_t> contexts = axis_of(16, longest - 1, 1);
  contexts.insert(contexts.begin(), 0);
  for (const bool decodes : {false, true}) others_[decodes].axes = {axis_of(1, most_tokens, 2 * per_octave), {0}, {0}};
  decoding_.axes = {contexts, counts, {0}};
  chunks_.axes = {counts, axis_of(1, std::min(most_tokens, longest), per_octave), contexts};
}

void BatchTimes::Cost::add(double share, const Cost& of) {
  seconds += share * of.seconds;
  joules += share * of.joules;
}

// Sums up the corners around the place by their weights.
BatchTimes::Cost BatchTimes::Grid::at(const std::array<double, 3>& place,
                                      const std::function<Cost(const Point&)>& ask) {
  std::array<AxisPlace, 3> places;
  for (std::size_t i = 0; i < axes.size(); ++i) places[i] = place_on(axes[i], place[i]);
  Cost sum;
  for (std::size_t corner = 0; corner < 8; ++corner) {
    double share = 1.0;
    Point point{};
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t upper = corner >> i & 1;
      share *= upper == 1 ? places[i].beyond : 1.0 - places[i].beyond;
      if (share == 0.0) break;
      point[i] = axes[i][places[i].at + upper];
    }
    if (share == 0.0) continue;
    const auto [found, is_new] = points.try_emplace(point);
    if (is_new) found->second = ask(point);
    sum.add(share, found->second);
  }
  return sum;
}

// Returns the cost of everything except attention, without context. Prompts longer than the model supports are split.
BatchTimes::Cost BatchTimes::others(bool decodes, std::int64_t tokens) const {
  StepQuestion question = question_;
  question.phase = decodes ? Phase::decode : Phase::prefill;
  const std::int64_t longest = question.model.positions > 0 ? question.model.positions : tokens;
  question.batch = decodes ? tokens : (tokens + longest - 1) / longest;
  question.tokens = decodes ? 1 : tokens / question.batch;
  const StepResult result = ask({roomy_, machine_.templates}, question, {}, few_layers);
  const double seconds = sim::to_seconds(result.time).value() - attention_time(result);
  return {seconds, seconds * result.power.value()};
}

BatchTimes::Cost BatchTimes::attention(Phase phase, std::int64_t sequences, std::int64_t tokens,
                                       std::int64_t context) const {
  StepQuestion question = question_;
  question.phase = phase;
  question.batch = sequences;
  question.tokens = tokens;
  set_context(question, context);  // the point with most tokens and longest context exceeds the model
  question.layers = static_cast<int>(question.layer_count());
  // Attention runs with nothing of the feed-forward half, unless two batches alternate; kinds of layers that differ
  // only in that half have the same attention.
  if (question.overlap == Overlap::none) {
    const auto is_of_attention = [](const LayerVariant& variant) { return variant.window.has_value(); };
    question.half = Half::attention;
    if (std::ranges::none_of(question.model.variants, is_of_attention)) question.model.variants.clear();
  }
  if (question.model.variants.empty()) question.layers = few_layers;
  const StepResult result = ask({roomy_, machine_.templates}, question, {}, few_layers);
  const double layers = static_cast<double>(question_.layer_count()) / *question.layers;
  const double seconds = layers * attention_time(result);
  return {seconds, seconds * result.power.value()};
}

BatchCost BatchTimes::cost(const Batch& batch) {
  using Point = Grid::Point;
  const bool decodes = batch.chunks == 0;
  const auto of_chunks = [&](const Point& at) { return attention(Phase::prefill, at[0], at[1], at[2]); };
  Cost sum = others_.at(decodes).at({static_cast<double>(batch.tokens())},
                                    [&](const Point& point) { return others(decodes, point[0]); });
  if (batch.decoding > 0) {
    const double sequences = static_cast<double>(batch.decoding);
    const double context = static_cast<double>(batch.decoding_context) / sequences;
    const auto tokens = static_cast<double>(batch.decoding + batch.drafted);
    const bool is_chunk = batch.drafted > 0 && !question_.model.is_latent();
    sum.add(1.0, is_chunk ? chunks_.at({sequences, tokens / sequences, context}, of_chunks)
                          : decoding_.at({context, tokens},
                                         [&](const Point& at) { return attention(Phase::decode, at[1], 1, at[0]); }));
  }
  if (batch.chunks > 0) {
    sum.add(1.0, chunks_.at({static_cast<double>(batch.chunks), batch.tokens_of_chunk(), batch.context_of_chunk()},
                            of_chunks));
  }
  if (is_by_op(batch)) {
    const auto [launches, is_new] = launches_.try_emplace(decodes);
    if (is_new) {
      StepQuestion question = question_;
      question.graph = false;
      question.phase = decodes ? Phase::decode : Phase::prefill;
      launches->second = sim::to_seconds(ask(machine_, question).time).value();
    }
    const double rests = std::max(0.0, launches->second - sum.seconds);
    sum.add(1.0, {rests, rests * machine_.platform.gpu.power.at_rest().value()});
  }
  return {sim::to_time(sim::Seconds(sum.seconds)), sim::Joules(sum.joules * question_.gpus())};
}

std::optional<double> BatchTimes::error(const Batch& batch) {
  if (batch.drafted > 0) return {};
  StepQuestion question = step_of(question_, batch);
  question.graph = !is_by_op(batch);
  if (!faults_of(question, machine_).empty()) return {};
  const sim::Time simulated = ask(machine_, question).time;
  return sim::to_seconds(cost(batch).time) / sim::to_seconds(simulated) - 1.0;
}

}  // namespace c3sim::study
