// What makes work slower than it is in a loop of its own: by what the GPU remembers of work before, and by what shares
// it. A counterfactual machine can be without any of these mechanisms, and what one costs is the difference between two
// runs. A tenant that has the machine to itself, in a loop, runs the same with and without any of them, but for CU
// masks (cu_loss, dispatch_wait).
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/config/choice.h"

namespace c3sim::models {

// Who works on a GPU.
enum class Tenant {
  gemm,
  rccl,    // collectives by kernels, whoever wrote them
  sdma,    // copy engines
  stream,  // kernels that go through arrays
  remote   // kernels that reach into other GPUs
};
inline constexpr std::size_t tenants = static_cast<std::size_t>(Tenant::remote) + 1;

// A value for each tenant, in the order of Tenant: one for a tenant more or less does not compile.
template <class Value>
class PerTenant {
 public:
  template <class... Values>
  requires(sizeof...(Values) == tenants) explicit PerTenant(Values... values)
      : values_{static_cast<Value>(values)...} {}
  const Value& of(Tenant tenant) const { return values_[static_cast<std::size_t>(tenant)]; }
  std::vector<Value> in_order() const { return {values_.begin(), values_.end()}; }

 private:
  std::array<Value, tenants> values_;
};

// Whose work is a collective's.
constexpr bool is_collective(Tenant tenant) { return tenant == Tenant::rccl || tenant == Tenant::sdma; }

// What a machine without it is like:
enum class Mechanism {
  awake,           // links sleep as soon as they carry nothing
  cold,            // a GEMM finds in caches what a loop of it would have left there
  undershoot,      // power meets its cap at once, whatever the run before has drawn
  cu_loss,         // a GEMM has all CUs, whatever a collective occupies or a mask keeps from it
  shader_engines,  // workgroups go to any CU that has room, whichever shader engine's turn it is
  dispatch_wait,   // workgroups of a collective are placed at once, whatever a GEMM occupies or a mask allows
  l2,              // each tenant has L2s and XCD ports of its own: capacity and bandwidth
  infinity_cache,  // each tenant has an Infinity Cache of its own: capacity and bandwidth
  hbm,             // each tenant has the bandwidth of HBM to itself
  loaded_latency,  // each tenant waits at L2s, Infinity Cache and HBM as its own load of them makes it wait
  link,            // each tenant has links of its own; a GEMM uses none
  clock,           // each tenant runs at the clock that its own power allows
};
constexpr auto all_names(Mechanism) {
  return sim::names("awake", "cold", "undershoot", "cu_loss", "shader_engines", "dispatch_wait", "l2", "infinity_cache",
                    "hbm", "loaded_latency", "link", "clock");
}
using sim::to_string;
inline constexpr auto all_mechanisms = sim::all_of<Mechanism>();

// Of these those by which tenants share: all but the three of what came before.
inline constexpr std::span sharing_mechanisms = std::span(all_mechanisms).subspan(3);

// Some of the mechanisms: those that a machine is without.
class Mechanisms {
 public:
  void add(Mechanism mechanism) { members_.set(static_cast<std::size_t>(mechanism)); }
  bool has(Mechanism mechanism) const { return members_.test(static_cast<std::size_t>(mechanism)); }
  bool operator==(const Mechanisms&) const = default;

 private:
  std::bitset<all_mechanisms.size()> members_;
};

}  // namespace c3sim::models
