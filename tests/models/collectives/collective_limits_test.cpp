// These tests check that every collective, by kernels and by every engine variant, over 2 to 8 GPUs, moves exactly its
// bytes, meets its bandwidth limit and never takes less time for more bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/collectives/collective.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_MiB;

// Returns every collective that the platform can run.
std::vector<CollectiveSpec> possible_collectives(const PlatformSpec& platform, sim::Bytes bytes) {
  const LoneNode node(platform);
  std::vector<CollectiveSpec> result;
  for (int gpus = 2; gpus <= platform.gpus; ++gpus) {
    for (const CollectiveKind kind : all_kinds) {
      CollectiveSpec spec = collective(kind, Backend::rccl, bytes, gpus);
      result.push_back(spec);
      spec.backend = Backend::sdma;
      for (const SdmaVariant variant : all_variants) {
        spec.variant = variant;
        if (why_impossible(spec, node).empty()) result.push_back(spec);
      }
    }
  }
  return result;
}

std::string words(const CollectiveSpec& spec) {
  return std::string(to_string(spec.kind)) + " " + std::string(to_string(spec.backend)) + " " +
         std::string(to_string(spec.variant)) + " on " + std::to_string(spec.gpus) + " GPUs";
}

// The library deals its channels to as many rings as there are peers. The function returns the share of the ring on
// this link, times the rings: 8 channels of 56 per ring on 8 GPUs; on 6, one of 4 for 4 of the 5 rings.
double share_of_ring(const CollectiveSpec& spec, int from, int to) {
  if (spec.backend == Backend::sdma || spec.kind == CollectiveKind::all_to_all) return 1.0;
  static const RcclSpec library = mi300x().rccl;
  const int channels = library.channels(spec);
  const int rings = spec.gpus - 1;
  const int ring = (to - from + spec.gpus) % spec.gpus - 1;
  return rings * (channels / rings + (ring < channels % rings ? 1 : 0)) / static_cast<double>(channels);
}

// Returns what a link carries of an array of 1 byte: a chunk, or two for an all-reduce. RCCL spreads the parts of a
// broadcast over the links, while the engines of GPU 0 send the whole array to every peer.
double payload(const CollectiveSpec& spec, int from, int to) {
  if (from >= spec.gpus || to >= spec.gpus || from == to) return 0.0;
  if (spec.kind == CollectiveKind::broadcast) {
    if (spec.backend == Backend::sdma) return from == 0 ? 1.0 : 0.0;
    return to == 0 ? 0.0 : share_of_ring(spec, from, to) / (spec.gpus - 1);
  }
  return share_of_ring(spec, from, to) * (spec.kind == CollectiveKind::all_reduce ? 2.0 : 1.0) / spec.gpus;
}

TEST(BytesAreConserved, OnEveryLinkOfEveryCollective) {
  PlatformSpec platform = mi300x({"gpu.sdma.reduction=true"});
  platform.fabric.reverse_share = 0.0;
  for (RcclProtocolSpec& protocol : platform.rccl.protocols) protocol.link_efficiency = 1.0;
  const sim::Bytes bytes(840.0 * 1048576.0);  // a multiple of every number of GPUs and of the parts of a broadcast
  for (const CollectiveSpec& spec : possible_collectives(platform, bytes)) {
    LoneNode node(platform);
    time_on(node, spec);
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        if (from == to) continue;
        EXPECT_NEAR(node.network().served(node.fabric().link(from, to)), bytes.value() * payload(spec, from, to), 100.0)
            << words(spec) << ", link " << from << " to " << to;
      }
    }
  }
}

// If seven engines send one shard, or four send it to two peers each, HBM reads it once and a cache serves the rest.
// One engine that sends it seven times reads it seven times, as engines do that send seven different parts.
TEST(BytesAreConserved, InHbmWhereEnginesReadOneShardSideBySide) {
  const PlatformSpec platform = mi300x();
  const MemorySpec& memory = platform.gpu.memory;
  const double part = 128.0 * 1048576.0;
  const auto served = [&](CollectiveKind kind, SdmaVariant variant) {
    CollectiveSpec spec = collective(kind, Backend::sdma, sim::Bytes(8.0 * part), 8);
    spec.variant = variant;
    LoneNode node(platform);
    time_on(node, spec);
    return node.network().served(node.gpu(3).memory().hbm());
  };
  const auto expected = [&](double reads) {
    return part * (reads / memory.hbm_read_efficiency + 7.0 / memory.hbm_write_efficiency);
  };
  const double relative = 1e-6;
  const double once = expected(1.0);
  const double seven_times = expected(7.0);
  EXPECT_NEAR(served(CollectiveKind::all_gather, SdmaVariant::pcpy), once, relative * once);
  EXPECT_NEAR(served(CollectiveKind::all_gather, SdmaVariant::bcst), once, relative * once);
  EXPECT_NEAR(served(CollectiveKind::all_gather, SdmaVariant::b2b), seven_times, relative * seven_times);
  EXPECT_NEAR(served(CollectiveKind::all_to_all, SdmaVariant::pcpy), seven_times, relative * seven_times);
}

