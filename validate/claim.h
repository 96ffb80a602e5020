// What papers claim, each with the band that counts as a match, beside what the simulator makes of the same.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

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

  bool holds() const;
};

// "0.399 to 0.59", with the digits that tell it from its band; empty where nothing predicts the claim.
std::string predicted_words(const Claim& claim);

// The claims of a table with columns id, paper, metric, value, low, high, role. Throws sim::ConfigError.
std::vector<Claim> read_claims(const std::filesystem::path& file);

// What claims are predicted from: a platform, the folder of experiments, and cases of the suite that are predicted.
struct ClaimInputs {
  const models::PlatformSpec& platform;
  std::filesystem::path experiments;
  std::span<const Case> cases;
};

// By id: one value, or the lowest and the highest.
using ClaimValues = std::map<std::string, std::vector<double>>;
ClaimValues conccl_claims(const ClaimInputs& inputs);
ClaimValues ficco_claims(const ClaimInputs& inputs);
ClaimValues latte_claims(const ClaimInputs& inputs);

// The suites of claims that something predicts.
std::vector<std::string> predicted_claim_suites();

// Fills in what is predicted of each claim of the named suites of claims, "conccl", "ficco" or "latte"; drops the
// others.
std::vector<Claim> predict_claims(std::vector<Claim> claims, std::span<const std::string> suites,
                                  const ClaimInputs& inputs);

}  // namespace c3sim::validate
