// Gives enums and other types the names that files, the command line and results use for their values.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace c3sim::sim {

// A Choice pairs a value with its name, in the form that Section::choice takes.
template <class T>
using Choice = std::pair<std::string_view, T>;

// Returns the names of an enum whose values count from 0. Defining all_names() next to the enum is enough:
//   enum class Phase { decode, prefill, train };
//   constexpr auto all_names(Phase) { return sim::names("decode", "prefill", "train"); }
//   using sim::to_string;
template <class... Texts>
constexpr std::array<std::string_view, sizeof...(Texts)> names(Texts... texts) {
  return {texts...};
}
template <class E>
concept Named = std::is_enum_v<E> && requires(E value) {
  all_names(value);
};

template <Named E>
constexpr std::string_view to_string(E value) {
  return all_names(value)[static_cast<std::size_t>(value)];
}

// Returns all values of the enum, in their order.
template <Named E>
constexpr auto all_of() {
  std::array<E, all_names(E{}).size()> all{};
  for (std::size_t place = 0; place < all.size(); ++place) all[place] = static_cast<E>(place);
  return all;
}

// Pairs each of the given values with the name that its to_string() returns.
template <class T>
std::vector<Choice<T>> choices_of(std::span<const T> alternatives) {
  std::vector<Choice<T>> choices;
  for (const T& alternative : alternatives) choices.emplace_back(to_string(alternative), alternative);
  return choices;
}

// Returns all choices of a type. A type that is not an enum needs an overload of all_choices() next to it.
template <class T>
std::vector<Choice<T>> choices_of() {
  if constexpr (Named<T>) {
    return choices_of<T>(all_of<T>());
  } else {
    return all_choices(T{});
  }
}

}  // namespace c3sim::sim
