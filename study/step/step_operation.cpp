#include "study/step/step_operation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace c3sim::study {

namespace {

constexpr std::array<std::pair<Kind, models::CollectiveKind>, 4> collective_kinds{
    {{Kind::all_reduce, models::CollectiveKind::all_reduce},
     {Kind::all_gather, models::CollectiveKind::all_gather},
     {Kind::reduce_scatter, models::CollectiveKind::reduce_scatter},
     {Kind::all_to_all, models::CollectiveKind::all_to_all}}};

}  // namespace

Kind kind_of(models::CollectiveKind kind) {
  for (const auto& [own, of_collective] : collective_kinds) {
    if (of_collective == kind) return own;
  }
  return Kind::all_reduce;
}

std::optional<models::CollectiveKind> collective_of(Kind kind) {
  for (const auto& [own, of_collective] : collective_kinds) {
    if (own == kind) return of_collective;
  }
  return {};
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

}  // namespace c3sim::study
