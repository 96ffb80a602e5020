#include "study/c3/c3_table.h"

#include <algorithm>

namespace c3sim::study {

namespace {

// Sizes are whole bytes below 2^53.
std::int64_t whole_bytes(sim::Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

Column for_programs(std::string key) { return {key, key, "", 2, false}; }

Cell fraction_cell(const C3Result& result) {
  if (result.has_gain_to_be_had()) return result.fraction_of_ideal();
  return NoNumber{"no gain to be had"};
}

// Beyond what launches and notices of the host come to.
bool loses(const C3Result& result) {
  constexpr double worth_a_word = 0.995;
  return result.speedup() < worth_a_word;
}

}  // namespace

ResultTable c3_table(std::span<const C3Result> results) {
  ResultTable table({for_programs("scenario"),
                     for_programs("gemm"),
                     for_programs("collective"),
                     for_programs("bytes"),
                     {"strategy", "strategy", ""},
                     {"makespan_us", "makespan", "us"},
                     {"speedup", "speedup", "", 3},
                     {"ideal_speedup", "ideal", "", 3},
                     {"fraction_of_ideal", "of ideal", "", 3},
                     {"gemm_us", "GEMM end", "us"},
                     {"collective_us", "collective end", "us"},
                     {"isolated_gemm_us", "GEMM alone", "us"},
                     {"isolated_collective_us", "RCCL alone", "us"},
                     {"collective_alone_us", "collective alone", "us"},
                     {"serial_us", "serial", "us"},
                     {"chosen", "chosen", ""},
                     {"reserved_cus", "reserved", "CU"},
                     for_programs("gemm_start_us"),
                     for_programs("collective_start_us")});
  for (const C3Result& result : results) {
    const Scenario& scenario = result.scenario;
    table.add_row({scenario.name, models::to_string(scenario.gemm), std::string(models::to_string(scenario.collective)),
                   whole_bytes(scenario.bytes), std::string(to_string(result.strategy)),
                   sim::to_microseconds(result.makespan), result.speedup(), result.ideal_speedup(),
                   fraction_cell(result), sim::to_microseconds(result.gemm), sim::to_microseconds(result.collective),
                   sim::to_microseconds(result.isolated_gemm), sim::to_microseconds(result.isolated_collective),
                   sim::to_microseconds(result.collective_alone), sim::to_microseconds(result.serial()),
                   std::string(to_string(result.chosen)), std::int64_t{result.reserved_cus},
                   sim::to_microseconds(result.gemm_start), sim::to_microseconds(result.collective_start)});
  }
  if (std::ranges::any_of(results, loses)) {
    std::vector<Cell> notes;
    for (const C3Result& result : results)
      notes.push_back(loses(result) ? Cell(std::string("slower than serial")) : Cell());
    table.add_column({"note", "note", "", 2, true, false}, std::move(notes));
  }
  return table;
}

}  // namespace c3sim::study
