// What BabelStream prints: the rates of its streams, as a table for people or, with --csv, as rows for programs. Rates
// are those of the fastest of many runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/csv_log.h"
#include "calibrate/readers/log_formats.h"

namespace c3sim::calibrate {

namespace {

constexpr double mega = 1e6;
constexpr double mebi = 1024.0 * 1024.0;

// How many arrays each goes through (src/StreamModels.h of BabelStream: a = b, a = s*b, a = b+c, a = b+s*c, sum of a*b,
// a += b+s*c).
struct StreamKernel {
  std::string_view name;
  int read, written;
};
constexpr std::array kernels{StreamKernel{"Copy", 1, 1},  StreamKernel{"Mul", 1, 1}, StreamKernel{"Add", 2, 1},
                             StreamKernel{"Triad", 2, 1}, StreamKernel{"Dot", 2, 0}, StreamKernel{"Nstream", 3, 1}};

const StreamKernel* kernel_called(std::string_view name) {
  const auto* const found = std::ranges::find(kernels, name, &StreamKernel::name);
  return found == kernels.end() ? nullptr : found;
}

// One line of results, whichever way it was printed.
struct StreamRow {
  LogCell name, rate, least, most;
  double rate_unit = mega;  // bytes per second
  double array = 0.0;       // bytes of one; 0: not said
};

// Rate and least time must tell the same: cells that slipped into other columns do not. Times have five decimals: of a
// short run they tell little.
bool tell_the_same(double rate, double least, sim::Bytes bytes) {
  constexpr double rounding = 1e-5;
  const double tolerance = 0.02 + rounding / least;
  return std::abs(rate * least - bytes.value()) <= tolerance * bytes.value();
}

void record(const StreamRow& row, LogReading& reading) {
  const StreamKernel* const kernel = kernel_called(row.name.text);
  if (kernel == nullptr) {
    return reading.fault(row.name, "function",
                         shown(row.name.text) + " is not known: Copy, Mul, Add, Triad, Dot and Nstream are accepted");
  }
  const std::string_view rate_name = row.rate_unit == mega ? "MBytes/sec" : "MiBytes/sec";
  const auto rate = reading.number(row.rate, 1e-3, 1e10, rate_name);
  const auto least = reading.number(row.least, 1e-9, 3600.0, "Min (sec)");
  const auto most = reading.number(row.most, 1e-9, 3600.0, "Max");
  if (!rate || !least || !most) return;
  if (row.array <= 0.0) {
    return reading.fault(row.name, "Array size", "is missing: 'Array size: N MB' is accepted above the rates");
  }
  const sim::Bytes bytes(row.array * (kernel->read + kernel->written));
  const double value = *rate * row.rate_unit;
  if (!tell_the_same(value, *least, bytes)) {
    return reading.fault(row.rate, rate_name,
                         fmt::format("{} for {} s, where the arrays have {:.0f} B: columns that were mixed up?",
                                     shown(row.rate.text), shown(row.least.text), bytes.value()));
  }
  if (*most < *least) return reading.fault(row.most, "Max", shown(row.most.text) + " is less than Min (sec)");
  if (bytes.value() < 1.0 || bytes > study::largest_array) {
    return reading.leave_out(row.name.line, "arrays of a size that has no model");
  }
  Measurement measurement;
  measurement.line = row.name.line;
  measurement.group = fmt::format("BabelStream {}", kernel->name);
  measurement.trial = study::StreamTrial{kernel->read, kernel->written, bytes};
  measurement.seen.push_back(
      {.figure = study::Figure::rate, .value = value, .low = value * *least / *most, .high = value});
  reading.add(std::move(measurement));
}

bool are_stream_heads(const LogCell& line) {
  const LogCell plain = trimmed(line);
  return plain.text.starts_with("Function") && (plain.text.find("MBytes/sec") != std::string_view::npos ||
                                                plain.text.find("MiBytes/sec") != std::string_view::npos);
}

// "268.4 MB (=0.3 GB)" as bytes.
double array_size(const LogCell& said, LogReading& reading) {
  const LogCells words = words_of(said);
  constexpr std::string_view accepted = "'N MB' or 'N MiB' is accepted";
  if (words.size() < 2) {
    reading.fault(said, "Array size", std::string(accepted));
    return 0.0;
  }
  const std::array<std::pair<std::string_view, double>, 6> units{
      {{"KB", 1e3}, {"KiB", 1024.0}, {"MB", mega}, {"MiB", mebi}, {"GB", 1e9}, {"GiB", 1024.0 * mebi}}};
  const auto* const unit = std::ranges::find(units, words[1].text, &std::pair<std::string_view, double>::first);
  if (unit == units.end()) {
    reading.fault(words[1], "Array size", fmt::format("{} is no unit: {}", shown(words[1].text), accepted));
    return 0.0;
  }
  return reading.number(words[0], 1e-6, 1e9, "Array size").value_or(0.0) * unit->second;
}

// The table for people.
class StreamTableReader {
 public:
  StreamTableReader(std::string_view text, const std::string& name) : lines_(text), reading_(name) {}

