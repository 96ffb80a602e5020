// Decisions among measured alternatives: would one who believed the predictions have chosen well, and better than one
// who always chooses the same?
#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/case.h"

namespace c3sim::validate {

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
  int incomplete = 0;  // further ones that are not judged: an alternative has no prediction
  Record predicted;
  std::string always;  // the alternative that loses least if it is chosen every time: known only in hindsight
  Record trivial;      // of always choosing it, where it was measured; elsewhere the first alternative
};

// The decisions of all cases that have one, by suite and table: among alternatives of which the same figure was
// measured, two at least. Repeated measurements of one alternative count by their mean. Where several figures were
// measured, the time decides, or else the first of those that say how fast it went.
std::vector<Choices> choices_of(std::span<const Case> cases);

}  // namespace c3sim::validate
