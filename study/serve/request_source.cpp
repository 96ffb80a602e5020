#include "study/serve/request_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/csv_file.h"
#include "sim/config/files_read.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
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
    if (question_.stages.empty() && drawn_ == question_.requests) return {};
    if (drawn_++ % question_.burst == 0 && !arrive()) return {};
    ServeRequest request;
    request.arrival = sim::to_time(sim::Seconds(arrival_));
    request.prompt = length(question_.prompt);
    request.output = length(question_.output);
    if (between_0_and_1(lengths_) < question_.reuse) {
      request.prefix = static_cast<std::int64_t>(between_0_and_1(lengths_) * static_cast<double>(question_.prefixes));
      request.prefix_tokens = question_.prefix;
      request.prompt = std::max(request.prompt, question_.prefix);
    }
    if (request.prompt + request.output > longest_) ++counts_.cut;
    request.prompt = std::min(request.prompt, longest_ - 1);
    request.output = std::min(request.output, longest_ - request.prompt);
    return request;
  }

 private:
  // Advances to the next arrival: a wait beyond a stage goes on at the next rate. Returns false after the last stage.
  bool arrive() {
    double wait = waits() * static_cast<double>(question_.burst);
    if (question_.stages.empty()) {
      arrival_ += wait / question_.rate;
      return true;
    }
    for (; stage_ < question_.stages.size(); ++stage_) {
      const LoadStage& stage = question_.stages[stage_];
      const double end = begun_ + sim::to_seconds(stage.time).value();
      const double left = (end - arrival_) * stage.rate;
      if (wait < left) {
        arrival_ += wait / stage.rate;
        return true;
      }
      wait -= left;
      arrival_ = begun_ = end;
    }
    return false;
  }

  // Returns the wait until the next arrival, relative to the mean of one request.
  double waits() {
    if (question_.arrivals == Arrivals::at_once) return 0.0;
    return question_.arrivals == Arrivals::even ? 1.0 : -std::log(between_0_and_1(times_));
  }

  std::int64_t length(std::int64_t mean) {
    constexpr double longest_drawn = 1e15;
    const double of_mean = static_cast<double>(mean);
    if (question_.least < 1.0) {
      const double share = question_.least + (1.0 - question_.least) * between_0_and_1(lengths_);
      return std::max<std::int64_t>(1, std::llround(share * of_mean));
    }
    if (question_.spread == 0.0) return mean;
    // The length is log-normal with mean 1 and the spread as standard deviation.
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
  std::size_t stage_ = 0;
  double begun_ = 0.0;  // seconds at which `stage_` began
};

// A TraceForm maps the columns of a kind of trace to ours.
constexpr std::size_t needed = 3;
struct TraceForm {
  std::array<std::string_view, 5> columns;
  bool is_public = false;  // arrivals are dates or seconds from any origin, and other columns are allowed
};
constexpr std::array trace_forms{
    TraceForm{{"arrival_s", "prompt_tokens", "output_tokens", "prefix", "prefix_tokens"}},
    TraceForm{{"TIMESTAMP", "ContextTokens", "GeneratedTokens", "", ""}, true},
    TraceForm{{"Timestamp", "Request tokens", "Response tokens", "", ""}, true},
};
constexpr double latest = 8e6;  // seconds: three months

// Returns the seconds since 1970 of a date such as "2023-11-16 18:15:46.6805900", with an optional offset from UTC.
std::optional<double> seconds_of_date(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, end = 0;
  double second = 0.0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%lf%n", &year, &month, &day, &hour, &minute, &second,
                  &end) != 6) {
    return {};
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || second < 0.0 || second >= 61.0) return {};
  constexpr double day_s = 86'400.0, hour_s = 3600.0, minute_s = 60.0;
  double offset = 0.0;
  const std::string rest = text.substr(static_cast<std::size_t>(end));
  int hours = 0, minutes = 0;
  char sign = '+';
  if (!rest.empty() && rest != "Z") {
    if (std::sscanf(rest.c_str(), "%c%2d:%2d", &sign, &hours, &minutes) != 3 || (sign != '+' && sign != '-')) return {};
    offset = (sign == '-' ? -1.0 : 1.0) * (hours * hour_s + minutes * minute_s);
  }
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * day_s + hour * hour_s +
         minute * minute_s + second - offset;
}

// Traced handles requests of a file independently of its form.
class Traced : public RequestSource {
 public:
  Traced(std::string name, std::string text, std::int64_t longest)
      : text_(std::move(text)), name_(std::move(name)), longest_(longest) {}

