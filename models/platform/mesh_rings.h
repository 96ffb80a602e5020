// The rings that the library finds over some GPUs of a mesh, for which it knows no rings beforehand: those of a search
// that gives up after so many steps (NCCL and RCCL, src/graph/search.cc, ncclTopoCompute).
#pragma once

namespace c3sim::models {

// Of the search below.
inline constexpr int most_gpus_of_mesh = 64;

// How many rings over `gpus` GPUs it settles for, each with a link of every GPU for itself; 1 to gpus - 1, from two
// GPUs on. A mesh of six cannot be covered by rings (Tillson 1980), and the search finds four of five there.
int rings_of_mesh(int gpus);

}  // namespace c3sim::models
