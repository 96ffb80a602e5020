// The logs of tools that are read, each in the file of its name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

// The output of a tool. A reader never throws; it tells by line what it could not read.
struct LogFormat {
  std::string_view name;   // "rccl-tests"
  std::string_view about;  // what a file of it holds, and which command writes it
  bool (*recognises)(std::string_view text);
  Reading (*read)(std::string_view text, const std::string& name);  // of the file
};
extern const LogFormat rccl_tests_text, rccl_tests_json, rccl_tests_csv, transfer_bench_csv, transfer_bench_text,
    hipblaslt_bench, rocblas_bench, babel_stream, babel_stream_csv, rocprof_kernel_trace, rocprof_copy_trace,
    rocprof_counters, rocprof_json, torch_trace, vllm_bench, inference_max, unread_tool;

// A text is of the first that recognises it; of none it may be a table.
std::span<const LogFormat> log_formats();

}  // namespace c3sim::calibrate
