#include "study/c3/c3_table.h"

#include <algorithm>

#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

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
  using R = const C3Result&;
  std::vector<Shown<C3Result>> shown{
      {for_programs("scenario"), [](R r) { return r.scenario.name; }},
      {for_programs("gemm"), [](R r) { return r.scenario.gemm; }},
      {for_programs("collective"), [](R r) { return r.scenario.collective; }},
      // Whole bytes below 2^53.
      {for_programs("bytes"), [](R r) { return static_cast<std::int64_t>(r.scenario.bytes.value()); }},
      {{"strategy", "strategy", ""}, &C3Result::strategy},
      {{"makespan_us", "makespan", "us"}, &C3Result::makespan},
      {{"speedup", "speedup", "", 3}, &C3Result::speedup},
      {{"ideal_speedup", "ideal", "", 3}, &C3Result::ideal_speedup},
      {{"fraction_of_ideal", "of ideal", "", 3}, fraction_cell},
      {{"gemm_us", "GEMM end", "us"}, &C3Result::gemm},
      {{"collective_us", "collective end", "us"}, &C3Result::collective},
      {{"isolated_gemm_us", "GEMM alone", "us"}, &C3Result::isolated_gemm},
      {{"isolated_collective_us", "RCCL alone", "us"}, &C3Result::isolated_collective},
      {{"collective_alone_us", "collective alone", "us"}, &C3Result::collective_alone},
      {{"serial_us", "serial", "us"}, &C3Result::serial},
      {{"chosen", "chosen", ""}, &C3Result::chosen},
      {{"reserved_cus", "reserved", "CU"}, &C3Result::reserved_cus},
      {for_programs("gemm_start_us"), &C3Result::gemm_start},
      {for_programs("collective_start_us"), &C3Result::collective_start}};
  if (std::ranges::any_of(results, loses)) {
    shown.push_back({{"note", "note", "", 2, true, false},
                     [](R r) { return loses(r) ? Cell(std::string("slower than serial")) : Cell(); }});
  }
  return table_of(results, shown);
}

}  // namespace c3sim::study
