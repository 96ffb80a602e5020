#include "models/collectives/deliveries.h"

#include <cmath>

#include "models/collectives/algorithm.h"

namespace c3sim::models {

BufferRange chunk(const CollectiveSpec& spec, int device, int buffer, int rank) {
  const sim::Bytes bytes(std::ceil(spec.bytes.value() / spec.gpus));
  return {spec.first + device, buffer, rank * bytes, bytes};
}

BufferRange share_of(const BufferRange& whole, int first, int end, int parts) {
  const auto cut = [&whole, parts](int part) { return sim::Bytes(std::floor(whole.bytes.value() * part / parts)); };
  return {whole.device, whole.buffer, whole.begin + cut(first), cut(end) - cut(first)};
}

std::vector<Delivery> deliveries(CollectiveKind kind, const CollectiveSpec& spec, int from, int to) {
  const bool in_place = spec.backend == Backend::sdma && algorithm_of(spec.variant).in_place;
  const Delivery gathered{chunk(spec, to, output_buffer, from), chunk(spec, from, output_buffer, from)};
  const Delivery reduced{chunk(spec, to, output_buffer, to), chunk(spec, from, input_buffer, to)};
  const auto all = [&spec](int device, int buffer) {
    return BufferRange{spec.first + device, buffer, sim::Bytes(0.0), sim::Bytes(std::ceil(spec.bytes.value()))};
  };
  switch (kind) {
    case CollectiveKind::all_gather:
      return {gathered};
    case CollectiveKind::all_to_all:
      return {{chunk(spec, to, output_buffer, from), chunk(spec, from, in_place ? output_buffer : input_buffer, to)}};
    case CollectiveKind::reduce_scatter:
      return {reduced};
    case CollectiveKind::all_reduce:
      if (!algorithm_of(spec.backend).loads_addends) return {reduced, gathered};
      return {{all(to, output_buffer), all(from, input_buffer)}};
    case CollectiveKind::broadcast:
      if (from != 0) return {};
      return {{all(to, output_buffer), all(from, output_buffer)}};
  }
  return {};
}

std::vector<Delivery> deliveries_by(CollectiveKind kind, const CollectiveSpec& spec, int senders) {
  std::vector<Delivery> all;
  for (int from = 0; from < senders; ++from) {
    for (int to = 0; to < spec.gpus; ++to) {
      if (from == to) continue;
      for (const Delivery& due : deliveries(kind, spec, from, to)) all.push_back(due);
    }
  }
  return all;
}

void expect_deliveries(CollectiveKind kind, const CollectiveSpec& spec, int senders, DeliveryLedger& ledger) {
  for (const Delivery& due : deliveries_by(kind, spec, senders)) ledger.expect(due.destination, due.source);
}

}  // namespace c3sim::models
