// The node that files of experiments and studies are read for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/config/config.h"
#include "study/run/platform_file.h"
#include "study/run/testbed.h"
#include "tests/fuzz/require.h"

inline const c3sim::study::Testbed& mi300x_testbed() {
  static const c3sim::study::Testbed mi300x(
      c3sim::study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}).spec);
  return mi300x;
}

// `read` makes something of the bytes as a file for that platform, and `check` looks at it where nothing is wrong.
template <typename Read, typename Check>
void read_for_mi300x(const std::uint8_t* bytes, std::size_t size, const Read& read, const Check& check) {
  using namespace c3sim;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    sim::Section root = config.root();
    root.text("platform", "mi300x");
    const auto made = read(root, mi300x_testbed());
    config.finish();
    check(made);
  } catch (const sim::ConfigError& error) {
    require(!error.faults().empty());
  }
}
