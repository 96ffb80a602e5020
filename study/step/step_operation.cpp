#include "study/step/step_operation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/check.h"

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
  SIM_CHECK(false);
  return Kind::all_reduce;
}

std::optional<models::CollectiveKind> collective_of(Kind kind) {
  for (const auto& [own, of_collective] : collective_kinds) {
    if (own == kind) return of_collective;
  }
  return {};
}

// A span ends when the host knows of it, `notice` after its kernels.
std::vector<StepPart> parts_of(const StepOperation& operation, const Span& span, const models::PlatformSpec& platform) {
  const sim::Time notice = platform.host.kernel_notice;
  const auto& [name, kind, work, stream, after, again] = operation;
  const auto* const fused = std::get_if<models::FusedSpec>(&work);
  const sim::Time start = span.began.value_or(span.start);
  if (fused == nullptr) {
    const sim::Time end = is_kernel(work) ? span.end - notice : span.end;
    return {{name, kind, work, std::min(start, end), end, again}};
  }
  const models::CollectiveSpec collective = models::collective_of(*fused, platform.gpus);
  const Kind kind_of_collective = kind_of(collective.kind);
  const std::string name_of_collective = name + "_" + std::string(to_string(kind_of_collective));
  const sim::Time end = models::ends_with_kernel(*fused, platform) ? span.end - notice : span.end;
  return {{name, kind, fused->gemm, start, span.gemm_end.value_or(span.end) - notice, again},
          {name_of_collective, kind_of_collective, collective, span.exchange_start.value_or(span.start), end, again}};
}

}  // namespace c3sim::study
