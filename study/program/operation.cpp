#include "study/program/operation.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

std::string words(const models::CollectiveSpec& spec) {
  std::string text(models::to_string(spec.backend));
  if (spec.backend == models::Backend::sdma) {
    text += fmt::format(" {}", models::to_string(spec.variant));
    if (spec.prelaunch) text += " prelaunched";
    if (spec.host_threads == models::HostThreads::one) text += " by one thread";
    if (spec.host_threads == models::HostThreads::per_gpu) text += " by a thread per GPU";
    if (spec.engines != 1) text += fmt::format(" on {} engines", spec.engines);
  }
  if (spec.graph) text += " graph-launched";
  if (spec.channels) text += fmt::format(" on {} channels", *spec.channels);
  if (spec.cus) text += fmt::format(" on {} CUs", *spec.cus);
  if (spec.algorithm) text += fmt::format(" by {}", models::to_string(*spec.algorithm));
  // All other types are reduced at the same cost.
  const bool is_rare = spec.dtype == models::ElementType::int8 || spec.dtype == models::ElementType::fp8;
  if (is_rare) text += fmt::format(" of {}", models::to_string(spec.dtype));
  const std::string gpus = spec.gpus == 0 ? "all" : fmt::to_string(spec.gpus);
  const std::string from = spec.first == 0 ? "" : " from " + device_name(spec.first);
  return fmt::format("{} {} of {} over {} GPUs{}", text, models::to_string(spec.kind), sim::to_string(spec.bytes), gpus,
                     from);
}

std::string words(const models::SdmaCopySpec& copy) {
  std::string text =
      fmt::format("copy {} to {} of {}", device_name(copy.from), device_name(copy.to), sim::to_string(copy.bytes));
  if (copy.pull) text += " pulled";
  if (copy.everywhere) text += ", likewise on every GPU";
  if (copy.engine) text += fmt::format(" by engine {}", *copy.engine);
  if (copy.submit) text += fmt::format(", {} blocks by {}", copy.copies, models::to_string(*copy.submit));
  return text;
}

}  // namespace

std::string to_string(const Work& work) {
  return std::visit(
      sim::Overloaded{[](const models::GemmShape& shape) { return "gemm " + models::to_string(shape); },
                      [](const models::CollectiveSpec& spec) { return words(spec); },
                      [](const models::SdmaCopySpec& copy) { return words(copy); },
                      [](const models::ElementwiseSpec& spec) { return "kernel: " + models::to_string(spec); },
                      [](const models::RemoteKernelSpec& spec) { return "kernel: " + models::to_string(spec); },
                      [](const DelaySpec& spec) { return "delay of " + sim::to_string(spec.time); },
                      [](const HostWorkSpec& spec) { return "host work of " + sim::to_string(spec.time); },
                      [](const auto& other) { return models::to_string(other); }},
      work);
}

std::string name_of(models::Backend backend) {
  return backend == models::Backend::rccl ? "RCCL" : std::string(models::to_string(backend));
}

std::span<const KindOfWork> kinds_of_work() {
  static constexpr std::array<KindOfWork, std::variant_size_v<Work>> kinds{{{"gemm", Doer::gemm, false, true},
                                                                            {"collective", Doer::channels, true, false},
                                                                            {"copy", Doer::engines, true, false},
                                                                            {"packets", Doer::engines, true, false},
                                                                            {"kernel", Doer::kernel, false, true},
                                                                            {"remote", Doer::kernel, true, false},
                                                                            {"delay", Doer::host, false, true},
                                                                            {"host", Doer::host, false, true},
                                                                            {"attention", Doer::kernel, false, true},
                                                                            {"fused", Doer::gemm, true, false}}};
  return kinds;
}

const KindOfWork& kind_of(const Work& work) { return kinds_of_work()[work.index()]; }

bool uses_links(const Work& work) { return kind_of(work).uses_links; }

bool waits_for_others(const Work& work) { return std::holds_alternative<models::SdmaPacketList>(work); }

Doer doer_of(const Work& work) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  return collective != nullptr && !models::by_kernels(collective->backend) ? Doer::engines : kind_of(work).doer;
}

bool is_kernel(const Work& work) {
  const Doer doer = doer_of(work);
  return doer != Doer::engines && doer != Doer::host;
}

bool may_be_queued(const Work& work, const models::SdmaSpec& engines) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  return is_kernel(work) || (collective != nullptr && models::kernel_part(*collective, engines).has_value());
}

sim::Bytes stored_by(const Work& work) {
  if (const auto* const shape = std::get_if<models::GemmShape>(&work))
    return shape->compulsory_bytes() - shape->operand_bytes();
  if (const auto* const shape = std::get_if<models::AttentionShape>(&work)) return shape->written();
  if (const auto* const kernel = std::get_if<models::ElementwiseSpec>(&work)) return kernel->written;
  return {};
}

