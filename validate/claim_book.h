// What claims of papers are predicted by, as data: studies, and of each claim a figure of one of their tables. See
// validate/claims.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/readers/trial_fields.h"
#include "study/report/results.h"
#include "study/report/table_figure.h"
#include "study/run/testbed.h"
#include "study/sweep/sweep_axis.h"
#include "validate/case.h"

namespace c3sim::validate {

// Tables to be had by running something; one of `run`, `serve`, `trial` says what, or the name `cases`.
struct ClaimStudy {
  std::string name;
  std::string run;                          // file of an experiment
  std::string serve;                        // file of a study of serving ...
  std::vector<std::string> cases;           // ... and which of its cases
  std::string trial;                        // a kind of calibrate/readers/trial_fields.h
  std::vector<study::SweepAxis> over;       // a row for every combination of their values
  study::Figure see = study::Figure::time;  // of all trials
  std::vector<std::pair<std::string, std::vector<calibrate::Fields>>> columns;  // of several the least that is possible
};

// A machine, the folder of experiments beside which that of serving lies, and cases of the suite that are predicted.
struct ClaimInputs {
  study::Testbed& testbed;
  std::filesystem::path experiments;
  std::span<const Case> cases;
  bool drawn = false;  // one machine of an ensemble: studies of serving, which take seconds, are left out
};

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
  std::vector<ClaimStudy> studies_;
  struct Predictor {
    std::string study;
    study::TableFigure figure;
  };
  std::map<std::string, Predictor> predictors_;  // by id of a claim
};

// "conccl" of "conccl.ideal.mean".
std::string paper_of(const std::string& claim);

}  // namespace c3sim::validate
