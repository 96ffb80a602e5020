// How long a GEMM and an all-gather take at once, with the data moved by RCCL's kernels (c3_sp) or by SDMA engines
// (conccl).
#include <c3sim/study/ask/questions.h>
#include <c3sim/study/play/platform_file.h>

#include <exception>
#include <filesystem>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  using namespace c3sim;
  using sim::operator""_MiB;
  try {
    const std::vector<std::filesystem::path> folders{PLATFORMS};
    const auto file = study::find_platform(argc > 1 ? argv[1] : "mi300x", "platform", folders);
    study::Testbed testbed(study::read_platform(file, {}).spec);

    study::Scenario scenario{
        .gemm = {.m = 8192, .n = 57344, .k = 8192}, .collective = models::CollectiveKind::all_gather, .bytes = 896_MiB};
    const std::vector<study::C3Trial> trials{{scenario, study::Strategy::c3_sp}, {scenario, study::Strategy::conccl}};
    for (const study::C3Result& result : study::ask(testbed, study::Question(trials)).results) {
      std::cout << study::to_string(result.strategy) << ' ' << sim::to_microseconds(result.makespan) << " us\n";
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
