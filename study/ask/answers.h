// The answers to the plain questions (study/ask/questions.h) as tables. The columns are a contract with whoever
// reads CSV or JSON.
#pragma once

#include <span>

#include "study/ask/questions.h"
#include "study/report/results.h"

namespace c3sim::study {

// One row per result. `platform`: the one that was asked. Text shows the phases of a copy only if asked to.
Results to_tables(const Question<C3Trial>& question, const Answer<C3Result>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<GemmTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<CollectiveTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<CopyTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);
Results to_tables(const Question<KernelTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform);

// A column of times, as programs and as people call it.
struct NamedTime {
  std::string key;
  std::string heading;
};
// Of each time and row its interval, for people in one column and for programs in two; nothing where there are none.
void add_intervals(ResultTable& table, std::span<const Intervals> intervals,
                   const std::vector<NamedTime>& times = {{"time", "time"}});

}  // namespace c3sim::study
