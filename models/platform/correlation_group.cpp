#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "models/platform/platform_spec.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {
namespace {

struct Pair {
  sim::Section row;
  std::string first;
  std::string second;
  double correlation = 0.0;
  std::string file = {};  // the file that has the pair
};

class PairReader {
 public:
  explicit PairReader(sim::Config& config) : root_(config.root()), files_(config.files()) {
    if (!root_.has("correlations")) return;
    for (sim::Section row : root_.list("correlations")) {
      const std::string first = config.by_place(row.text("first"));
      const std::string second = config.by_place(row.text("second"));
      pairs_.push_back({row, first, second, row.number("correlation", -1.0, 1.0)});
    }
    for (const sim::Parameter* const parameter : config.parameters_in_place()) {
      if (!parameter->error.empty()) with_error_.push_back(config.by_name(parameter->path));
      parameters_.emplace(parameter->path, parameter);
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto read = parameters_.find("correlations[" + std::to_string(i) + "].correlation");
      if (read != parameters_.end()) pairs_[i].file = read->second->file;
    }
  }

  std::vector<Pair> read() {
    std::vector<Pair> sound;
    std::set<std::pair<std::string, std::string>> known;
    for (Pair& pair : pairs_) {
      const bool both_known = check(pair, "first", pair.first) && check(pair, "second", pair.second);
      if (!both_known || !pair.row.is_sound("correlation")) continue;
      if (pair.first == pair.second) {
        pair.row.fault("second", "is the first");
      } else if (!known.insert(std::minmax(pair.first, pair.second)).second) {
        pair.row.fault("second", "the pair is given twice");
      } else if (has_error(pair, "first", pair.first) && has_error(pair, "second", pair.second)) {
        sound.push_back(std::move(pair));
      }
    }
    return sound;
  }

 private:
  // Returns whether the path names a parameter. A fault of the parameter itself is recorded already.
  bool check(Pair& pair, std::string_view key, const std::string& path) {
    if (!pair.row.is_sound(key) || !root_.is_sound(path)) return false;
    if (parameters_.contains(path)) return true;
    if (const std::string list = list_without_row(path); !list.empty()) {
      const bool is_replaced = is_above(parameters_.at(list + "[0].name")->file, pair.file);
      if (!is_replaced) pair.row.warn(key, path + " is of no row of " + list + ": the pair is left out");
      return false;
    }
    pair.row.fault(key, "no parameter is named '" + path + "'" + sim::name_hint(path, with_error_));
    return false;
  }

  // Returns the list that has named rows but none with the name in the path, or an empty text. A file that extends the
  // pair's file may have replaced the list that the pair means.
  std::string list_without_row(const std::string& path) const {
    const std::string list = path.substr(0, path.find('['));
    const std::string row = path.substr(0, path.find(']'));
    const bool has_rows = list != path && parameters_.contains(list + "[0].name");
    return has_rows && !parameters_.contains(row + "].name") ? list : "";
  }

  // A file that extends the pair's file may give a value of its own without an error, which is not a fault of either.
  bool has_error(Pair& pair, std::string_view key, const std::string& path) {
    const sim::Parameter& parameter = *parameters_.at(path);
    if (!parameter.error.empty()) return true;
    const bool is_replaced = parameter.kind == "what_if" || parameter.file != pair.file;
    if (!is_replaced) pair.row.warn(key, path + " has no error: the pair is left out");
    return false;
  }

  // Returns whether the first of the files extends the second.
  bool is_above(const std::string& first, const std::string& second) const {
    return std::ranges::find(files_, first) < std::ranges::find(files_, second);
  }

  sim::Section root_;
  std::vector<std::string> files_;  // from the extending file to its last base
  std::vector<Pair> pairs_;
  std::map<std::string_view, const sim::Parameter*> parameters_;
  std::vector<std::string> with_error_;
};

// Returns the sets of parameters that pairs link, each in the order of the pairs.
std::vector<std::vector<std::string>> linked(const std::vector<Pair>& pairs) {
  std::vector<std::vector<std::string>> groups;
  const auto take_group = [&groups](const std::string& path) {
    const auto holds = [&path](const auto& group) { return std::ranges::find(group, path) != group.end(); };
    const auto found = std::ranges::find_if(groups, holds);
    if (found == groups.end()) return std::vector<std::string>{path};
    std::vector<std::string> group = std::move(*found);
    groups.erase(found);
    return group;
  };
  for (const Pair& pair : pairs) {
    std::vector<std::string> group = take_group(pair.first);
    if (std::ranges::find(group, pair.second) == group.end()) {
      const std::vector<std::string> other = take_group(pair.second);
      group.insert(group.end(), other.begin(), other.end());
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Eigen::MatrixXd matrix_of(const std::vector<std::string>& group, const std::vector<Pair>& pairs) {
  const auto size = static_cast<Eigen::Index>(group.size());
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Identity(size, size);
  for (const Pair& pair : pairs) {
    const auto first = std::ranges::find(group, pair.first) - group.begin();
    const auto second = std::ranges::find(group, pair.second) - group.begin();
    if (first == size) continue;
    matrix(first, second) = matrix(second, first) = pair.correlation;
  }
  return matrix;
}

}  // namespace

std::vector<CorrelationGroup> CorrelationGroup::read(sim::Config& config) {
  const std::vector<Pair> pairs = PairReader(config).read();
  std::vector<CorrelationGroup> groups;
  for (std::vector<std::string>& parameters : linked(pairs)) {
    const Eigen::MatrixXd matrix = matrix_of(parameters, pairs);
    if (matrix.llt().info() != Eigen::Success) {
      config.root().fault("correlations",
                          fmt::format("no errors correlate like this (the matrix is not positive definite): {}",
                                      fmt::join(parameters, ", ")));
      continue;
    }
    CorrelationGroup group{std::move(parameters), {}};
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      group.matrix.emplace_back(matrix.row(row).begin(), matrix.row(row).end());
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace c3sim::models
