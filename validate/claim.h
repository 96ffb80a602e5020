// What papers claim, each with the band that counts as a match, beside what the simulator makes of the same.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/uncertainty/ensemble.h"
#include "study/uncertainty/interval.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

struct Claim {
  std::string id;  // "conccl.c3_base.fraction"; up to the first point, the suite of claims
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
};

// "0.399 to 0.59", with the digits that tell it from its band; empty where nothing predicts the claim.
std::string predicted_words(const Claim& claim);
// "0.36 to 0.41", or one for the lowest and one for the highest: where they lie with 90 % probability.
std::string interval_words(const Claim& claim);

// The claims of a table with columns id, paper, metric, value, low, high, role. Throws sim::ConfigError.
std::vector<Claim> read_claims(const std::filesystem::path& file);

// What claims are predicted from: a machine, the folder of experiments, and cases of the suite that are predicted.
struct ClaimInputs {
  study::Testbed& testbed;
  std::filesystem::path experiments;
  std::span<const Case> cases;
  bool drawn = false;  // one machine of an ensemble: claims that take seconds are left out
};

// By id: one value, or the lowest and the highest.
using ClaimValues = std::map<std::string, std::vector<double>>;
ClaimValues conccl_claims(const ClaimInputs& inputs);
ClaimValues ficco_claims(const ClaimInputs& inputs);
ClaimValues latte_claims(const ClaimInputs& inputs);
ClaimValues t3_claims(const ClaimInputs& inputs);

// The suites of claims that something predicts.
std::vector<std::string> predicted_claim_suites();

// Fills in what is predicted of each claim of the named suites of claims, "conccl", "ficco", "latte" or "t3"; drops the
// others.
std::vector<Claim> predict_claims(std::vector<Claim> claims, std::span<const std::string> suites,
                                  const ClaimInputs& inputs);

// Fills in where each predicted value lies among those of the ensemble's machines. Cases are not drawn: claims that
// follow from these alone have no interval, nor have those that take seconds.
void add_intervals(std::vector<Claim>& claims, std::span<const std::string> suites, const study::Ensemble& ensemble,
                   const std::filesystem::path& experiments, std::span<const Case> cases, int jobs);

}  // namespace c3sim::validate
