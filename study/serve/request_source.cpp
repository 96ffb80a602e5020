#include "study/serve/request_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"
#include "sim/config/quantity_text.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::study {

namespace {

class Drawn : public RequestSource {
 public:
  Drawn(const ServeQuestion& question, std::int64_t longest)
      : question_(question),
        longest_(longest),
        times_(static_cast<std::uint64_t>(question.seed)),
        lengths_(static_cast<std::uint64_t>(question.seed) + 0x9e3779b97f4a7c15u) {}

  std::optional<ServeRequest> next() override {
    if (drawn_ == question_.requests) return {};
    if (drawn_++ % question_.burst == 0) arrival_ += wait();
    ServeRequest request;
    request.arrival = sim::to_time(sim::Seconds(arrival_));
    request.prompt = length(question_.prompt);
    request.output = length(question_.output);
    if (between_0_and_1(lengths_) < question_.reuse) {
      request.prefix = static_cast<std::int64_t>(between_0_and_1(lengths_) * static_cast<double>(question_.prefixes));
      request.prefix_tokens = question_.prefix;
      request.prompt = std::max(request.prompt, question_.prefix);
    }
    if (request.prompt + request.output > longest_) ++cut_;
    request.prompt = std::min(request.prompt, longest_ - 1);
    request.output = std::min(request.output, longest_ - request.prompt);
    return request;
  }

 private:
  // Seconds to the next arrival, of as many requests as a burst has.
  double wait() {
    if (question_.arrivals == Arrivals::at_once) return 0.0;
    const double mean = static_cast<double>(question_.burst) / question_.rate;
    return question_.arrivals == Arrivals::even ? mean : -std::log(between_0_and_1(times_)) * mean;
  }

  std::int64_t length(std::int64_t mean) {
    constexpr double longest_drawn = 1e15;
    const double of_mean = static_cast<double>(mean);
    if (question_.spread == 0.0) return mean;
    // Of a log-normal of mean 1 whose standard deviation is the spread.
    const double variance = std::log1p(question_.spread * question_.spread);
    const double drawn =
        of_mean * std::exp(std::sqrt(variance) * normal_quantile(between_0_and_1(lengths_)) - variance / 2.0);
    return std::max<std::int64_t>(1, std::llround(std::min(drawn, longest_drawn)));
  }

  ServeQuestion question_;
  std::int64_t longest_;
  std::mt19937_64 times_;
  std::mt19937_64 lengths_;
  std::int64_t drawn_ = 0;
  double arrival_ = 0.0;
};

constexpr std::array<std::string_view, 5> columns{"arrival_s", "prompt_tokens", "output_tokens", "prefix",
                                                  "prefix_tokens"};
constexpr std::size_t needed = 3;
constexpr double latest = 1e6;  // seconds: eleven days

class Traced : public RequestSource {
 public:
  Traced(const std::filesystem::path& file, std::int64_t longest)
      : name_(file.string()), text_(file), longest_(longest) {
    if (!text_) fail("", "cannot be read");
    sim::note_read(file);
    std::string heading;
    if (!line(heading)) fail("", fmt::format("is empty: a line with the columns {} is due", fmt::join(columns, ",")));
    const std::vector<std::string_view> names = cells(heading);
    for (const std::string_view name : names) {
      const auto* const found = std::ranges::find(columns, name);
      if (found == columns.end()) {
        fail(std::string(name), "is no column of requests" + sim::name_hint(name, columns, std::identity()));
      }
      order_.push_back(static_cast<std::size_t>(found - columns.begin()));
    }
    for (std::size_t column = 0; column < needed; ++column) {
      if (std::ranges::count(order_, column) != 1) fail(std::string(columns[column]), "is due once among the columns");
    }
  }

