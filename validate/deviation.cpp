#include "validate/deviation.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/config.h"
#include "sim/config/nearest_name.h"
#include "validate/metrics.h"

namespace c3sim::validate {

namespace {

void check_figures(sim::Section& section, const std::vector<std::string>& figures) {
  std::vector<std::string> known;
  for (const study::FigureForm& form : study::all_figures()) known.emplace_back(form.key);
  for (const std::string& figure : figures) {
    if (std::ranges::find(known, figure) == known.end()) {
      section.fault("figures", "'" + figure + "' is no figure" + sim::name_hint(figure, known));
    }
  }
}

Deviation read_deviation(sim::Section section) {
  Deviation deviation;
  deviation.number = static_cast<int>(section.integer("number", 1, 1000));
  deviation.title = section.text("title");
  deviation.cause = section.text("cause");
  deviation.decides = section.text("decides");
  if (section.has("claims")) {
    deviation.claims = section.texts("claims");
    deviation.beyond = section.numbers("beyond", 0.0, 1e6);
    if (section.is_sound("beyond") && deviation.beyond.size() != deviation.claims.size()) {
      section.fault("beyond", fmt::format("a number for each of the {} claims is due", deviation.claims.size()));
    }
  }
  if (section.has("suite")) {
    deviation.suite = section.text("suite");
    deviation.group = section.text("group");
    if (section.has("figures")) deviation.figures = section.texts("figures");
    check_figures(section, deviation.figures);
    deviation.least_size =
        section.quantity<sim::Bytes>("from", {sim::Bytes(0.0), sim::Bytes(1e18)}, sim::Bytes(0.0)).value();
    deviation.greatest_size =
        section.quantity<sim::Bytes>("to", {sim::Bytes(0.0), sim::Bytes(1e18)}, sim::Bytes(0.0)).value();
    deviation.error = section.choice<Deviation::Error>("error", sim::choices_of<Deviation::Error>());
    deviation.above = section.number("above", 0.0, 10.0);
  }
  if (deviation.claims.empty() == deviation.suite.empty()) {
    section.fault("claims", "a deviation is of claims or of a suite's group");
  }
  return deviation;
}

void judge_claims(Gap& gap, std::span<const Claim> claims) {
  std::vector<std::string> words;
  for (std::size_t place = 0; place < gap.deviation.claims.size(); ++place) {
    const std::string& id = gap.deviation.claims[place];
    const auto claim = std::ranges::find(claims, id, &Claim::id);
    if (claim == claims.end() || claim->predicted.empty()) continue;
    gap.tested = true;
    gap.open = gap.open || !claim->holds();
    gap.grown = gap.grown || claim->beyond() > gap.deviation.beyond[place];
    words.push_back(fmt::format("{}: {}, band {:.3g} to {:.3g}", id, predicted_words(*claim), claim->low, claim->high));
  }
  gap.size = fmt::format("{}", fmt::join(words, "; "));
}

void judge_cases(Gap& gap, std::span<const Case> cases) {
  std::vector<const Case*> meant;
  for (const Case& one : cases) {
    if (one.predicted && gap.deviation.is_about(one)) meant.push_back(&one);
  }
  if (meant.empty()) return;
  const Metrics metrics = metrics_of(meant);
  gap.tested = true;
  gap.open = (gap.deviation.error == Deviation::Error::median ? metrics.median : metrics.worst) > gap.deviation.above;
  gap.size = fmt::format("median error {:.1f} %, worst {:.1f} %, bias {:+.1f} %, of {} cases", 100.0 * metrics.median,
                         100.0 * metrics.worst, 100.0 * metrics.bias, meant.size());
}

}  // namespace

bool Deviation::is_about(const Case& one) const {
  if (suite.empty() || one.suite != suite || one.group != group) return false;
  if (!figures.empty() && std::ranges::find(figures, one.form().key) == figures.end()) return false;
  const double size = study::size_of(one.trial);
  return size >= least_size && (greatest_size == 0.0 || size <= greatest_size);
}

std::vector<Deviation> read_deviations(const std::filesystem::path& file) {
  sim::Config config = sim::Config::from_file(file);
  std::vector<Deviation> deviations;
  sim::Section root = config.root();
  for (const sim::Section& section : root.list("deviations")) {
    deviations.push_back(read_deviation(section));
    const auto same = std::ranges::count(deviations, deviations.back().number, &Deviation::number);
    if (same > 1) root.fault("deviations", fmt::format("number {} is given twice", deviations.back().number));
  }
  config.finish();
  return deviations;
}

std::vector<Gap> gaps_of(std::span<const Deviation> deviations, std::span<const Claim> claims,
                         std::span<const Case> cases) {
  std::vector<Gap> gaps;
  for (const Deviation& deviation : deviations) {
    Gap& gap = gaps.emplace_back();
    gap.deviation = deviation;
    if (deviation.suite.empty()) {
      judge_claims(gap, claims);
    } else {
      judge_cases(gap, cases);
    }
  }
  return gaps;
}

}  // namespace c3sim::validate
