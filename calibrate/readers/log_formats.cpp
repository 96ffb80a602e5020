#include "calibrate/readers/log_formats.h"

#include <algorithm>
#include <array>

namespace c3sim::calibrate {

std::span<const LogFormat> log_formats() {
  static const std::array formats{rccl_tests_text,     rccl_tests_json,      rccl_tests_csv,     transfer_bench_csv,
                                  transfer_bench_text, hipblaslt_bench,      rocblas_bench,      babel_stream,
                                  babel_stream_csv,    rocprof_kernel_trace, rocprof_copy_trace, rocprof_counters,
                                  rocprof_json,        torch_trace,          unread_tool};
  return formats;
}

const LogFormat* log_format_of(std::string_view text) {
  const auto formats = log_formats();
  const auto found = std::ranges::find_if(formats, [text](const LogFormat& one) { return one.recognises(text); });
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace c3sim::calibrate