  Reading read() && {
    while (lines_.next()) {
      if (reading_.accepts(lines_.line())) read_line(trimmed(lines_.line()));
    }
    if (reading_.empty()) {
      reading_.fault({}, "", "no stream: rows of rates are accepted below 'Function MBytes/sec ...'");
    }
    return std::move(reading_).take();
  }

 private:
  void read_line(const LogCell& line) {
    constexpr std::string_view size = "Array size:";
    constexpr std::array<std::string_view, 2> devices{"Using HIP device ", "Using CUDA device "};
    for (const std::string_view device : devices) {
      if (line.text.starts_with(device)) return reading_.set_gpu(line.text.substr(device.size()));
    }
    if (line.text.starts_with(size)) {
      form_.array = array_size(line.from(size.size()), reading_);
    } else if (are_stream_heads(line)) {
      is_below_heads_ = true;
      form_.rate_unit = line.text.find("MiBytes/sec") == std::string_view::npos ? mega : mebi;
    } else if (is_below_heads_) {
      read_row(line);
    }
  }

  // Other lines may follow the rows.
  void read_row(const LogCell& line) {
    constexpr std::size_t columns = 5;
    const LogCells words = words_of(line);
    if (words.empty() || (kernel_called(words.front().text) == nullptr && words.size() != columns)) return;
    if (words.size() != columns || !lines_.is_ended()) {
      return reading_.fault(
          line.from(0, 0), "",
          fmt::format("the row is cut off: {} words where {} and an end of line are due", words.size(), columns));
    }
    StreamRow row = form_;
    row.name = words[0];
    row.rate = words[1];
    row.least = words[2];
    row.most = words[3];
    record(row, reading_);
  }

  LogLines lines_;
  LogReading reading_;
  StreamRow form_;
  bool is_below_heads_ = false;
};

// The rows for programs. Lines of text may stand above them: what is said of the device goes to the same output.
class StreamCsvReader {
 public:
  StreamCsvReader(std::string_view text, const std::string& name) : lines_(text), reading_(name) {}

  Reading read() && {
    while (lines_.next()) {
      const LogCell line = trimmed(lines_.line());
      if (!reading_.accepts(line) || line.text.empty()) continue;
      const LogCells cells = fields_of(line, ",");
      if (cells.front().text == "function") {
        take_heads(cells);
      } else if (!heads_.empty()) {
        read_row(line, cells);
      }
    }
    if (reading_.empty()) reading_.fault({}, "", "no stream: rows of rates are accepted below their columns");
    return std::move(reading_).take();
  }

 private:
  std::size_t place_of(std::string_view head) const {
    return static_cast<std::size_t>(std::ranges::find(heads_, head, &LogCell::text) - heads_.begin());
  }

  void take_heads(const LogCells& cells) {
    heads_ = cells;
    is_in_mebi_ = place_of("max_mibytes_per_sec") < heads_.size();
    at_ = {place_of("n_elements"), place_of("sizeof"),
           place_of(is_in_mebi_ ? "max_mibytes_per_sec" : "max_mbytes_per_sec"), place_of("min_runtime"),
           place_of("max_runtime")};
    if (std::ranges::find(at_, heads_.size()) == at_.end()) return;
    reading_.fault(
        heads_.front(), "",
        "a column is missing: n_elements, sizeof, max_mbytes_per_sec, min_runtime and max_runtime are accepted");
    heads_.clear();
  }

  void read_row(const LogCell& line, const LogCells& cells) {
    if (cells.size() != heads_.size() || !lines_.is_ended()) {
      return reading_.fault(
          line.from(0, 0), "",
          fmt::format("the row is cut off: {} cells where {} and an end of line are due", cells.size(), heads_.size()));
    }
    const auto elements = reading_.number(cells[at_[0]], 1.0, 1e13, "n_elements");
    const auto size = reading_.number(cells[at_[1]], 1.0, 64.0, "sizeof");
    if (!elements || !size) return;
    record({.name = cells.front(),
            .rate = cells[at_[2]],
            .least = cells[at_[3]],
            .most = cells[at_[4]],
            .rate_unit = is_in_mebi_ ? mebi : mega,
            .array = *elements * *size},
           reading_);
  }

  LogLines lines_;
  LogReading reading_;
  LogCells heads_;
  std::array<std::size_t, 5> at_{};  // n_elements, sizeof, rate, least and greatest time
  bool is_in_mebi_ = false;
};

}  // namespace

bool is_babel_stream(std::string_view text) { return has_line(text, are_stream_heads); }

Reading read_babel_stream(std::string_view text, const std::string& name) {
  return StreamTableReader(text, name).read();
}

bool is_babel_stream_csv(std::string_view text) {
  return has_line(text,
                  [](const LogCell& line) { return line.text.starts_with("function,num_times,n_elements,sizeof,"); });
}

Reading read_babel_stream_csv(std::string_view text, const std::string& name) {
  return StreamCsvReader(text, name).read();
}

}  // namespace c3sim::calibrate
