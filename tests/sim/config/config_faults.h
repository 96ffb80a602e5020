// These helpers of tests read a text as a configuration: one returns the messages of its faults, one reads a small
// platform.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config.h"
#include "tests/config_fault.h"

namespace c3sim::sim {

// Returns the lines of the ConfigError that reading the text as "f.yaml" ends in; empty where it ends well.
inline std::string faults_of(std::string_view text, const std::function<void(Section)>& read,
                             Sources sources = Sources::optional, const std::vector<std::string>& assignments = {}) {
  return config_fault([&] {
    Config config = Config::from_text(text, "f.yaml", sources);
    for (const std::string& assignment : assignments) config.set(assignment);
    read(config.root());
    config.finish();
  });
}

// Reads a small platform, with one accessor of each shape.
inline void read_small_platform(Section root) {
  root.name("name");
  Section sdma = root.section("gpu").section("sdma");
  sdma.integer("engines", 1, 64);
  sdma.quantity<BytesPerSecond>("rate", {BytesPerSecond(1e6), BytesPerSecond(1e16)});
  sdma.integer_matrix("engine_map", 0, 63);
  for (Section op : root.list("ops")) {
    op.quantity<Bytes>("bytes", {0_B, 1024_GiB});
    op.text("note", "");
  }
}

}  // namespace c3sim::sim
