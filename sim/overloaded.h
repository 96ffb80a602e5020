// Overloaded makes one visitor of a variant from several lambdas.
#pragma once

namespace c3sim::sim {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // clang 14 has no implicit deduction guide for aggregates

}  // namespace c3sim::sim
