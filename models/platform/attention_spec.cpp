#include "models/platform/attention_spec.h"

#include <algorithm>
#include <utility>

#include "models/platform/limits.h"
#include "sim/config/nearest_name.h"

namespace c3sim::models {

namespace {

// What libraries differ in; what a row leaves out stays as it is.
void read_library(sim::Section section, AttentionSpec& spec) {
  spec.next_free = section.flag("next_free", spec.next_free);
  spec.tile_cycles = section.number("tile_cycles", 0.0, 1e6, spec.tile_cycles);
  spec.start = section.time("start", limits::latency, spec.start);
  spec.append_share = section.number("append_share", 0.0, 1.0, spec.append_share);
  spec.exposed = section.number("exposed", 0.0, 10.0, spec.exposed);
  spec.decode_start = section.time("decode_start", limits::latency, spec.decode_start);
  spec.decode_tile = section.time("decode_tile", limits::latency, spec.decode_tile);
  spec.decode_combine = section.time("decode_combine", limits::latency, spec.decode_combine);
}

// The kernels of the library in use, where the platform names any.
void read_libraries(sim::Section section, AttentionSpec& spec) {
  const AttentionSpec common = spec;
  spec.library = section.name("library");
  for (sim::Section row : section.list("libraries")) {
    AttentionSpec own = common;
    const std::string name = row.name("name");
    read_library(row, own);
    spec.libraries.push_back(name);
    if (name != spec.library) continue;
    own.library = name;
    own.libraries = std::move(spec.libraries);
    spec = std::move(own);
  }
  if (std::ranges::find(spec.libraries, spec.library) == spec.libraries.end()) {
    section.fault("library", "no library of attention is named '" + spec.library.substr(0, 80) + "'" +
                                 sim::name_hint(spec.library, spec.libraries));
  }
}

}  // namespace

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
  spec.decode_rows = static_cast<int>(section.integer("decode_rows", 1, 1024));
  read_library(section, spec);
  if (section.has("libraries")) read_libraries(section, spec);
  return spec;
}

}  // namespace c3sim::models