  std::optional<ServeRequest> next() override {
    std::string text;
    if (!line(text)) {
      if (requests_ == 0) fail("", "has no request");
      return {};
    }
    const std::vector<std::string_view> found = cells(text);
    if (found.size() != order_.size()) {
      fail("", fmt::format("has {} cells where {} columns are", found.size(), order_.size()));
    }
    std::array<double, columns.size()> numbers{0.0, 1.0, 1.0, -1.0, 0.0};
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (order_[i] >= needed && found[i].empty()) continue;
      numbers[order_[i]] = number(order_[i], found[i]);
    }
    ++requests_;
    return checked(numbers);
  }

 private:
  [[noreturn]] void fail(const std::string& column, const std::string& what) const {
    throw sim::ConfigError({{at_ == 0 ? name_ : fmt::format("{}:{}", name_, at_), column, what}});
  }

  bool line(std::string& text) {
    while (text_.getline(line_.data(), std::ssize(line_)) || text_.gcount() > 0) {
      ++at_;
      text.assign(line_.data(), static_cast<std::size_t>(text_.gcount()));
      if (text_.fail())
        fail("", fmt::format("has {} characters or more: shorter lines are accepted", line_.size() - 1));
      if (!text_.eof()) text.pop_back();
      if (text.ends_with('\r')) text.pop_back();
      if (!sim::trimmed(text).empty() && text.front() != '#') return true;
    }
    return false;
  }

  static std::vector<std::string_view> cells(std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t comma = 0; comma != std::string_view::npos;
         text.remove_prefix(std::min(comma, text.size() - 1) + 1)) {
      comma = text.find(',');
      found.push_back(sim::trimmed(text.substr(0, comma)));
      if (comma == std::string_view::npos) break;
    }
    return found;
  }

  double number(std::size_t column, std::string_view text) const {
    const sim::ParsedQuantity parsed = sim::parse_quantity(text, sim::Dimension::number);
    const bool whole = column == 0 || (parsed.ok() && parsed.value == std::floor(parsed.value));
    const double least = column == 1 || column == 2 ? 1.0 : 0.0;
    if (!parsed.ok() || !whole || parsed.value < least || parsed.value > (column == 0 ? latest : 1e15)) {
      fail(std::string(columns[column]),
           fmt::format("'{}' is none: {} is accepted", text.substr(0, 40),
                       column == 0 ? fmt::format("a number of seconds from 0 to {:g}", latest)
                                   : fmt::format("a whole number from {:g}", least)));
    }
    return parsed.value;
  }

  ServeRequest checked(const std::array<double, columns.size()>& numbers) {
    const auto whole = [&numbers](std::size_t column) { return static_cast<std::int64_t>(numbers[column]); };
    const ServeRequest request{sim::to_time(sim::Seconds(numbers[0])), whole(1), whole(2), whole(3), whole(4)};
    if (request.arrival < last_) {
      fail("arrival_s", fmt::format("{:.9g} lies before the request above, at {:.9g}: arrivals in order are accepted",
                                    numbers[0], sim::to_seconds(last_).value()));
    }
    last_ = request.arrival;
    if (request.prefix_tokens > request.prompt) {
      fail("prefix_tokens",
           fmt::format("{} are more than the {} of the prompt that begins so", request.prefix_tokens, request.prompt));
    }
    if (request.prompt + request.output > longest_) {
      fail("prompt_tokens",
           fmt::format("{} and {} of output are more than the {} that the model's context and the cache have room for",
                       request.prompt, request.output, longest_));
    }
    return request;
  }

  std::string name_;
  std::ifstream text_;
  std::array<char, 4096> line_{};
  std::int64_t longest_;
  std::vector<std::size_t> order_;  // columns, as the file has them
  std::int64_t at_ = 0;             // the line
  std::int64_t requests_ = 0;
  sim::Time last_{0};
};

}  // namespace

std::unique_ptr<RequestSource> drawn_requests(const ServeQuestion& question, std::int64_t longest) {
  return std::make_unique<Drawn>(question, longest);
}

std::unique_ptr<RequestSource> traced_requests(const std::filesystem::path& file, std::int64_t longest) {
  return std::make_unique<Traced>(file, longest);
}

}  // namespace c3sim::study
