// How far predictions lie from what was measured, and the measurements of a step, simulated at any values of its
// unknowns, on all cores.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/platform_text.h"
#include "calibrate/fit/robust_fit.h"
#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

struct Observation {
  std::string where;      // of the measurement: file:line
  std::string group;      // of its table, for people
  std::string_view kind;  // of its trial: "gemm", "collective by kernels"
  study::Figure figure = study::Figure::time;
  double size = 0.0;   // of the trial: bytes, or operations of a GEMM; 0 where it has none
  double error = 0.0;  // predicted over measured, less one; of shares the difference
  double noise = 0.0;  // how far a repetition may lie off: a standard deviation, in the same terms

  // What fits make small: the logarithm of predicted over measured; of shares the difference.
  double residual() const;
};

// Noise of measurements that do not say how far their repetitions lie apart: as collectives do on the H200s that were
// measured several times (repeatability.csv).
inline constexpr double usual_noise = 0.02;

// Everything that the measurements observe and the model has, in their order, predicted for the platform. Equal trials
// run once. Throws sim::ConfigError, with the measurement's place, where the platform cannot run one.
std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements);

// A library whose kernels are in use on a GPU: the third in the list "gpu.gemm.libraries", of the name "hipblaslt".
struct Library {
  std::string list;
  std::size_t place = 0;
  std::string name;
  auto operator<=>(const Library&) const = default;
};
// Those of products and of attention, where they are named.
std::vector<Library> libraries_of(const models::GpuSpec& gpu);

// A parameter that a fit looks for.
struct Unknown {
  sim::Parameter parameter;  // as the base has it
  std::string unit;          // of its range
  double low = 0.0;
  double high = 0.0;
  std::string shown_by;              // the measurements that tell it from others
  std::optional<Library> library{};  // work by its kernels alone depends on it; none: all work may

  // Throws sim::ConfigError where the range has not the unit of the value; of bytes it may have another.
  static Unknown of(const sim::Parameter& parameter);

  // "396.1 GB/s", with as many digits as a simulation tells apart, or as the error, in shares of the range, leaves.
  // Bytes are whole.
  std::string at(double share, std::optional<double> error = {}) const;
  std::string error_text(double error) const;
};

class StepResiduals {
 public:
  // Measurements of the same assignments make a block, which is simulated once at each setting of those unknowns that
  // its work depends on. What is passed must outlive this. `jobs` threads; 0: all cores.
  StepResiduals(const PlatformText& platform, std::span<const Unknown> unknowns,
                std::span<const Measurement* const> measurements, int jobs);

  // As many as there are rows, in the same order at every point.
  std::vector<std::vector<double>> at(std::span<const Point> points);
  std::vector<Observation> observations(const Point& point);
  const std::vector<FitRow>& rows();

 private:
  struct Block {
    std::vector<std::string> assignments;
    std::vector<Library> libraries;  // of its kernels
    std::vector<const Measurement*> measurements;
    double seconds = 0.0;  // that simulating it took last
  };
  // A block at one setting of its unknowns; where a point leaves others as they are, the same one.
  struct Key {
    std::size_t block;
    Point setting;
    auto operator<=>(const Key&) const = default;
  };

  Key key_of(std::size_t block, const Point& point) const;
  void simulate(std::span<const Point> points);
  std::vector<Observation> simulated(const Block& block, const Point& point) const;

  const PlatformText& platform_;
  std::span<const Unknown> unknowns_;
  int jobs_;
  std::vector<Block> blocks_;
  std::map<Key, std::vector<Observation>> known_;
  std::vector<FitRow> rows_;
};

}  // namespace c3sim::calibrate
