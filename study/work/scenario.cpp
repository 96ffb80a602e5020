#include "study/work/scenario.h"

namespace c3sim::study {

namespace {

struct NamedStrategy {
  Strategy strategy;
  std::string_view name;
};
constexpr std::array names{
    NamedStrategy{Strategy::serial, "serial"},       NamedStrategy{Strategy::c3_base, "c3_base"},
    NamedStrategy{Strategy::c3_sp, "c3_sp"},         NamedStrategy{Strategy::c3_rp, "c3_rp"},
    NamedStrategy{Strategy::c3_sp_rp, "c3_sp_rp"},   NamedStrategy{Strategy::c3_best, "c3_best"},
    NamedStrategy{Strategy::heuristic, "heuristic"}, NamedStrategy{Strategy::conccl, "conccl"},
    NamedStrategy{Strategy::conccl_rp, "conccl_rp"},
};
constexpr auto strategies = [] {
  std::array<Strategy, names.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = names[i].strategy;
  return all;
}();

// Those that c3_best is the best of.
constexpr std::array kernel_strategies{Strategy::c3_base, Strategy::c3_sp, Strategy::c3_rp, Strategy::c3_sp_rp};

}  // namespace

std::string_view to_string(Strategy strategy) { return names[static_cast<std::size_t>(strategy)].name; }

std::string_view to_string(Splits splits) { return splits == Splits::paper ? "paper" : "fine"; }

std::span<const Strategy> all_strategies() { return strategies; }

std::span<const Strategy> all_kernel_strategies() { return kernel_strategies; }

}  // namespace c3sim::study
