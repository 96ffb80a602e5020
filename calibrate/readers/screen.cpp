#include "calibrate/readers/screen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

// Returns the architecture in a GPU's name, as compilers call it ("AMD Radeon Graphics gfx950"); may be empty.
std::string architecture_in(std::string_view gpu) {
  static const LogPattern gfx("(?i)\\bgfx[0-9a-f]+");
  const LogCells found = gfx.groups({gpu});
  return found.empty() ? std::string() : lower_case(found.front().text);
}

// Returns whether a GPU's name contains a model: any word other than its architecture and the words that drivers use if
// they know no model, as in "AMD Radeon Graphics".
bool names_model(std::string_view gpu) {
  static const LogPattern words(
      "(?i)\\b(?:amd|ati|nvidia|radeon|instinct|tesla|graphics|device|gpu|accelerator|unknown|none|corporation|"
      "advanced micro devices|inc|tm|r|cuda|hip|rocm|gfx[0-9a-f]+)\\b|[^a-z0-9]+");
  return !words.erased_from(std::string(gpu)).empty();
}

// These architectures have only one platform. Their other models (MI300A, MI325X and MI350X) are told by their names.
struct Architecture {
  std::string_view gfx, model;
};
constexpr std::array architectures{Architecture{"gfx942", "mi300x"}, Architecture{"gfx950", "mi355x"}};

bool is_platform(const std::string& named, const ScreenedFor& target) {
  const auto is = [&named](const std::string& other) {
    return !other.empty() && lower_case(named) == lower_case(other);
  };
  return is(target.platform) || is(std::filesystem::path(target.platform).stem().string()) || is(target.machine);
}

// Returns whether a word of the GPU's name begins with the model: a GH200 is no H200, an "H200NVL" is one.
bool is_called(std::string_view gpu, std::string_view model) {
  const auto is_of_word = [](char c) { return sim::is_letter(c) || sim::is_digit(c); };
  const std::string name = lower_case(gpu);
  for (std::size_t at = name.find(model); !model.empty() && at != std::string::npos; at = name.find(model, at + 1)) {
    if (at == 0 || !is_of_word(name[at - 1])) return true;
  }
  return false;
}

// Platforms are named after their GPU, perhaps with a suffix: mi300x_conccl.
std::string model_of(const std::string& platform) { return plain_name(platform.substr(0, platform.find('_'))); }

// Returns whether a GPU is of that model: by its name or, if the name contains no model, by its architecture.
bool is_of_model(std::string_view gpu, std::string_view model) {
  if (names_model(gpu)) return is_called(gpu, model);
  const auto* const known = std::ranges::find(architectures, architecture_in(gpu), &Architecture::gfx);
  return known != architectures.end() && known->model == model;
}

// Returns whether the name identifies a GPU at all.
bool names_gpu(std::string_view gpu) { return names_model(gpu) || !architecture_in(gpu).empty(); }

std::string refusal(std::string_view named, const ScreenedFor& target) {
  return fmt::format("measured on '{}', compared with {}: --platform names another", named.substr(0, 40),
                     target.platform);
}

// An Entry is a measurement to compare with others.
struct Entry {
  const Measurement* measurement;
  std::string_view row{};  // text of its row, if rows are compared
};

// Compares what measurements say, not where they stand. Figures differ most often and so are compared first.
struct SaysLess {
  bool operator()(const Entry& a, const Entry& b) const {
    const auto words = [](const Entry& one) {
      const Measurement& said = *one.measurement;
      return std::tie(said.seen, one.row, said.trial, said.assignments, said.platform);
    };
    return words(a) < words(b);
  }
};

// Maps each measurement that repeats an earlier one to that one.
using Repeated = std::map<const Measurement*, const Measurement*>;
Repeated repeated_in(const std::vector<Entry>& entries) {
  std::set<Entry, SaysLess> firsts;
  Repeated first_of;
  for (const Entry& entry : sim::in_short_steps(entries)) {
    const auto [first, is_new] = firsts.insert(entry);
    if (!is_new) first_of.emplace(entry.measurement, first->measurement);
  }
  return first_of;
}

bool has_a_rate_of_its_own(const Measurement& measurement) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&measurement.trial);
  return !measurement.names_library() && gemm != nullptr && gemm->shape.dtype != models::Dtype::bf16 &&
         gemm->shape.dtype != models::Dtype::fp16;
}

// A Ratio turns the times of one figure of a probe into another figure, if what they are divided by is known.
struct Ratio {
  study::Figure of;
  std::optional<double> over;  // seconds
  study::Figure figure;
};

