// What ConCCL claims, the bands of validate/reference/claims.csv, and its study.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config.h"
#include "study/c3_study_file.h"

namespace study {

struct Band {
  double low = 0.0;
  double high = 0.0;
  bool contains(double value) const { return low <= value && value <= high; }
};

// By id, of the claims of one paper and one role, "calibrate" or "predict". A row is
// id,source,claim,value,low,high,role, where a claim holds no comma.
inline std::map<std::string, Band> claimed_bands(const std::string& paper, const std::string& role) {
  std::ifstream file(C3SIM_SOURCE_DIR "/validate/reference/claims.csv");
  std::map<std::string, Band> bands;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(paper + ".")) continue;
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (cells.back() == role) bands[cells.front()] = {std::stod(*(cells.end() - 3)), std::stod(*(cells.end() - 2))};
  }
  return bands;
}

inline C3Study conccl_study(Testbed& testbed) {
  sim::Config config = sim::Config::from_file(C3SIM_SOURCE_DIR "/configs/experiments/conccl.yaml");
  sim::Section root = config.root();
  root.text("platform");
  return read_c3_study(root, testbed);
}

}  // namespace study
