// Two kernels on one GPU, more workgroups than there is room for: which of them gets a CU that falls free.
#include <algorithm>
#include <map>
#include <utility>

#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

struct Stay {  // as device/kernels.cu has it
  std::uint64_t begin, end, cu;
};

struct Stays {
  std::vector<Stay> first, second;
};

Stays run_two(Lab& lab, int first, int second, Grid grid, std::uint64_t ticks) {
  Gpu& gpu = lab.gpu(0);
  const auto bytes = [](int workgroups) { return sizeof(Stay) * static_cast<std::size_t>(workgroups); };
  const Memory log = Memory::on(gpu, bytes(first + second)), seen = Memory::on(gpu, bytes(first + second), Home::host);
  const Stream one = lab.stream(0, 0), other = lab.stream(0, 1);
  lab.finish(0, other);
  grid.workgroups = first;
  lab.launch(0, "stay", grid, one, log.at(), ticks);
  grid.workgroups = second;
  lab.launch(0, "stay", grid, other, log.at(bytes(first)), ticks);
  lab.finish(0, other);
  gpu.copy(seen.at(), log.at(), bytes(first + second), one);
  lab.finish(0, one);
  const auto* const all = reinterpret_cast<const Stay*>(seen.at());
  return {{all, all + first}, {all + first, all + first + second}};
}

std::uint64_t earliest(const std::vector<Stay>& stays) { return std::ranges::min(stays, {}, &Stay::begin).begin; }
std::uint64_t latest_begin(const std::vector<Stay>& stays) { return std::ranges::max(stays, {}, &Stay::begin).begin; }
std::uint64_t latest(const std::vector<Stay>& stays) { return std::ranges::max(stays, {}, &Stay::end).end; }

}  // namespace

Rows measure_dispatch(Lab& lab, const Arguments& arguments) {
  const Device& device = lab.gpu(0).device();
  const Grid grid{.threads = arguments.count("threads"),
                  .local_memory = static_cast<std::size_t>(arguments.number("local_memory"))};
  const double microsecond = device.ticks_per_second * 1e-6;
  const auto ticks = static_cast<std::uint64_t>(arguments.count("stay_us") * microsecond);
  Stays stays;
  lab.on(0, [&] {
    run_two(lab, device.cus, device.cus, grid, ticks);  // wakes the clock up and loads the kernel
    stays = run_two(lab, arguments.count("first"), arguments.count("second"), grid, ticks);
  });
  const std::uint64_t start = earliest(stays.first);
  const auto after = [&](std::uint64_t time) {
    return spelled(time < start ? 0.0 : static_cast<double>(time - start) / microsecond);
  };
  // A place falls free when a workgroup ends, and whoever begins after that took one.
  const std::uint64_t first_free = std::ranges::min(stays.first, {}, &Stay::end).end;
  const std::uint64_t one_waits = std::min(latest_begin(stays.first), latest_begin(stays.second));
  const auto begun = [](const std::vector<Stay>& own, std::uint64_t from, std::uint64_t until) {
    return std::ranges::count_if(own, [&](const Stay& stay) { return stay.begin >= from && stay.begin < until; });
  };
  const auto to_second = begun(stays.second, first_free, one_waits);
  Row row;
  row["first_begin_us"] = after(start);
  row["first_end_us"] = after(latest(stays.first));
  row["second_begin_us"] = after(earliest(stays.second));
  row["second_end_us"] = after(latest(stays.second));
  row["places"] = std::to_string(begun(stays.first, 0, first_free) + begun(stays.second, 0, first_free));
  row["freed"] = std::to_string(begun(stays.first, first_free, one_waits) + to_second);
  row["to_second"] = std::to_string(to_second);
  return {row};
}

}  // namespace c3sim::measure
