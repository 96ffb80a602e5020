// Tests the last stage of a fit: what concurrency costs, from the tables of c3sim-measure to the platform file.
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "calibrate/calibration.h"
#include "calibrate/fit/platform_text.h"
#include "calibrate/measurement_files.h"
#include "tests/calibrate/shipped_files.h"
#include "tests/config_folders.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::calibrate {
namespace {

using sim::operator""_MiB;

using study::Figure;

const std::string probed = "rccl.workgroup_latency";

// Writes a platform of H200s on which probes tell rccl.workgroup_latency; without them 1000 ns are assumed.
std::filesystem::path base_with_probed(const std::string& file) {
  // All other probed parameters become assumed, so that the fit has one to find.
  std::string text = std::regex_replace(
      content(h200_file), std::regex(", error: [^,]*, (source: \"[^\"]*\", kind:) probed"), ", $1 assumed");
  const std::size_t begin = text.find("  workgroup_latency: {value: 1400 ns");
  EXPECT_NE(begin, std::string::npos);
  text.replace(begin, text.find('\n', begin) - begin,
               "  workgroup_latency: {value: 1400 ns, source: nobody, kind: probed, range: [700 ns, 3000 ns], "
               "alternatives: [1000 ns]}");
  return written(file, text);
}

// A ProbeTable is a table as c3sim-measure writes it, of what a platform with this assignment would show. The clocks of
// such GPUs are `pace` times slower: everything, alone and at once, takes `pace` times as long.
class ProbeTable {
 public:
  ProbeTable(const std::filesystem::path& platform, const std::string& assignment, double pace = 1.0)
      : testbed_(PlatformText(platform, folders).spec(std::vector<std::string>{"gpus=2", assignment})), pace_(pace) {}

  void add_pair(int channels, const std::string& first) {
    study::C3Trial trial{{"", {4096, 4096, 4096}, models::CollectiveKind::all_reduce, 64_MiB},
                         first == "gemm" ? study::Strategy::c3_base : study::Strategy::c3_sp};
    trial.scenario.channels = channels;
    const study::Figures seen =
        study::observe(testbed_, trial, {Figure::gemm_stretch_in_turn, Figure::collective_stretch_in_turn});
    const double gemm = seen.at(Figure::gemm_time), collective = seen.at(Figure::collective_time);
    text_ += fmt::format("4096x4096x4096,all_reduce,67108864,{},{},,,probe,2,{},{},{},{},{}\n", channels, first,
                         us(seen.at(Figure::time)), us(gemm), us(collective),
                         us(gemm / seen.at(Figure::gemm_stretch_in_turn)),
                         us(collective / seen.at(Figure::collective_stretch_in_turn)));
  }
  void add_hog(int channels, const std::string& hog) {
    study::HogTrial trial;
    trial.hog = hog == "memory" ? study::Hog::stream : study::Hog::compute;
    trial.arrays.workgroups = 100;
    models::CollectiveSpec collective{
        .kind = models::CollectiveKind::all_gather, .bytes = 64_MiB, .gpus = 2, .channels = channels};
    trial.beside = collective;
    const study::Figures seen = study::observe(testbed_, trial, {});
    const double time = seen.at(Figure::collective_time);
    text_ += fmt::format(",all_gather,67108864,{},hog,{},100,probe,2,{},,{},,{}\n", channels, hog, us(time), us(time),
                         us(time / seen.at(Figure::collective_stretch)));
  }
  const std::string& text() const { return text_; }

 private:
  std::string us(double seconds) const { return fmt::format("{:.6f}", pace_ * seconds * 1e6); }

