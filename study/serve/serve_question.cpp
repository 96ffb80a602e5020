#include "study/serve/serve_question.h"

namespace c3sim::study {

std::string_view to_string(Arrivals arrivals) {
  constexpr std::array<std::string_view, 3> names{"poisson", "even", "at_once"};
  return names[static_cast<std::size_t>(arrivals)];
}

std::string_view to_string(Fetch fetch) {
  constexpr std::array<std::string_view, 8> names{"none",   "each",         "batch",       "graph",
                                                  "kernel", "back_to_back", "prelaunched", "single"};
  return names[static_cast<std::size_t>(fetch)];
}

std::string_view to_string(Store store) { return store == Store::host ? "host" : "peer"; }

std::string_view to_string(Waits waits) { return waits == Waits::request ? "request" : "batch"; }

}  // namespace c3sim::study
