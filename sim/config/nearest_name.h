// The known name that a mistyped one was most likely meant to be.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace c3sim::sim {

// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other, letters alike in
// either case (the optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name fewest edits away, the first of several; empty where all are further than a third of the length of
// `wanted` (and more than one edit), or `wanted` is longer than any name a person would type (256 characters).
std::string nearest_name(std::string_view wanted, std::span<const std::string> known);

// "; did you mean 'engines'?", or nothing where no name is near.
std::string nearest_hint(std::string_view wanted, std::span<const std::string> known);

// The end of a fault about an unknown name: "; did you mean 'engines'?", or where none is near, "; known are: a, b"
// (of very many the first, "and 12 more"), or nothing where none is known.
std::string name_hint(std::string_view wanted, std::span<const std::string> known);

// The same of all that have such a name: `name` is that, a member or a function of one.
template <class All, class Name>
std::string name_hint(std::string_view wanted, const All& all, Name name) {
  std::vector<std::string> known;
  for (const auto& one : all) known.emplace_back(std::invoke(name, one));
  return name_hint(wanted, known);
}

}  // namespace c3sim::sim
