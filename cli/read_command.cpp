#include "calibrate/measurement_files.h"
#include "cli/commands.h"
#include "validate/suite_data.h"

namespace c3sim::cli {

namespace {

constexpr auto read_examples =
    "Examples:\n"
    "  c3sim read all_reduce.log p2p.csv            what was run, how large, how often; what is left out, and why\n"
    "  c3sim read gemms.txt --rows                  every measurement\n"
    "  c3sim read *.csv --rows --format csv         the same for programs\n"
    "  c3sim read trace.json.gz nccl.json           compressed by gzip or not; each for the GPU that it names\n"
    "  c3sim read nccl.json --platform h200         of a file that names none; mi300x unless given\n"
    "Read are rccl-tests and nccl-tests (text, JSON), TransferBench (text, CSV), hipblaslt-bench, rocblas-bench,\n"
    "BabelStream (text, CSV), rocprofv3 (kernel and memory copy traces, counters), traces of PyTorch's profiler, and\n"
    "tables whose columns carry their unit (time_us). What a trace tells by the name of a kernel alone, a list "
    "labels.csv\n"
    "beside it says: file,name,trial,fields with lines such as trace.csv,Cijk_*,gemm,gemm=8192x8192x8192.\n"
    "The exit code is 2 where a file is not there or no measurement is left; rows that are at fault are warnings "
    "otherwise.";

}  // namespace

ReadCommand::ReadCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand(
      "read", "Show what files of measurements say, as c3sim understands them, and what it does not");
  command.footer(read_examples);
  command.add_option("FILE", files_, "Files of measurements")->type_name("FILE...")->required();
  command.add_flag("--rows", rows_, "Show every measurement");
  session.add_base_options(command);
  command.callback([this] { run(); });
}

void ReadCommand::run() {
  Arguments arguments;
  const validate::Library library = session_.library(arguments);
  calibrate::require_files(files_);
  if (const auto asked = session_.platform_name()) library.platforms({*asked, {}, {}});  // is there one of that name?
  const calibrate::MeasurementFiles files = calibrate::read_measurement_files(
      validate::reader_of_everything(library), files_,
      [&](const auto& reading) { return validate::screened_for(reading, library, session_.platform_name(), {}); });
  session_.wrap_text(120);
  session_.answer(calibrate::report(files, rows_));
  if (!files.is_usable()) throw sim::ConfigError({{"FILE", "", "no measurement is left that can be used"}});
}

}  // namespace c3sim::cli
