#include "calibrate/readers/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <system_error>

#include "calibrate/readers/labels.h"
#include "calibrate/readers/log_text.h"
#include "calibrate/readers/screen.h"
#include "calibrate/readers/unused_columns.h"
#include "sim/config/config.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"

namespace c3sim::calibrate {

namespace {

std::vector<std::string> missing_columns(const sim::CsvFile& file, const TableFormat& format, Rows rows) {
  std::vector<std::string> missing;
  for (const std::string& column : format.needed_columns(rows)) {
    if (!file.has(column)) missing.push_back(column);
  }
  return missing;
}

// What a table says of its own rows in a column `role`; a prediction stays one.
void apply_own_roles(Reading& reading, const sim::CsvFile& file) {
  if (!file.has("role")) return;
  const std::vector<std::string> known{"calibrate", "predict"};
  for (std::size_t row = 0; row < file.rows(); ++row) {
    const std::string_view role = file.text(row, "role");
    if (says_nothing(role) || std::ranges::find(known, role) != known.end()) continue;
    const std::string hint = sim::name_hint(role, known);
    reading.faults.push_back({file.place(row, "role"), "role", fmt::format("'{}' is not known{}", role, hint)});
  }
  for (Measurement& measurement : reading.measurements) {
    const std::string_view role = file.text(row_at(file, measurement.line).value(), "role");
    if (role == "predict") measurement.role = Role::predict;
    if (role == "calibrate" && measurement.role != Role::predict) measurement.role = Role::calibrate;
  }
}

// What a table says of its own rows in a column `platform`.
void apply_own_platforms(Reading& reading, const sim::CsvFile& file) {
  if (!file.has("platform")) return;
  for (Measurement& measurement : reading.measurements) {
    const std::string_view platform = file.text(row_at(file, measurement.line).value(), "platform");
    if (!says_nothing(platform)) measurement.platform = platform;
  }
}

// The GPU that c3sim-measure names: "... measured by c3sim-measure on 4 x NVIDIA H200 (sm_90, ...".
LogCell measured_gpu(const LogCell& said) {
  static const LogPattern form(R"(measured by c3sim-measure on \S+ x (.*?) \()");
  const LogCells found = form.groups(said);
  return found.empty() ? LogCell{} : found[1];
}

// The comments above the columns, and the GPU that one of them names: "# gpu: AMD Instinct MI300X".
void take_header(Reading& reading, std::string_view text) {
  constexpr std::size_t most_lines = 64;
  constexpr std::size_t longest = 400;
  LogLines lines(text);
  while (lines.next() && reading.header.size() < most_lines) {
    const std::string_view line = lines.line().text;
    if (line.empty()) continue;
    if (!line.starts_with('#')) return;
    const std::string_view said = sim::trimmed(line.substr(std::min(line.find_first_not_of('#'), line.size())));
    if (!said.empty()) reading.header.emplace_back(said.substr(0, longest));
    const std::size_t colon = said.find(':');
    if (!reading.gpu.empty()) continue;
    if (colon != std::string_view::npos && plain_name(said.substr(0, colon)) == "gpu") {
      reading.gpu = printable(sim::trimmed(said.substr(colon + 1)));
    } else {
      reading.gpu = printable(measured_gpu({said}).text);
    }
  }
}

Reading read_log(const LogFormat& log, std::string_view text, const std::string& name) {
  Reading reading = log.read(text, name);
  reading.name = std::filesystem::path(name).filename().string();
  reading.format = log.name;
  return reading;
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::calibrate:
      return "calibrate";
    case Role::predict:
      return "predict";
    case Role::unlisted:
      break;
  }
  return "unlisted";
}

Reader::Reader(const std::filesystem::path& formats) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  const std::filesystem::directory_iterator entries(formats, absent);
  if (absent) throw sim::ConfigError({{formats.string(), "", "no folder of forms: " + absent.message()}});
  for (const auto& entry : entries) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    sim::Config config = sim::Config::from_file(file);
    TableFormat format = TableFormat::read(config.root(), file.stem().string());
    config.finish();
    add(std::move(format));
  }
}

const TableFormat* Reader::table(std::string_view name) const {
  const auto found = std::ranges::find(tables_, name, &TableFormat::name);
  return found == tables_.end() ? nullptr : &*found;
}