  std::optional<ServeRequest> next() override {
    while (std::optional<ServeRequest> request = read_or_tell_all()) {
      if (request->arrival < last_) {
        fail(arrival_name(),
             fmt::format("{:.9g} s lies before the request above, at {:.9g}: arrivals in order are accepted",
                         sim::to_seconds(request->arrival).value(), sim::to_seconds(last_).value()));
      }
      last_ = request->arrival;
      if (request->prompt + request->output <= longest_) {
        ++served_;
        return request;
      }
      constexpr std::size_t most_named = 3;
      if (static_cast<std::size_t>(counts_.rejected++) >= most_named) continue;
      counts_.first_rejected.push_back(fmt::format("{}:{} ({} tokens and {} of output)",
                                                   std::filesystem::path(name_).filename().string(), at_,
                                                   request->prompt, request->output));
    }
    if (served_ > 0) return {};
    at_ = 0;
    if (counts_.rejected == 0) fail("", "has no request");
    fail("", fmt::format("each of its {} requests is longer than the {} tokens that the model's context and the cache "
                         "have room for, such as {}",
                         counts_.rejected, longest_, counts_.first_rejected.front()));
  }

 protected:
  // Reads the next request of the file and sets `at_` to its line.
  virtual std::optional<ServeRequest> read() = 0;
  virtual std::string arrival_name() const = 0;

  [[noreturn]] void fail(const std::string& column, const std::string& what) const {
    throw sim::ConfigError({{at_ == 0 ? name_ : fmt::format("{}:{}", name_, at_), column, what}});
  }
  // Returns seconds since the first request, for traces that count from any origin.
  double since_first(double seconds) {
    if (!first_) first_ = seconds;
    return seconds - *first_;
  }
  ServeRequest checked(double arrival, const ServeRequest& request) {
    if (!(arrival <= latest)) {
      fail(arrival_name(), fmt::format("{:.9g} s behind the first: up to {:g} are accepted", arrival, latest));
    }
    ServeRequest timed = request;
    timed.arrival = arrival < 0.0 ? -sim::to_time(sim::Seconds(-arrival)) : sim::to_time(sim::Seconds(arrival));
    return timed;
  }
  std::string text_;
  std::int64_t at_ = 0;

 private:
  // Reads the next request. Throws sim::ConfigError with a fault of it and of each later one.
  std::optional<ServeRequest> read_or_tell_all() {
    std::vector<sim::Fault> faults;
    while (faults.size() < sim::ConfigError::max_lines) {
      try {
        std::optional<ServeRequest> request = read();
        if (faults.empty()) return request;
        if (!request) break;
      } catch (const sim::ConfigError& error) {
        faults.push_back(error.faults().front());
      }
    }
    throw sim::ConfigError(std::move(faults));
  }

  std::string name_;
  std::int64_t longest_;
  std::int64_t served_ = 0;
  sim::Time last_{0};
  std::optional<double> first_;
};

class TracedRows : public Traced {
 public:
  TracedRows(std::string file, std::string text, std::int64_t longest)
      : Traced(std::move(file), std::move(text), longest), lexer_(text_) {
    sim::CsvRow heading;
    if (!lexer_.next(heading)) {
      fail("",
           fmt::format("is empty: a line with the columns {} is needed", fmt::join(trace_forms.front().columns, ",")));
    }
    at_ = heading.line;
    const auto has = [&heading](std::string_view name) {
      return std::ranges::find(heading.cells, name, &sim::CsvCell::text) != heading.cells.end();
    };
    const auto* const known = std::ranges::find_if(trace_forms, [&has](const TraceForm& form) {
      return std::ranges::all_of(std::span(form.columns).first(needed), has);
    });
    if (known != trace_forms.end()) form_ = known;
    for (const sim::CsvCell& cell : heading.cells) {
      const auto* const found = std::ranges::find(form_->columns, cell.text);
      if (found == form_->columns.end() && !form_->is_public) {
        fail(std::string(cell.text),
             "is no column of requests" + sim::name_hint(cell.text, form_->columns, std::identity()));
      }
      order_.push_back(static_cast<std::size_t>(found - form_->columns.begin()));
    }
    for (std::size_t column = 0; column < needed; ++column) {
      if (std::ranges::count(order_, column) != 1) fail(name_of(column), "is needed once among the columns");
    }
  }

 private:
  std::optional<ServeRequest> read() override {
    while (lexer_.next(row_)) {
      at_ = row_.line;
      if (row_.cells.size() == 1 && row_.cells.front().text.empty()) continue;
      if (row_.bad_quote) fail("", std::string(row_.bad_quote->what));
      if (row_.cells.size() != order_.size()) {
        fail("", fmt::format("has {} cells where {} columns are", row_.cells.size(), order_.size()));
      }
      std::array<double, 5> numbers{0.0, 1.0, 1.0, -1.0, 0.0};
      for (std::size_t i = 0; i < row_.cells.size(); ++i) {
        const std::string_view text = row_.cells[i].text;
        if (order_[i] == form_->columns.size() || (order_[i] >= needed && text.empty())) continue;
        numbers[order_[i]] = order_[i] == 0 ? moment(text) : number(order_[i], text);
      }
      if (form_->is_public && (numbers[1] < 1.0 || numbers[2] < 1.0)) {
        ++counts_.without_output;
        continue;
      }
      const auto whole = [&numbers](std::size_t column) { return static_cast<std::int64_t>(numbers[column]); };
      const ServeRequest request{{}, whole(1), whole(2), whole(3), whole(4)};
      if (request.prefix_tokens > request.prompt) {
        fail("prefix_tokens", fmt::format("{} are more than the {} of the prompt that begins so", request.prefix_tokens,
                                          request.prompt));
      }
      return checked(form_->is_public ? since_first(numbers[0]) : numbers[0], request);
    }
    return {};
  }
  std::string arrival_name() const override { return name_of(0); }
  std::string name_of(std::size_t column) const { return std::string(form_->columns[column]); }

