#include "calibrate/readers/log_formats.h"

#include <array>

#include "calibrate/readers/kineto.h"
#include "calibrate/readers/profile_reading.h"
#include "calibrate/readers/reader.h"
#include "calibrate/readers/rocprof_trace.h"

namespace c3sim::calibrate {

std::span<const LogFormat> log_formats() {
  static constexpr std::array formats{
      LogFormat{"rccl-tests", "times of collectives by size, as all_reduce_perf and its siblings print them",
                is_rccl_tests_text, read_rccl_tests_text},
      LogFormat{"rccl-tests JSON", "the same as they write them with -J FILE (nccl-tests) or -Z json (rccl-tests)",
                is_rccl_tests_json, read_rccl_tests_json},
      LogFormat{"TransferBench CSV", "rates of transfers, as TransferBench writes them with OUTPUT_TO_CSV=1",
                is_transfer_bench_csv, read_transfer_bench_csv},
      LogFormat{"TransferBench", "rates of transfers and the tables of p2p and a2a, as TransferBench prints them",
                is_transfer_bench_text, read_transfer_bench_text},
      LogFormat{"hipblaslt-bench", "times of GEMMs, as hipblaslt-bench prints them", is_hipblaslt_bench,
                read_hipblaslt_bench},
      LogFormat{"rocblas-bench", "times of GEMMs, as rocblas-bench prints them", is_rocblas_bench, read_rocblas_bench},
      LogFormat{"BabelStream", "rates of streams, as BabelStream prints them", is_babel_stream, read_babel_stream},
      LogFormat{"BabelStream CSV", "the same with --csv", is_babel_stream_csv, read_babel_stream_csv},
      LogFormat{"rocprofv3 kernel trace", "times of kernels by name, from rocprofv3 --kernel-trace",
                is_rocprof_kernel_trace, read_rocprof_trace},
      LogFormat{"rocprofv3 memory copy trace", "times of copies, from rocprofv3 --memory-copy-trace",
                is_rocprof_copy_trace, read_rocprof_trace},
      LogFormat{"rocprofv3 counters", "counters of kernels by name, from rocprofv3 --pmc", is_rocprof_counters,
                read_rocprof_counters},
      LogFormat{"PyTorch profiler", "matrix products and collectives, from export_chrome_trace", is_kineto,
                read_torch_trace}};
  return formats;
}

}  // namespace c3sim::calibrate
