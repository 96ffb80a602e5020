#include "calibrate/fit/step_residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/units.h"
#include "study/play/parallel.h"

namespace c3sim::calibrate {

namespace {

// Returns the GEMM of a trial that is one in a series; nothing for other trials.
std::optional<study::GemmTrial> series_of(const study::Trial& trial) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&trial);
  if (gemm == nullptr || !gemm->nth || gemm->pause > sim::Time::zero()) return {};
  study::GemmTrial series = *gemm;
  series.nth.reset();
  return series;
}

// Predictions holds what the model predicts for measurements; equal trials and those of one series share a simulation.
class Predictions {
 public:
  Predictions(const models::PlatformSpec& platform, std::span<const Measurement* const> measurements)
      : testbed_(platform) {
    for (const Measurement* const measurement : measurements) {
      const auto series = series_of(measurement->trial);
      if (!series) continue;
      std::size_t& length = lengths_[*series];
      length = std::max(length, static_cast<std::size_t>(*std::get<study::GemmTrial>(measurement->trial).nth) + 1);
    }
  }

  const study::Figures& of(const Measurement& measurement) {
    std::set<study::Figure> asked;
    for (const Seen& seen : measurement.seen) asked.insert(seen.figure);
    const auto [place, is_new] = known_.try_emplace({measurement.trial, std::move(asked)});
    if (!is_new) return place->second;
    if (std::string reason = study::why_impossible(testbed_, measurement.trial); !reason.empty()) {
      throw sim::ConfigError({{measurement.where(), "", std::move(reason)}});
    }
    place->second = observed(measurement.trial, place->first.second);
    return place->second;
  }

 private:
  study::Figures observed(const study::Trial& trial, const std::set<study::Figure>& asked) {
    const auto gemm = series_of(trial);
    if (!gemm) return study::observe(testbed_, trial, asked);
    std::vector<study::Figures>& series = series_[*gemm];
    if (series.empty()) series = study::observe_series(testbed_, *gemm, lengths_.at(*gemm));
    return series[static_cast<std::size_t>(*std::get<study::GemmTrial>(trial).nth)];
  }

  study::Testbed testbed_;
  std::map<std::pair<study::Trial, std::set<study::Figure>>, study::Figures> known_;
  std::map<study::GemmTrial, std::size_t> lengths_;
  std::map<study::GemmTrial, std::vector<study::Figures>> series_;
};

double noise_of(const Seen& seen, bool is_share) {
  if (!seen.low || !seen.high || *seen.high <= *seen.low || seen.deviations <= 0.0) return usual_noise;
  return (*seen.high - *seen.low) / seen.deviations / (is_share ? 1.0 : seen.value);
}

}  // namespace

double Observation::residual() const {
  if (study::form_of(figure).error == study::ErrorKind::points) return error;
  constexpr double least_ratio = 1e-6;  // keeps the logarithm finite for a prediction of 0
  return std::log(std::max(1.0 + error, least_ratio));
}

std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements) {
  Predictions predictions(platform, measurements);
  std::vector<Observation> observations;
  for (const Measurement* const measurement : measurements) {
    const study::Figures& predicted = predictions.of(*measurement);
    for (const Seen& seen : measurement->seen) {
      const auto figure = predicted.find(seen.figure);
      if (figure == predicted.end()) continue;
      const bool is_share = study::form_of(seen.figure).error == study::ErrorKind::points;
      const double error = is_share ? figure->second - seen.value : figure->second / seen.value - 1.0;
      observations.push_back({measurement, measurement->where(), study::kind_of(measurement->trial), seen.figure,
                              study::size_of(measurement->trial), error, noise_of(seen, is_share)});
    }
  }
  return observations;
}

namespace {

constexpr std::size_t largest_block = 64;   // measurements: few, so that cores have equal shares
constexpr std::size_t most_known = 100000;  // simulated blocks, beyond which all are forgotten

}  // namespace

std::vector<Library> libraries_of(const models::GpuSpec& gpu) {
  std::vector<Library> libraries;
  const auto add = [&libraries](const char* list, const std::vector<std::string>& names, const std::string& name) {
    const auto place = std::ranges::find(names, name);
    if (place != names.end()) libraries.push_back({list, static_cast<std::size_t>(place - names.begin()), name});
  };
  add("gpu.gemm.libraries", gpu.gemm.libraries, gpu.gemm.library.name);
  if (gpu.attention) add("gpu.attention.libraries", gpu.attention->libraries, gpu.attention->library);
  return libraries;
}

StepResiduals::StepResiduals(const PlatformText& platform, std::span<const Unknown> unknowns,
                             std::span<const Measurement* const> measurements, int jobs)
    : platform_(platform), unknowns_(unknowns), jobs_(jobs) {
  std::map<std::vector<std::string>, std::size_t> last;  // the latest block by assignments
  for (const Measurement* const measurement : measurements) {
    const auto [place, is_new] = last.try_emplace(measurement->assignments, blocks_.size());
    if (is_new || blocks_[place->second].measurements.size() >= largest_block) {
      std::vector<Library> libraries =
          is_new ? libraries_of(platform.spec(measurement->assignments).gpu) : blocks_[place->second].libraries;
      place->second = blocks_.size();
      blocks_.push_back({measurement->assignments, std::move(libraries), {}});
    }
    blocks_[place->second].measurements.push_back(measurement);
  }
}

