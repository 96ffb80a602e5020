#include "study/ask/value.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace c3sim::study {

namespace {

constexpr int most_gpus = 64;

int gpus_on(const models::PlatformSpec* platform) { return platform == nullptr ? most_gpus : platform->gpus; }

std::string sizes_accepted() { return fmt::format("1B to {} are accepted", sim::to_string(largest_array)); }

constexpr auto gpu_schema =
    R"({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^gpu[0-9]+$"}]})";

std::string integer_schema(int low, const Highest& high) {
  const std::string most = high.of == nullptr ? fmt::format(R"(, "maximum": {})", high.elsewhere) : "";
  return fmt::format(R"({{"type": "integer", "minimum": {}{}}})", low, most);
}

}  // namespace

int all_cus(const models::PlatformSpec& platform) { return platform.gpu.cus(); }
int all_gpus_of(const models::PlatformSpec& platform) { return platform.gpus; }
int last_engine(const models::PlatformSpec& platform) { return platform.gpu.sdma.engines - 1; }

// Reads the extents alone, since format, layout and the like are words of their own.
Value value_of(models::GemmShape& shape) {
  const auto set = [&shape](models::GemmShape extents) {
    extents.dtype = shape.dtype;
    extents.layout = shape.layout;
    extents.weights = shape.weights;
    extents.of_experts = shape.of_experts;
    shape = extents;
  };
  const auto text = [&shape] {
    models::GemmShape extents = shape;
    extents.dtype = {};
    extents.layout = {};
    extents.weights = {};
    extents.of_experts = false;
    return extents == models::GemmShape{} ? "" : models::to_string(extents);
  };
  return {.form = "MxNxK",
          .read = [set](const Reading& in) { set(in.arguments.gemm(in.option, in.text)); },
          .text = text,
          .accepted = "MxNxK such as 8192x57344x8192 is accepted"};
}

Value value_of(sim::Bytes& size, sim::Limits<sim::Bytes> limits) {
  return {.form = "SIZE",
          .read = [&size, limits](const Reading& in) { size = in.arguments.size(in.option, in.text, limits); },
          .text = [&size] { return size == sim::Bytes{} ? "" : sim::to_string(size); },
          .accepted = sizes_accepted()};
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
  const auto read = [&device](const Reading& in) {
    device = in.arguments.device(in.option, in.text, gpus_on(in.platform));
  };
  return {.form = "gpuN|host",
          .read = read,
          .text = [&device] { return device_name(device); },
          .of_platform = true,
          .accepted = fmt::format("gpu0 to gpu{} and host are accepted", most_gpus - 1),
          .schema = fmt::format(R"({{"anyOf": [{{"const": "host"}}, {}]}})", gpu_schema)};
}

Value gpu_of(int& gpu) {
  const auto read = [&gpu](const Reading& in) { gpu = in.arguments.gpu(in.option, in.text, gpus_on(in.platform)); };
  return {.form = "gpuN",
          .read = read,
          .text = [&gpu] { return fmt::format("{}", gpu); },
          .of_platform = true,
          .accepted = fmt::format("gpu0 to gpu{} are accepted", most_gpus - 1),
          .schema = gpu_schema};
}

Value devices_of(std::vector<int>& devices) {
  const auto read = [&devices](const Reading& in) {
    devices.clear();
    for (const std::string_view part : split(in.text, ',')) {
      devices.push_back(in.arguments.device(in.option, part, gpus_on(in.platform)));
    }
  };
  const auto text = [&devices] {
    std::string names;
    for (const int device : devices) names.append(names.empty() ? "" : ",").append(device_name(device));
    return names;
  };
  return {.form = "gpuN,...",
          .read = read,
          .text = text,
          .of_platform = true,
          .schema = fmt::format(R"({{"type": "array", "items": {}}})", gpu_schema)};
}

namespace {

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
