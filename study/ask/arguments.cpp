#include "study/ask/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <cctype>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>

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
  boost::split(parts, text, [separator](char c) { return c == separator; });
  return parts;
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

namespace {

constexpr int most_gpus = 64;

int gpus_on(const models::PlatformSpec* platform) { return platform == nullptr ? most_gpus : platform->gpus; }

constexpr auto gpu_schema =
    R"({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^gpu[0-9]+$"}]})";

std::string integer_schema(int low, const Highest& high) {
  const std::string most = high.of == nullptr ? fmt::format(R"(, "maximum": {})", high.elsewhere) : "";
  return fmt::format(R"({{"type": "integer", "minimum": {}{}}})", low, most);
}

template <class Number>
Value real(Number& number, double low, double high) {
  return {.form = "NUMBER",
          .read = [&number, low,
                   high](const Reading& in) { number = Number(in.arguments.number(in.option, in.text, low, high)); },
          .text = [&number] { return fmt::format("{}", number / Number(1.0)); },
          .schema = fmt::format(R"({{"type": "number", "minimum": {}, "maximum": {}}})", low, high)};
}

template <class Number>
Value whole(Number& number, int low, Highest high, std::string form = "COUNT") {
  const auto read = [&number, low, high](const Reading& in) {
    number = in.arguments.integer(in.option, in.text, low, high.on(in.platform));
  };
  return {.form = std::move(form),
          .read = read,
          .text = [&number] { return std::optional(number) ? fmt::format("{}", *std::optional(number)) : ""; },
          .of_platform = high.of != nullptr,
          .schema = integer_schema(low, high)};
}

}  // namespace

int all_cus(const models::PlatformSpec& platform) { return platform.gpu.cus(); }
int all_gpus_of(const models::PlatformSpec& platform) { return platform.gpus; }
int last_engine(const models::PlatformSpec& platform) { return platform.gpu.sdma.engines - 1; }

// Reads the extents alone, since format, layout and the like are words of their own.
Value value_of(models::GemmShape& shape) {
  const auto read = [&shape](const Reading& in) {
    const models::GemmShape extents = in.arguments.gemm(in.option, in.text);
    std::tie(shape.m, shape.n, shape.k, shape.products) = std::tie(extents.m, extents.n, extents.k, extents.products);
  };
  const auto text = [&shape] {
    const models::GemmShape extents{.m = shape.m, .n = shape.n, .k = shape.k, .products = shape.products};
    return extents == models::GemmShape{} ? "" : models::to_string(extents);
  };
  return {.form = "MxNxK", .read = read, .text = text, .accepted = "MxNxK such as 8192x57344x8192 is accepted"};
}

Value value_of(sim::Bytes& size, sim::Limits<sim::Bytes> limits) {
  return {.form = "SIZE",
          .read = [&size, limits](const Reading& in) { size = in.arguments.size(in.option, in.text, limits); },
          .text = [&size] { return size == sim::Bytes{} ? "" : sim::to_string(size); },
          .accepted = fmt::format("1B to {} are accepted", sim::to_string(largest_array))};
}

Value value_of_each(sim::Bytes& size) {
  Value each = value_of(size);
  each.form = "SIZE|LOW:HIGH:xFACTOR";
  each.schema = R"({"$ref": "#/definitions/size"})";
  each.several = [](const Reading& in) {
    std::vector<std::string> texts;
    for (const sim::Bytes one : in.arguments.sizes(in.option, in.text))
      texts.push_back(fmt::format("{}B", one.value()));
    return texts;
  };
  return each;
}

std::string time_text(sim::Time time) {
  using std::chrono_literals::operator""s;
  using std::chrono_literals::operator""ms;
  if (time % 1s == sim::Time(0)) return fmt::format("{}s", time / 1s);
  if (time % 1ms == sim::Time(0)) return fmt::format("{}ms", time / 1ms);
  return fmt::format("{}us", sim::to_microseconds(time));
}

Value value_of(sim::Time& time) {
  return {"TIME", [&time](const Reading& in) { time = in.arguments.time(in.option, in.text); },
          [&time] { return time == sim::Time::zero() ? "" : fmt::format("{}us", sim::to_microseconds(time)); }};
}

Value value_of(bool& flag) {
  const std::vector<sim::Choice<bool>> answers{{"no", false}, {yes, true}, {"false", false}, {"true", true}};
  return {"", [&flag, answers](const Reading& in) { flag = in.arguments.choice(in.option, in.text, answers); },
          [&flag] { return std::string(flag ? yes : ""); }, Said::alone};
}

Value word_of(std::string& word, std::string form) {
  const std::string accepted = form + " is accepted";
  return {.form = std::move(form),
          .read = [&word](const Reading& in) { word = in.text; },
          .text = [&word] { return word; },
          .accepted = accepted,
          .schema = R"({"type": ["string", "integer"]})"};
}

Value device_of(int& device) {
  return {
      .form = "gpuN|host",
      .read = [&device](const Reading& in) { device = in.arguments.device(in.option, in.text, gpus_on(in.platform)); },
      .text = [&device] { return device_name(device); },
      .of_platform = true,
      .accepted = fmt::format("gpu0 to gpu{} and host are accepted", most_gpus - 1),
      .schema = fmt::format(R"({{"anyOf": [{{"const": "host"}}, {}]}})", gpu_schema)};
}

Value gpu_of(int& gpu) {
  Value value = device_of(gpu);
  value.form = "gpuN";
  value.read = [&gpu](const Reading& in) { gpu = in.arguments.gpu(in.option, in.text, gpus_on(in.platform)); };
  value.text = [&gpu] { return fmt::format("{}", gpu); };
  value.accepted = fmt::format("gpu0 to gpu{} are accepted", most_gpus - 1);
  value.schema = gpu_schema;
  return value;
}

Value devices_of(std::vector<int>& devices) {
  const auto read = [&devices](const Reading& in) {
    devices.clear();
    for (const std::string_view part : split(in.text, ',')) {
      devices.push_back(in.arguments.device(in.option, part, gpus_on(in.platform)));
    }
  };
  const auto text = [&devices] {
    std::vector<std::string> names;
    std::ranges::transform(devices, std::back_inserter(names), device_name);
    return fmt::to_string(fmt::join(names, ","));
  };
  return {.form = "gpuN,...",
          .read = read,
          .text = text,
          .of_platform = true,
          .schema = fmt::format(R"({{"type": "array", "items": {}}})", gpu_schema)};
}

Value number_of(double& number, double low, double high) { return real(number, low, high); }
Value number_of(sim::Flops& number, double low, double high) { return real(number, low, high); }
Value whole_of(int& number, int low, Highest high) { return whole(number, low, high); }
Value whole_of(std::int64_t& number, int low, Highest high) { return whole(number, low, high); }
Value count_of(std::optional<int>& number, int low, Highest high, std::string form) {
  return whole(number, low, high, std::move(form));
}

Value count_of_each(std::optional<int>& count, int low, Highest high) {
  Value each = count_of(count, low, high, "COUNTS");
  each.several = [low, high](const Reading& in) {
    std::vector<std::string> texts;
    for (const int one : in.arguments.integers(in.option, in.text, low, high.on(in.platform)))
      texts.push_back(fmt::format("{}", one));
    return texts;
  };
  return each;
}

}  // namespace c3sim::study
