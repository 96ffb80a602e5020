// These tests check that only the question decides who is fast: GPUs are alike, and so are equal copies.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "study/play/testbed.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;
using sim::operator""_us;

constexpr double rounding_us = 1e-3;  // the error of sums in another order

// Returns a node with four H200s or four MI300Xs.
const models::PlatformSpec& four_gpus(bool nvidia) {
  static const models::PlatformSpec h200s = h200({"gpus=4"}).spec;
  static const models::PlatformSpec mi300xs = mi300x({"gpus=4"}).spec;
  return nvidia ? h200s : mi300xs;
}

std::vector<int> any_order(std::size_t count) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  return order;
}

Operation copy_of(int from, int to, bool pull, sim::Bytes bytes, sim::Time delay = {}) {
  Operation operation = operation_of(models::SdmaCopySpec{
      .from = from, .to = to, .bytes = bytes, .pull = pull, .host_threads = models::HostThreads::per_gpu});
  operation.delay = delay;
  return operation;
}

// Returns copies between GPUs, some after others, together with streams on some GPUs.
Schedule any_schedule(int gpus) {
  Schedule schedule;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const int from = *rc::gen::inRange(0, gpus);
    const int to = (from + *rc::gen::inRange(1, gpus)) % gpus;
    schedule.push_back(copy_of(from, to, *rc::gen::inRange(0, 4) > 0, *rc::gen::inRange(1, 16) * 1_MiB,
                               *rc::gen::inRange(0, 2) * 7_us));
    const std::size_t place = schedule.size() - 1;
    if (place > 0 && *rc::gen::inRange(0, 2) == 0) schedule[place].after = {*rc::gen::inRange<std::size_t>(0, place)};
  }
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const models::ElementwiseSpec stream{*rc::gen::inRange(1, 64) * 1_MiB, 8_MiB, {}, *rc::gen::element(0, 8, 200)};
    Operation operation = operation_of(stream);
    operation.gpus = {*rc::gen::inRange(0, gpus)};
    schedule.push_back(std::move(operation));
  }
  return schedule;
}

Schedule permuted(Schedule schedule, const std::vector<int>& order) {
  const auto other = [&](int gpu) { return order[static_cast<std::size_t>(gpu)]; };
  for (Operation& operation : schedule) {
    for (int& gpu : operation.gpus) gpu = other(gpu);
    auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work);
    if (copy == nullptr) continue;
    copy->from = other(copy->from);
    copy->to = other(copy->to);
  }
  return schedule;
}

std::vector<double> ends_of(const models::PlatformSpec& platform, const Schedule& schedule) {
  Testbed testbed(platform);
  std::vector<double> ends;
  for (const Span& span : testbed.run(schedule).operations) ends.push_back(sim::to_microseconds(span.end));
  return ends;
}

void expect_equal(const std::vector<double>& one, const std::vector<double>& other, double within_us) {
  RC_ASSERT(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) RC_ASSERT(std::abs(one[i] - other[i]) < within_us);
}

RC_GTEST_PROP(Permutation, OfGpusLeavesTheTimesOfOperationsAsTheyAre, (bool nvidia)) {
  const models::PlatformSpec& platform = four_gpus(nvidia);
  const Schedule schedule = any_schedule(platform.gpus);
  const Schedule other = permuted(schedule, any_order(static_cast<std::size_t>(platform.gpus)));
  expect_equal(ends_of(platform, schedule), ends_of(platform, other), rounding_us);
}

// Pieces of a fused product go to its peers one after the other, in a circle that may start at any GPU. An engine
// serves commands and copies that come at one instant one after the other, which shifts ends by some set-ups.
RC_GTEST_PROP(Permutation, OfGpusInACircleLeavesAFusedProductAsItIs, (bool nvidia)) {
  const models::PlatformSpec& platform = four_gpus(nvidia);
  Schedule schedule = any_schedule(platform.gpus);
  schedule.push_back(operation_of(models::by_tracker({1024, 2048, 1024}, platform.gpus, platform)));
  std::vector<int> order(static_cast<std::size_t>(platform.gpus));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + *rc::gen::inRange(1, platform.gpus), order.end());
  expect_equal(ends_of(platform, schedule), ends_of(platform, permuted(schedule, order)), 10.0);
}

// Each GPU pulls the same bytes from each of its peers at once, in any order of the list. A host thread hands its three
// pulls over one after another, 3 us apart, so a GPU may be read from earlier or later by that. If one of three pulls
// were the fast one, it would be hundreds of microseconds off.
RC_GTEST_PROP(Permutation, OfEqualPullsMakesNoneTheFastOne, ()) {
  const models::PlatformSpec& platform = four_gpus(true);
  Schedule schedule;
  const sim::Bytes bytes = *rc::gen::inRange(64, 256) * 1_MiB;
  for (int gpu = 0; gpu < platform.gpus; ++gpu) {
    for (int distance = 1; distance < platform.gpus; ++distance) {
      schedule.push_back(copy_of((gpu + distance) % platform.gpus, gpu, true, bytes));
    }
  }
  Schedule shuffled;
  for (const int place : any_order(schedule.size())) shuffled.push_back(schedule[static_cast<std::size_t>(place)]);
  std::vector<double> ends = ends_of(platform, schedule);
  std::vector<double> others = ends_of(platform, shuffled);
  std::ranges::sort(ends);
  std::ranges::sort(others);
  expect_equal(ends, others, 30.0);
}

// Three pulls each way start at once, except for one a microsecond later, which shifts each by some microseconds.
RC_GTEST_PROP(Permutation, NoPullIsTheFastOneForAMicrosecond, ()) {
  const models::PlatformSpec& platform = four_gpus(true);
  Schedule schedule;
  for (int peer = 1; peer < platform.gpus; ++peer) schedule.push_back(copy_of(peer, 0, true, 2_MiB));
  for (int peer = 1; peer < platform.gpus; ++peer) schedule.push_back(copy_of(0, peer, true, 2_MiB));
  const std::vector<double> together = ends_of(platform, schedule);
  schedule[*rc::gen::inRange<std::size_t>(0, schedule.size())].delay = 1_us;
  const std::vector<double> apart = ends_of(platform, schedule);
  for (std::size_t i = 0; i < together.size(); ++i) RC_ASSERT(std::abs(together[i] - apart[i]) < 5.0);
}

}  // namespace
}  // namespace c3sim::study
