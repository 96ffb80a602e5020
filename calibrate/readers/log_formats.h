// The logs of tools that are read: each in the file of its name, with a function that knows its texts and one that
// reads them. `name` is that of the file.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/readers/measurement.h"

namespace c3sim::calibrate {

bool is_rccl_tests_text(std::string_view text);
Reading read_rccl_tests_text(std::string_view text, const std::string& name);

bool is_rccl_tests_json(std::string_view text);
Reading read_rccl_tests_json(std::string_view text, const std::string& name);

bool is_transfer_bench_csv(std::string_view text);
Reading read_transfer_bench_csv(std::string_view text, const std::string& name);

bool is_transfer_bench_text(std::string_view text);
Reading read_transfer_bench_text(std::string_view text, const std::string& name);

bool is_hipblaslt_bench(std::string_view text);
Reading read_hipblaslt_bench(std::string_view text, const std::string& name);

bool is_rocblas_bench(std::string_view text);
Reading read_rocblas_bench(std::string_view text, const std::string& name);

bool is_babel_stream(std::string_view text);
Reading read_babel_stream(std::string_view text, const std::string& name);

bool is_babel_stream_csv(std::string_view text);
Reading read_babel_stream_csv(std::string_view text, const std::string& name);

bool is_rocprof_counters(std::string_view text);
Reading read_rocprof_counters(std::string_view text, const std::string& name);

}  // namespace c3sim::calibrate
