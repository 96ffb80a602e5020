// These tests draw any work: of any accepted size, its arrays fit a GPU and its simulation takes about a second, or it
// is refused; and every legal experiment ends, with any operations in any order on any engines and queues.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sim/simulator.h"
#include "study/play/testbed.h"
#include "study/play/work_bounds.h"
#include "tests/study/random_trial.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_us;

const models::PlatformSpec& bounded_platform() {
  static const models::PlatformSpec spec = mi300x().spec;
  return spec;
}

// A kernel that works in place writes where it has read.
TEST(WorkBounds, TakeTheLargerOfWhatAKernelReadsAndWrites) {
  EXPECT_EQ(arrays_of(models::ElementwiseSpec{.read = 3_MiB, .written = 2_MiB, .flops = {}}), 3_MiB);
}

// 300000 is 1172 tiles of 256: 1.4 million workgroups, one to a CU, are 4518 waves on all 304 CUs and 171698 on 8.
TEST(WorkBounds, CountWavesOnTheCusOfTheMask) {
  const models::GemmShape shape{300000, 300000, 16};
  EXPECT_THAT(why_too_many_waves(shape, bounded_platform()), IsEmpty());
  EXPECT_THAT(why_too_many_waves(shape, bounded_platform(), {0, 1}),
              HasSubstr("waves of workgroups on 8 CUs, 131072 are"));
  models::PlatformSpec rounds = bounded_platform();
  rounds.host.protocol = models::Protocol::rounds;
  EXPECT_THAT(why_too_many_waves(shape, rounds, {0, 8}), HasSubstr("on 64 CUs, 16384 are simulated"));
}

// Returns a size up to the largest that words accept.
std::int64_t any_extent(int most_bits) {
  const int bits = *rc::gen::inRange(0, most_bits + 1);
  return std::max<std::int64_t>(1, (std::int64_t{1} << bits) - *rc::gen::inRange(0, 2));
}

sim::Bytes any_array() { return sim::Bytes(static_cast<double>(any_extent(40))); }

Work any_work() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return models::GemmShape{any_extent(24), any_extent(24), any_extent(24), models::Dtype::bf16, any_extent(24)};
    case 1: {
      models::AttentionShape shape{.batch = any_extent(24), .heads = any_extent(24), .queries = any_extent(24)};
      shape.kv_heads = shape.heads;
      shape.keys = shape.queries + any_extent(24);
      shape.head_dim = any_extent(12);
      shape.backward = *rc::gen::inRange(0, 2) == 1;
      return shape;
    }
    case 2:
      return models::ElementwiseSpec{.read = any_array(),
                                     .written = any_array(),
                                     .flops = {},
                                     .workgroups = static_cast<int>(*rc::gen::inRange(0, 1'000'001))};
    case 3: {
      auto spec = collective(any_choice(sim::choices_of<models::Backend>()),
                             any_choice(sim::choices_of<models::CollectiveKind>()), any_array());
      spec.gpus = 8;
      spec.variant = any_choice(sim::choices_of<models::SdmaVariant>());
      if (models::by_kernels(spec.backend)) spec.variant = {};
      return spec;
    }
    case 4: {
      models::SdmaCopySpec copy{.from = *rc::gen::element(0, models::host_device), .bytes = any_array()};
      if (*rc::gen::inRange(0, 3) == 0) return copy;
      copy.submit = any_choice(sim::choices_of<models::Submission>());
      copy.copies = any_extent(24);
      return copy;
    }
    default:
      return models::RemoteKernelSpec{.peers = {1, 2}, .bytes = any_array(), .workgroups = *rc::gen::inRange(1, 305)};
  }
}

// A simulation of waves handles about 10 million events in a second.
RC_GTEST_PROP(WorkBounds, AnySizeIsAnsweredSoonOrRefused, ()) {
  const Work work = any_work();
  RC_LOG() << to_string(work);
  Testbed bed(bounded_platform());
  if (!bed.why_impossible(work).empty()) return;
  int looks = 0;
  const sim::Interruption bound([&looks] { RC_ASSERT(++looks < 512); });  // times 4096 events
  const Timeline& timeline = bed.run({operation_of(work)});
  RC_ASSERT(timeline.makespan() > sim::Time(0));
  RC_ASSERT(timeline.makespan() < std::chrono::hours(24));
}

// The next tests run several operations.

constexpr int node_gpus = 4;

