#include <array>

#include "calibrate/rccl_tests_json.h"
#include "calibrate/rccl_tests_text.h"
#include "calibrate/reader.h"

namespace calibrate {

std::span<const LogFormat> log_formats() {
  static constexpr std::array formats{
      LogFormat{"rccl-tests", "times of collectives by size, as all_reduce_perf and its siblings print them",
                is_rccl_tests_text, read_rccl_tests_text},
      LogFormat{"rccl-tests JSON", "the same as they write them with -J FILE (nccl-tests) or -Z json (rccl-tests)",
                is_rccl_tests_json, read_rccl_tests_json}};
  return formats;
}

}  // namespace calibrate
