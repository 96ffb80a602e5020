// Reads arbitrary bytes as a configuration with assignments: the configuration survives being written and read again,
// or there is a ConfigError.
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/config.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

namespace {

using namespace sim;

enum class Policy { oldest_first, rotation };
constexpr std::array<std::pair<std::string_view, Policy>, 2> policies = {
    {{"oldest_first", Policy::oldest_first}, {"rotation", Policy::rotation}}};

// Calls every accessor once, under short keys that mutation finds.
void read_all(Section root) {
  root.quantity<sim::Bytes>("a", {0_B, 1_GiB}, 1_B);
  root.quantity<sim::BytesPerSecond>("b", {0.0_GBps, 9.0_GBps}, 1.0_GBps);
  root.time("c", {0_ns, 9_us}, 1_ns);
  root.number("d", -9, 9, 0);
  root.integer("e", -9, 9, 0);
  root.flag("f", false);
  root.text("g", "");
  root.name("h", "");
  root.choice<Policy>("i", policies, Policy::rotation);
  if (root.has("j")) root.numbers("j", -9, 9);
  if (root.has("k")) root.integers("k", -9, 9);
  if (root.has("l")) root.integer_matrix("l", -9, 9);
  if (root.has("m")) root.names("m");
  if (root.has("n")) root.section("n").text("g");
  if (root.has("o")) {
    for (Section item : root.list("o")) item.text("g", "");
  }
  for (const std::string& key : root.keys()) root.text(key, "");  // reads any key, so that files with other keys finish
}

struct Read {
  std::string resolved;
  std::vector<Parameter> parameters;
};

std::optional<Read> read(std::string_view text, std::string_view assignments, Sources sources) {
  try {
    Config config = Config::from_text(text, "fuzz", sources);
    while (!assignments.empty()) {
      const std::size_t end = assignments.find('\n');
      config.set(std::string(assignments.substr(0, end)));
      assignments.remove_prefix(end == std::string_view::npos ? assignments.size() : end + 1);
    }
    read_all(config.root());
    Read result{config.resolved(), config.parameters()};
    for (Parameter& parameter : result.parameters) parameter.line = 0;
    config.finish();
    return result;
  } catch (const ConfigError& error) {
    if (error.faults().empty()) std::abort();
    return std::nullopt;
  }
}

}  // namespace

// The first byte chooses whether sources are required; what follows the first 0xFF is a list of assignments by line.
void fuzz(std::string_view text) {
  if (text.empty()) return;
  const Sources sources = static_cast<unsigned char>(text[0]) % 2 == 0 ? Sources::optional : Sources::required;
  const std::string_view all = text.substr(1);
  const std::size_t end = all.find('\xFF');
  const std::string_view assignments = end == std::string_view::npos ? std::string_view() : all.substr(end + 1);
  const std::optional<Read> once = read(all.substr(0, end), assignments, sources);
  if (!once) return;
  const std::optional<Read> twice = read(once->resolved, "", sources);
  if (!twice || twice->parameters != once->parameters || twice->resolved != once->resolved) std::abort();
}
