#include "calibrate/measurement_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "calibrate/readers/profile_reading.h"

namespace c3sim::calibrate {

namespace {

constexpr double in_microseconds = 1e6;

study::Cell cell(std::size_t value) { return static_cast<std::int64_t>(value); }
study::Cell cell(const std::string& text) { return text.empty() ? study::Cell() : study::Cell(text); }
study::Cell time_cell(double seconds) { return seconds > 0.0 ? study::Cell(seconds * in_microseconds) : study::Cell(); }

// A Summary describes the measurements of one kind in one file.
struct Summary {
  const Measurement* first;
  std::size_t measurements = 0;
  std::optional<study::TrialSize> smallest{}, largest{};
  std::map<Role, std::size_t> roles{};

  void take(const Measurement& one) {
    ++measurements;
    ++roles[one.role];
    study::TrialSize size = study::extent_of(one.trial);
    if (size.words.empty()) return;
    if (!smallest || size.size < smallest->size) smallest = size;
    if (!largest || size.size > largest->size) largest = std::move(size);
  }
  std::string roles_in_words() const {
    if (roles.size() == 1) return std::string(to_string(roles.begin()->first));
    std::vector<std::string> words;
    for (const auto& [role, measured] : roles) words.push_back(fmt::format("{} {}", measured, to_string(role)));
    return fmt::format("{}", fmt::join(words, ", "));
  }
};

std::string figures_of(const Measurement& one) {
  std::vector<std::string_view> keys;
  for (const Seen& seen : one.seen) keys.push_back(study::form_of(seen.figure).key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

// Tables holds the tables of all files and is filled a file at a time.
struct Tables {
  study::ResultTable files{{{"file", "file", ""},
                            {"format", "read as", ""},
                            {"gpu", "GPU that it names", ""},
                            {"platform", "read for", ""},
                            {"measurements", "measurements", ""},
                            {"left_out", "left out", ""},
                            {"faults", "at fault", ""}}};
  study::ResultTable kinds{{{"file", "file", ""},
                            {"group", "group", ""},
                            {"kind", "kind of run", ""},
                            {"figures", "figures", ""},
                            {"measurements", "measurements", ""},
                            {"smallest", "from", ""},
                            {"largest", "to", ""},
                            {"roles", "roles", ""}}};
  study::ResultTable omissions{{{"first", "first at", ""},
                                {"rows", "rows", ""},
                                {"time_us", "which took", "us", 0},
                                {"why", "why they are left out", ""}}};
  study::ResultTable omitted_rows{{{"where", "where", ""},
                                   {"what", "what", ""},
                                   {"time_us", "which took", "us", 1},
                                   {"why", "why it is left out", ""}}};
  study::ResultTable headers{{{"file", "file", ""}, {"header", "what its header says", ""}}};
  study::ResultTable faults{{{"where", "where", ""}, {"path", "of", ""}, {"what", "what", ""}}};
  study::ResultTable rows{{{"where", "where", ""},
                           {"group", "group", "", 2, false},
                           {"trial", "run", ""},
                           {"figure", "figure", ""},
                           {"unit", "unit", ""},
                           {"measured", "measured", "", 3},
                           {"low", "low", "", 3},
                           {"high", "high", "", 3},
                           {"role", "role", ""},
                           {"platform", "platform", "", 2, false},
                           {"assignments", "of the platform", "", 2, false}}};

  void add(const Reading& reading) {
    files.add_row({reading.name, reading.format, cell(reading.gpu), cell(reading.platform),
                   cell(reading.measurements.size()), cell(reading.left_out.size()), cell(reading.faults.size())});
    add_kinds(reading);
    add_omissions(reading);
    for (const std::string& line : reading.header) headers.add_row({reading.name, line});
  }
  void add_rows(const Reading& reading) {
    for (const Measurement& one : reading.measurements) {
      for (const Seen& seen : one.seen) {
        const study::FigureForm& form = study::form_of(seen.figure);
        const auto in_unit = [&form](const std::optional<double>& value) {
          return value ? study::Cell(*value / form.per_unit) : study::Cell();
        };
        rows.add_row({one.where(), one.group, study::to_string(one.trial), std::string(form.key),
                      std::string(form.unit), in_unit(seen.value), in_unit(seen.low), in_unit(seen.high),
                      std::string(to_string(one.role)), one.platform,
                      fmt::format("{}", fmt::join(one.assignments, " "))});
      }
    }
  }

 private:
  void add_kinds(const Reading& reading) {
    // `known` maps group, kind and figures to a place in `summaries`, which keeps the order of the file.
    std::map<std::tuple<std::string, std::string_view, std::string>, std::size_t> known;
    std::vector<Summary> summaries;
    for (const Measurement& one : reading.measurements) {
      const auto [at, is_new] =
          known.try_emplace({one.group, study::kind_of(one.trial), figures_of(one)}, summaries.size());
      if (is_new) summaries.push_back({&one});
      summaries[at->second].take(one);
    }
    const auto words = [](const std::optional<study::TrialSize>& size) {
      return size ? study::Cell(size->words) : study::Cell();
    };
    for (const Summary& one : summaries) {
      kinds.add_row({reading.name, one.first->group, std::string(study::kind_of(one.first->trial)),
                     figures_of(*one.first), cell(one.measurements), words(one.smallest), words(one.largest),
                     one.roles_in_words()});
    }
  }
  // Lists omissions row by row and, since a trace has hundreds of kernels without a model, by reason.
  void add_omissions(const Reading& reading) {
    struct Reason {
      const Omission* first;
      std::size_t rows = 0;
      double seconds = 0.0;
    };
    std::map<std::string, std::size_t> known;
    std::vector<Reason> reasons;
    for (const Omission& omission : reading.left_out) {
      omitted_rows.add_row({omission.where, omission.what, time_cell(omission.seconds), omission.why});
      const auto [at, is_new] = known.try_emplace(omission.why, reasons.size());
      if (is_new) reasons.push_back({&omission});
      ++reasons[at->second].rows;
      reasons[at->second].seconds += omission.seconds;
    }
    for (const Reason& reason : reasons) {
      omissions.add_row({reason.first->where, cell(reason.rows), time_cell(reason.seconds), reason.first->why});
    }
  }
};

// Returns the outcome in words: "12 measurements of 2 files. Left out: 3 rows. 1 fault."
std::string verdict(const MeasurementFiles& files, std::size_t faults) {
  std::size_t measurements = 0;
  std::size_t left_out = 0;
  for (const Reading& reading : files.readings) {
    measurements += reading.measurements.size();
    left_out += reading.left_out.size();
  }
  const auto some = [](std::size_t number, std::string_view thing) {
    return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
  };
  return fmt::format("{} of {}. Left out: {}. {}.", some(measurements, "measurement"), some(files.files, "file"),
                     some(left_out, "row"), some(faults, "fault"));
}

}  // namespace

bool MeasurementFiles::is_usable() const {
  return std::ranges::any_of(readings, [](const Reading& reading) { return !reading.measurements.empty(); });
}

void require_files(std::span<const std::filesystem::path> files) {
  std::vector<sim::Fault> faults;
  for (const std::filesystem::path& file : files) {
    if (::access(file.c_str(), R_OK) == 0) continue;
    const std::error_code why(errno, std::generic_category());
    faults.push_back({file.string(), "", why.message()});
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
}

std::vector<std::filesystem::path> each_once(std::span<const std::filesystem::path> files,
                                             std::vector<sim::Fault>& twice) {
  std::set<std::filesystem::path> known;
  std::vector<std::filesystem::path> once;
  for (const std::filesystem::path& file : files) {
    std::error_code absent;
    if (known.insert(std::filesystem::weakly_canonical(file, absent)).second) {
      once.push_back(file);
    } else {
      twice.push_back({file.string(), "", "is given twice: it is read once"});
    }
  }
  return once;
}

MeasurementFiles read_measurement_files(const Reader& reader, std::span<const std::filesystem::path> files,
                                        const TargetOf& target_of, Repeats repeats) {
  MeasurementFiles read;
  const std::vector<std::filesystem::path> once = each_once(files, read.unreadable);
  for (const std::filesystem::path& file : once) {
    ++read.files;
    try {
      Reading reading = reader.read(file);
      const ScreenedFor target = target_of(reading);
      const bool is_refused = refuse_other_gpus(reading, file.string(), target);
      if (!is_refused) reading.platform = target.platform;
      leave_out_other_nodes(reading, target);
      keep_apart(reading, file, once);
      refuse_disordered(reading, file.string());
      read.readings.push_back(std::move(reading));
    } catch (const sim::ConfigError& error) {
      read.unreadable.insert(read.unreadable.end(), error.faults().begin(), error.faults().end());
    }
  }
  tell_waits_of_ranks(read.readings);
  if (repeats == Repeats::refused) refuse_repeated_files(read.readings);
  return read;
}

study::Results report(const MeasurementFiles& files, bool rows) {
  study::Results results;
  Tables tables;
  std::vector<sim::Fault> faults = files.unreadable;
  for (const Reading& reading : files.readings) {
    for (const sim::Fault& remark : reading.remarks) results.warnings.push_back(in_words(remark));
    if (reading.measurements.empty() && reading.left_out.empty() && reading.faults.empty())
      results.warnings.push_back(reading.name + ": it has no rows");
    tables.add(reading);
    if (rows) tables.add_rows(reading);
    faults.insert(faults.end(), reading.faults.begin(), reading.faults.end());
  }
  for (const sim::Fault& fault : faults) tables.faults.add_row({fault.where, fault.path, fault.what});
  if (rows) results.tables.push_back({"rows", "Measurements", std::move(tables.rows)});
  results.tables.push_back({"files", "Files", std::move(tables.files)});
  results.tables.push_back({"kinds", "What was understood", std::move(tables.kinds)});
  results.tables.push_back({"left_out", "What was left out", std::move(tables.omissions)});
  results.tables.push_back({"left_out_rows", "What was left out, row by row", std::move(tables.omitted_rows), rows});
  results.tables.push_back({"headers", "What headers say", std::move(tables.headers)});
  results.tables.push_back({"faults", "What is at fault", std::move(tables.faults), false});
  for (study::NamedTable& table : results.tables) table.in_text = table.in_text && !table.table.rows().empty();
  constexpr std::size_t most = sim::ConfigError::max_lines;
  for (std::size_t i = 0; i < std::min(faults.size(), most); ++i) results.warnings.push_back(in_words(faults[i]));
  if (faults.size() > most) results.warnings.push_back(fmt::format("{} more faults", faults.size() - most));
  results.notes.push_back(verdict(files, faults.size()));
  return results;
}

}  // namespace c3sim::calibrate