  double moment(std::string_view text) const {
    if (form_->is_public) {
      if (const std::optional<double> date = seconds_of_date(std::string(text))) return *date;
    }
    return number(0, text);
  }

  double number(std::size_t column, std::string_view text) const {
    const sim::ParsedQuantity parsed = sim::parse_quantity(text, sim::Dimension::number);
    const bool whole = column == 0 || (parsed.ok() && parsed.value == std::floor(parsed.value));
    const double least = (column == 1 || column == 2) && !form_->is_public ? 1.0 : 0.0;
    if (!parsed.ok() || !whole || parsed.value < least || parsed.value > 1e15) {
      fail(name_of(column),
           fmt::format("'{}' is none: {} is accepted", text.substr(0, 40),
                       column > 0         ? fmt::format("a whole number from {:g}", least)
                       : form_->is_public ? "a number of seconds, or a date such as 2023-11-16 18:15:46.68,"
                                          : fmt::format("a number of seconds from 0 to {:g}", latest)));
    }
    return parsed.value;
  }

  const TraceForm* form_ = &trace_forms.front();
  sim::CsvLexer lexer_;
  sim::CsvRow row_;
  std::vector<std::size_t> order_;  // index of each column of the file among ours; past the end for others
};

class TracedRecords : public Traced {
 public:
  TracedRecords(std::string file, std::string text, std::int64_t longest)
      : Traced(std::move(file), std::move(text), longest), rest_(text_) {
    // `uses_` counts the requests that have each id.
    for (std::optional<Json> record = next_record(); record; record = next_record()) {
      for (const std::int64_t id : ids_of(*record)) ++uses_[id];
    }
    rest_ = text_;
    at_ = 0;
  }

 private:
  using Json = nlohmann::json;
  static constexpr std::int64_t tokens_of_id = 512;  // github.com/kvcache-ai/Mooncake, FAST25-release/traces

  std::optional<ServeRequest> read() override {
    std::optional<Json> record;
    double arrival = 0.0;
    ServeRequest request;
    do {
      record = next_record();
      if (!record) return {};
      arrival = since_first(number(*record, "timestamp", 0.0) * 1e-3);
      request.prompt = static_cast<std::int64_t>(number(*record, "input_length", 1.0));
      request.output = static_cast<std::int64_t>(number(*record, "output_length", 0.0));
      if (request.output == 0) ++counts_.without_output;
    } while (request.output == 0);
    const std::vector<std::int64_t> ids = ids_of(*record);
    std::size_t shared = ids.size();
    while (shared > 0 && uses_.at(ids[shared - 1]) < 2) --shared;
    if (shared > 0) {
      request.prefix = ids[shared - 1];
      request.prefix_tokens = std::min(request.prompt, static_cast<std::int64_t>(shared) * tokens_of_id);
    }
    return checked(arrival, request);
  }
  std::string arrival_name() const override { return "timestamp"; }

  std::optional<Json> next_record() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++at_;
      if (sim::trimmed(line).empty()) continue;
      Json record = Json::parse(line, nullptr, false);
      if (record.is_object()) return record;
      fail("", "is no object of JSON: timestamp, input_length and output_length are accepted, a request in each line");
    }
    return {};
  }

  double number(const Json& record, const std::string& key, double least) const {
    const auto found = record.find(key);
    const bool is_one = found != record.end() && found->is_number();
    const double value = is_one ? found->get<double>() : -1.0;
    if (value < least || value > 1e15 || (key != "timestamp" && value != std::floor(value)))
      fail(key, fmt::format("a {} from {:g} is needed", key == "timestamp" ? "number of ms" : "whole number", least));
    return value;
  }

  std::vector<std::int64_t> ids_of(const Json& record) const {
    const auto found = record.find("hash_ids");
    std::vector<std::int64_t> ids;
    if (found == record.end()) return ids;
    for (const Json& id : *found) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0) fail("hash_ids", "whole numbers from 0 are accepted");
      ids.push_back(id.get<std::int64_t>());
    }
    return ids;
  }

  std::string_view rest_;
  std::unordered_map<std::int64_t, std::int64_t> uses_;
};

}  // namespace

std::unique_ptr<RequestSource> drawn_requests(const ServeQuestion& question, std::int64_t longest) {
  return std::make_unique<Drawn>(question, longest);
}

std::unique_ptr<RequestSource> traced_requests(const std::filesystem::path& file, std::int64_t longest) {
  std::string text = sim::read_measurement_text(file);
  sim::note_read(file);
  const bool is_of_records = sim::trimmed(sim::without_byte_order_mark(text)).starts_with('{');
  if (is_of_records) return std::make_unique<TracedRecords>(file.string(), std::move(text), longest);
  return std::make_unique<TracedRows>(file.string(), std::move(text), longest);
}

}  // namespace c3sim::study