  study::Testbed testbed_;
  double pace_;
  std::string text_ =
      "gemm,collective,bytes,channels,first,hog,hog_workgroups,role,gpus,wall_us,gemm_us,collective_us,"
      "gemm_alone_us,collective_alone_us\n";
};

// Returns probes of a pair in both orders, and of hogs, on few channels.
std::string some_probes(const std::filesystem::path& platform, const std::string& assignment, double pace = 1.0) {
  ProbeTable table(platform, assignment, pace);
  table.add_pair(2, "collective");
  table.add_pair(4, "gemm");
  for (const int channels : {1, 2}) {
    table.add_hog(channels, "memory");
    table.add_hog(channels, "fma");
  }
  return table.text();
}

Reading admitted(const std::string& file, const std::string& text) {
  return admit_to_fit(shipped().read(written(file, text)));
}

const FittedParameter* find(const Calibration& calibration, const std::string& path) {
  const auto found = std::ranges::find(calibration.parameters, path, &FittedParameter::path);
  return found == calibration.parameters.end() ? nullptr : &*found;
}

// The machine's pace does not matter: a fit sees ratios of what probes took at once and alone.
TEST(Probes, FullTellTheParameterThatTheyWereMadeWith) {
  const std::filesystem::path base = base_with_probed("probed.yaml");
  for (const double pace : {1.0, 1.3}) {
    const Reading probes = admitted("probes.csv", some_probes(base, probed + "=2000 ns", pace));
    ASSERT_THAT(probes.faults, IsEmpty());
    ASSERT_EQ(probes.measurements.size(), 6U);
    const Calibration calibration = calibrate(base, std::vector{probes}, with_folders());
    ASSERT_EQ(calibration.parameters.size(), 1U) << "nothing else is fitted to runs at once";
    const FittedParameter& found = calibration.parameters.front();
    EXPECT_EQ(found.path, probed);
    EXPECT_NEAR(split_unit(found.after).number, 2000.0, 50.0) << pace;
    EXPECT_LT(split_unit(found.from).number, 2000.0);
    EXPECT_GT(split_unit(found.to).number, 2000.0);
    EXPECT_EQ(found.step, "what running at once costs");
    EXPECT_THAT(calibration.text, HasSubstr("source: \"probes.csv: what running at once costs\", kind: probed, range: "
                                            "[700 ns, 3000 ns], alternatives: [1000 ns]"));
  }
}

// An isolated row gives the fit another parameter to find.
TEST(Probes, LeaveTheirParametersAsTheyAreWhereThereAreNone) {
  const std::filesystem::path base = base_with_probed("unprobed.yaml");
  Reading isolated = shipped().read(reference / "h200x4/launches.csv");
  const Calibration calibration = calibrate(base, std::vector{admit_to_fit(std::move(isolated))}, with_folders());
  EXPECT_EQ(find(calibration, probed), nullptr);
  EXPECT_THAT(calibration.kept, Contains(probed));
  EXPECT_THAT(calibration.text, HasSubstr("workgroup_latency: {value: 1400 ns, source: nobody, kind: probed"));
}

// A fit sees times over those alone, and neither a time nor another ratio that a form tells.
TEST(Probes, AreSeenByFitsAsRatios) {
  Measurement probe;
  probe.role = Role::probe;
  probe.trial = study::C3Trial{};
  probe.alone = {.gemm = 2.0, .collective = 4.0};
  probe.seen = {{.figure = Figure::time, .value = 5.0, .low = 4.4, .high = 6.0},
                {.figure = Figure::gemm_time, .value = 3.0},
                {.figure = Figure::collective_time, .value = 5.0},
                {.figure = Figure::gemm_stretch, .value = 1.5},
                {.figure = Figure::power, .value = 600.0}};
  const auto admitted = [&probe] {
    Reading reading;
    reading.measurements = {probe};
    return admit_to_fit(reading).measurements.at(0).seen;
  };
  const auto figures = [](const std::vector<Seen>& all) {
    std::vector<Figure> in_order;
    for (const Seen& one : all) in_order.push_back(one.figure);
    return in_order;
  };
  std::vector<Seen> seen = admitted();
  EXPECT_THAT(figures(seen), ElementsAre(Figure::over_longer, Figure::gemm_stretch, Figure::collective_stretch));
  EXPECT_DOUBLE_EQ(seen[0].value, 5.0 / 4.0);
  EXPECT_DOUBLE_EQ(*seen[0].low, 4.4 / 4.0);
  EXPECT_DOUBLE_EQ(*seen[0].high, 6.0 / 4.0);
  EXPECT_DOUBLE_EQ(seen[1].value, 3.0 / 2.0);
  EXPECT_DOUBLE_EQ(seen[2].value, 5.0 / 4.0);
  // A measured time in turn replaces the time alone, as the run was measured by that protocol.
  probe.alone.gemm_in_turn = 1.5;
  seen = admitted();
  EXPECT_THAT(figures(seen),
              ElementsAre(Figure::over_longer, Figure::gemm_stretch_in_turn, Figure::collective_stretch));
  EXPECT_DOUBLE_EQ(seen[1].value, 2.0);
  probe.alone.collective_in_turn = 2.5;
  seen = admitted();
  EXPECT_THAT(figures(seen), ElementsAre(Figure::over_longer_in_turn, Figure::gemm_stretch_in_turn,
                                         Figure::collective_stretch_in_turn));
  EXPECT_DOUBLE_EQ(seen[0].value, 2.0);
}

TEST(Probes, SayNothingWithoutWhatTheirOperationTakesAlone) {
  Measurement probe;
  probe.role = Role::probe;
  probe.trial = study::HogTrial{};
  probe.seen = {{.figure = Figure::gemm_time, .value = 3.0}};
  Reading reading;
  reading.measurements = {probe};
  probe.trial = study::GemmTrial{};
  reading.measurements.push_back(probe);
  const Reading left = admit_to_fit(reading);
  EXPECT_THAT(left.measurements, IsEmpty());
  EXPECT_THAT(left.faults, IsEmpty());
  ASSERT_EQ(left.left_out.size(), 2U);
  EXPECT_THAT(left.left_out[0].why, HasSubstr("without the time of its operation alone"));
  EXPECT_THAT(left.left_out[1].why, HasSubstr("probe of a run alone"));
}

// A row that is to be predicted is no probe, whatever the rows around it are.
TEST(Probes, AreWhatIsMarkedSoAndNothingElse) {
  const std::filesystem::path base = base_with_probed("marked.yaml");
  std::string text = some_probes(base, probed + "=2000 ns");
  const std::size_t second = text.find(",probe,", text.find(",probe,") + 1);
  text.replace(second, 7, ",predict,");
  const Reading reading = admitted("marked.csv", text);
  EXPECT_EQ(reading.measurements.size(), 5U);
  ASSERT_EQ(reading.left_out.size(), 1U);
  EXPECT_EQ(reading.left_out[0].why, "is marked predict");
}

}  // namespace
}  // namespace c3sim::calibrate
