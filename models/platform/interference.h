// Mechanisms slow work down compared with the same work alone in a loop, because the GPU remembers earlier work or
// because others share it. A counterfactual machine lacks some of them, and the cost of one is the difference of two
// runs. A tenant alone in a loop runs the same with and without any of them, except for CU masks (cu_loss,
// dispatch_wait).
#pragma once

#include <bitset>
#include <cstddef>
#include <span>

#include "sim/config/choice.h"

namespace c3sim::models {

// A Tenant is a kind of work on a GPU.
enum class Tenant {
  gemm,
  rccl,    // collectives by any kernels
  sdma,    // copy engines
  stream,  // kernels that stream through arrays
  remote   // kernels that access other GPUs
};
inline constexpr std::size_t tenant_kinds = static_cast<std::size_t>(Tenant::remote) + 1;

// Returns whether the tenant's work belongs to a collective.
constexpr bool is_collective(Tenant tenant) { return tenant == Tenant::rccl || tenant == Tenant::sdma; }

// A Mechanism is described by what a machine without it is like.
enum class Mechanism {
  awake,           // links sleep as soon as they carry nothing
  cold,            // a GEMM finds in caches what a loop of it would have left there
  undershoot,      // power meets its cap at once, whatever the run before has drawn
  cu_loss,         // a GEMM has all CUs, whatever a collective occupies or a mask excludes
  shader_engines,  // workgroups go to any CU that has room, regardless of the turn of the shader engines
  dispatch_wait,   // workgroups of a collective are placed at once, whatever a GEMM occupies or a mask excludes
  l2,              // each tenant has its own capacity and bandwidth of L2s and XCD ports
  infinity_cache,  // each tenant has its own capacity and bandwidth of the Infinity Cache
  hbm,             // each tenant has the whole bandwidth of HBM
  loaded_latency,  // the latency of L2s, Infinity Cache and HBM depends only on the tenant's own load
  link,            // each tenant has its own links; a GEMM uses none
  clock,           // each tenant runs at the clock that its own power allows
};
constexpr auto all_names(Mechanism) {
  return sim::names("awake", "cold", "undershoot", "cu_loss", "shader_engines", "dispatch_wait", "l2", "infinity_cache",
                    "hbm", "loaded_latency", "link", "clock");
}
using sim::to_string;
inline constexpr auto all_mechanisms = sim::all_of<Mechanism>();

// These mechanisms come from sharing: all except the first three, which come from earlier work.
inline constexpr std::span sharing_mechanisms = std::span(all_mechanisms).subspan(3);

// Holds a set of mechanisms, such as those that a machine lacks.
class Mechanisms {
 public:
  void add(Mechanism mechanism) { members_.set(static_cast<std::size_t>(mechanism)); }
  bool has(Mechanism mechanism) const { return members_.test(static_cast<std::size_t>(mechanism)); }
  bool operator==(const Mechanisms&) const = default;

 private:
  std::bitset<all_mechanisms.size()> members_;
};

}  // namespace c3sim::models
