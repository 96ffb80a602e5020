// Texts by themselves, by tests/data/samples: quantities, expressions, numbers, extents and names. The name of the
// input is what its lines are read as; each has a line of the output.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/algorithm/string.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/config/expression.h"
#include "sim/config/nearest_name.h"
#include "tests/samples.h"

namespace c3sim::sim {
namespace {

constexpr std::array<std::pair<std::string_view, Dimension>, 10> dimensions{
    {{"number", Dimension::number},
     {"bytes", Dimension::bytes},
     {"bytes_per_second", Dimension::bytes_per_second},
     {"time", Dimension::time},
     {"frequency", Dimension::frequency},
     {"power", Dimension::power},
     {"energy", Dimension::energy},
     {"energy_per_byte", Dimension::energy_per_byte},
     {"energy_per_flop", Dimension::energy_per_flop},
     {"flops_per_second", Dimension::flops_per_second}}};

NamedValue known(std::string_view name) {
  if (name == "tokens") return Amount{8192.0, {}};
  if (name == "array") return Amount{1048576.0, {1, 0, 0, 0}};
  if (name == "kind") return "all_gather";
  throw std::runtime_error("nothing is named '" + std::string(name) + "'");
}

// What an expression becomes, or what is said of it behind the place of it: "5: a division by zero".
std::string words_of_expression(const std::string& text) {
  try {
    return "becomes " + replaced(text, known);
  } catch (const ExpressionError& error) {
    return fmt::format("{}: {}", error.at(), error.what());
  }
}

template <class T>
std::string words_of_parsed(const Parsed<T>& parsed) {
  return parsed.error.empty() ? fmt::format("is {}", parsed.value) : parsed.error;
}

std::string words_of_text(const std::string& reader, const std::string& text) {
  for (const auto& [name, dimension] : dimensions) {
    if (reader == fmt::format("a quantity of {}", name)) return words_of_parsed(parse_quantity(text, dimension));
  }
  if (reader == "an expression") return words_of_expression(text);
  if (reader == "an integer") return words_of_parsed(parse_integer(text));
  if (reader == "a number") return words_of_parsed(parse_number(text));
  if (reader == "a name") return is_name(text) ? "is a name" : "is none";
  if (reader == "extents") return fmt::format("are {}", parse_extents(text));
  std::vector<std::string> names;
  std::istringstream words(reader.substr(std::string("one of").size()));
  for (std::string name; words >> name;) names.push_back(name);
  return fmt::format("is nearest to '{}'{}", nearest_name(text, names), name_hint(text, names));
}

TEST(TextSamples, OfQuantitiesExpressionsNumbersExtentsAndNames) {
  expect_samples("texts.samples", [](const Sample& sample) {
    const auto& [reader, text] = sample.inputs.front();
    std::string words;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) words += words_of_text(reader, line) + '\n';
    return words;
  });
}

}  // namespace
}  // namespace c3sim::sim
