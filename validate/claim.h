// What papers claim, each with the band that counts as a match, beside what the simulator makes of the same.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/uncertainty/ensemble.h"
#include "study/uncertainty/interval.h"
#include "validate/claim_book.h"

namespace c3sim::validate {

struct Claim {
  std::string id;  // "conccl.c3_base.fraction"; up to the first point, the paper
  std::string paper;
  std::string text;       // what is claimed, in words
  std::string published;  // as printed: "0.24..0.46"
  double low = 0.0;
  double high = 0.0;
  calibrate::Role role = calibrate::Role::unlisted;
  std::string where;              // file:line
  std::vector<double> predicted;  // one value, or the lowest and the highest; empty where nothing predicts it
  std::vector<std::optional<study::Interval>> intervals;  // of each of these; empty where nobody asked for them

  bool holds() const;
  double beyond() const;  // how far the prediction lies outside of the band; 0 within it, and where there is none
};

// "0.399 to 0.59", with the digits that tell it from its band; empty where nothing predicts the claim.
std::string predicted_words(const Claim& claim);
// "0.36 to 0.41", or one for the lowest and one for the highest: where they lie with 90 % probability.
std::string interval_words(const Claim& claim);

// The claims of a table with columns id, paper, metric, value, low, high, role. Throws sim::ConfigError.
std::vector<Claim> read_claims(const std::filesystem::path& file);

// Fills in what the book predicts of each claim of the named papers ("conccl"); drops the others.
std::vector<Claim> predict_claims(std::vector<Claim> claims, std::span<const std::string> papers, const ClaimBook& book,
                                  const ClaimInputs& inputs);

// Fills in where each predicted value lies among those of the ensemble's machines. Cases are not drawn: claims that
// follow from these alone have no interval, nor have those that take seconds.
void add_intervals(std::vector<Claim>& claims, std::span<const std::string> papers, const ClaimBook& book,
                   const study::Ensemble& ensemble, const std::filesystem::path& experiments,
                   std::span<const Case> cases, int jobs);

}  // namespace c3sim::validate
