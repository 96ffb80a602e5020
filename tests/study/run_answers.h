// This file asks questions and returns their answers as tables.
#pragma once

#include <span>
#include <vector>

#include "study/ask/answers.h"

namespace c3sim::study {

template <class Asked>
Results tables_of(Testbed& testbed, const Question<Asked>& question) {
  return to_tables(question, ask(testbed, question), testbed.platform());
}
template <class Asked>
Results tables_of(Testbed& testbed, const Asked& asked) {
  return tables_of(testbed, Question<Asked>(asked));
}

inline Question<C3Trial> under(std::span<const Strategy> strategies, const Scenario& scenario) {
  std::vector<C3Trial> trials;
  for (const Strategy strategy : strategies) trials.push_back({scenario, strategy});
  return trials;
}

inline Results answer_c3(Testbed& testbed, const Scenario& scenario, std::span<const Strategy> strategies) {
  return tables_of(testbed, under(strategies, scenario));
}

inline Results answer_collectives(Testbed& testbed, std::span<const models::CollectiveSpec> collectives) {
  std::vector<CollectiveTrial> trials;
  for (const models::CollectiveSpec& spec : collectives) trials.push_back({spec});
  return tables_of(testbed, Question(trials));
}

}  // namespace c3sim::study