std::optional<Ratio> ratio_of(study::Figure figure, const Alone& alone) {
  using study::Figure;
  const auto longer = [](std::optional<double> first, std::optional<double> second) {
    return first && second ? std::optional(std::max(*first, *second)) : std::nullopt;
  };
  const std::array ratios{
      Ratio{Figure::time, longer(alone.gemm_in_turn, alone.collective_in_turn), Figure::over_longer_in_turn},
      Ratio{Figure::time, longer(alone.gemm, alone.collective), Figure::over_longer},
      Ratio{Figure::gemm_time, alone.gemm_in_turn, Figure::gemm_stretch_in_turn},
      Ratio{Figure::gemm_time, alone.gemm, Figure::gemm_stretch},
      Ratio{Figure::collective_time, alone.collective_in_turn, Figure::collective_stretch_in_turn},
      Ratio{Figure::collective_time, alone.collective, Figure::collective_stretch}};
  const auto* const found =
      std::ranges::find_if(ratios, [figure](const Ratio& one) { return one.of == figure && one.over; });
  return found == ratios.end() ? std::nullopt : std::optional(*found);
}

// Returns the times of a probe as ratios. Ratios that the file states itself would count twice: they are dropped.
std::vector<Seen> over_alone(const Measurement& probe) {
  std::vector<Seen> ratios;
  for (Seen seen : probe.seen) {
    const std::optional<Ratio> ratio = ratio_of(seen.figure, probe.alone);
    if (!ratio) continue;
    seen.figure = ratio->figure;
    seen.value /= *ratio->over;
    if (seen.low) *seen.low /= *ratio->over;
    if (seen.high) *seen.high /= *ratio->over;
    ratios.push_back(seen);
  }
  return ratios;
}

}  // namespace

std::optional<std::string> platform_of_gpu(std::string_view gpu, std::span<const std::string> known) {
  if (!names_gpu(gpu)) return {};
  const std::string* best = nullptr;  // the shortest match: h200 rather than h200_nvl
  for (const std::string& platform : known) {
    if (!is_of_model(gpu, model_of(platform))) continue;
    if (best == nullptr || platform.size() < best->size()) best = &platform;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::optional<std::string> platform_of(const Reading& reading, std::span<const std::string> known) {
  if (names_gpu(reading.gpu)) return platform_of_gpu(reading.gpu, known);
  if (reading.measurements.empty()) return {};
  const ScreenedFor first{reading.measurements.front().platform, ""};
  const bool is_one = std::ranges::all_of(
      reading.measurements, [&first](const Measurement& one) { return is_platform(one.platform, first); });
  if (!is_one) return {};
  const auto named = std::ranges::find_if(known, [&first](const std::string& one) { return is_platform(one, first); });
  return named == known.end() ? std::nullopt : std::optional(*named);
}

bool refuse_other_gpus(Reading& reading, const std::string& path, const ScreenedFor& target) {
  std::vector<sim::Fault> faults;
  bool is_foreign = names_gpu(reading.gpu) && !is_of_model(reading.gpu, model_of(target.machine)) &&
                    !is_of_model(reading.gpu, model_of(std::filesystem::path(target.platform).stem().string()));
  const bool is_unknown = is_foreign && !target.known.empty() && !platform_of_gpu(reading.gpu, target.known);
  if (is_unknown && target.is_asked) {
    reading.remarks.push_back({path, "gpu",
                               fmt::format("measured on '{}', of which there is no platform: compared with {}, as "
                                           "--platform asks",
                                           reading.gpu, target.platform)});
    is_foreign = false;
  } else if (is_unknown) {
    faults.push_back(
        {path, "gpu",
         fmt::format("measured on '{}', of which there is no platform (there are {}): --platform names one "
                     "to compare with",
                     reading.gpu, fmt::join(target.known, ", "))});
  } else if (is_foreign && !reading.measurements.empty()) {
    faults.push_back({path, "gpu", refusal(reading.gpu, target)});
  }
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    if (is_foreign) return true;
    if (one.platform.empty() || is_platform(one.platform, target)) return false;
    sim::Fault fault{fmt::format("{}:{}", path, one.line), "platform", refusal(one.platform, target)};
    if (faults.empty() || faults.back() != fault) faults.push_back(std::move(fault));
    return true;
  });
  reading.faults.insert(reading.faults.end(), faults.begin(), faults.end());
  return is_foreign;
}

void keep_apart(Reading& reading, const std::filesystem::path& file, std::span<const std::filesystem::path> files) {
  if (std::ranges::count(files, file.filename(), &std::filesystem::path::filename) < 2) return;
  for (Measurement& measurement : reading.measurements) measurement.file = file.string();
}

void leave_out_other_nodes(Reading& reading, const ScreenedFor& target) {
  if (target.gpus == 0) return;
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    const auto* const collective = std::get_if<study::CollectiveTrial>(&one.trial);
    if (collective == nullptr || collective->spec.gpus <= target.gpus) return false;
    reading.left_out.push_back(
        {one.where(), fmt::format("of more GPUs than the {} of a node of {}", target.gpus, target.platform),
         fmt::format("{} of {} GPUs", models::to_string(collective->spec.kind), collective->spec.gpus)});
    return true;
  });
}

