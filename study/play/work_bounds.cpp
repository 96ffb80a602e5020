#include "study/play/work_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/kernels/gemm.h"
#include "sim/config/config_text.h"
#include "sim/overloaded.h"
#include "study/play/play.h"

namespace c3sim::study {

namespace {

// EqualParts names the equal parts that make up work and counts them.
struct EqualParts {
  const char* name = nullptr;
  double count = 1.0;
};

EqualParts equal_parts_of(const Work& work) {
  return std::visit(sim::Overloaded{[](const models::AttentionShape& shape) {
                                      return EqualParts{"sequences", static_cast<double>(shape.batch)};
                                    },
                                    [](const models::GemmShape& shape) {
                                      return EqualParts{"products", static_cast<double>(shape.products)};
                                    },
                                    [](const models::SdmaCopySpec& copy) {
                                      return EqualParts{"blocks", static_cast<double>(copy.copies)};
                                    },
                                    [](const models::RemoteKernelSpec& spec) {
                                      return EqualParts{"peers", static_cast<double>(spec.peers.size())};
                                    },
                                    [](const auto&) { return EqualParts{}; }},
                    work);
}

// Waves holds the workgroups of work and how many run at once: small ones are assumed to run one per CU.
struct Waves {
  double workgroups = 0.0;
  int at_once = 1;
  double count() const { return std::ceil(workgroups / std::max(1, at_once)); }
};

Waves waves_of(const Work& work, const models::GpuSpec& gpu, models::CuMask mask) {
  const int cus = gpu.memory.xcds * mask.cus(gpu.cus_per_xcd);
  const auto of_product = [&](const models::GemmShape& shape) {
    const models::GemmPlan plan = models::plan_gemm(gpu, shape, mask);
    return Waves{static_cast<double>(plan.pieces()), gpu.slots(cus, plan.kernel.workgroup)};
  };
  return std::visit(sim::Overloaded{of_product, [&](const models::FusedSpec& spec) { return of_product(spec.gemm); },
                                    [&](const models::SdmaCopySpec& copy) {
                                      const bool gathers = copy.submit == models::Submission::kernel;
                                      return gathers ? Waves{static_cast<double>(copy.copies), cus} : Waves{};
                                    },
                                    [&](const models::ElementwiseSpec& spec) {
                                      return Waves{static_cast<double>(spec.workgroups), cus};
                                    },
                                    [](const auto&) { return Waves{}; }},
                    work);
}

}  // namespace

sim::Bytes arrays_of(const Work& work) {
  return std::visit(
      sim::Overloaded{
          [](const models::GemmShape& shape) { return shape.compulsory_bytes(); },
          [](const models::FusedSpec& spec) { return spec.gemm.compulsory_bytes(); },
          [](const models::AttentionShape& shape) { return shape.read() + shape.written(); },
          [](const models::ElementwiseSpec& spec) { return std::max(spec.read, spec.written); },
          [](const models::CollectiveSpec& spec) { return spec.bytes; },
          [](const models::SdmaCopySpec& copy) { return copy.all_bytes(); },
          [](const models::SdmaPacketList& list) {
            sim::Bytes largest;
            for (const models::HandWrittenPacket& packet : list.packets) largest = std::max(largest, packet.bytes);
            return largest;
          },
          [](const models::RemoteKernelSpec& spec) { return static_cast<double>(spec.peers.size()) * spec.bytes; },
          [](const auto&) { return sim::Bytes(0.0); }},
      work);
}

std::string why_no_room(const Work& work, const models::PlatformSpec& platform) {
  const auto words = [](sim::Bytes bytes) { return sim::quantity_text(bytes.value(), sim::Dimension::bytes); };
  const sim::Bytes room = std::min(platform.gpu.memory.hbm_capacity, largest_array);
  const sim::Bytes arrays = arrays_of(work);
  if (arrays <= room) return {};
  std::string text = fmt::format(
      "{} takes {} and does not fit the memory of a GPU: arrays of at most {} together are accepted "
      "(gpu.memory.hbm.capacity)",
      to_string(work), words(arrays), words(room));
  const EqualParts parts = equal_parts_of(work);
  const double fit = std::floor(parts.count * (room / arrays));
  if (parts.count > 1.0 && fit >= 1.0) text += fmt::format(", which are {:.0f} {} of this size", fit, parts.name);
  return text;
}

std::string why_too_many_waves(const Work& work, const models::PlatformSpec& platform, models::CuMask mask) {
  // Simulating a wave takes about four microseconds. A measurement in rounds simulates it at least seven times.
  const double most = rounds_differ(platform) ? 1 << 14 : 1 << 17;
  const Waves waves = waves_of(work, platform.gpu, mask);
  if (waves.count() <= most) return {};
  return fmt::format(
      "{} is {:.0f} waves of workgroups on {} CUs, {:.0f} are simulated: {:.0f} workgroups, which are a smaller "
      "product or fewer blocks, or more CUs, are accepted",
      to_string(work), waves.count(), platform.gpu.memory.xcds * mask.cus(platform.gpu.cus_per_xcd), most,
      most * waves.at_once);
}

}  // namespace c3sim::study
