// A bar chart drawn by gnuplot: for each label the values of several series, beside or on top of each other.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace study {

struct Bar {
  std::string label;
  std::vector<std::optional<double>> values;  // by series; no bar where absent
};

struct BarChart {
  enum class Layout { clustered, stacked };  // stacked: what is negative lies below the axis

  std::string title;
  std::string value_axis;  // what the bars measure, with the unit
  Layout layout = Layout::clustered;
  std::vector<std::string> series;
  std::vector<Bar> bars;
};

// Leaves `<stem>.svg` in `directory`, with the data and the script it was drawn from (`<stem>.dat`, `<stem>.gp`).
// Returns why there is no picture, in one sentence; empty if there is one. Throws std::system_error where a file cannot
// be written.
std::string draw(const BarChart& chart, const std::filesystem::path& directory, const std::string& stem);

}  // namespace study
