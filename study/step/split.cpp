#include "study/step/split.h"

#include <fmt/format.h>

#include <utility>

namespace c3sim::study {

std::string to_string(const Split& split) {
  std::string text;
  for (const auto& [name, parts] : {std::pair("tp", split.tp),
                                    {"ep", split.ep},
                                    {"dp", split.dp},
                                    {"cp", split.cp},
                                    {"pp", split.pp},
                                    {"micro", split.micro}}) {
    if (parts > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, parts);
  }
  return text.empty() ? "one GPU" : text;
}

}  // namespace c3sim::study
