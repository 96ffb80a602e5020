#include <array>

#include "calibrate/readers/rccl_tests_json.h"
#include "calibrate/readers/rccl_tests_text.h"
#include "calibrate/readers/reader.h"
#include "calibrate/readers/transfer_bench_csv.h"
#include "calibrate/readers/transfer_bench_text.h"

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
                is_transfer_bench_text, read_transfer_bench_text}};
  return formats;
}

}  // namespace c3sim::calibrate
