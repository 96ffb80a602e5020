#include "models/platform/attention_spec.h"

#include "models/platform/limits.h"

namespace c3sim::models {

AttentionSpec AttentionSpec::read(sim::Section section) {
  AttentionSpec spec;
  spec.tile_queries = static_cast<int>(section.integer("tile_queries", 16, 1024));
  spec.tile_keys = static_cast<int>(section.integer("tile_keys", 16, 1024));
  spec.efficiency = section.number("efficiency", 0.01, 1.0);
  spec.vector_efficiency = section.number("vector_efficiency", 0.01, 1.0, spec.efficiency);
  spec.score_flops = section.number("score_flops", 0.0, 1000.0);
  spec.backward_flops = section.number("backward_flops", 0.0, 1000.0);
  spec.dropout_flops = section.number("dropout_flops", 0.0, 1000.0);
  spec.dropout_backward_flops = section.number("dropout_backward_flops", 0.0, 1000.0);
  spec.vector_dropout_flops = section.number("vector_dropout_flops", 0.0, 1000.0, spec.dropout_flops);
  spec.vector_dropout_backward_flops =
      section.number("vector_dropout_backward_flops", 0.0, 1000.0, spec.dropout_backward_flops);
  spec.tile_cycles = section.number("tile_cycles", 0.0, 1e6);
  spec.decode_rows = static_cast<int>(section.integer("decode_rows", 1, 1024));
  spec.decode_start = section.time("decode_start", limits::latency);
  spec.decode_combine = section.time("decode_combine", limits::latency);
  return spec;
}

}  // namespace c3sim::models
