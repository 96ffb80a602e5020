// Reads what BabelStream prints: the rates of its streams, as a table for people or, with --csv, as rows for programs.
// A rate is that of the fastest of many runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "calibrate/readers/log_reading.h"
#include "study/report/statistics.h"

namespace c3sim::calibrate {

namespace {

constexpr double mega = 1e6;
constexpr double mebi = 1024.0 * 1024.0;

// A StreamKernel reads and writes whole arrays (src/StreamModels.h of BabelStream: a = b, a = s*b, a = b+c, a = b+s*c,
// sum of a*b, a += b+s*c).
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

// Records the row of results, of arrays of `array` bytes (0: not said) that were gone through `runs` times.
void record(const LogTable& row, double array, double runs, LogReading& log) {
  const bool in_mebis = row.find("max_mibytes_per_sec").has_value();
  const LogCell& name = row.row().front();
  const LogCell& rate_cell = row.cell(in_mebis ? "max_mibytes_per_sec" : "max_mbytes_per_sec");
  const LogCell& least_cell = row.cell("min_runtime");
  const LogCell& most_cell = row.cell("max_runtime");
  const StreamKernel* const kernel = kernel_called(name.text);
  if (kernel == nullptr) {
    return log.fault(name, "function",
                     shown(name.text) + " is not known: Copy, Mul, Add, Triad, Dot and Nstream are accepted");
  }
  const std::string_view rate_name = in_mebis ? "MiBytes/sec" : "MBytes/sec";
  const auto rate = log.number(rate_cell, 1e-3, 1e10, rate_name);
  const auto least = log.number(least_cell, 1e-9, 3600.0, "Min (sec)");
  const auto most = log.number(most_cell, 1e-9, 3600.0, "Max");
  if (!rate || !least || !most) return;
  if (array <= 0.0) return log.fault(name, "Array size", "is missing: 'Array size: N MB' is accepted above the rates");
  const sim::Bytes bytes(std::round(array * (kernel->read + kernel->written)));
  const double value = *rate * (in_mebis ? mebi : mega);
  // Rate and least time must agree: cells that slipped into other columns do not. Times have five decimals, which tell
  // little of a short run.
  constexpr double rounding = 1e-5;
  if (!(std::abs(value * *least - bytes.value()) <= (0.02 + rounding / *least) * bytes.value())) {
    return log.fault(rate_cell, rate_name,
                     fmt::format("{} for {} s, where the arrays have {:.0f} B: columns that were mixed up?",
                                 shown(rate_cell.text), shown(least_cell.text), bytes.value()));
  }
  if (*most < *least) return log.fault(most_cell, "Max", shown(most_cell.text) + " is less than Min (sec)");
  if (bytes.value() < 1.0 || bytes > study::largest_array)
    return log.leave_out(name.line, "arrays of a size that has no model");
  log.add(measurement_of(name.line, fmt::format("BabelStream {}", kernel->name),
                         study::StreamTrial{kernel->read, kernel->written, bytes},
                         {.figure = study::Figure::rate,
                          .value = value,
                          .low = value * *least / *most,
                          .high = value,
                          .deviations = study::deviations_between(0.0, static_cast<std::size_t>(runs))}));
}

bool are_table_heads(const LogCell& line) {
  return trimmed(line).text.starts_with("Function") && (line.holds("MBytes/sec") || line.holds("MiBytes/sec"));
}

// Reads "268.4 MB (=0.3 GB)" as bytes.
double array_size(const LogCell& said, LogReading& log) {
  const LogCells words = words_of(said);
  constexpr std::string_view accepted = "'N MB' or 'N MiB' is accepted";
  if (words.size() < 2) {
    log.fault(said, "Array size", std::string(accepted));
    return 0.0;
  }
  const std::array<std::pair<std::string_view, double>, 6> units{
      {{"KB", 1e3}, {"KiB", 1024.0}, {"MB", mega}, {"MiB", mebi}, {"GB", 1e9}, {"GiB", 1024.0 * mebi}}};
  const auto* const unit = std::ranges::find(units, words[1].text, &std::pair<std::string_view, double>::first);
  if (unit == units.end()) {
    log.fault(words[1], "Array size", fmt::format("{} is no unit: {}", shown(words[1].text), accepted));
    return 0.0;
  }
  return log.number(words[0], 1e-6, 1e9, "Array size").value_or(0.0) * unit->second;
}

bool are_csv_heads(const LogCell& line) { return line.text.starts_with("function,num_times,n_elements,sizeof,"); }

// Reads the table for people, which other lines may follow, or the rows for programs, which other lines may precede.
Reading read_streams(std::string_view text, const std::string& name) {
  static const LogPattern device("^Using (?:HIP|CUDA) device (.*)");
  static const LogPattern size("^Array size:(.*)");
  static const LogPattern repeated("^Running kernels ([0-9]+) times");
  LogReading log(name, text);
  LogTable table(log);
  LogTable::Column elements;  // of CSV alone
  double array = 0.0;
  double runs = 100.0;  // as many as BabelStream does unless told otherwise
  while (log.next()) {
    const LogCell line = trimmed(log.line());
    const LogCells cells = elements ? fields_of(line, ",") : words_of(line);
    if (const LogCells gpu = device.groups(line); !gpu.empty()) {
      log.set_gpu(gpu[1].text);
    } else if (const LogCells said = size.groups(line); !said.empty()) {
      array = array_size(said[1], log);
    } else if (const LogCells times = repeated.groups(line); !times.empty()) {
      runs = log.number(times[1], 1.0, 1e9, "Running kernels").value_or(runs);
    } else if (are_table_heads(line) || are_csv_heads(line)) {
      const char* const rate = line.holds("MiBytes/sec") ? "max_mibytes_per_sec" : "max_mbytes_per_sec";
      table.take_heads(are_csv_heads(line)
                           ? fields_of(line, ",")
                           : LogCells{{"function"}, {rate}, {"min_runtime"}, {"max_runtime"}, {"avg_runtime"}});
      elements = table.find("n_elements");
      for (const char* const head : {"min_runtime", "max_runtime"}) table.require(head);
      if (!table.find("max_mibytes_per_sec")) table.require("max_mbytes_per_sec");
    } else if (table.is_readable() && !cells.empty() && !cells.front().text.empty() &&
               (elements || cells.size() == table.names().size() || kernel_called(cells.front().text) != nullptr)) {
      if (!table.take_row(cells, !log.is_cut())) continue;
      if (elements) {
        const auto of_array = log.number(table.cell(elements), 1.0, 1e13, "n_elements");
        const auto of_element = log.number(table.cell("sizeof"), 1.0, 64.0, "sizeof");
        const auto times_of_row = log.number(table.cell("num_times"), 1.0, 1e9, "num_times");
        if (!of_array || !of_element || !times_of_row) continue;
        array = *of_array * *of_element;
        runs = *times_of_row;
      }
      record(table, array, runs, log);
    }
  }
  return std::move(log).take("no stream: rows of rates are accepted below 'Function MBytes/sec ...' or its columns");
}

}  // namespace

const LogFormat babel_stream{
    "BabelStream", "rates of streams, as BabelStream prints them, also with --csv",
    [](std::string_view text) {
      return has_line(text, [](const LogCell& line) { return are_table_heads(line) || are_csv_heads(line); });
    },
    read_streams};

}  // namespace c3sim::calibrate
