// Steps that several tests ask of the MI300X.
#pragma once

#include <string>

#include "study/step/step.h"
#include "study/work/operators.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {

inline StepQuestion decode_of(const std::string& model, int tp, std::int64_t batch) {
  StepQuestion question;
  question.model = read_model(model, folders);
  question.batch = batch;
  question.context = 1024;
  question.tp = tp;
  question.graph = true;
  return question;
}

inline StepQuestion training_of(const std::string& model, int layers, std::int64_t tokens) {
  StepQuestion question;
  question.model = read_model(model, folders);
  question.layers = layers;
  question.phase = Phase::train;
  question.tokens = tokens;
  question.graph = true;
  return question;
}

inline StepResult ask_mi300x(const StepQuestion& question, std::int64_t simulated = 4) {
  return ask(mi300x().spec, question, read_operators(folders), {}, simulated);
}

inline double in_us(sim::Time time) { return sim::to_microseconds(time); }

inline StepQuestion prefill_of(const std::string& model, int layers, std::int64_t tokens) {
  StepQuestion question = training_of(model, layers, tokens);
  question.phase = Phase::prefill;
  return question;
}

// Two layers of a prompt whose products are fused with the reduce-scatter of their results.
inline StepQuestion fused_prefill(int tp, std::int64_t tokens) {
  StepQuestion question = decode_of("llama3-8b", tp, 1);
  question.layers = 2;
  question.phase = Phase::prefill;
  question.context = 0;
  question.tokens = tokens;
  question.collectives = {models::Backend::sdma, true};
  return question;
}

inline double us_of(const StepResult& result, Kind kind) { return in_us(result.time_of(kind)); }

}  // namespace c3sim::study
