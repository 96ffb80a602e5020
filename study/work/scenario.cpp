#include "study/work/scenario.h"

namespace c3sim::study {

namespace {

using enum Strategy;

constexpr std::array strategies{serial, c3_base, c3_sp, c3_rp, c3_sp_rp, c3_best, heuristic, conccl, conccl_rp};
constexpr std::array<std::string_view, strategies.size()> names{
    "serial", "c3_base", "c3_sp", "c3_rp", "c3_sp_rp", "c3_best", "heuristic", "conccl", "conccl_rp"};

// Those that c3_best is the best of.
constexpr std::array kernel_strategies{c3_base, c3_sp, c3_rp, c3_sp_rp};

}  // namespace

std::string_view to_string(Strategy strategy) { return names[static_cast<std::size_t>(strategy)]; }

std::string_view to_string(Splits splits) { return splits == Splits::paper ? "paper" : "fine"; }

std::span<const Strategy> all_strategies() { return strategies; }

std::span<const Strategy> all_kernel_strategies() { return kernel_strategies; }

}  // namespace c3sim::study
