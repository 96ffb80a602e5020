#include "validate/claim.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/csv_file.h"

namespace c3sim::validate {

bool Claim::holds() const {
  return !predicted.empty() &&
         std::ranges::all_of(predicted, [this](double value) { return low <= value && value <= high; });
}

double Claim::beyond() const {
  double farthest = 0.0;
  for (const double value : predicted) farthest = std::max({farthest, low - value, value - high});
  return farthest;
}

std::string predicted_words(const Claim& claim) {
  if (claim.predicted.empty()) return "";
  if (claim.predicted.size() == 1) return fmt::format("{:.4g}", claim.predicted.front());
  return fmt::format("{:.4g} to {:.4g}", claim.predicted.front(), claim.predicted.back());
}

std::string interval_words(const Claim& claim) {
  std::vector<std::string> words;
  for (const auto& interval : claim.intervals) {
    if (interval) words.push_back(fmt::format("{:.4g} to {:.4g}", interval->low, interval->high));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::vector<Claim> read_claims(const std::filesystem::path& file) {
  sim::CsvFile table = sim::CsvFile::from_file(file);
  table.require({"id", "paper", "metric", "value", "low", "high", "role"});
  table.check();
  std::vector<Claim> claims;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Claim claim;
    claim.id = table.text(row, "id");
    claim.paper = table.text(row, "paper");
    claim.text = table.text(row, "metric");
    claim.published = table.text(row, "value");
    claim.low = table.number(row, "low", -1e6, 1e6);
    claim.high = table.number(row, "high", -1e6, 1e6);
    if (claim.low > claim.high) table.fault(row, "high", "lies below low");
    const std::string_view role = table.text(row, "role");
    if (role != "calibrate" && role != "predict") table.fault(row, "role", "calibrate or predict is accepted");
    claim.role = role == "calibrate" ? calibrate::Role::calibrate : calibrate::Role::predict;
    claim.where = file.filename().string() + ":" + std::to_string(table.line(row));
    claims.push_back(std::move(claim));
  }
  table.check();
  return claims;
}

std::vector<Claim> predict_claims(std::vector<Claim> claims, std::span<const std::string> papers, const ClaimBook& book,
                                  const ClaimInputs& inputs) {
  std::erase_if(claims,
                [&](const Claim& claim) { return std::ranges::find(papers, paper_of(claim.id)) == papers.end(); });
  const ClaimValues values = book.predict(papers, inputs);
  for (Claim& claim : claims) {
    if (const auto found = values.find(claim.id); found != values.end()) claim.predicted = found->second;
  }
  return claims;
}

void add_intervals(std::vector<Claim>& claims, std::span<const std::string> papers, const ClaimBook& book,
                   const study::Ensemble& ensemble, const std::filesystem::path& experiments,
                   std::span<const Case> cases, int jobs) {
  const std::vector<ClaimValues> drawn = ensemble.ask_each(
      [&](study::Testbed& member) {
        return book.predict(papers, {member, experiments, cases, true});
      },
      jobs);
  for (Claim& claim : claims) {
    for (std::size_t value = 0; value < claim.predicted.size(); ++value) {
      std::vector<double> values;
      for (const ClaimValues& of_member : drawn) {
        const auto known = of_member.find(claim.id);
        if (known != of_member.end() && value < known->second.size()) values.push_back(known->second[value]);
      }
      claim.intervals.push_back(study::interval_of(std::move(values)));
    }
  }
}

}  // namespace c3sim::validate
