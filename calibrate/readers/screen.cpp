#include "calibrate/readers/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/readers/log_text.h"

namespace c3sim::calibrate {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether the name says a model: digits behind a letter, as in "MI300X" and "H200".
bool names_model(std::string_view gpu) {
  for (std::size_t i = 1; i < gpu.size(); ++i) {
    if (is_letter(gpu[i - 1]) && is_digit(gpu[i])) return true;
  }
  return false;
}

bool is_platform(const std::string& named, const ScreenedFor& target) {
  const auto is = [&named](const std::string& other) {
    return !other.empty() && std::ranges::equal(
                                 named, other, {}, [](unsigned char c) { return std::tolower(c); },
                                 [](unsigned char c) { return std::tolower(c); });
  };
  return is(target.platform) || is(std::filesystem::path(target.platform).stem().string()) || is(target.machine);
}

// Platforms are called after their GPU, perhaps with more behind it: mi300x_conccl.
bool is_gpu_of(std::string_view gpu, const ScreenedFor& target) {
  const std::string plain = plain_name(gpu);
  for (const std::string& name : {std::filesystem::path(target.platform).stem().string(), target.machine}) {
    const std::string model = plain_name(name.substr(0, name.find('_')));
    if (!model.empty() && plain.find(model) != std::string::npos) return true;
  }
  return false;
}

std::string refusal(std::string_view named, const ScreenedFor& target) {
  return fmt::format("measured on '{}', compared with {}: --platform names another", named.substr(0, 40),
                     target.platform);
}

// All that makes a measurement what it is, but for where it stands.
auto identity(const Measurement& one) { return std::tie(one.trial, one.assignments, one.platform); }

bool less(const Seen& a, const Seen& b) {
  return std::tie(a.figure, a.value, a.low, a.high) < std::tie(b.figure, b.value, b.low, b.high);
}

// A measurement among many; first figures tell most apart, so that of a million only the rest is compared whole.
struct Entry {
  const Measurement* measurement;
  std::string_view row{};  // as it is written, where that is asked for
  std::size_t index = 0;

  double figure() const { return measurement->seen.empty() ? 0.0 : measurement->seen.front().value; }
};

bool says_less(const Entry& a, const Entry& b) {
  if (a.row != b.row) return a.row < b.row;
  const std::vector<Seen>& left = a.measurement->seen;
  const std::vector<Seen>& right = b.measurement->seen;
  if (std::ranges::lexicographical_compare(left, right, less)) return true;
  if (std::ranges::lexicographical_compare(right, left, less)) return false;
  return identity(*a.measurement) < identity(*b.measurement);
}

// All but the first of those that say the same, with the first.
using Repeated = std::map<const Measurement*, const Measurement*>;
Repeated repeated_in(std::vector<Entry> entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].index = i;
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.figure(), entry.index); });
  Repeated first_of;
  for (auto begin = entries.begin(); begin != entries.end();) {
    const auto end =
        std::find_if(begin, entries.end(), [&](const Entry& other) { return other.figure() != begin->figure(); });
    std::stable_sort(begin, end, says_less);
    auto first = begin;
    for (++begin; begin != end; ++begin) {
      if (says_less(*first, *begin)) {
        first = begin;
      } else {
        first_of.emplace(begin->measurement, first->measurement);
      }
    }
  }
  return first_of;
}

}  // namespace

void refuse_other_gpus(Reading& reading, const std::string& path, const ScreenedFor& target) {
  std::vector<sim::Fault> faults;
  const bool is_foreign = names_model(reading.gpu) && !is_gpu_of(reading.gpu, target);
  if (is_foreign && !reading.measurements.empty()) faults.push_back({path, "gpu", refusal(reading.gpu, target)});
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    if (is_foreign) return true;
    if (one.platform.empty() || is_platform(one.platform, target)) return false;
    sim::Fault fault{fmt::format("{}:{}", path, one.line), "platform", refusal(one.platform, target)};
    if (faults.empty() || faults.back() != fault) faults.push_back(std::move(fault));
    return true;
  });
  reading.faults.insert(reading.faults.end(), faults.begin(), faults.end());
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
  const Repeated first_of = repeated_in(std::move(entries));
  if (first_of.empty()) return;
  std::vector<Measurement> kept;
  for (Measurement& one : reading.measurements) {
    const auto repeated = first_of.find(&one);
    // Cells of a wide row may well agree.
    if (repeated == first_of.end() || repeated->second->line == one.line) {
      kept.push_back(one);  // a copy, as others may yet name its line
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
  const Repeated first_of = repeated_in(std::move(entries));
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

}  // namespace c3sim::calibrate
