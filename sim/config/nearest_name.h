// Finds the known name that a mistyped name was most likely meant to be.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace c3sim::sim {

// Returns the optimal string alignment distance, which counts insertions, deletions, substitutions and swaps of
// neighbours. Letters of either case are equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the known name with the smallest edit distance, the first of several. Returns an empty name if all differ by
// more than one edit and by more than a third of the length of `wanted`, or in all letters, or if that is over 256.
std::string nearest_name(std::string_view wanted, std::span<const std::string> known);

// Returns "; did you mean 'engines'?", or nothing if no name is near.
std::string nearest_hint(std::string_view wanted, std::span<const std::string> known);

// Returns the end of a fault about an unknown name: "; did you mean 'engines'?", or, if no name is near, "; known are:
// a, b" (a long list ends with "and 12 more"), or nothing if no name is known.
std::string name_hint(std::string_view wanted, std::span<const std::string> known);

// Returns the hint for a range of objects; `name` is the member or function that gives the name of one of them.
template <class All, class Name>
std::string name_hint(std::string_view wanted, const All& all, Name name) {
  std::vector<std::string> known;
  for (const auto& one : all) known.emplace_back(std::invoke(name, one));
  return name_hint(wanted, known);
}

}  // namespace c3sim::sim