void refuse_disordered(Reading& reading, const std::string& path) {
  std::optional<study::GemmTrial> first;  // of the series
  int last = 0;
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    const auto* const gemm = std::get_if<study::GemmTrial>(&one.trial);
    if (gemm == nullptr || !gemm->nth) return false;
    const bool begins = !first || first->shape != gemm->shape || *gemm->nth <= *first->nth;
    if (!begins && *gemm->nth <= last) {
      reading.faults.push_back(
          {fmt::format("{}:{}", path, one.line), "",
           fmt::format("run {} of a series stands behind run {}: runs in their order are accepted", *gemm->nth, last)});
      return true;
    }
    if (begins) first = *gemm;
    last = *gemm->nth;
    return false;
  });
}

void refuse_repeated_rows(Reading& reading, std::string_view text, const std::string& path) {
  std::vector<std::string_view> rows;
  for (LogLines lines(text); lines.next();) rows.push_back(lines.line().text);
  std::vector<Entry> entries;
  for (const Measurement& one : reading.measurements) {
    const auto line = static_cast<std::size_t>(one.line);
    entries.push_back({&one, line >= 1 && line <= rows.size() ? rows[line - 1] : std::string_view()});
  }
  const Repeated first_of = repeated_in(entries);
  if (first_of.empty()) return;
  std::vector<Measurement> kept;
  for (Measurement& one : reading.measurements) {
    const auto repeated = first_of.find(&one);
    // Cells of one wide row may be equal.
    if (repeated == first_of.end() || repeated->second->line == one.line) {
      kept.push_back(one);  // a copy, since later faults may need the line of the original
      continue;
    }
    sim::Fault fault{fmt::format("{}:{}", path, one.line), "",
                     fmt::format("says the same as line {}: it counts once", repeated->second->line)};
    if (reading.faults.empty() || reading.faults.back() != fault) reading.faults.push_back(std::move(fault));
  }
  reading.measurements = std::move(kept);
}

void refuse_repeated_files(std::span<Reading> readings) {
  if (readings.size() < 2) return;
  std::vector<Entry> entries;
  for (const Reading& reading : readings) {
    for (const Measurement& one : reading.measurements) entries.push_back({&one});
  }
  const Repeated first_of = repeated_in(entries);
  std::vector<Reading*> repeated;
  for (Reading& reading : readings) {
    const std::vector<Measurement>& own = reading.measurements;
    const auto is_own = [&own](const Measurement* one) { return one >= own.data() && one < own.data() + own.size(); };
    const bool says_nothing_new = std::ranges::all_of(own, [&](const Measurement& one) {
      const auto first = first_of.find(&one);
      return first != first_of.end() && !is_own(first->second);
    });
    if (own.empty() || !says_nothing_new) continue;
    const Measurement* const first = first_of.at(own.data());
    reading.faults.push_back({reading.name, "", "says nothing that " + first->file + " does not: it counts once"});
    repeated.push_back(&reading);
  }
  for (Reading* const reading : repeated) reading->measurements.clear();
}

Reading admit_to_fit(Reading reading) {
  std::erase_if(reading.measurements, [&reading](Measurement& one) {
    const bool is_probe = one.role == Role::probe;
    const bool is_concurrent = study::is_concurrent(one.trial);
    if (is_probe && is_concurrent) one.seen = over_alone(one);
    const std::string why =
        one.role == Role::predict      ? "is marked predict"
        : is_probe && !is_concurrent   ? "is a probe of a run alone: a fit reads those that are marked calibrate"
        : is_probe && one.seen.empty() ? "is a probe without the time of its operation alone"
        : !is_probe && has_a_rate_of_its_own(one) ? "its GEMM is of no type that is fitted: bf16 and fp16 are"
                                                  : "";
    if (!why.empty()) {
      reading.left_out.push_back({one.where(), why});
    } else if (!is_probe && is_concurrent) {
      reading.faults.push_back(
          {one.where(), "", "a fit may not read a concurrent run, unless a column role says probe"});
    }
    return !why.empty() || (!is_probe && is_concurrent);
  });
  return reading;
}

std::string why_nothing_is_left(const Reading& reading) {
  std::map<std::string, int> reasons;
  for (const Omission& omission : reading.left_out) ++reasons[omission.why];
  std::vector<std::string> counted;
  for (const auto& [why, rows] : reasons) counted.push_back(fmt::format("{} ({} of its rows)", why, rows));
  return counted.empty() ? "it has no rows" : fmt::format("{}", fmt::join(counted, "; "));
}

void require_measurements(const std::vector<Reading>& files) {
  std::vector<sim::Fault> faults;
  for (const Reading& file : files) {
    if (!file.measurements.empty()) return;
    faults.insert(faults.end(), file.faults.begin(), file.faults.end());
    if (file.faults.empty())
      faults.push_back({file.name, "", "nothing in it can be fitted to: " + why_nothing_is_left(file)});
  }
  throw sim::ConfigError(std::move(faults));
}

}  // namespace c3sim::calibrate
