// A helper of tests that expect a user's mistake to be reported.
#pragma once

#include <string>

#include "sim/config/config_error.h"

namespace c3sim {

// Returns the message of the ConfigError that the call throws, or an empty text if it throws none.
std::string config_fault(const auto& call) {
  try {
    call();
  } catch (const sim::ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace c3sim
