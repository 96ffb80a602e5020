// Reads arbitrary bytes as a platform file over the platform mi300x, or over the defaults alone: the file resolves to
// the same platform again, or there is a ConfigError.
#include <filesystem>
#include <string>
#include <vector>

#include "models/platform/platform_config.h"
#include "models/platform/platform_spec.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

namespace {

const std::filesystem::path platforms = C3SIM_SOURCE_DIR "/configs/platforms";

// Both are read once, as the fuzzer does not test files on disk.
sim::Config under(bool whole_platform) {
  static const sim::Config mi300x = models::platform_config(platforms / "mi300x.yaml");
  static const sim::Config defaults = sim::Config::from_file(platforms / "defaults.yaml", sim::Sources::required);
  return whole_platform ? mi300x : defaults;
}

std::vector<sim::Parameter> placeless(std::vector<sim::Parameter> parameters) {
  std::erase_if(parameters, [](const sim::Parameter& parameter) { return parameter.path == "base"; });
  for (sim::Parameter& parameter : parameters) {
    parameter.file.clear();
    parameter.line = 0;
  }
  return parameters;
}

}  // namespace

// The first byte chooses what the file stands on.
void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  or_fault([&] {
    sim::Config config = sim::Config::from_text(bytes.substr(1), "fuzz.yaml", sim::Sources::required);
    static_cast<void>(config.take_base("base"));
    config.stand_on(under(bytes[0] % 2 == 1));
    const models::PlatformSpec spec = models::PlatformSpec::read(config);
    require(spec.gpus >= 1 && spec.gpu.cus() >= 1);
    for (int to = 1; to < spec.gpus; ++to) {
      const int engine = spec.gpu.sdma.recommended_engine(0, to);
      require(spec.gpu.sdma.host_engines <= engine && engine < spec.gpu.sdma.engines);
    }
    const std::string resolved = config.resolved();
    if (resolved.size() > (std::size_t{256} << 10)) return;  // longer than a configuration may be
    sim::Config again = sim::Config::from_text(resolved, "resolved.yaml", sim::Sources::required);
    models::PlatformSpec::read(again);
    require(placeless(again.parameters()) == placeless(config.parameters()));
    require(again.resolved() == resolved);
  });
}
