#include "study/c3/c3_study_file.h"

#include <algorithm>
#include <span>

#include "sim/config/nearest_name.h"
#include "study/work/choices.h"
#include "study/work/named_gemm.h"
#include "study/work/operation_reader.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_pairs = 10'000;

StudyPair read_pair(sim::Section section, std::span<const NamedGemm> gemms) {
  StudyPair pair;
  const std::string gemm = section.name("gemm");
  if (const auto found = std::ranges::find(gemms, gemm, &NamedGemm::name); found != gemms.end()) {
    pair.gemm = found->shape;
  } else {
    std::vector<std::string> known;
    for (const auto& [name, shape] : gemms) known.push_back(name);
    section.fault("gemm", "'" + gemm + "' is not among the GEMMs of this file" + sim::name_hint(gemm, known));
  }
  pair.bytes = section.bytes("bytes", array_sizes);
  if (section.has("class")) pair.length_class = section.choice<LengthClass>("class", length_class_choices());
  pair.name = gemm + "_" + sim::to_string(pair.bytes);
  return pair;
}

// The alternatives that a list names, each once.
template <class T>
std::vector<T> read_choices(sim::Section section, std::string_view key, const std::vector<Choice<T>>& choices) {
  std::vector<std::string> known;
  known.reserve(choices.size());
  for (const auto& [name, value] : choices) known.emplace_back(name);
  std::vector<T> chosen;
  for (const std::string& name : section.names(key)) {
    const auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& it) { return it.first == name; });
    if (found == choices.end()) {
      section.fault(key, "'" + name + "' is not known" + sim::name_hint(name, known));
    } else if (std::find(chosen.begin(), chosen.end(), found->second) != chosen.end()) {
      section.fault(key, "'" + name + "' is named twice");
    } else {
      chosen.push_back(found->second);
    }
  }
  if (chosen.empty()) section.fault(key, "at least one is needed" + sim::name_hint("", known));
  return chosen;
}

std::optional<double> read_published(sim::Section section, std::string_view key, double high) {
  if (!section.has(key)) return {};
  return section.number(key, -high, high);
}

std::vector<PublishedStrategy> read_published(sim::Section section) {
  section.text("source");  // for readers of the file; a published figure without one is a fault
  std::vector<PublishedStrategy> published;
  for (sim::Section entry : section.list("strategies")) {
    PublishedStrategy strategy;
    strategy.strategy = entry.choice<Strategy>("strategy", strategy_choices());
    strategy.fraction = read_published(entry, "fraction", 10.0);
    strategy.speedup = read_published(entry, "speedup", 10.0);
    strategy.highest_speedup = read_published(entry, "highest_speedup", 10.0);
    for (const auto& [name, kind] : collective_choices()) {
      if (!entry.has(name)) continue;
      sim::Section figures = entry.section(name);
      strategy.collectives.push_back({kind, read_published(figures, "lowest_fraction", 10.0),
                                      read_published(figures, "highest_fraction", 10.0),
                                      read_published(figures, "speedup", 10.0)});
    }
    published.push_back(std::move(strategy));
  }
  return published;
}

// Why the platform cannot run the scenario under a strategy, which the reason names; empty if it can.
std::string why_impossible(const Scenario& scenario, Strategy strategy, const Testbed& testbed) {
  const std::string reason = testbed.why_impossible(collective_of(scenario, strategy, testbed.platform()));
  if (reason.empty()) return {};
  return std::string(to_string(strategy)) + ": " + reason;
}

// A pair that no strategy can run is a fault; what only some cannot run is left out with a warning, once for all pairs.
void check_pair(C3Study& study, const StudyPair& pair, sim::Section& section, const Testbed& testbed) {
  if (const std::string reason = testbed.why_impossible(pair.gemm); !reason.empty()) section.fault("gemm", reason);
  for (const models::CollectiveKind kind : study.collectives) {
    const Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
    std::vector<std::string> reasons;
    for (const Strategy strategy : study.strategies) {
      if (std::string reason = why_impossible(scenario, strategy, testbed); !reason.empty()) reasons.push_back(reason);
    }
    if (reasons.size() == study.strategies.size() && !reasons.empty()) section.fault("bytes", reasons.front());
    for (const std::string& reason : reasons) {
      std::string warning = std::string(models::to_string(kind)) + " is left out of " + reason;
      if (std::ranges::find(study.warnings, warning) == study.warnings.end()) study.warnings.push_back(warning);
    }
  }
}

}  // namespace

C3Study read_c3_study(sim::Section root, const Testbed& testbed) {
  C3Study study;
  study.name = root.name("name");
  study.longer_by = root.number("longer_by", 1.0, 10.0, study.longer_by);
  study.splits = root.choice<Splits>("splits", split_choices(), study.splits);
  const std::vector<NamedGemm> gemms = read_gemms(root.section("gemms"));
  study.collectives = read_choices(root, "collectives", collective_choices());
  study.strategies = read_choices(root, "strategies", strategy_choices());
  std::vector<sim::Section> pairs = root.list("pairs");
  if (pairs.size() > most_pairs) {
    root.fault("pairs", "at most " + std::to_string(most_pairs) + " pairs are accepted");
    return study;
  }
  for (sim::Section& section : pairs) {
    study.pairs.push_back(read_pair(section, gemms));
    check_pair(study, study.pairs.back(), section, testbed);
  }
  if (root.has("published")) study.published = read_published(root.section("published"));
  return study;
}

}  // namespace c3sim::study
