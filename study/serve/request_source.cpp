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
#include <sstream>
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

// A RequestTrace collects the requests of a file, line by line.
class RequestTrace {
 public:
  RequestTrace(std::string file, std::int64_t longest) : file_(std::move(file)), longest_(longest) {}

  // Returns seconds since the first request, for traces that count from any origin.
  double since_first(double seconds) {
    if (!first_) first_ = seconds;
    return seconds - *first_;
  }
  void skip_without_output() { ++counts_.without_output; }
  // Takes the request of a line, which arrives after that many seconds; returns what is wrong with that, if anything.
  std::string take(ServeRequest request, double arrival, int line) {
    if (!(arrival <= latest)) return fmt::format("{:.9g} s behind the first: up to {:g} are accepted", arrival, latest);
    if (arrival < last_) {
      return fmt::format("{:.9g} s lies before the request above, at {:.9g}: arrivals in order are accepted", arrival,
                         last_);
    }
    last_ = arrival;
    request.arrival = sim::to_time(sim::Seconds(arrival));
    if (request.prompt + request.output <= longest_) {
      requests_.push_back(request);
      return {};
    }
    constexpr std::size_t most_named = 3;
    if (static_cast<std::size_t>(counts_.rejected++) < most_named) {
      counts_.first_rejected.push_back(fmt::format("{}:{} ({} tokens and {} of output)",
                                                   std::filesystem::path(file_).filename().string(), line,
                                                   request.prompt, request.output));
    }
    return {};
  }

  // Returns the source of all that was taken. Throws sim::ConfigError if there is no request that can be served.
  std::unique_ptr<RequestSource> source() && {
    if (requests_.empty() && counts_.rejected == 0) throw sim::ConfigError({{file_, "", "has no request"}});
    if (requests_.empty()) {
      throw sim::ConfigError({{file_, "",
                               fmt::format("each of its {} requests is longer than the {} tokens that the model's "
                                           "context and the cache have room for, such as {}",
                                           counts_.rejected, longest_, counts_.first_rejected.front())}});
    }
    return std::make_unique<Traced>(std::move(requests_), std::move(counts_));
  }

 private:
  class Traced : public RequestSource {
   public:
    Traced(std::vector<ServeRequest> requests, RequestCounts counts) : requests_(std::move(requests)) {
      counts_ = std::move(counts);
    }
    std::optional<ServeRequest> next() override {
      return next_ < requests_.size() ? std::optional(requests_[next_++]) : std::nullopt;
    }

   private:
    std::vector<ServeRequest> requests_;
    std::size_t next_ = 0;
  };

  std::string file_;
  std::int64_t longest_;
  std::vector<ServeRequest> requests_;
  RequestCounts counts_;
  double last_ = 0.0;  // seconds
  std::optional<double> first_;
};

constexpr std::int64_t most_tokens = 1'000'000'000'000'000;

// Returns the form of the file; of one of our own, records columns that are missing or not known.
const TraceForm& form_of(sim::CsvFile& csv) {
  const auto has = [&csv](std::string_view name) { return csv.has(name); };
  const auto* const known = std::ranges::find_if(trace_forms, [&has](const TraceForm& form) {
    return std::ranges::all_of(std::span(form.columns).first(needed), has);
  });
  const TraceForm& form = known == trace_forms.end() ? trace_forms.front() : *known;
  if (form.is_public) return form;
  csv.require({form.columns.begin(), form.columns.begin() + needed});
  for (const std::string& column : csv.columns()) {
    if (std::ranges::count(form.columns, column) > 0) continue;
    csv.fault(
        fmt::format("'{}' is no column of requests{}", column, sim::name_hint(column, form.columns, std::identity())));
  }
  csv.check();
  return form;
}

// Returns the seconds of a row, from any origin if the form is public.
double arrival_in(sim::CsvFile& csv, std::size_t row, const TraceForm& form) {
  constexpr double any_number = 1e15;
  const std::string_view column = form.columns[0];
  if (!form.is_public) return csv.number(row, column, 0.0, latest);
  const std::string text(csv.text(row, column));
  if (const std::optional<double> date = seconds_of_date(text)) return *date;
  if (sim::parse_number(text).ok()) return csv.number(row, column, 0.0, any_number);
  csv.fault(row, column,
            fmt::format("{} is none: a number of seconds, or a date such as 2023-11-16 18:15:46.68, is accepted",
                        sim::in_quotes(text)));
  return 0.0;
}