// The machines differ in whether many or few share queues, in the room of queues, and in whether doorbells ring apart
// or together.
const std::vector<models::PlatformSpec>& machines_to_try() {
  static const std::vector<models::PlatformSpec> all = [] {
    const std::vector<std::vector<std::string>> settings{
        {},
        {"gpu.sdma.queues_per_engine=1"},
        {"gpu.sdma.queues_per_engine=2", "gpu.sdma.engines=4", "gpu.memory.near_memory=hbm"},
        {"gpu.sdma.ring=2KiB", "gpu.sdma.reduction=true"},
        {"gpu.sdma.ring=2KiB", "gpu.sdma.queues_per_engine=1", "gpu.sdma.batched_doorbell=true"},
        {"gpu.sdma.submitted_by=gpu", "gpu.sdma.completion_seen_by=gpu", "gpu.memory.near_memory=hbm"},
        {"gpu.dispatch.policy=rotation", "gpu.dispatch.quantum=0ms", "host.threads=per_gpu"}};
    std::vector<models::PlatformSpec> platforms;
    for (std::vector<std::string> assignments : settings) {
      assignments.insert(assignments.end(), {"gpus=4", "host.protocol=shot"});
      platforms.push_back(mi300x(assignments).spec);
    }
    return platforms;
  }();
  return all;
}

bool maybe() { return any_of({0, 1}) == 1; }
sim::Bytes any_size() { return any_of({sim::Bytes(64.0), 64_KiB, 8_MiB}); }
int another(int gpu) { return (gpu + any_of({1, 2, 3})) % node_gpus; }

models::CollectiveSpec some_collective() {
  models::CollectiveSpec spec = any_collective();
  spec.bytes = any_size();
  spec.first = any_of({0, 0, 1});
  spec.gpus = any_of({node_gpus - spec.first, 2});
  spec.host_threads = {};
  return spec;
}

models::SdmaCopySpec some_copy() {
  models::SdmaCopySpec copy{.from = any_of({0, 0, 1, models::host_device}), .bytes = any_size()};
  copy.to = copy.from == models::host_device ? 0 : another(copy.from);
  if (maybe()) copy.engine = any_of({0, 2, 14});
  copy.pull = maybe();
  copy.everywhere = any_of({0, 0, 1}) == 1;
  if (any_of({0, 0, 0, 1}) == 1) copy.submit = any_choice(sim::choices_of<models::Submission>());
  return copy;
}

// Returns packets, some of which wait for a word that may never be written.
models::SdmaPacketList some_packets() {
  using enum models::HandWrittenPacket::Kind;
  models::SdmaPacketList list{any_of({0, 1}), any_of({2, 14}), any_of({0, 0, 1}), {}};
  for (int i = any_of({1, 2, 3}); i > 0; --i) {
    models::HandWrittenPacket packet{.kind = any_of({copy, swap, poll, atomic, fence}),
                                     .peer = another(list.gpu),
                                     .bytes = any_size(),
                                     .word = any_of({"left", "right"}),
                                     .condition = {models::Comparison::at_least, 1},
                                     .value = 1};
    list.packets.push_back(std::move(packet));
  }
  return list;
}

models::FusedSpec some_fused() {
  models::FusedSpec spec{.gemm = any_of<models::GemmShape>({{1024, 4096, 512}, {512, 1024, 1024}}),
                         .kind = any_choice(sim::choices_of<models::CollectiveKind>()),
                         .path = any_of({models::FusedPath::direct, models::FusedPath::ring}),
                         .trigger = any_choice(sim::choices_of<models::TriggerChoice>()),
                         .stores = maybe(),
                         .pieces = any_of({1, 2, 4}),
                         .gpus = any_of({0, 0, 2})};
  return spec;
}

// Returns work of the given alternative of Work.
Work work_of_kind(std::size_t kind) {
  switch (kind) {
    case 0:
      return any_of<models::GemmShape>({{512, 512, 512}, {4096, 4096, 1024}});
    case 1:
      return some_collective();
    case 2:
      return some_copy();
    case 3:
      return some_packets();
    case 4:
      return models::ElementwiseSpec{any_size(), any_size(), {}, any_of({0, 8})};
    case 5:
      return models::RemoteKernelSpec{
          0, {another(0)}, any_of({models::RemoteAccess::store, models::RemoteAccess::load}), any_size(), 8};
    case 6:
      return DelaySpec{any_of({0_us, 30_us})};
    case 7:
      return HostWorkSpec{any_of({1_us, 30_us})};
    case 8:
      return models::AttentionShape{.heads = 8, .kv_heads = 8, .queries = 512, .keys = 512, .head_dim = 128};
    default:
      return some_fused();
  }
}

