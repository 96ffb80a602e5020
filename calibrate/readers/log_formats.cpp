#include "calibrate/readers/log_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibrate/readers/log_reading.h"

namespace c3sim::calibrate {

std::span<const LogFormat> log_formats() {
  static const std::array formats{
      rccl_tests_text, rccl_tests_json, rccl_tests_csv,   transfer_bench_csv,   transfer_bench_text, hipblaslt_bench,
      rocblas_bench,   babel_stream,    babel_stream_csv, rocprof_kernel_trace, rocprof_copy_trace,  rocprof_counters,
      rocprof_json,    torch_trace,     vllm_bench,       inference_max,        unread_tool};
  return formats;
}

namespace {

struct UnreadTool {
  std::string_view name;
  std::string_view says;     // in one of its first lines
  std::string_view instead;  // which measures the same and is read
};
constexpr std::array tools{
    UnreadTool{"rocm_bandwidth_test", "RocmBandwidthTest Version", "TransferBench p2p"},
    UnreadTool{"nvbandwidth", "nvbandwidth Version", "c3sim-measure"},
    UnreadTool{"p2pBandwidthLatencyTest", "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]", "c3sim-measure"},
    UnreadTool{"CUDA's bandwidthTest", "[CUDA Bandwidth Test]", "c3sim-measure"},
    UnreadTool{"the OSU benchmarks", "# OSU MPI", "rccl-tests"},
};

// rocm_bandwidth_test without its first lines is known by its matrices.
constexpr std::string_view matrix_of_rocm = "D/D";

const UnreadTool* tool_of(std::string_view text) {
  constexpr int most_lines = 200;
  for (LogLines lines(text); lines.next() && lines.line().line <= most_lines;) {
    const LogCell line = trimmed(lines.line());
    if (line.text.size() > longest_log_line || line.text.starts_with('"')) continue;
    const auto* const found =
        std::ranges::find_if(tools, [&line](const UnreadTool& tool) { return line.text.starts_with(tool.says); });
    if (found != tools.end()) return found;
    if (line.text.starts_with(matrix_of_rocm) && words_of(line).size() > 1) return tools.data();
  }
  return nullptr;
}

Reading name_it(std::string_view text, const std::string& name) {
  LogReading log(name);
  if (const UnreadTool* const tool = tool_of(text)) {
    log.fault(
        {}, "",
        fmt::format("this is the output of {}, which is not read: that of {} is accepted", tool->name, tool->instead));
  }
  return std::move(log).take("this is the output of none of the tools that are known by name and not read");
}

}  // namespace

const LogFormat unread_tool{"a tool that is not read", "rocm_bandwidth_test, nvbandwidth and others, named as such",
                            [](std::string_view text) { return tool_of(text) != nullptr; }, name_it};

}  // namespace c3sim::calibrate