StepResiduals::Key StepResiduals::key_of(std::size_t block, const Point& point) const {
  Key key{block, point};
  for (std::size_t i = 0; i < point.size(); ++i) {
    const std::optional<Library>& library = unknowns_[i].library;
    const std::vector<Library>& in_use = blocks_[block].libraries;
    const bool has_a_say = !library || std::ranges::find(in_use, *library) != in_use.end();
    if (!has_a_say) key.setting[i] = -1.0;
  }
  return key;
}

std::vector<Observation> StepResiduals::simulated(const Block& block, const Point& point) const {
  std::vector<std::string> assignments;
  for (std::size_t i = 0; i < point.size(); ++i)
    assignments.push_back(unknowns_[i].parameter.path + "=" + unknowns_[i].at(point[i]));
  assignments.insert(assignments.end(), block.assignments.begin(), block.assignments.end());
  return observe(platform_.spec(assignments), block.measurements);
}

void StepResiduals::simulate(std::span<const Point> points) {
  if (known_.size() > most_known) known_.clear();
  struct Missing {
    std::map<Key, std::vector<Observation>>::iterator place;
    const Point* point;
    double seconds = 0.0;
  };
  std::vector<Missing> missing;
  for (const Point& point : points) {
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      const auto [place, is_new] = known_.try_emplace(key_of(block, point));
      if (is_new) missing.push_back({place, &point, blocks_[block].seconds});
    }
  }
  // The slowest blocks run first, so that threads end together.
  std::ranges::stable_sort(missing, std::ranges::greater(), &Missing::seconds);
  try {
    study::for_each_index(
        missing.size(),
        [&](std::size_t i) {
          Missing& one = missing[i];
          const auto start = std::chrono::steady_clock::now();
          one.place->second = simulated(blocks_[one.place->first.block], *one.point);
          one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        },
        {}, jobs_);
    for (const Missing& one : missing) blocks_[one.place->first.block].seconds = one.seconds;
  } catch (...) {
    known_.clear();  // some entries are empty
    throw;
  }
}

std::vector<Observation> StepResiduals::observations(const Point& point) {
  simulate(std::span(&point, 1));
  std::vector<Observation> all;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const std::vector<Observation>& own = known_.at(key_of(block, point));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<std::vector<double>> StepResiduals::at(std::span<const Point> points) {
  simulate(points);
  std::vector<std::vector<double>> all;
  for (const Point& point : points) {
    std::vector<double>& residuals = all.emplace_back();
    for (const Observation& observation : observations(point)) residuals.push_back(observation.residual());
  }
  return all;
}

// Rows of a kind have the same figure, sort of run and assignments, and thus the same table or library.
const std::vector<FitRow>& StepResiduals::rows() {
  if (!rows_.empty()) return rows_;
  using Kind = std::tuple<std::vector<std::string>, std::string_view, study::Figure>;
  std::map<Kind, std::size_t> kinds;
  const Point middle(unknowns_.size(), 0.5);
  simulate(std::span(&middle, 1));
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (const Observation& one : known_.at(key_of(block, middle))) {
      const Kind kind{blocks_[block].assignments, one.kind, one.figure};
      rows_.push_back({kinds.try_emplace(kind, kinds.size()).first->second, one.noise});
    }
  }
  return rows_;
}

namespace {

std::string whole_bytes(double number, const std::string& unit) {
  return fmt::format("{:.0f} B", std::max(std::round(number * sim::worth_of(unit)), 1.0));
}

}  // namespace

Unknown Unknown::of(const sim::Parameter& parameter) {
  const SpelledNumber value = split_unit(parameter.value);
  const SpelledNumber low = split_unit(parameter.low);
  const SpelledNumber high = split_unit(parameter.high);
  const bool has_its_unit = value.unit == low.unit || parameter.unit == "B";  // sizes are written in whole bytes
  if (!has_its_unit || high.unit != low.unit) {
    throw sim::ConfigError({{PlatformText::place(parameter), parameter.path,
                             "the range of a parameter that is fitted has the unit of its value"}});
  }
  Unknown unknown{parameter, low.unit, low.number, high.number, ""};
  if (parameter.unit != "B") unknown.base = (value.number - low.number) / (high.number - low.number);
  return unknown;
}

std::string Unknown::at(double share, std::optional<double> error) const {
  const double number = low + share * (high - low);
  if (parameter.unit == "B") return whole_bytes(number, unit);
  return error ? spell_within(number, *error * (high - low), unit) : spell(number, unit, simulated_digits);
}

std::string Unknown::error_text(double error) const {
  if (parameter.unit == "B") return whole_bytes(error * (high - low), unit);
  return spell(error * (high - low), unit, 2);
}

}  // namespace c3sim::calibrate
