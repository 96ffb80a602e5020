// Questions asked and told in tables.
#pragma once

#include <span>

#include "study/ask/answers.h"

namespace c3sim::study {

template <class Question>
Results tables_of(Testbed& testbed, const Question& question) {
  return to_tables(question, ask(testbed, question), testbed.platform());
}

inline Results answer_c3(Testbed& testbed, const Scenario& scenario, std::span<const Strategy> strategies) {
  return tables_of(testbed, C3Question{scenario, {strategies.begin(), strategies.end()}});
}

inline Results answer_collectives(Testbed& testbed, std::span<const models::CollectiveSpec> collectives) {
  return to_tables(CollectiveQuestion{}, run_collectives(testbed, collectives), testbed.platform());
}

}  // namespace c3sim::study
