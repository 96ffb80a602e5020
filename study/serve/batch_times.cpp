#include "study/serve/batch_times.h"

#include <algorithm>
#include <cmath>

#include "study/step/step.h"
#include "study/step/step_faults.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t any_context = 1 << 20;  // of a model without a bound
constexpr int attention_layers = 2;            // all alike: two of them are simulated

double attention_time(const StepResult& result) {
  return sim::to_seconds(result.by_kind[static_cast<std::size_t>(Kind::attention)]).value();
}

std::int64_t whole(double count) { return std::llround(count); }

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
  question.context = whole(batch.context_of_chunk());
  if (question.model.positions > 0) {
    question.context = std::min(question.context, question.model.positions - question.tokens);
  }
  question.decoding = batch.decoding;
  question.decoding_context = context;
  return question;
}

BatchTimes::BatchTimes(const models::PlatformSpec& platform, const StepQuestion& question,
                       std::span<const ElementwiseOperator> operators, std::int64_t most_tokens)
    : platform_(platform), question_(question), operators_(operators), by_op_(!question.graph) {
  question_.graph = true;
  const std::int64_t longest = question.model.positions > 0 ? question.model.positions : any_context;
  tokens_ = axis(1, most_tokens, 4);
  queries_ = axis(1, std::min(most_tokens, longest), 2);
  counts_ = axis(1, most_tokens, 2);
  contexts_ = axis(16, longest - 1, 1);
  contexts_.insert(contexts_.begin(), 0);
}

// From one to the other, both included, so many values to each doubling.
BatchTimes::Axis BatchTimes::axis(std::int64_t low, std::int64_t high, int per_octave) {
  Axis values{low};
  for (int step = 1; values.back() < high; ++step) {
    const std::int64_t value = whole(static_cast<double>(low) * std::exp2(static_cast<double>(step) / per_octave));
    if (value > values.back()) values.push_back(std::min(value, high));
  }
  return values;
}

BatchTimes::Place BatchTimes::place(const Axis& axis, double value) {
  const auto above = std::ranges::upper_bound(axis, value, {}, [](std::int64_t of) { return static_cast<double>(of); });
  if (above == axis.begin()) return {0, 0.0};
  if (above == axis.end()) return {axis.size() - 1, 0.0};
  const double low = static_cast<double>(*(above - 1));
  const double width = static_cast<double>(*above) - low;
  return {static_cast<std::size_t>(above - axis.begin()) - 1, (value - low) / width};
}

namespace {

// Linear between the corners around a point, of which each has a share.
template <class Cost, class At>
void mix(Cost& sum, double share, const At& at) {
  if (share == 0.0) return;
  const Cost corner = at();
  sum.seconds += share * corner.seconds;
  sum.joules += share * corner.joules;
}

double share(double beyond, std::size_t upper) { return upper == 1 ? beyond : 1.0 - beyond; }

}  // namespace

BatchTimes::Cost BatchTimes::others(const Batch& batch) {
  const Place at = place(tokens_, static_cast<double>(batch.tokens()));
  Cost sum;
  for (std::size_t t = 0; t < 2; ++t) {
    mix(sum, share(at.beyond, t), [&] { return other_point(batch.chunks == 0, tokens_[at.at + t]); });
  }
  return sum;
}

BatchTimes::Cost BatchTimes::other_point(bool decodes, std::int64_t tokens) {
  const auto [found, is_new] = others_.try_emplace({decodes, tokens});
  if (!is_new) return found->second;
  StepQuestion question = question_;
  question.phase = decodes ? Phase::decode : Phase::prefill;
  // Of no context: what attention takes is left out below. Prompts longer than the model has places are several.
  const std::int64_t longest = question.model.positions > 0 ? question.model.positions : tokens;
  question.batch = decodes ? tokens : (tokens + longest - 1) / longest;
  question.tokens = decodes ? 1 : tokens / question.batch;
  const StepResult result = ask(platform_, question, operators_);
  const double seconds = sim::to_seconds(result.time).value() - attention_time(result);
  found->second = {seconds, seconds * result.power.value()};
  return found->second;
}

