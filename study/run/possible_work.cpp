#include "study/run/possible_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "models/kernels/gemm.h"

namespace c3sim::study {

namespace {

std::string reason_against(const models::GemmShape& shape, const models::Node& node) {
  if (shape.compulsory_bytes() > largest_array) {
    return fmt::format("{} does not fit any GPU: matrices of at most {} together are accepted",
                       models::to_string(shape), sim::to_string(largest_array));
  }
  const models::GpuSpec& gpu = node.spec().gpu;
  if (!gpu.gemm.precision(shape.dtype)) {
    std::string known;
    for (const models::Dtype dtype : models::all_dtypes) {
      if (gpu.gemm.precision(dtype)) known.append(known.empty() ? "" : ", ").append(models::to_string(dtype));
    }
    return fmt::format("the platform has no matrix rate of {} (gpu.gemm.precisions): {} are accepted",
                       models::to_string(shape.dtype), known);
  }
  // Each wave is simulated: seconds for a million.
  constexpr std::int64_t most_waves = 1 << 21;
  const models::GemmPlan plan = models::plan_gemm(gpu, shape);
  const std::int64_t waves = plan.pieces() / std::max(1, gpu.slots(gpu.cus(), plan.kernel.workgroup));
  if (waves <= most_waves) return {};
  return fmt::format(
      "{} is {} waves of workgroups on the {} CUs of this GPU, {} are simulated: a smaller product, or "
      "more CUs, are accepted",
      models::to_string(shape), waves, gpu.cus(), most_waves);
}

std::string reason_against(const models::CollectiveSpec& spec, const models::Node& node) {
  return models::why_impossible(spec, node);
}

std::string reason_against(const models::FusedSpec& spec, const models::Node& node) {
  const std::string of_gemm = reason_against(spec.gemm, node);
  return of_gemm.empty() ? models::why_impossible(spec, node.spec()) : of_gemm;
}

std::string reason_against(const models::SdmaCopySpec& copy, const models::Node& node) {
  return models::why_impossible(copy, node.spec().gpu.sdma, node.gpus());
}

std::string reason_against(const models::SdmaPacketList& list, const models::Node& node) {
  return models::why_impossible(list, node.spec().gpu.sdma, node.gpus());
}

std::string reason_against(const models::ElementwiseSpec& spec, const models::Node& node) {
  return models::why_impossible(spec, node.spec().gpu);
}

std::string reason_against(const models::AttentionShape& shape, const models::Node& node) {
  return models::why_impossible(shape, node.spec().gpu);
}

std::string reason_against(const DelaySpec&, const models::Node&) { return {}; }
std::string reason_against(const HostWorkSpec&, const models::Node&) { return {}; }

std::string reason_against(const models::RemoteKernelSpec& spec, const models::Node& node) {
  return models::why_impossible(spec, node.gpus(), node.spec().gpu);
}

}  // namespace

std::string why_impossible(const Work& work, const models::Node& node) {
  return std::visit([&node](const auto& kind) { return reason_against(kind, node); }, work);
}

}  // namespace c3sim::study
