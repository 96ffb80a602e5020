// A queue, first in, first out, of plain values. Most lines of a simulation stay empty: unlike a std::deque, this one
// takes no memory before somebody joins it, and gives none back until it is destroyed.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace c3sim::sim {

template <class T>
requires std::is_trivially_copyable_v<T>
class WaitingLine {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  const T& front() const { return items_[first_]; }
  void push_back(const T& item) { items_.push_back(item); }
  // What was at the front is gone. Its place is used again once the line is empty, or half of it is such places.
  void pop_front() {
    ++first_;
    if (2 * first_ < items_.size()) return;
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;  // place of the front
};

}  // namespace c3sim::sim
