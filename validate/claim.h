// Compares claims of papers, each with the band that counts as a match, with predictions. Deviations say where c3sim is
// known to be wrong, with the cause and with the measurement that would decide.
#pragma once

#include <cstdint>
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

// A ClaimBook holds how claims of papers are predicted, as data: each claim is a figure of a table that a study gives.
// See validate/claims.yaml.

// ClaimInputs hold a machine of a platform, the folder of experiments, next to which `studies` lies, and
// predicted cases of the suite.
struct ClaimInputs {
  study::Testbed& testbed;
  const study::Platform& platform;
  std::filesystem::path experiments;
  std::span<const Case> cases;
  // A machine of an ensemble leaves out studies of serving, since they take seconds, and points on other machines.
  bool drawn = false;
  std::vector<std::string>* remarks = nullptr;  // gets a sentence for each study with points that the machine cannot do
};

// A ClaimStudy returns tables, which it computes with simulations or from the cases.
struct ClaimTables {
  std::vector<study::NamedTable> tables;
  std::uint64_t points = 0;               // that the study asks
  std::vector<std::string> impossible{};  // why the machine cannot do some of them, which the tables are without
};
using ClaimStudy = std::function<ClaimTables(const ClaimInputs& inputs)>;

// ClaimValues maps the id of a claim to one value, or to the lowest and the highest.
using ClaimValues = std::map<std::string, std::vector<double>>;

class ClaimBook {
 public:
  // Reads the book. Throws sim::ConfigError.
  explicit ClaimBook(const std::filesystem::path& file);

  // Returns the papers, which are the ids of claims up to their first point, in alphabetical order.
  std::vector<std::string> papers() const;
  // Returns the predictions of the claims of these papers. Throws sim::ConfigError if a study or figure is at fault,
  // but for a figure that lacks points which the machine cannot do: it predicts nothing.
  ClaimValues predict(std::span<const std::string> papers, const ClaimInputs& inputs) const;

 private:
  std::vector<std::pair<std::string, ClaimStudy>> studies_;
  struct Predictor {
    std::string study, table;
    study::TableFigure figure;
  };
  std::map<std::string, Predictor> predictors_;  // by id of the claim
};

// Returns the paper of a claim: "conccl" for "conccl.ideal.mean".
std::string paper_of(const std::string& claim);

struct Claim {
  std::string id{};         // "conccl.c3_base.fraction"; up to the first point, the paper
  std::string text{};       // the claim in words
  std::string published{};  // as printed: "0.24..0.46"
  double low = 0.0;
  double high = 0.0;
  calibrate::Role role = calibrate::Role::unlisted;
  std::vector<double> predicted{};  // one value, or the lowest and the highest; empty if nothing predicts the claim
  std::vector<std::optional<study::Interval>> intervals{};  // one per predicted value; empty if not requested

  bool holds() const;
  double beyond() const;  // distance of the prediction from the band; 0 within it or without a prediction
};

// Returns the prediction, such as "0.399 to 0.59", with four digits or as many as show on which side of the limits of
// the band a value lies; the result is empty if nothing predicts the claim.
std::string predicted_words(const Claim& claim);
// Returns the 90 % interval, "0.36 to 0.41", or one for the lowest and one for the highest value.
std::string interval_words(const Claim& claim);

// Reads a table of claims with columns id, paper, metric, value, low, high, role. Throws sim::ConfigError.
std::vector<Claim> read_claims(const std::filesystem::path& file);

// Returns the claims of the named papers ("conccl") with the predictions of the book.
std::vector<Claim> predict_claims(std::vector<Claim> claims, std::span<const std::string> papers, const ClaimBook& book,
                                  const ClaimInputs& inputs);

// Fills in the interval of each predicted value over the machines of the ensemble. Claims that follow only from cases,
// which are not drawn, get no interval, and neither do claims of studies that take seconds.
void add_intervals(std::vector<Claim>& claims, std::span<const std::string> papers, const ClaimBook& book,
                   const study::Platform& platform, const study::Ensemble& ensemble,
                   const std::filesystem::path& experiments, std::span<const Case> cases, int jobs);

// A Deviation is a known gap of claims or of a group of cases, which exists while the group's `error` exceeds `above`.
struct Deviation {
  enum class Error { median, worst };

  int number = 0;
  std::string title{};
  std::string cause{};
  std::string decides{};  // measurement that would decide
  std::vector<std::string> claims{};
  // `beyond` holds how far each claim may lie beyond its band, in its own unit, before the gap counts as grown.
  std::vector<double> beyond{};
  // The next fields select a group of cases, if the deviation is not about claims.
  std::string suite{}, group{};
  std::vector<std::string> figures{};  // empty: all
  double least_size = 0.0;             // of the trial, in bytes; see size_of()
  double greatest_size = 0.0;          // 0: no limit
  Error error = Error::median;
  double above = 0.0;

  bool is_about(const Case& one) const;
};

constexpr auto all_names(Deviation::Error) { return sim::names("median", "worst"); }

// Reads the list of deviations. Throws sim::ConfigError.
std::vector<Deviation> read_deviations(const std::filesystem::path& file);

// A Gap is the state of a deviation in one validation.
struct Gap {
  Deviation deviation;
  bool tested = false;  // its claims or cases were among those compared
  bool open = false;    // the gap still exists
  bool grown = false;   // a claim lies further beyond its band than the deviation says
  std::string size{};   // in words: "ID: 0.59, band 0.19 to 0.51", "median error 33 %, worst 48 %, of 12 cases"
};

std::vector<Gap> gaps_of(std::span<const Deviation> deviations, std::span<const Claim> claims,
                         std::span<const Case> cases);

}  // namespace c3sim::validate
