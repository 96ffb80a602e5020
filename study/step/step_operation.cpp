#include "study/step/step_operation.h"

#include <algorithm>
#include <array>

namespace c3sim::study {

std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, kinds> names{
      "gemm",    "attention",  "norm",       "elementwise",    "optimizer",  "embedding", "copy",
      "softmax", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send"};
  return names[static_cast<std::size_t>(kind)];
}

Kind kind_of(models::CollectiveKind kind) {
  switch (kind) {
    case models::CollectiveKind::all_gather:
      return Kind::all_gather;
    case models::CollectiveKind::reduce_scatter:
      return Kind::reduce_scatter;
    case models::CollectiveKind::all_to_all:
      return Kind::all_to_all;
    default:
      return Kind::all_reduce;
  }
}

// A span ends when the host knows of it, `notice` after its kernels.
std::vector<StepPart> parts_of(const std::string& name, Kind kind, const Work& work, const Span& span,
                               const models::PlatformSpec& platform) {
  const sim::Time notice = platform.host.kernel_notice;
  const auto* const fused = std::get_if<models::FusedSpec>(&work);
  if (fused == nullptr) {
    const sim::Time end = is_kernel(work) ? span.end - notice : span.end;
    // Behind others it begins a gap after their end.
    const bool is_behind = is_kernel(work) && !communicates(kind) && span.start > sim::Time(0);
    return {{name, kind, work, is_behind ? std::min(end, span.start + platform.host.kernel_gap) : span.start, end}};
  }
  const models::CollectiveSpec collective = models::collective_of(*fused, platform.gpus);
  const Kind kind_of_collective = kind_of(collective.kind);
  const std::string name_of_collective = name + "_" + std::string(to_string(kind_of_collective));
  const sim::Time end = models::ends_with_kernel(*fused, platform) ? span.end - notice : span.end;
  return {{name, kind, fused->gemm, span.start, span.gemm_end.value_or(span.end) - notice},
          {name_of_collective, kind_of_collective, collective, span.exchange_start.value_or(span.start), end}};
}

std::optional<models::CollectiveKind> collective_of(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return models::CollectiveKind::all_reduce;
    case Kind::all_gather:
      return models::CollectiveKind::all_gather;
    case Kind::reduce_scatter:
      return models::CollectiveKind::reduce_scatter;
    case Kind::all_to_all:
      return models::CollectiveKind::all_to_all;
    default:
      return {};
  }
}

}  // namespace c3sim::study
