#include "calibrate/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "calibrate/roles.h"
#include "sim/config.h"

namespace calibrate {

namespace {

std::vector<std::string> missing_columns(const CsvFile& file, const TableFormat& format) {
  std::vector<std::string> missing;
  for (const std::string& column : format.needed_columns()) {
    if (!file.has(column)) missing.push_back(column);
  }
  return missing;
}

const LogFormat* log_format_of(std::string_view text) {
  for (const LogFormat& format : log_formats()) {
    if (format.recognises(text)) return &format;
  }
  return nullptr;
}

// What a table says of its own rows in columns `role` and `platform`.
void apply_own_columns(Reading& reading, const CsvFile& file) {
  if (!file.has("role") && !file.has("platform")) return;
  std::map<int, std::size_t> row_at;
  for (std::size_t row = 0; row < file.rows(); ++row) row_at[file.line(row)] = row;
  for (Measurement& measurement : reading.measurements) {
    const std::size_t row = row_at.at(measurement.line);
    const std::string role = file.has("role") ? file.text(row, "role") : "";
    if (role == "calibrate") measurement.role = Role::calibrate;
    if (role == "predict") measurement.role = Role::predict;
    if (file.has("platform")) measurement.platform = file.text(row, "platform");
  }
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
  for (const auto& entry : std::filesystem::directory_iterator(formats, absent)) {
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

// The form of the table, and the names of those that it could as well be.
const TableFormat& Reader::form_of(const CsvFile& file, std::vector<std::string>& alike) const {
  const std::string name = std::filesystem::path(file.name()).stem().string();
  std::vector<const TableFormat*> best;
  for (const TableFormat& format : tables_) {
    if (!missing_columns(file, format).empty()) continue;
    if (format.name == name) return format;
    const std::size_t needed = format.needed_columns().size();
    const std::size_t most = best.empty() ? 0 : best.front()->needed_columns().size();
    if (needed > most) best.clear();
    if (needed >= most) best.push_back(&format);
  }
  if (best.empty()) {
    throw sim::ConfigError({{file.name(), "", "no table with these columns is known; " + nearest_form(file)}});
  }
  for (std::size_t i = 1; i < best.size(); ++i) alike.push_back(best[i]->name);
  return *best.front();
}

// Which form a table that is of none comes nearest to, or else what forms there are.
std::string Reader::nearest_form(const CsvFile& file) const {
  const TableFormat* nearest = nullptr;
  std::size_t fewest = 0;
  std::vector<std::string> known;
  for (const TableFormat& format : tables_) {
    const std::size_t missing = missing_columns(file, format).size();
    if (!format.description.empty()) known.push_back(format.description);
    if (missing == format.needed_columns().size() || (nearest != nullptr && missing >= fewest)) continue;
    nearest = &format;
    fewest = missing;
  }
  if (nearest != nullptr) {
    return fmt::format("the nearest, '{}', needs besides: {}", nearest->name,
                       fmt::join(missing_columns(file, *nearest), ", "));
  }
  for (const LogFormat& format : log_formats()) known.emplace_back(format.about);
  return fmt::format("accepted are: {}", fmt::join(known, "; "));
}

Reading Reader::read_rows(const CsvFile& file, Rows rows) const {
  std::vector<std::string> alike;
  const TableFormat& form = form_of(file, alike);
  Reading reading = read_table(file, form, others_, rows);
  reading.alike = std::move(alike);
  return reading;
}

Reading Reader::read_text(std::string_view text, const std::string& name) const {
  if (const LogFormat* const log = log_format_of(text)) {
    Reading reading = log->read(text, name);
    reading.name = std::filesystem::path(name).filename().string();
    reading.format = log->name;
    return reading;
  }
  return read_rows(CsvFile::from_text(text, name), Rows::measured);
}

Reading Reader::read_as(const TableFormat& format, const std::filesystem::path& path) const {
  CsvFile file = CsvFile::from_file(path);
  file.require(format.needed_columns());
  file.check();
  Reading reading = read_table(file, format, others_);
  Roles::beside(path).apply(reading, &file);
  apply_own_columns(reading, file);
  return reading;
}

Reading Reader::read(const std::filesystem::path& path, Rows rows) const {
  const std::string text = read_measurement_text(path);
  const Roles roles = Roles::beside(path);
  if (log_format_of(text) != nullptr) {
    Reading reading = read_text(text, path.string());
    roles.apply(reading, nullptr);
    return reading;
  }
  const CsvFile file = CsvFile::from_text(text, path.string());
  Reading reading = read_rows(file, rows);
  roles.apply(reading, &file);
  apply_own_columns(reading, file);
  return reading;
}

}  // namespace calibrate
