// What a configuration's faults say, for tests that read a text and expect certain messages.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config.h"
#include "tests/config_fault.h"

namespace c3sim::sim {

// The lines of the ConfigError that reading the text as "f.yaml" ends in; empty where it ends well.
inline std::string faults_of(std::string_view text, const std::function<void(Section)>& read,
                             Sources sources = Sources::optional, const std::vector<std::string>& assignments = {}) {
  return config_fault([&] {
    Config config = Config::from_text(text, "f.yaml", sources);
    for (const std::string& assignment : assignments) config.set(assignment);
    read(config.root());
    config.finish();
  });
}

}  // namespace c3sim::sim
