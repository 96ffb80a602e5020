// Reads arbitrary bytes as the axes and the sampling of a study: the first and the last point have a value for each
// axis and a cell for each value, or there is a ConfigError.
#include <algorithm>

#include "sim/config/config.h"
#include "study/sweep/sweep_axis.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  or_fault([&] {
    sim::Config config = sim::Config::from_text(text, "fuzz.yaml");
    sim::Section root = config.root();
    std::vector<study::SweepAxis> axes;
    for (sim::Section section : root.list("axes")) axes.push_back(study::read_axis(section));
    std::optional<std::uint64_t> drawn;
    if (root.has("sampling")) drawn = study::read_sampling(root.section("sampling"));
    config.finish();
    if (axes.empty() || axes.size() > 64) return;
    if (!drawn && std::ranges::any_of(axes, [](const auto& axis) { return axis.interval.has_value(); })) return;
    const study::PointSequence points(axes, drawn);
    require(points.size() > 0);
    for (const std::uint64_t index : {std::uint64_t{0}, points.size() - 1}) {
      const study::Point point = points.point(index);
      require(point.values.size() == axes.size());
      for (std::size_t a = 0; a < axes.size(); ++a) {
        require(!axes[a].column().key.empty() || axes[a].name.empty());
        axes[a].cell(point.values[a]);
      }
    }
  });
}
