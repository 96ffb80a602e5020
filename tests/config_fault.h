// What is said of a fault of the user's.
#pragma once

#include <string>

#include "sim/config/config_error.h"

namespace c3sim {

// What the ConfigError says that the call throws; empty where it throws none.
std::string config_fault(const auto& call) {
  try {
    call();
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace c3sim
