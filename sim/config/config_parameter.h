// One value of a configuration as it was read, with where it comes from: what a listing of a platform shows.
#pragma once

#include <string>
#include <vector>

namespace c3sim::sim {

// Whether values may be written plainly, or must be parameters that tell their source and kind, as in platform files.
// Texts and names are labels and need no source.
enum class Sources { optional, required };

// A value may be written plainly (`engines: 16`) or as a parameter, with these keys and no others:
//   engines: {value: 16, source: kfd_node_props_mi300x.csv num_sdma_engines, kind: data_sheet, range: [8, 64], about:
//   ...}
// Kinds: data_sheet, measured, fitted (to measurements), probed (to work that ran at once with other work), assumed,
// what_if (asked for, as on the command line). A number that is fitted, probed or assumed needs a range; a value
// outside its range is a fault. One that is measured, fitted or probed with a range may have a standard error above 0.
struct Parameter {
  std::string path;         // gpu.sdma.engines
  std::string value;        // as written or set: "16", "48 GB/s", "[[0, 1], [1, 0]]"
  std::string unit;         // the base unit of its dimension (B, B/s, s, Hz, W, J/B, J/flop, FLOP/s), empty for none
  std::string source;       // empty where written plainly
  std::string low, high;    // the range as written, empty where none is given
  std::string kind;         // as above, empty where none is given
  std::string description;  // the sentence after `about`
  int line = 0;             // of its key in the file
  std::string file = {};    // that has its key, as it was named for reading
  std::string error = {};   // one standard error as written: "1.2 GB/s"; empty where none is given
  std::vector<std::string> alternatives = {};  // what an assumed value may be instead, as likely as it

  bool operator==(const Parameter&) const = default;
};

}  // namespace c3sim::sim
