// Decisions among measured alternatives: would one who believed the predictions have chosen well, and better than one
// who always chooses the same?
#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/case.h"

namespace validate {

// How well a way of choosing does over several decisions.
struct Record {
  int right = 0;             // decisions in which it names the best measured alternative
  double mean_regret = 0.0;  // what it loses against that one, relative, over all decisions
  double worst_regret = 0.0;
};

struct Choices {
  std::string suite;
  std::string group;  // of the cases
  int decisions = 0;
  Record predicted;
  std::string always;  // the alternative that loses least if it is chosen every time: known only in hindsight
  Record trivial;      // of always choosing it, where it was measured; elsewhere the first alternative
};

// The decisions of all cases that have one, by suite and table; among alternatives with the same figure, of which at
// least two were measured and all of these are predicted.
std::vector<Choices> choices_of(std::span<const Case> cases);

}  // namespace validate