// Returns an operation with or without dependencies, on what earlier ones store where that is legal. The streams of an
// experiment are such dependencies.
Operation any_operation(const Schedule& before) {
  const std::size_t place = before.size();
  Operation operation;
  operation.name = std::string(1, static_cast<char>('a' + place));
  operation.work = work_of_kind(*rc::gen::inRange<std::size_t>(0, kinds_of_work().size()));
  for (std::size_t earlier = 0; earlier < place; ++earlier) {
    if (!maybe()) continue;
    operation.after.push_back(earlier);
    const sim::Bytes all = stored_by(before[earlier].work);
    if (all == sim::Bytes(0.0) || operation.stored || !maybe()) continue;
    operation.stored = StoredRange{earlier, sim::Bytes(0.0), any_of({0.01, 0.5, 1.0}) * all,
                                   any_choice(sim::choices_of<models::TriggerChoice>())};
  }
  if (is_kernel(operation.work)) operation.priority = any_of({0, 0, 1, -1});
  if (is_kernel(operation.work) && any_of({0, 0, 1}) == 1) operation.mask = any_of<models::CuMask>({{0, 4}, {19, 38}});
  if (kind_of(operation.work).on_any_gpus && maybe()) operation.gpus = {any_of({0, 1})};
  if (any_of({0, 0, 1}) == 1) operation.delay = 5_us;
  return operation;
}

bool polls(const Operation& operation) {
  const auto* const list = std::get_if<models::SdmaPacketList>(&operation.work);
  return list != nullptr &&
         std::ranges::count(list->packets, models::HandWrittenPacket::Kind::poll, &models::HandWrittenPacket::kind) > 0;
}

std::string words_of(const Schedule& schedule) {
  std::string text;
  for (const Operation& operation : schedule) {
    text += fmt::format("\n{}: {}, after [{}]{}, priority {}, CUs {} to {}, GPUs [{}], delay {}", operation.name,
                        to_string(operation.work), fmt::join(operation.after, " "),
                        operation.stored ? fmt::format(", stored by {} to {}, {}", operation.stored->by,
                                                       sim::to_string(operation.stored->end),
                                                       models::to_string(operation.stored->trigger))
                                         : "",
                        operation.priority, operation.mask.begin, operation.mask.end, fmt::join(operation.gpus, " "),
                        sim::to_string(operation.delay));
  }
  return text;
}

// Expects a drawn schedule to end. Packets that wait for ever are the user's fault: only with polls may it never end.
void expect_end(std::size_t operations) {
  const std::size_t machine = *rc::gen::inRange<std::size_t>(0, machines_to_try().size());
  Testbed testbed(machines_to_try()[machine]);
  Schedule schedule;
  while (schedule.size() < operations) {
    Operation operation = any_operation(schedule);
    if (testbed.why_impossible(operation.work).empty()) schedule.push_back(std::move(operation));
  }
  try {
    const Timeline& timeline = testbed.run(schedule);
    for (const Span& span : timeline.operations) RC_ASSERT(span.start <= span.end);
  } catch (const NeverEnds& error) {
    if (std::ranges::none_of(schedule, polls)) RC_FAIL(std::string(error.what()) + words_of(schedule));
  } catch (const std::exception& error) {
    RC_FAIL(fmt::format("machine {}: {}{}", machine, error.what(), words_of(schedule)));
  }
}

RC_GTEST_PROP(AnyOperations, TwoOfThemEnd, ()) {
  for (int i = 0; i < 4; ++i) expect_end(2);
}

RC_GTEST_PROP(FullAnyOperations, ThreeOfThemEnd, ()) {
  for (int i = 0; i < 20; ++i) expect_end(3);
}

// Both products fill the CUs. The one that comes second is served first, and its workgroups wait on their CUs for
// pieces that engines send.
TEST(AnyOperations, AFusedProductOfHighPriorityDoesNotWaitForOneBehindWhichItsPiecesLie) {
  Testbed testbed(machines_to_try().back());
  models::FusedSpec scatters{.gemm = {8192, 8192, 1024}, .trigger = models::trigger_named("flag"), .pieces = 4};
  models::FusedSpec gathers = scatters;
  gathers.kind = models::CollectiveKind::all_gather;
  Schedule schedule{operation("scatters", scatters), operation("gathers", gathers)};
  schedule.back().priority = 1;
  schedule.back().delay = 5_us;
  EXPECT_GT(testbed.run(schedule).makespan(), 0_us);
}

// The copy's commands come to the engine's only queue late: when the GEMM has ended, though those of the collective,
// which waits for the copy, could have been queued from the start.
TEST(AnyOperations, APrelaunchedCollectiveComesBehindTheCopyThatItWaitsFor) {
  Testbed testbed(machines_to_try().front());
  models::CollectiveSpec prelaunched = collective(models::Backend::sdma, models::CollectiveKind::all_gather, 8_MiB);
  prelaunched.gpus = node_gpus;
  prelaunched.prelaunch = true;
  const Timeline& timeline =
      testbed.run({operation("gemm", models::GemmShape{512, 512, 512}),
                   operation("copy", models::SdmaCopySpec{.from = 0, .to = 1, .bytes = 8_MiB}, {0}),
                   operation("collective", prelaunched, {1})});
  EXPECT_GE(timeline.operations[2].start, timeline.operations[1].end);
}

}  // namespace
}  // namespace c3sim::study
