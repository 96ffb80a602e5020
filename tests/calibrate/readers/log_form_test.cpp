// Tests forms of logs: what a file of configs/formats/logs/ may say, and that no row of a log is lost.
#include "calibrate/readers/log_form.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/config_fault.h"
#include "tests/samples.h"

namespace c3sim::calibrate {
namespace {

LogTool tool_from(const std::string& yaml) {
  sim::Config config = sim::Config::from_text(yaml, "f.yaml");
  LogTool tool = LogTool::read(config.root(), "f");
  config.finish();
  return tool;
}

// The first input is the form, the others are logs.
TEST(ReadSamples, OfFormsOfLogs) {
  expect_samples("log_forms.samples", [](const Sample& sample) {
    return config_fault([&] { tool_from(sample.inputs.at(0).second); }) + "\n";
  });
}

// Each row is one of three: it is read, left out for want of a size above it, or at fault for a time that is none.
RC_GTEST_PROP(LogForm, LosesNoRow, (const std::vector<std::uint8_t>& lines)) {
  const LogTool tool = tool_from(R"(logs: [{name: t, nothing: none, recognised: t, says: 'size (?P<size>\d+)',
    tables: [{heads: '^# ', row: '^row'}], columns: {name: name, us: us}, once: [size]}]
rows: [{where: {size: ""}, leave_out: no size}, {trial: copy, with: {from: gpu0, to: gpu1, bytes: "{size}B"}, see: {time: "{us}us"}}])");
  std::string log = "# name us\n";
  std::size_t rows = 0;
  for (const std::uint8_t line : lines) {
    rows += line % 3 == 0 ? 0 : 1;
    log += line % 3 == 0 ? fmt::format("size {}\n", line + 1) : line % 3 == 1 ? "row 5\n" : "row x\n";
  }
  const Reading reading = read_log(tool.logs.at(0), tool.table, log, "f.log");
  RC_ASSERT(reading.measurements.size() + reading.left_out.size() + reading.faults.size() ==
            std::max(rows, std::size_t{1}));
}

}  // namespace
}  // namespace c3sim::calibrate
