#include <algorithm>
#include <iterator>

#include "calibrate/measurement_files.h"
#include "calibrate/replay/replay_report.h"
#include "validate/ask/commands.h"

namespace c3sim::validate {

namespace {

constexpr auto read_examples = R"(Examples:
  c3sim read all_reduce.log p2p.csv            what was run, how large, how often; what is left out, and why
  c3sim read gemms.txt --rows                  every measurement
  c3sim read *.csv --rows --format csv         the same for programs
  c3sim read trace.json.gz nccl.json           files may be compressed by gzip; each is read for the GPU it names
  c3sim read nccl.json --platform h200         a file that names no GPU is read for this one (mi300x unless given)
These can be read: rccl-tests and nccl-tests (text, JSON, CSV), TransferBench (text, CSV), hipblaslt-bench,
rocblas-bench, BabelStream (text, CSV), rocprofv3 (traces as CSV or JSON, counters), traces of PyTorch's profiler, and
tables whose columns carry their unit (time_us). If a trace has only the name of a kernel,
a list labels.csv beside the trace says what it computed: its columns are file,name,trial,fields, and a line of it is
trace.csv,Cijk_*,gemm,gemm=8192x8192x8192. The exit code is 2 if a file is missing or if no measurement is left;
otherwise rows at fault are warnings.)";

// Returns what each profiler's trace says of its GPU, and adds warnings about the trace.
std::vector<study::NamedTable> tables_of_profiles(const calibrate::MeasurementFiles& files,
                                                  std::vector<std::string>& warnings) {
  std::vector<study::NamedTable> tables;
  for (const calibrate::Reading& reading : files.readings) {
    if (!reading.profile) continue;
    std::ranges::move(calibrate::profile_tables(*reading.profile), std::back_inserter(tables));
    std::ranges::move(calibrate::profile_warnings(*reading.profile), std::back_inserter(warnings));
  }
  return tables;
}

study::Results answer_read(study::Request& request) {
  study::Arguments arguments;
  const Library library = library_of(request, arguments);
  const std::vector<std::filesystem::path> paths = request.files("file");
  const std::optional<std::string> asked = request.platform_name();
  calibrate::require_files(paths);
  if (asked) library.platforms({*asked, {}, {}});  // throws if no platform has this name
  const calibrate::MeasurementFiles files =
      calibrate::read_measurement_files(reader_of_everything(library), paths,
                                        [&](const auto& reading) { return screened_for(reading, library, asked, {}); });
  study::Results results = calibrate::report(files, request.says("rows"));
  std::vector<study::NamedTable> tables = tables_of_profiles(files, results.warnings);
  if (tables.empty() && !files.is_usable()) {
    const std::string where = paths.size() == 1 ? paths.front().string() : "FILE";
    request.fault_behind({where, "", "no measurement is left that can be used"});
  }
  std::ranges::move(results.tables, std::back_inserter(tables));  // after the tables of traces
  results.tables = std::move(tables);
  return results;
}

}  // namespace

study::Command read_command() {
  constexpr std::size_t columns_elsewhere = 120;
  return {
      "read",
      "Show what files of measurements say, as c3sim understands them, and what it does not",
      read_examples,
      std::vector<study::Option>{{"file", "FILE...", "Files of measurements", study::Said::all_in_place, true},
                                 {"rows", "", "Also show every measurement", study::Said::alone}} +
          study::base_options("Platform by its name or its file, for which the files are read (unless given, the GPU "
                              "that each file names; one that names none is read for mi300x)"),
      answer_read,
      columns_elsewhere};
}

}  // namespace c3sim::validate