void read_rows(sim::CsvFile csv, RequestTrace& trace) {
  csv.check();
  const TraceForm& form = form_of(csv);
  const std::int64_t least = form.is_public ? 0 : 1;
  const auto number = [&](std::size_t row, std::size_t column, std::int64_t low, std::int64_t untold) {
    const std::string_view name = form.columns[column];
    if (!csv.has(name) || (column >= needed && csv.text(row, name).empty())) return untold;
    return csv.integer(row, name, low, most_tokens);
  };
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const double arrival = arrival_in(csv, row, form);
    const ServeRequest request{
        {}, number(row, 1, least, 1), number(row, 2, least, 1), number(row, 3, 0, -1), number(row, 4, 0, 0)};
    if (!csv.faults().empty()) continue;
    if (request.prompt < 1 || request.output < 1) {
      trace.skip_without_output();
    } else if (request.prefix_tokens > request.prompt) {
      csv.fault(
          row, "prefix_tokens",
          fmt::format("{} are more than the {} of the prompt that begins so", request.prefix_tokens, request.prompt));
    } else {
      std::string why = trace.take(request, form.is_public ? trace.since_first(arrival) : arrival, csv.line(row));
      if (!why.empty()) csv.fault(row, form.columns[0], std::move(why));
    }
  }
  csv.check();
}

// A TracedRecord is a line of a trace of JSON lines.
class TracedRecord {
 public:
  TracedRecord(std::string place, std::string_view line)
      : place_(std::move(place)), record_(Json::parse(line, nullptr, false)) {
    if (record_.is_object()) return;
    fail("", "is no object of JSON: timestamp, input_length and output_length are accepted, a request in each line");
  }

  [[noreturn]] void fail(const std::string& key, std::string what) const {
    throw sim::ConfigError({{place_, key, std::move(what)}});
  }
  double number(const std::string& key, double least) const {
    const auto found = record_.find(key);
    const bool is_one = found != record_.end() && found->is_number();
    const double value = is_one ? found->get<double>() : -1.0;
    if (value < least || value > most_tokens || (key != "timestamp" && value != std::floor(value)))
      fail(key, fmt::format("a {} from {:g} is due", key == "timestamp" ? "number of ms" : "whole number", least));
    return value;
  }
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> ids;
    for (const Json& id : record_.value("hash_ids", Json::array())) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0) fail("hash_ids", "whole numbers from 0 are accepted");
      ids.push_back(id.get<std::int64_t>());
    }
    return ids;
  }

 private:
  using Json = nlohmann::json;

  std::string place_;
  Json record_;
};

// Calls `read` for each line that is not blank. Throws sim::ConfigError with the first fault of each line.
void for_each_record(const std::string& text, const std::string& file,
                     const std::function<void(const TracedRecord& record, int line)>& read) {
  std::vector<sim::Fault> faults;
  std::istringstream lines(text);
  std::string line;
  for (int at = 1; std::getline(lines, line) && faults.size() < sim::ConfigError::max_lines; ++at) {
    if (sim::trimmed(line).empty()) continue;
    try {
      read(TracedRecord(fmt::format("{}:{}", file, at), line), at);
    } catch (const sim::ConfigError& error) {
      faults.push_back(error.faults().front());
    }
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
}

void read_records(const std::string& text, const std::string& file, RequestTrace& trace) {
  constexpr std::int64_t tokens_of_id = 512;            // github.com/kvcache-ai/Mooncake, FAST25-release/traces
  std::unordered_map<std::int64_t, std::int64_t> uses;  // requests that have each id
  for_each_record(text, file, [&uses](const TracedRecord& record, int) {
    for (const std::int64_t id : record.ids()) ++uses[id];
  });
  for_each_record(text, file, [&](const TracedRecord& record, int line) {
    const double arrival = trace.since_first(record.number("timestamp", 0.0) * 1e-3);
    ServeRequest request;
    request.prompt = static_cast<std::int64_t>(record.number("input_length", 1.0));
    request.output = static_cast<std::int64_t>(record.number("output_length", 0.0));
    if (request.output == 0) return trace.skip_without_output();
    const std::vector<std::int64_t> ids = record.ids();
    std::size_t shared = ids.size();
    while (shared > 0 && uses.at(ids[shared - 1]) < 2) --shared;
    if (shared > 0) {
      request.prefix = ids[shared - 1];
      request.prefix_tokens = std::min(request.prompt, static_cast<std::int64_t>(shared) * tokens_of_id);
    }
    if (std::string why = trace.take(request, arrival, line); !why.empty()) record.fail("timestamp", std::move(why));
  });
}

}  // namespace

std::unique_ptr<RequestSource> drawn_requests(const ServeQuestion& question, std::int64_t longest) {
  return std::make_unique<Drawn>(question, longest);
}

std::unique_ptr<RequestSource> traced_requests(const std::filesystem::path& file, std::int64_t longest) {
  const std::string text = sim::read_measurement_text(file);
  sim::note_read(file);
  RequestTrace trace(file.string(), longest);
  const std::string_view plain = sim::without_byte_order_mark(text);
  if (sim::trimmed(plain).starts_with('{')) {
    read_records(std::string(plain), file.string(), trace);
  } else {
    read_rows(sim::CsvFile::from_text(text, file.string()), trace);
  }
  return std::move(trace).source();
}

}  // namespace c3sim::study
