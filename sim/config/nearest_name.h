// The known name that a mistyped one was most likely meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace c3sim::sim {

// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other, letters alike in
// either case (the optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known name fewest edits away, the first of several; empty where all are further than a third of the length of
// `wanted` (and more than one edit), or `wanted` is longer than any name a person would type (256 characters).
std::string nearest_name(std::string_view wanted, std::span<const std::string> known);

// The end of a fault about an unknown name: "; did you mean 'engines'?", or where none is near, "; known are: a, b"
// (of very many the first, "and 12 more"), or nothing where none is known.
std::string name_hint(std::string_view wanted, std::span<const std::string> known);

}  // namespace c3sim::sim
