#include "study/sweep/deal.h"

#include <algorithm>

namespace c3sim::study {

namespace {

constexpr std::size_t looked_up_at_once = 4096;

}  // namespace

std::uint64_t Deal::next() {
  while (frontier_ < size_) {
    if (in_store_.empty() && looked_up_ <= frontier_) {
      const std::vector<std::uint64_t> found = store_.indices(frontier_, looked_up_at_once);
      in_store_.assign(found.begin(), found.end());
      looked_up_ = found.size() < looked_up_at_once ? size_ : found.back() + 1;
    }
    while (!in_store_.empty() && in_store_.front() < frontier_) in_store_.pop_front();
    if (in_store_.empty() || in_store_.front() != frontier_) return frontier_++;
    in_store_.pop_front();
    ++frontier_;
  }
  return size_;
}

std::vector<std::uint64_t> Deal::take(int owner, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> taken;
  while (taken.size() < most) {
    const std::uint64_t index = next();
    if (index == size_) break;
    taken.push_back(index);
  }
  if (taken.empty() && owner == here) {
    for (const auto& [index, other] : dealt_) {
      if (other != here && taken.size() < most) taken.push_back(index);
    }
  }
  for (const std::uint64_t index : taken) dealt_[index] = owner;
  return taken;
}

void Deal::store(const std::vector<PointAnswer>& answers) {
  if (answers.empty()) return;
  const std::lock_guard lock(mutex_);
  store_.add(answers);
  for (const PointAnswer& answer : answers) answered_ += dealt_.erase(answer.index);
  if (progress_) progress_(answered_, size_);
}

bool Deal::complete() const {
  const std::lock_guard lock(mutex_);
  return answered_ == size_;
}

}  // namespace c3sim::study
