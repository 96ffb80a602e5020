// How tokens choose experts: how many of a GPU's experts have any, and how many tokens come to the GPU that most come
// to.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace c3sim::study {

// How likely experts are to be chosen. Each token chooses by itself, as many experts as the model has it use.
struct Routing {
  double power = 0.0;            // the n-th most likely is so in proportion to n to the power of -power; 0: all alike
  bool dealt = false;            // not by likelihood: to one expert after the other, as many benchmarks deal tokens
  std::vector<double> shares{};  // of each expert, in the order of the GPUs that have them; empty: by power
  std::string told{};            // as it was read

  auto operator<=>(const Routing&) const = default;
};

// Of the rank that most tokens come to, of `ranks` that share out the experts: those that likelihoods give are dealt to
// ranks in turn, those of a list lie on them in its order.
struct RoutedLoad {
  double over_even = 1.0;  // copies of tokens over those that it would have if all ranks had as many
  double busy = 0.0;       // its experts that have any token, as expected
};
RoutedLoad load_of(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks, std::int64_t tokens);

// Why tokens that use so many experts, each another, cannot choose them so; empty if they can.
std::string why_impossible(const Routing& routing, std::int64_t used);

// Of so many ranks those that have any of the experts that a token uses, as expected.
double ranks_of_token(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks);

// "even", "dealt", "power:ALPHA", or a file with a share of tokens, or a count, on each line, one for each expert.
// Throws sim::ConfigError, with the line, for what is none of these.
Routing read_routing(const std::string& text);

}  // namespace c3sim::study