// `alike` gets the names of the forms that it could as well be.
const TableFormat& Reader::form_of(const sim::CsvFile& file, Rows rows, std::vector<std::string>& alike) const {
  const std::string name = table_name(file.name());
  std::vector<const TableFormat*> best;
  std::size_t most = 0;
  for (const TableFormat& format : tables_) {
    if (!missing_columns(file, format, rows).empty()) continue;
    if (format.name == name) return format;
    if (format.is_of_one_machine()) continue;
    const std::size_t needed = format.needed_columns(rows).size();
    if (!best.empty() && needed < most) continue;
    if (needed > most) best.clear();
    best.push_back(&format);
    most = needed;
  }
  if (best.empty()) refuse(file, rows);
  for (std::size_t i = 1; i < best.size(); ++i) alike.push_back(best[i]->name);
  return *best.front();
}

Reading Reader::read_rows(const sim::CsvFile& file, Rows rows, const Roles& roles) const {
  std::vector<std::string> alike;
  const TableFormat& form = form_of(file, rows, alike);
  Reading reading = read_table(file, form, others_, rows);
  reading.alike = std::move(alike);
  tell_unused_columns(reading, file, form, roles);
  return reading;
}

// Names what the form lacks that fewest columns part from the table, and of these the one that it has most of.
void Reader::refuse(const sim::CsvFile& file, Rows rows) const {
  const TableFormat* nearest = nullptr;
  std::pair<std::size_t, std::size_t> fewest;  // missing, and not there
  std::vector<std::string> names;
  for (const TableFormat& format : tables_) {
    if (!format.description.empty()) names.push_back(format.description);
    const std::size_t needed = format.needed_columns(rows).size();
    const std::size_t missing = missing_columns(file, format, rows).size();
    const std::pair here(missing, std::numeric_limits<std::size_t>::max() - needed);
    if (missing == needed || (nearest != nullptr && here >= fewest)) continue;
    nearest = &format;
    fewest = here;
  }
  for (const LogFormat& log : log_formats()) names.push_back(fmt::format("{}: {}", log.name, log.about));
  sim::CsvFile told = file;
  const auto before = static_cast<std::ptrdiff_t>(file.faults().size());
  if (nearest == nullptr) {
    told.fault(fmt::format("no table with these columns is known; known are:\n  {}", fmt::join(names, "\n  ")));
  } else {
    told.fault(fmt::format("no table with these columns is known: the nearest is '{}'", nearest->name));
    told.require(missing_columns(file, *nearest, rows));
  }
  std::vector<sim::Fault> faults = told.faults();
  std::rotate(faults.begin(), faults.begin() + before, faults.end());  // the heading is above the rows
  throw sim::ConfigError(faults);
}

Reading Reader::read_text(std::string_view written, const std::string& name) const {
  const std::string text = without_escapes(std::string(written));
  if (const LogFormat* const log = log_format_of(text)) {
    Reading reading = read_log(*log, text, name);
    Labels().apply(reading);
    return reading;
  }
  Reading reading = read_rows(sim::CsvFile::from_text(text, name), Rows::measured, {});
  take_header(reading, text);
  return reading;
}

Reading Reader::read_as(const TableFormat& format, const std::filesystem::path& path) const {
  sim::CsvFile file = sim::CsvFile::from_file(path);
  file.require(format.needed_columns());
  file.check();
  Reading reading = read_table(file, format, others_);
  Roles::beside(path).apply(reading, &file);
  apply_own_roles(reading, file);
  return reading;
}

Reading Reader::read(const std::filesystem::path& path, Rows rows) const {
  try {
    return read_plain(without_escapes(sim::read_measurement_text(path)), path, rows);
  } catch (const std::bad_alloc&) {
    throw sim::ConfigError({{path.string(), "", "what is in it needs more memory than there is"}});
  }
}

Reading Reader::read_plain(const std::string& text, const std::filesystem::path& path, Rows rows) const {
  const Roles roles = Roles::beside(path);
  if (const LogFormat* const log = log_format_of(text)) {
    Reading reading = read_log(*log, text, path.string());
    Labels::beside(path).apply(reading);
    refuse_repeated_rows(reading, text, path.string());
    roles.apply(reading, nullptr);
    return reading;
  }
  const sim::CsvFile file = sim::CsvFile::from_text(text, path.string());
  Reading reading = read_rows(file, rows, roles);
  take_header(reading, text);
  if (!text.ends_with('\n')) {
    // A table that was cut off within its last cell reads as one with another number there.
    reading.remarks.push_back({path.string(), "", "no line end behind its last row: it may have been cut off"});
  }
  roles.apply(reading, &file);
  apply_own_roles(reading, file);
  apply_own_platforms(reading, file);
  refuse_repeated_rows(reading, text, path.string());
  return reading;
}

}  // namespace c3sim::calibrate
