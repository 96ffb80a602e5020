// A figure that an answer comes to, as its page shows it above everything else.
#pragma once

#include <string>

namespace c3sim::study {

struct Headline {
  std::string label;        // "memory"
  std::string value;        // "182 GB"
  std::string beside = {};  // "of 206 GB"
};

}  // namespace c3sim::study
