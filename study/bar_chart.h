// A bar chart drawn by gnuplot: for each label a predicted bar beside a published one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace study {

struct Bar {
  std::string label;
  double predicted = 0.0;
  std::optional<double> published;  // no bar where absent
};

struct BarChart {
  std::string title;
  std::string value_axis;  // what the bars measure, with the unit
  std::vector<Bar> bars;
};

// Leaves `<stem>.svg` in `directory`, with the data and the script it was drawn from (`<stem>.dat`, `<stem>.gp`).
// Returns why there is no picture, in one sentence; empty if there is one. Throws std::system_error where a file cannot
// be written.
std::string draw(const BarChart& chart, const std::filesystem::path& directory, const std::string& stem);

}  // namespace study