Operation operation_of(Work work, models::CuMask mask, std::string stream) {
  std::string name = to_string(work);
  return {.name = std::move(name), .work = std::move(work), .mask = mask, .stream = std::move(stream), .after = {}};
}

models::CollectiveSpec on_gpus_of(const models::PlatformSpec& platform, models::CollectiveSpec collective) {
  if (collective.gpus == 0) collective.gpus = platform.gpus;
  return collective;
}

namespace {

// Returns the warning about a collective; empty if the library has the channels asked for.
std::string fewer_channels(const models::CollectiveSpec& collective, const models::PlatformSpec& platform) {
  const auto kernels = models::kernel_part(collective, platform.gpu.sdma);
  if (!kernels || !kernels->channels) return {};
  const int most = models::channels_of(*kernels, platform);
  if (*kernels->channels <= most) return {};
  return fmt::format("{} channels were asked for, but {} on {} has at most {} of {}: {} are simulated",
                     *kernels->channels, models::to_string(kernels->backend), platform.name, most,
                     models::to_string(kernels->kind), most);
}

}  // namespace

void warn_of_channels(std::vector<std::string>& warnings, const Work& work, const models::PlatformSpec& platform) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  std::string sentence = collective == nullptr ? "" : fewer_channels(*collective, platform);
  if (!sentence.empty() && std::ranges::count(warnings, sentence) == 0) warnings.push_back(std::move(sentence));
}

namespace {

// Units are what pieces divide; their count is 0 if work cannot be cut.
struct Units {
  double count = 0.0;
  const char* name = "bytes for each GPU";
};

// Returns the units of work, and cuts it to that piece.
Units cut_to(Work& work, const Piece& piece) {
  const auto cut = [&piece](std::int64_t& whole) { whole = piece_of(whole, piece.count, piece.index); };
  const auto cut_bytes = [&cut](sim::Bytes& whole) {
    auto bytes = static_cast<std::int64_t>(whole.value());
    cut(bytes);
    whole = sim::Bytes(static_cast<double>(bytes));
  };
  if (auto* const shape = std::get_if<models::GemmShape>(&work)) {
    const bool of_tokens = piece.axis == CutAxis::tokens;
    std::int64_t& whole = of_tokens ? shape->n : shape->k;
    const Units units{static_cast<double>(whole), of_tokens ? "tokens (n)" : "steps of the contraction (k)"};
    cut(whole);
    return units;
  }
  if (auto* const spec = std::get_if<models::CollectiveSpec>(&work)) {
    const Units units{spec->bytes.value() / spec->gpus};
    cut_bytes(spec->bytes);
    return units;
  }
  if (auto* const copy = std::get_if<models::SdmaCopySpec>(&work)) {
    const Units units = copy->submit ? Units{static_cast<double>(copy->copies), "blocks"} : Units{copy->bytes.value()};
    copy->submit ? cut(copy->copies) : cut_bytes(copy->bytes);
    return units;
  }
  auto* const kernel = std::get_if<models::ElementwiseSpec>(&work);
  if (kernel == nullptr) return {};
  const Units units{std::max(kernel->read, kernel->written).value()};
  for (sim::Bytes* const bytes : {&kernel->read, &kernel->written}) cut_bytes(*bytes);
  kernel->flops *= 1.0 / static_cast<double>(piece.count);
  kernel->elements *= 1.0 / static_cast<double>(piece.count);
  return units;
}

}  // namespace

std::int64_t piece_of(std::int64_t whole, std::int64_t count, std::int64_t index) {
  return whole * (index + 1) / count - whole * index / count;
}

std::string why_uncut(const Work& work, const Piece& piece) {
  if (piece.count == 1) return {};
  Work cut = work;
  const Units units = cut_to(cut, piece);
  if (units.count == 0.0) return "only a gemm, a collective, a copy and a kernel can be cut into pieces";
  if (units.count >= static_cast<double>(piece.count)) return {};
  return fmt::format("{} pieces cannot be had of {:.0f} {}", piece.count, units.count, units.name);
}

Work piece_of(Work work, const Piece& piece) {
  if (piece.count > 1) cut_to(work, piece);
  return work;
}

bool needs(const Piece& piece, const Piece& earlier, const Work& earlier_work) {
  const bool adds_up = earlier.axis == CutAxis::contraction && std::holds_alternative<models::GemmShape>(earlier_work);
  if (piece.count == 1 || earlier.count == 1 || piece.axis != earlier.axis || adds_up) return true;
  return piece.index * earlier.count < (earlier.index + 1) * piece.count &&
         earlier.index * piece.count < (piece.index + 1) * earlier.count;
}

}  // namespace c3sim::study
