// Claims of papers, each with the band that counts as a match, stand here beside what the simulator predicts; so do
// deviations, which say where c3sim is known to be wrong, with the cause and what measurement would decide.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/choice.h"
#include "study/play/testbed.h"
#include "study/report/results.h"
#include "study/report/statistics.h"
#include "study/report/table_figure.h"
#include "study/uncertainty/ensemble.h"
#include "validate/evaluation.h"

namespace c3sim::validate {

// What claims of papers are predicted by, as data: studies, and of each claim a figure of one of their tables. See
// validate/claims.yaml.

// A machine, the folder of experiments beside which that of serving lies, and cases of the suite that are predicted.
struct ClaimInputs {
  study::Testbed& testbed;
  std::filesystem::path experiments;
  std::span<const Case> cases;
  bool drawn = false;  // one machine of an ensemble: studies of serving, which take seconds, are left out
};

// Tables to be had by running something, or of the cases.
using ClaimStudy = std::function<std::vector<study::NamedTable>(const ClaimInputs& inputs)>;

// By id of a claim: one value, or the lowest and the highest.
using ClaimValues = std::map<std::string, std::vector<double>>;

class ClaimBook {
 public:
  // Throws sim::ConfigError.
  explicit ClaimBook(const std::filesystem::path& file);

  // What its claims' names begin with, up to the first point, in alphabetical order.
  std::vector<std::string> papers() const;
  // What it predicts of the claims of these papers. Throws sim::ConfigError where a study or a figure is at fault.
  ClaimValues predict(std::span<const std::string> papers, const ClaimInputs& inputs) const;

 private:
  std::vector<std::pair<std::string, ClaimStudy>> studies_;
  struct Predictor {
    std::string study;
    study::TableFigure figure;
  };
  std::map<std::string, Predictor> predictors_;  // by id of a claim
};

// "conccl" of "conccl.ideal.mean".
std::string paper_of(const std::string& claim);

struct Claim {
  std::string id;         // "conccl.c3_base.fraction"; up to the first point, the paper
  std::string text;       // what is claimed, in words
  std::string published;  // as printed: "0.24..0.46"
  double low = 0.0;
  double high = 0.0;
  calibrate::Role role = calibrate::Role::unlisted;
  std::vector<double> predicted;  // one value, or the lowest and the highest; empty where nothing predicts it
  std::vector<std::optional<study::Interval>> intervals;  // of each of these; empty where nobody asked for them

  bool holds() const;
  double beyond() const;  // how far the prediction lies outside of the band; 0 within it, and where there is none
};

// "0.399 to 0.59", with four digits, or as many as tell on which side of its band's limits each value lies; empty where
// nothing predicts the claim.
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

// A gap is one of claims, or of a group of cases: there it is as long as the error named stays above the limit.
struct Deviation {
  enum class Error { median, worst };

  int number = 0;
  std::string title;
  std::string cause;
  std::string decides;  // what measurement would tell
  std::vector<std::string> claims;
  // How far each of the claims may lie beyond its band, in its own unit: further is a gap that has grown.
  std::vector<double> beyond;
  // Or a group of cases.
  std::string suite, group;
  std::vector<std::string> figures;  // none: all
  double least_size = 0.0;           // of the trial, in bytes; see size_of
  double greatest_size = 0.0;        // 0: any
  Error error = Error::median;
  double above = 0.0;

  bool is_about(const Case& one) const;
};

constexpr auto all_names(Deviation::Error) { return sim::names("median", "worst"); }

// Reads the list of deviations. Throws sim::ConfigError.
std::vector<Deviation> read_deviations(const std::filesystem::path& file);

// A deviation as it stands today.
struct Gap {
  Deviation deviation;
  bool tested = false;  // whether its claims or cases were among those compared
  bool open = false;    // whether it is still there
  bool grown = false;   // whether one of its claims lies further beyond its band than the deviation says
  std::string size;     // in words: "0.59, claimed 0.19 to 0.51", "median error 33 %, worst 48 %, of 12 cases"
};

std::vector<Gap> gaps_of(std::span<const Deviation> deviations, std::span<const Claim> claims,
                         std::span<const Case> cases);

}  // namespace c3sim::validate
