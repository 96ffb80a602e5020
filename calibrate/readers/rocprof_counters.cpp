// The counters that rocprofv3 writes as CSV (--pmc): a row per dispatch and counter. Dispatches are serialised and
// slowed down for counting, so that their times are not looked at; what a kernel computed is not said (measurement.h,
// NamedRuns).
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/csv_log.h"
#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/repeated_runs.h"

namespace c3sim::calibrate {

namespace {

struct Counts {
  int line = 0;
  std::vector<double> values;
};

Reading read_counters(std::string_view text, const std::string& name) {
  LogReading reading(name);
  CsvLog rows(text, reading);
  const auto kernel = rows.column("Kernel_Name");
  const auto counter = rows.column("Counter_Name");
  const auto value = rows.column("Counter_Value");
  std::map<std::pair<std::string, std::string>, Counts> counts;
  while (kernel && counter && value && rows.next()) {
    constexpr double most = 1e18;
    const auto count = reading.number(rows.cell(*value), 0.0, most, "Counter_Value");
    if (!count) continue;
    Counts& known = counts[{std::string(rows.cell(*kernel).text), std::string(rows.cell(*counter).text)}];
    if (known.values.empty()) known.line = rows.line();
    known.values.push_back(*count);
  }
  for (auto& [names, known] : counts) {
    const std::size_t runs = known.values.size();
    const auto [median, low, high] = percentiles_of(std::move(known.values));
    reading.add(NamedRuns{names.first, names.second, known.line, runs, median, low, high, 0.0});
  }
  return std::move(reading).take("no counter: rows of counters are accepted below their columns");
}

}  // namespace

const LogFormat rocprof_counters{"rocprofv3 counters", "counters of kernels by name, from rocprofv3 --pmc",
                                 [](std::string_view text) {
                                   return CsvLog::has_columns(text, {"Kernel_Name", "Counter_Name", "Counter_Value"});
                                 },
                                 read_counters};

}  // namespace c3sim::calibrate
