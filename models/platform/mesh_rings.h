// Finds the rings that the library uses over some GPUs of a mesh for which it has no predefined rings: it searches and
// gives up after a number of steps (NCCL and RCCL, src/graph/search.cc, ncclTopoCompute).
#pragma once

namespace c3sim::models {

// Bounds the `gpus` of rings_of_mesh().
inline constexpr int most_gpus_of_mesh = 64;

// Returns the number of rings over `gpus` GPUs, at least 2, that the search finds, from 1 to gpus - 1. No two rings
// share a link. Rings cannot cover a mesh of six (Tillson 1980): the search finds four of five there.
int rings_of_mesh(int gpus);

}  // namespace c3sim::models
