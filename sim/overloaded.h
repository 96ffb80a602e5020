// One visitor of a variant made of several lambdas, one or more for each alternative.
#pragma once

namespace c3sim::sim {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // clang 14 deduces none for aggregates

}  // namespace c3sim::sim
