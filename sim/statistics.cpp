#include "sim/statistics.h"

#include <algorithm>
#include <utility>

#include "sim/check.h"

namespace sim {

void Accumulator::add(double value) {
  smallest_ = count_ == 0 ? value : std::min(smallest_, value);
  largest_ = count_ == 0 ? value : std::max(largest_, value);
  sum_ += value;
  ++count_;
}

double TimeWeighted::integral_until(Time now) const {
  SIM_CHECK(now >= since_ && "a level is not set or read in the past");
  return integral_ + level_ * static_cast<double>((now - since_).count());
}

void TimeWeighted::set(Time now, double level) {
  integral_ = integral_until(now);
  since_ = now;
  level_ = level;
  largest_ = std::max(largest_, level);
}

double TimeWeighted::mean(Time now) const {
  const double integral = integral_until(now);
  return now == Time::zero() ? 0.0 : integral / static_cast<double>(now.count());
}

template <class Content>
Content& StatisticsGroup::declare(std::string name, std::string unit, std::string description, Content content) {
  SIM_CHECK(!name.empty());
  SIM_CHECK(std::none_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; }) &&
            "a name is given once in a group");
  entries_.push_back({std::move(name), std::move(unit), std::move(description), std::move(content)});
  return std::get<Content>(entries_.back().content);
}

Counter& StatisticsGroup::counter(std::string name, std::string unit, std::string description) {
  return declare(std::move(name), std::move(unit), std::move(description), Counter());
}

Accumulator& StatisticsGroup::accumulator(std::string name, std::string unit, std::string description) {
  return declare(std::move(name), std::move(unit), std::move(description), Accumulator());
}

TimeWeighted& StatisticsGroup::time_weighted(std::string name, std::string unit, std::string description) {
  return declare(std::move(name), std::move(unit), std::move(description), TimeWeighted());
}

StatisticsGroup& StatisticsGroup::group(std::string name) {
  return *declare(std::move(name), {}, {}, std::make_unique<StatisticsGroup>());
}

std::vector<StatisticsRow> StatisticsGroup::rows(Time now) const {
  std::vector<StatisticsRow> rows;
  append_rows("", now, rows);
  return rows;
}

void StatisticsGroup::append_rows(std::string_view prefix, Time now, std::vector<StatisticsRow>& rows) const {
  for (const Entry& entry : entries_) {
    const std::string name = std::string(prefix) + entry.name;
    const auto row = [&](const char* suffix, double value, const std::string& unit) {
      rows.push_back({name + suffix, value, unit, entry.description});
    };
    if (const auto* counter = std::get_if<Counter>(&entry.content)) {
      row("", counter->total(), entry.unit);
    } else if (const auto* values = std::get_if<Accumulator>(&entry.content)) {
      row(".count", static_cast<double>(values->count()), "1");
      row(".mean", values->mean(), entry.unit);
      row(".smallest", values->smallest(), entry.unit);
      row(".largest", values->largest(), entry.unit);
    } else if (const auto* level = std::get_if<TimeWeighted>(&entry.content)) {
      row(".mean", level->mean(now), entry.unit);
      row(".largest", level->largest(), entry.unit);
    } else {
      std::get<std::unique_ptr<StatisticsGroup>>(entry.content)->append_rows(name + '.', now, rows);
    }
  }
}

}  // namespace sim
