#include "study/ask/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "study/work/operation.h"

namespace c3sim::study {

namespace {

constexpr int most_gpus = 64;

int highest(const Reading& in, Highest high) {
  return in.platform == nullptr ? models::most_channels : high(*in.platform);
}

std::string sizes_accepted() { return fmt::format("1B to {} are accepted", sim::to_string(largest_array)); }

}  // namespace

int any_count(const models::PlatformSpec&) { return models::most_channels; }
int all_cus(const models::PlatformSpec& platform) { return platform.gpu.cus(); }
int all_gpus_of(const models::PlatformSpec& platform) { return platform.gpus; }

Value value_of(models::GemmShape& shape) {
  return {.form = "MxNxK",
          .read = [&shape](const Reading& in) { shape = in.arguments.gemm(in.option, in.text); },
          .text = [&shape] { return shape == models::GemmShape{} ? "" : models::to_string(shape); },
          .accepted = "MxNxK such as 8192x57344x8192 is accepted"};
}

Value value_of(sim::Bytes& size) {
  return {.form = "SIZE",
          .read = [&size](const Reading& in) { size = in.arguments.size(in.option, in.text); },
          .text = [&size] { return size == sim::Bytes{} ? "" : sim::to_string(size); },
          .accepted = sizes_accepted()};
}

Value value_of(std::vector<sim::Bytes>& sizes) {
  const auto read = [&sizes](const Reading& in) {
    if (in.one) {
      sizes = {in.arguments.size(in.option, in.text)};
    } else {
      sizes = in.arguments.sizes(in.option, in.text);
    }
  };
  const auto text = [&sizes] {
    std::string all;
    for (const sim::Bytes size : sizes) all.append(all.empty() ? "" : ",").append(sim::to_string(size));
    return all;
  };
  return {.form = "SIZE|LOW:HIGH:xFACTOR", .read = read, .text = text, .accepted = sizes_accepted()};
}

Value value_of(sim::Time& time) {
  return {"TIME", [&time](const Reading& in) { time = in.arguments.time(in.option, in.text); },
          [&time] { return time == sim::Time::zero() ? "" : fmt::format("{}us", sim::to_microseconds(time)); }};
}

Value value_of(bool& flag) {
  const std::vector<Choice<bool>> answers{{"no", false}, {yes, true}, {"false", false}, {"true", true}};
  return {"", [&flag, answers](const Reading& in) { flag = in.arguments.choice(in.option, in.text, answers); },
          [&flag] { return std::string(flag ? yes : ""); }, Said::alone};
}

Value word_of(std::string& word, std::string form) {
  const std::string accepted = form + " is accepted";
  return {.form = std::move(form),
          .read = [&word](const Reading& in) { word = in.text; },
          .text = [&word] { return word; },
          .accepted = accepted};
}

Value device_of(int& device) {
  const auto read = [&device](const Reading& in) {
    device = in.arguments.device(in.option, in.text, in.platform == nullptr ? most_gpus : in.platform->gpus);
  };
  return {.form = "gpuN|host",
          .read = read,
          .text = [&device] { return device_name(device); },
          .of_platform = true,
          .accepted = fmt::format("gpu0 to gpu{} and host are accepted", most_gpus - 1)};
}

namespace {
template <class Number>
Value whole(Number& number, int low, int high) {
  return {"COUNT",
          [&number, low, high](const Reading& in) { number = in.arguments.integer(in.option, in.text, low, high); },
          [&number] { return std::to_string(number); }};
}
}  // namespace

Value number_of(double& number, double low, double high) {
  return {"NUMBER",
          [&number, low, high](const Reading& in) { number = in.arguments.number(in.option, in.text, low, high); },
          [&number] { return fmt::format("{}", number); }};
}

Value whole_of(int& number, int low, int high) { return whole(number, low, high); }
Value whole_of(std::int64_t& number, int low, int high) { return whole(number, low, high); }

Value count_of(std::optional<int>& count, int low, Highest high, std::string form) {
  const auto read = [&count, low, high](const Reading& in) {
    count = in.arguments.integer(in.option, in.text, low, highest(in, high));
  };
  return {.form = std::move(form),
          .read = read,
          .text = [&count] { return count ? std::to_string(*count) : ""; },
          .of_platform = high != any_count};
}

Value counts_of(std::vector<int>& counts, int low, Highest high) {
  const auto read = [&counts, low, high](const Reading& in) {
    if (in.one) {
      counts = {in.arguments.integer(in.option, in.text, low, highest(in, high))};
    } else {
      counts = in.arguments.integers(in.option, in.text, low, highest(in, high));
    }
  };
  return {.form = "COUNTS",
          .read = read,
          .text = [&counts] { return fmt::format("{}", fmt::join(counts, ",")); },
          .of_platform = true};
}

}  // namespace c3sim::study
