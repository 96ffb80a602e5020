// The studies that are shipped ask of the platforms as they are today, however often these are fitted anew.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "study/sweep/point_question.h"
#include "study/sweep/sweep_axis.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

std::vector<SweepAxis> axes_of(sim::Config& config) {
  std::vector<SweepAxis> axes;
  for (sim::Section& section : config.root().list("axes")) axes.push_back(read_axis(section));
  return axes;
}

// What is wrong with a value that repeats a platform's own; empty where nothing is. Within 3 % of today's value, but
// not it, is one of yesterday. Today's own goes stale with the next fit, where it is measured or fitted. Ends of ranges
// and what lies between them are of nobody.
std::string stale_copy(const Assignment& assignment, const Platform& platform) {
  const sim::Parameter* const parameter = parameter_of(platform, assignment);
  if (assignment.scales || parameter == nullptr) return {};
  const auto today = read_number(parameter->value);
  const auto asked = read_number(assignment.value);
  if (!today || !asked || today->base == 0.0) return {};
  const double off = std::abs(asked->base / today->base - 1.0);
  const bool moves = parameter->kind == "fitted" || parameter->kind == "measured";
  if (off > 0.03 || (off < 1e-9 && !moves)) return {};
  return fmt::format("{}={} repeats {}, which {} has today: a scale (times, *=) is meant", assignment.name,
                     assignment.value, parameter->value, platform.spec.name);
}

bool has_ends(const SweepAxis& axis, sim::Config& config) {
  for (sim::Section& section : config.root().list("axes")) {
    if (section.has("of") && section.has("from") && section.text("of") == axis.name) return true;
  }
  return false;
}

TEST(ShippedStudies, ScaleWhatPlatformsHaveInsteadOfRepeatingIt) {
  const Platform platform = mi300x();
  std::size_t studies = 0;
  for (const auto& entry : std::filesystem::directory_iterator(C3SIM_SOURCE_DIR "/configs/studies")) {
    ++studies;
    sim::Config config = sim::Config::from_file(entry.path());
    for (const SweepAxis& axis : axes_of(config)) {
      const bool is_share = axis.dimension == sim::Dimension::number;
      if (has_ends(axis, config)) continue;
      for (const AxisValue& value : axis.values) {
        for (const Assignment& assignment : value.assignments) {
          EXPECT_EQ(stale_copy(assignment, platform), "") << entry.path();
          EXPECT_FALSE(is_share && assignment.name != axis.name && is_of_platform(assignment) && !assignment.scales)
              << entry.path() << ": " << axis.name << " " << value.label << " is a share of today's values, of which "
              << assignment.name << " is not scaled";
        }
      }
    }
  }
  EXPECT_GT(studies, 0u);
}

// The copies that the studies had at first: a doorbell of 0.1275 us for three quarters of 0.12, a link of 48.5 GB/s.
TEST(ShippedStudies, ACopyThatWentStaleIsNoticed) {
  const Platform platform = mi300x();
  EXPECT_NE(stale_copy({"fabric.link_rate", "48.5 GB/s"}, platform), "");
  EXPECT_NE(stale_copy({"gpu.memory.hbm.peak_rate", "5.3 TB/s"}, platform), "");
  EXPECT_EQ(stale_copy({"fabric.link_rate", "64 GB/s"}, platform), "");
  EXPECT_EQ(stale_copy({"gpu.power.cap", "750 W"}, platform), "") << "a data sheet's";
}

Work collective_of_engines() {
  return collective(models::Backend::sdma, models::CollectiveKind::all_gather, sim::Bytes(65536.0));
}

// Half of 0.1 us; half of a policy is none.
TEST(Platforms, ScaleTheirOwnValues) {
  const Platforms platforms(mi300x({"host.doorbell=0.1us"}));
  const std::vector<Assignment> half{{"host.doorbell", "0.5", true}};
  EXPECT_THAT(Platforms::texts(platforms.base(), half), testing::ElementsAre("host.doorbell=0.05 us"));
  const Platform named = mi300x({"host.doorbell=0.05us"});
  EXPECT_EQ(Testbed(platforms.with(half)).alone(collective_of_engines()),
            Testbed(named.spec).alone(collective_of_engines()));
  const std::vector<Assignment> words{{"gpu.dispatch.policy", "0.5", true}};
  EXPECT_THROW(platforms.with(words), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::study
