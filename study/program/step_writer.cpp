#include "study/program/step_writer.h"

#include <algorithm>
#include <cmath>

#include "models/collectives/algorithm.h"

namespace c3sim::study {

Written StepWriter::add(const std::string& name, Kind kind, Work work, const std::string& stream) {
  operations_.push_back(
      {next_handle_++, full(name), kind, std::move(work), stream, {}, again_ ? 0.0 : of_model_, with_attention_});
  wait(std::exchange(awaited_, {}));
  return last();
}

void StepWriter::wait(const Written& who, const Written& on, std::int64_t shift) {
  if (!on) return;
  for (StepOperation& one : operations_) {
    if (one.handle == who) one.after.push_back({*on, "layer", shift});
  }
}

Written StepWriter::product(const std::string& name, models::GemmShape shape, bool plain) {
  shape.dtype = plain ? question_.activation_format() : question_.dtype;
  const std::optional<models::Dtype> weights = question_.formats.weights;
  const bool has_weights = !plain && shape.layout != models::Layout::weight_gradient;
  if (has_weights && weights && size_of(*weights) != size_of(question_.dtype)) shape.weights = weights;
  return add(name, Kind::gemm, shape);
}

void StepWriter::reduce_last() {
  if (!question_.fuses()) return;
  Work& work = operations_.back().work;
  work = models::by_tracker(std::get<models::GemmShape>(work), question_.tp, machine_.platform);
}

models::AttentionShape StepWriter::attention_shape(bool absorbed) const {
  models::AttentionShape shape{.batch = question_.batch,
                               .heads = model().heads / question_.tp,
                               .kv_heads = question_.kv_heads(),
                               .queries = question_.tokens,
                               .keys = question_.context + question_.tokens,
                               .head_dim = model().head_dim,
                               .causal = model().causal,
                               .dtype = question_.activation_format(),
                               .soft_cap = model().soft_cap};
  if (model().values() != model().head_dim) shape.value_dim = model().values();
  if (absorbed) {
    shape.kv_heads = 1;
    shape.head_dim = model().kv_rank + model().rotary_dim;
    shape.value_dim = model().kv_rank;
    shape.shared_values = true;
  }
  if (question_.cache_format() != shape.dtype && question_.phase != Phase::train)
    shape.cache = question_.cache_format();
  return shape;
}

void StepWriter::attention(const std::string& name, bool backward, bool absorbed) {
  models::AttentionShape shape = attention_shape(absorbed);
  shape.backward = backward;
  shape.dropout = question_.phase == Phase::train && model().attention_dropout > 0.0;
  if (shape.decodes()) {
    shape.keys = model().seen(shape.keys);
  } else if (shape.causal && model().window < shape.keys) {
    shape.window = model().window;
  }
  if (question_.cp > 1) {
    shape.queries /= 2L * question_.cp;
    add(name + "_end", Kind::attention, shape);
    if (shape.causal) shape.keys = question_.context + shape.queries;
  }
  add(name, Kind::attention, shape);
}

void StepWriter::decoding_attention(const std::string& name, bool absorbed) {
  if (question_.decoding == 0) return;
  models::AttentionShape shape = attention_shape(absorbed);
  shape.batch = question_.decoding;
  shape.queries = 1;
  shape.keys = model().seen(question_.decoding_context + 1);
  add(name + "_decoding", Kind::attention, shape);
}

Written StepWriter::operate(const std::string& name, Kind kind, const ElementwiseOperator& operation, double elements,
                            sim::Bytes element, std::int64_t row) {
  const auto count = static_cast<std::int64_t>(std::max(1.0, std::ceil(elements)));
  models::ElementwiseSpec spec = kernel_of(operation, count, element, row);
  spec.strided = spec.strided && tokens() > 1;  // parts of a single row are contiguous
  return add(name, kind, spec);
}

CollectiveCarrier with_channels(CollectiveCarrier carrier, models::CollectiveKind kind, const StepQuestion& question,
                                const models::SdmaSpec& engines) {
  models::CollectiveSpec spec{.kind = kind, .backend = carrier.backend};
  if (!carrier.channels && models::kernel_part(spec, engines)) carrier.channels = question.channels;
  return carrier;
}

Written StepWriter::collective(const std::string& name, models::CollectiveKind kind, sim::Bytes bytes, int gpus,
                               const std::string& stream) {
  if (gpus == 1) return {};
  models::CollectiveSpec spec;
  spec.kind = kind;
  const CollectiveCarrier carrier = with_channels(question_.carrier_of(collective_name(full(name)), kind, bytes, gpus),
                                                  kind, question_, machine_.platform.gpu.sdma);
  spec.backend = carrier.backend;
  spec.bytes = sim::Bytes(std::round(bytes.value()));  // a mean over tokens need not be whole
  spec.gpus = gpus;
  spec.channels = carrier.channels;
  if (models::by_kernels(spec.backend)) {
    spec.graph = question_.graph;
  } else {
    spec.host_threads = models::HostThreads::per_gpu;
    const std::vector<models::CollectiveKind>& has = models::algorithm_of(question_.variant).kinds;
    if (std::ranges::count(has, kind) > 0) spec.variant = question_.variant;
    spec.prelaunch = question_.prelaunch;
  }
  return add(name, kind_of(kind), spec, stream);
}

}  // namespace c3sim::study
