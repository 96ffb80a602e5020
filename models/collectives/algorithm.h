// An Algorithm is one way to do collectives, by kernels or by copy engines. Each is a file of algorithms/, which
// defines a function with the file's name that returns it; CMakeLists.txt lists these functions for all_algorithms().
// Options, files, help and steps know an algorithm by that alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/collective_spec.h"
#include "models/platform/cu_resources.h"

namespace c3sim::models {

class Node;
struct ChannelProgram;  // models/collectives/channel_program.h
struct EngineProgram;   // models/collectives/sdma_collective.h

struct Algorithm {
  std::string_view name;   // of a Backend, if it is by kernels, or of an SdmaVariant
  std::string_view about;  // what it is, for help
  // Collectives that it can do.
  std::vector<CollectiveKind> kinds = {CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                       CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                       CollectiveKind::broadcast};
  int place = 9;  // in lists of names, where those with the same are in alphabetical order

  // One of these lays a possible collective out: for channels on CUs of the mask, or a step of it for engines, in the
  // order in which a thread submits its programs, GPU by GPU. The backend sdma has neither: its variants have.
  ChannelProgram (*by_kernels)(Node& node, const CollectiveSpec& spec, const CuMask& mask) = nullptr;
  std::vector<EngineProgram> (*by_engines)(CollectiveKind step, const CollectiveSpec& spec,
                                           const SdmaSpec& sdma) = nullptr;

  bool loads_addends = false;  // all GPUs load whole arrays to reduce them, rather than sums of parts
  bool in_place = false;       // buffers are exchanged: received data replace the data sent
  bool many_engines = false;   // CollectiveSpec::engines applies
  bool gpus_alike = true;      // all GPUs do the same, except in a broadcast
};

// Return the algorithms that Backend and SdmaVariant name, in the order of lists of their names.
std::span<const Algorithm> backends();
std::span<const Algorithm> sdma_variants();
// Return that of the name, which must be one of them.
const Algorithm& algorithm_of(Backend backend);
const Algorithm& algorithm_of(SdmaVariant variant);
// Returns what the algorithms are, for help: "rccl (kernels of RCCL or NCCL), sdma (copy engines), ...".
std::string described(std::span<const Algorithm> algorithms);

// Returns whether all GPUs of a node of `gpus` do the same at the same time, so that one can stand for all.
bool is_symmetric(const CollectiveSpec& spec, int gpus, HostThreads platform_threads);

}  // namespace c3sim::models