BatchTimes::Cost BatchTimes::attention_point(StepQuestion question) const {
  question.layers = attention_layers;
  const StepResult result = ask(platform_, question, operators_, attention_layers);
  const double layers = static_cast<double>(question_.layer_count()) / attention_layers;
  const double seconds = layers * attention_time(result);
  return {seconds, seconds * result.power.value()};
}

BatchTimes::Cost BatchTimes::attention_decoding(double sequences, double context) {
  const Place count = place(counts_, sequences);
  const Place depth = place(contexts_, context);
  Cost sum;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 2; ++c) {
      mix(sum, share(count.beyond, n) * share(depth.beyond, c), [&] {
        const auto [found, is_new] = decoding_.try_emplace({count.at + n, depth.at + c});
        if (is_new) {
          StepQuestion question = question_;
          question.phase = Phase::decode;
          question.batch = counts_[count.at + n];
          question.context = contexts_[depth.at + c];
          found->second = attention_point(question);
        }
        return found->second;
      });
    }
  }
  return sum;
}

BatchTimes::Cost BatchTimes::attention_of_chunks(double chunks, double tokens, double context) {
  const Place count = place(counts_, chunks);
  const Place length = place(queries_, tokens);
  const Place depth = place(contexts_, context);
  Cost sum;
  for (std::size_t corner = 0; corner < 8; ++corner) {
    const std::size_t n = corner & 1;
    const std::size_t q = corner >> 1 & 1;
    const std::size_t c = corner >> 2;
    mix(sum, share(count.beyond, n) * share(length.beyond, q) * share(depth.beyond, c), [&] {
      const auto [found, is_new] = chunks_.try_emplace({count.at + n, length.at + q, depth.at + c});
      if (is_new) {
        StepQuestion question = question_;
        question.phase = Phase::prefill;
        question.batch = counts_[count.at + n];
        question.tokens = queries_[length.at + q];
        // The corner of both longest ends has no place in the model: as deep as there is one.
        question.context = contexts_[depth.at + c];
        if (question.model.positions > 0) {
          question.context = std::min(question.context, question.model.positions - question.tokens);
        }
        found->second = attention_point(question);
      }
      return found->second;
    });
  }
  return sum;
}

BatchCost BatchTimes::cost(const Batch& batch) {
  Cost sum = others(batch);
  const auto add = [&sum](const Cost& more) { mix(sum, 1.0, [&more] { return more; }); };
  if (batch.decoding > 0) {
    const double sequences = static_cast<double>(batch.decoding);
    add(attention_decoding(sequences, static_cast<double>(batch.decoding_context) / sequences));
  }
  if (batch.chunks > 0) {
    add(attention_of_chunks(static_cast<double>(batch.chunks), batch.tokens_of_chunk(), batch.context_of_chunk()));
  }
  if (by_op_) {
    const Cost& launches = launched_by_op(batch.chunks == 0);
    sum = {std::max(sum.seconds, launches.seconds), std::max(sum.joules, launches.joules)};
  }
  return {sim::to_time(sim::Seconds(sum.seconds)), sim::Joules(sum.joules * question_.gpus())};
}

const BatchTimes::Cost& BatchTimes::launched_by_op(bool decodes) {
  const auto [found, is_new] = launches_.try_emplace(decodes);
  if (!is_new) return found->second;
  StepQuestion question = question_;
  question.graph = false;
  question.phase = decodes ? Phase::decode : Phase::prefill;
  const StepResult result = ask(platform_, question, operators_);
  found->second = {sim::to_seconds(result.time).value(), result.energy().value()};
  return found->second;
}

std::optional<double> BatchTimes::error(const Batch& batch) {
  StepQuestion question = step_of(question_, batch);
  question.graph = !by_op_;
  if (!faults_of(question, platform_).empty()) return {};
  const sim::Time simulated = ask(platform_, question, operators_).time;
  return sim::to_seconds(cost(batch).time) / sim::to_seconds(simulated) - 1.0;
}

}  // namespace c3sim::study
