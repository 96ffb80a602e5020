// These functions read the measurements in validate/reference.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace c3sim::models {

// Returns the cells of a table row by row, without its comments and its heading.
inline std::vector<std::vector<std::string>> reference_cells(const std::string& name,
                                                             const std::string& machine = "mi300x") {
  std::ifstream file(std::string(C3SIM_SOURCE_DIR) + "/validate/reference/" + machine + "/" + name);
  std::vector<std::vector<std::string>> rows;
  bool heading = true;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (std::exchange(heading, false)) continue;
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

// Returns the cells of a table in which every cell is a number.
inline std::vector<std::vector<double>> reference_numbers(const std::string& name) {
  std::vector<std::vector<double>> rows;
  for (const auto& cells : reference_cells(name)) {
    rows.emplace_back();
    for (const std::string& cell : cells) rows.back().push_back(std::stod(cell));
  }
  return rows;
}

}  // namespace c3sim::models
