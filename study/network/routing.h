// Models how tokens choose experts: how many experts of a GPU receive tokens, and how many tokens the most loaded GPU
// receives.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace c3sim::study {

// A Routing says how likely each expert is to be chosen. Each token chooses independently of the others.
struct Routing {
  double power = 0.0;            // the n-th most likely expert has a share proportional to n^-power; 0: all are equal
  bool dealt = false;            // experts get tokens in turn rather than by likelihood, as in many benchmarks
  std::vector<double> shares{};  // of each expert, in the order of the GPUs that hold them; empty: by `power`
  std::string told{};            // the text that it was read from

  auto operator<=>(const Routing&) const = default;
};

// A RoutedLoad is the load that all ranks wait for: the most copies of tokens, which take arithmetic, and the most
// experts, whose weights are read, though another rank may have these. Experts by `power` are dealt to the ranks in
// turn; those of a list lie on the ranks in its order.
struct RoutedLoad {
  double over_even = 1.0;  // copies of the rank with the most, relative to an even distribution over ranks
  double busy = 0.0;       // expected number of experts with at least one token, of the rank with the most
};
RoutedLoad load_of(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks, std::int64_t tokens);

// Returns why tokens cannot choose `used` different experts with these shares; empty if they can.
std::string why_impossible(const Routing& routing, std::int64_t used);

// Returns the expected number of ranks, out of `ranks`, that hold any of the experts that a token uses.
double ranks_of_token(const Routing& routing, std::int64_t experts, std::int64_t used, int ranks);

// Reads "even", "dealt", "power:ALPHA", or a file with a share or a count of tokens on each line, one for each expert.
// Throws sim::ConfigError with the line if the text is none of these.
Routing read_routing(const std::string& text);

}  // namespace c3sim::study
