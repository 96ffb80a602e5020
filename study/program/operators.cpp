#include "study/program/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/config/config.h"
#include "sim/config/config_text.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {
constexpr std::int64_t most_elements = std::int64_t{1} << 48;
constexpr double most_per_element = 1e6;
}  // namespace

models::ElementwiseSpec kernel_of(const ElementwiseOperator& named, std::int64_t elements, sim::Bytes element,
                                  std::int64_t row) {
  const double count = static_cast<double>(elements);
  const auto bytes = [&](double each) { return sim::Bytes(std::round((count * each * element).value())); };
  models::ElementwiseSpec spec{bytes(named.reads), bytes(named.writes), sim::Flops(count * named.flops)};
  spec.reduces = named.reduces;
  spec.row = row;
  spec.width = named.width;
  spec.strided = named.strided;
  spec.operation = named.name;
  spec.elements = count;
  return spec;
}

std::optional<std::filesystem::path> operators_file(std::span<const std::filesystem::path> config_folders) {
  return sim::first_file(config_folders, "operators.yaml");
}

std::vector<ElementwiseOperator> read_operators(std::span<const std::filesystem::path> config_folders) {
  const std::optional<std::filesystem::path> file = operators_file(config_folders);
  if (!file) return {};
  sim::Config config = sim::Config::from_file(*file);
  std::vector<ElementwiseOperator> operators;
  for (sim::Section& row : config.root().list("operators")) {
    ElementwiseOperator& read = operators.emplace_back();
    read.name = row.name("name");
    read.reads = row.number("reads", 0.0, most_per_element);
    read.writes = row.number("writes", 0.0, most_per_element);
    read.flops = row.number("flops", 0.0, most_per_element);
    read.reduces = row.flag("reduces", false);
    read.width = row.number("width", 1.0, most_width, 1.0);
    read.strided = row.flag("strided", false);
    row.text("about", "");
    if (read.reads + read.writes <= 0.0) row.fault("reads", "an operator reads or writes something");
    if (find_operator(std::span(operators).first(operators.size() - 1), read.name) != nullptr) {
      row.fault("name", "an operator before this one has the same name");
    }
  }
  config.finish();
  return operators;
}

const ElementwiseOperator* find_operator(std::span<const ElementwiseOperator> operators, std::string_view name) {
  const auto found = std::ranges::find(operators, name, &ElementwiseOperator::name);
  return found == operators.end() ? nullptr : &*found;
}

const ElementwiseOperator& required_operator(std::span<const ElementwiseOperator> operators, std::string_view name) {
  const ElementwiseOperator* const found = find_operator(operators, name);
  if (found != nullptr) return *found;
  throw sim::ConfigError({{"configs/operators.yaml", "",
                           fmt::format("has no operator '{}', which steps and quantised products need{}", name,
                                       operator_hint(operators, name))}});
}

std::string operator_hint(std::span<const ElementwiseOperator> operators, std::string_view name) {
  return sim::name_hint(name, operators, &ElementwiseOperator::name);
}

std::int64_t parse_elements(std::string_view text) {
  const std::vector<std::int64_t> factors = sim::parse_extents(text);
  std::int64_t product = factors.empty() ? 0 : 1;
  for (const std::int64_t factor : factors) {
    if (factor > most_elements / product) return 0;
    product *= factor;
  }
  return product;
}

std::int64_t row_of(std::string_view elements) {
  const std::size_t last = elements.rfind('x');
  return last == std::string_view::npos ? usual_row
                                        : std::max<std::int64_t>(1, parse_elements(elements.substr(last + 1)));
}

}  // namespace c3sim::study
