#include "sim/config/nearest_name.h"

#include <algorithm>
#include <utility>

namespace c3sim::sim {
namespace {

constexpr std::size_t longest_wanted = 256;
// The limits bound messages, since names may be columns of a user's file, of any number and length.
constexpr std::size_t longest_listed = 60;
constexpr std::size_t longest_list = 240;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool alike(char a, char b) { return lower(a) == lower(b); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i of the table holds the distances from the first i letters of a to every prefix of b.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (alike(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) && alike(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view wanted, std::span<const std::string> known) {
  if (wanted.size() > longest_wanted) return {};
  const std::string* nearest = nullptr;
  std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& name : known) {
    const std::size_t longer = std::max(name.size(), wanted.size());
    const std::size_t shorter = std::min(name.size(), wanted.size());
    if (longer - shorter >= limit) continue;  // the names differ by at least that many insertions
    const std::size_t distance = edit_distance(wanted, name);
    if (distance < std::min(limit, longer)) {  // a name without a letter in common is not near
      limit = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? std::string() : *nearest;
}

std::string nearest_hint(std::string_view wanted, std::span<const std::string> known) {
  const std::string nearest = nearest_name(wanted, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

std::string name_hint(std::string_view wanted, std::span<const std::string> known) {
  std::string hint = nearest_hint(wanted, known);
  if (!hint.empty()) return hint;
  for (std::size_t at = 0; at < known.size(); ++at) {
    if (hint.size() > longest_list) return hint + " and " + std::to_string(known.size() - at) + " more";
    hint += hint.empty() ? "; known are: " : ", ";
    hint += known[at].substr(0, longest_listed) + (known[at].size() > longest_listed ? "..." : "");
  }
  return hint;
}

}  // namespace c3sim::sim
