#include "study/ask/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "sim/config/config_text.h"

namespace c3sim::study {

namespace {

// Parses a whole number without a sign.
std::optional<int> parse_count(std::string_view text) {
  const sim::Parsed<std::int64_t> number = sim::parse_integer(text);
  const bool fits = number.ok() && !text.starts_with('-') && number.value <= std::numeric_limits<int>::max();
  return fits ? std::optional(static_cast<int>(number.value)) : std::nullopt;
}

}  // namespace

std::string typed_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

std::string Option::typed() const {
  if (has_name()) return typed_name(name);
  std::string text = name;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string shell_word(const std::string& word) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + '\'';
}

std::string command_line(std::string_view command, const std::vector<Option>& options, const Given& given) {
  std::string text(command);
  for (const Option& option : options) {
    const auto found = given.find(option.name);
    if (found == given.end()) continue;
    for (const std::string& value : found->second) {
      if (option.has_name()) text += ' ' + option.typed();
      const bool names_itself =
          option.said == Said::alone || (option.said == Said::maybe_alone && value == option.alone);
      if (!names_itself) text += ' ' + shell_word(value);
    }
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void Arguments::fault(std::string_view option, std::string what) {
  faults_.push_back({std::string(option), {}, std::move(what)});
}

void Arguments::check_with(const std::vector<sim::Fault>& faults_of_question) {
  for (const sim::Fault& each : faults_of_question) fault(typed_name(each.where), each.what);
  check();
}

void Arguments::check() const {
  if (!faults_.empty()) throw sim::ConfigError(faults_);
}

models::GemmShape Arguments::gemm(std::string_view option, std::string_view text) {
  const sim::Parsed<models::GemmShape> parsed = models::parse_gemm_shape(text);
  if (!parsed.ok()) fault(option, parsed.error);
  return parsed.value;
}

double Arguments::quantity(std::string_view option, std::string_view text, sim::Dimension dimension,
                           sim::Limits<double> limits, std::string_view accepted) {
  const sim::ParsedQuantity parsed = sim::parse_quantity(text, dimension);
  if (parsed.ok() && limits.low <= parsed.value && parsed.value <= limits.high) return parsed.value;
  fault(option,
        parsed.ok() ? fmt::format("{} is out of bounds: {} are accepted", in_quotes(text), accepted) : parsed.error);
  return limits.low;
}

sim::Bytes Arguments::size(std::string_view option, std::string_view text, sim::Limits<sim::Bytes> limits) {
  return sim::Bytes(quantity(option, text, sim::Dimension::bytes, {limits.low.value(), limits.high.value()},
                             sim::to_string(limits.low) + " to " + sim::to_string(limits.high)));
}

std::vector<std::string_view> Arguments::split_few(std::string_view option, std::string_view text,
                                                   std::string_view what) {
  std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() <= most_points) return parts;
  fault(option, fmt::format("{} {} are too many: up to {} are accepted", parts.size(), what, most_points));
  return {};
}

std::vector<sim::Bytes> Arguments::sizes(std::string_view option, std::string_view text) {
  std::vector<sim::Bytes> sizes;
  for (const std::string_view part : split_few(option, text, "sizes")) {
    if (part.find(':') == std::string_view::npos) {
      sizes.push_back(size(option, part));
    } else {
      append_range(option, part, sizes);
    }
  }
  if (sizes.size() > most_points) {
    fault(option, fmt::format("{} sizes are too many: up to {} are accepted", sizes.size(), most_points));
    return sizes;
  }
  return each_once(std::move(sizes));
}

void Arguments::append_range(std::string_view option, std::string_view text, std::vector<sim::Bytes>& sizes) {
  const auto refuse = [&] {
    fault(option, fmt::format("{} is no range: LOW:HIGH:xFACTOR is accepted, with a HIGH of at least LOW and a whole "
                              "FACTOR of at least 2, such as 1KiB:2GiB:x2",
                              in_quotes(text)));
  };
  const std::vector<std::string_view> parts = split(text, ':');
  const int factor = parts.size() == 3 && parts[2].starts_with('x') ? parse_count(parts[2].substr(1)).value_or(0) : 0;
  if (factor < 2 || parts[0].empty() || parts[1].empty()) return refuse();
  const std::size_t faults_before = faults_.size();
  const sim::Bytes low = size(option, parts[0]);
  const sim::Bytes high = size(option, parts[1]);
  if (faults_.size() > faults_before) return;
  if (low > high) return refuse();
  for (sim::Bytes bytes = low; bytes <= high; bytes *= factor) sizes.push_back(bytes);
}

sim::Time Arguments::time(std::string_view option, std::string_view text) {
  return sim::to_time(sim::Seconds(quantity(option, text, sim::Dimension::time, {0.0, 3600.0}, "0s to 3600s")));
}

int Arguments::integer(std::string_view option, std::string_view text, int low, int high) {
  const std::optional<int> number = parse_count(text);
  if (number && *number >= low && *number <= high) return *number;
  fault(option, fmt::format("{}: a whole number from {} to {} is accepted", in_quotes(text), low, high));
  return low;
}

double Arguments::number(std::string_view option, std::string_view text, double low, double high) {
  const sim::Parsed<double> parsed = sim::parse_number(text);
  if (parsed.error.empty() && low <= parsed.value && parsed.value <= high) return parsed.value;
  fault(option, fmt::format("{}: a number from {} to {} is accepted", in_quotes(text), low, high));
  return low;
}

std::vector<int> Arguments::integers(std::string_view option, std::string_view text, int low, int high) {
  std::vector<int> numbers;
  for (const std::string_view part : split_few(option, text, "numbers"))
    numbers.push_back(integer(option, part, low, high));
  return each_once(std::move(numbers));
}

int Arguments::gpu(std::string_view option, std::string_view text, int gpus, std::string_view also) {
  constexpr std::string_view prefix = "gpu";
  const std::optional<int> index = parse_count(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
  if (index && *index < gpus) return *index;
  fault(option, fmt::format("there is no {}: gpu0 to gpu{}{} are accepted", in_quotes(text), gpus - 1, also));
  return 0;
}

int Arguments::device(std::string_view option, std::string_view text, int gpus) {
  return text == "host" ? models::host_device : gpu(option, text, gpus, " and host");
}

}  // namespace c3sim::study
