// Computes how far predictions lie from measurements, and simulates the measurements of a step at any values of its
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
  const Measurement* of = nullptr;
  std::string where;      // file:line of the measurement
  std::string_view kind;  // sort of trial: "gemm", "collective by kernels"
  study::Figure figure = study::Figure::time;
  double size = 0.0;   // bytes, or operations of a GEMM; 0 if the trial has no size
  double error = 0.0;  // predicted over measured, less one; for shares the difference
  double noise = 0.0;  // standard deviation between repetitions, in the same terms

  // Returns what fits make small: the logarithm of predicted over measured; for shares the difference.
  double residual() const;
};

// This noise is assumed of measurements without a spread of their repetitions. It is that of collectives on the H200s
// that were measured several times (repeatability.csv).
inline constexpr double usual_noise = 0.02;

// Predicts every figure that the measurements observe and the model has, in their order, for the platform. Equal trials
// run once. Throws sim::ConfigError, with the measurement's place, where the platform cannot run one.
std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements);

// A Library is in use on a GPU: entry `place` of a list such as "gpu.gemm.libraries", of a name such as "hipblaslt".
struct Library {
  std::string list;
  std::size_t place = 0;
  std::string name;
  auto operator<=>(const Library&) const = default;
};
// Returns the libraries of GEMMs and of attention that a GPU uses, where they are named.
std::vector<Library> libraries_of(const models::GpuSpec& gpu);

// An Unknown is a parameter that a fit looks for.
struct Unknown {
  sim::Parameter parameter;  // as in the base platform
  std::string unit;          // unit of `low` and `high`, the ends of its range
  double low = 0.0;
  double high = 0.0;
  std::string shown_by;              // the measurements that distinguish it from others
  std::optional<Library> library{};  // only work by its kernels depends on the unknown; none: all work may
  std::optional<double> base{};      // where the base's value lies, as a share of the range; none of sizes in bytes

  // Reads an unknown. Throws sim::ConfigError if its range has another unit than its value, except for sizes in bytes.
  static Unknown of(const sim::Parameter& parameter);

  // Returns the value at a share of the range, such as "396.1 GB/s", with as many digits as a simulation resolves, or
  // as the error, in shares of the range, leaves. Sizes in bytes are whole.
  std::string at(double share, std::optional<double> error = {}) const;
  std::string error_text(double error) const;
};

class StepResiduals {
 public:
  // Groups measurements of the same assignments into blocks, each of which is simulated once at each setting of those
  // unknowns that its work depends on. The arguments must outlive this object. Uses `jobs` threads; 0: all cores.
  StepResiduals(const PlatformText& platform, std::span<const Unknown> unknowns,
                std::span<const Measurement* const> measurements, int jobs);

  // Returns the residuals of all rows at each point, in the same order at every point.
  std::vector<std::vector<double>> at(std::span<const Point> points);
  std::vector<Observation> observations(const Point& point);
  const std::vector<FitRow>& rows();

 private:
  struct Block {
    std::vector<std::string> assignments;
    std::vector<Library> libraries;  // libraries in use under `assignments`
    std::vector<const Measurement*> measurements;
    double seconds = 0.0;  // duration of its last simulation
  };
  // A Key is a block at one setting of the unknowns that it depends on; points that differ only in others share it.
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