// Returns the seconds per byte of the array, which the slower of links and engines decides.
double engine_seconds(const PlatformSpec& p, const CollectiveSpec& spec, CollectiveKind step) {
  const SdmaSpec& sdma = p.gpu.sdma;
  const double peers = spec.gpus - 1;
  const double share = step == CollectiveKind::broadcast ? 1.0 : 1.0 / spec.gpus;
  const bool one_way = step == CollectiveKind::broadcast;
  const double link = share / p.fabric.link_rate.value() * (one_way ? 1.0 : 1.0 + p.fabric.reverse_share);
  double engine = share / sdma.payload_rate.value();
  if (step == CollectiveKind::reduce_scatter) engine *= sdma.reduce_cost;
  if (spec.variant == SdmaVariant::swap) engine *= 2.0 * sdma.swap_cost;
  if (spec.variant == SdmaVariant::b2b) engine *= 1.0 + (peers - 1.0) * sdma.affinity_penalty;
  if (spec.variant == SdmaVariant::bcst && peers > 1.0) engine *= 2.0 * sdma.broadcast_cost;
  return std::max(link, engine);
}
double kernel_seconds(const PlatformSpec& p, const CollectiveSpec& spec) {
  const bool one_way = spec.kind == CollectiveKind::broadcast && spec.gpus == 2;
  return payload(spec, 0, 1) / p.rccl.protocols[2].link_efficiency / p.fabric.link_rate.value() *
         (one_way ? 1.0 : 1.0 + p.fabric.reverse_share);
}

// At 16 GiB, latencies of at most 100 us do not show. Channels have enough in flight that only links bound them.
TEST(CurvesMeetTheirLimits, LargeArraysMoveAtTheRateOfLinksOrEngines) {
  PlatformSpec platform = mi300x({"gpu.sdma.reduction=true"});
  platform.rccl.workgroup_in_flight = sim::Bytes(1e9);
  for (const CollectiveSpec& spec : possible_collectives(platform, 16384_MiB)) {
    double seconds = 0.0;
    if (spec.backend == Backend::rccl) {
      seconds = kernel_seconds(platform, spec);
    } else if (spec.kind == CollectiveKind::all_reduce) {
      seconds = engine_seconds(platform, spec, CollectiveKind::reduce_scatter) +
                engine_seconds(platform, spec, CollectiveKind::all_gather);
    } else {
      seconds = engine_seconds(platform, spec, spec.kind);
    }
    EXPECT_NEAR(microseconds_on(platform, spec) / (spec.bytes.value() * seconds * 1e6), 1.0, 0.02) << words(spec);
  }
}

// Doubling a small array costs next to nothing.
TEST(CurvesMeetTheirLimits, SmallArraysTakeTheirLatencies) {
  const PlatformSpec platform = mi300x({"gpu.sdma.reduction=true"});
  for (CollectiveSpec spec : possible_collectives(platform, sim::Bytes(1024))) {
    const double small = microseconds_on(platform, spec);
    spec.bytes = sim::Bytes(2048);
    EXPECT_NEAR(microseconds_on(platform, spec) / small, 1.0, 0.01) << words(spec);
    EXPECT_GT(small, 5.0) << words(spec);
  }
}

TEST(CurvesMeetTheirLimits, MoreBytesNeverTakeLessTime) {
  PlatformSpec platform = mi300x({"gpu.sdma.reduction=true"});
  for (CollectiveSpec spec : possible_collectives(platform, sim::Bytes(1024))) {
    double before = 0.0;
    for (double bytes = 1024.0; bytes <= 1024.0 * 1048576.0; bytes *= 32.0) {
      spec.bytes = sim::Bytes(bytes);
      const double time = microseconds_on(platform, spec);
      EXPECT_GE(time, before) << words(spec) << " of " << bytes;
      before = time;
    }
  }
}

}  // namespace
}  // namespace c3sim::models
