// Texts of configurations, by tests/data/samples: what is read of them, and what is said of their faults.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/algorithm/string/trim.hpp>
#include <functional>
#include <map>
#include <string>

#include "tests/samples.h"
#include "tests/sim/config/config_faults.h"

namespace c3sim::sim {
namespace {

enum class Policy { oldest_first, newest_first, rotation };
constexpr std::array<std::pair<std::string_view, Policy>, 3> policies = {
    {{"oldest_first", Policy::oldest_first}, {"newest_first", Policy::newest_first}, {"rotation", Policy::rotation}}};

template <class Q>
auto quantity_within(Q low, Q high) {
  return [low, high](Section s) { s.quantity<Q>("key", {low, high}); };
}
void time_from_1ns_to_10us(Section s) { s.time("key", {1_ns, 10_us}); }

// What a sample's first input is read by.
const std::map<std::string, std::function<void(Section)>> readers{
    {"bytes from 1KiB to 1GiB", quantity_within(1_KiB, 1_GiB)},
    {"time from 1ns to 10us", time_from_1ns_to_10us},
    {"power from 1W to 800W", quantity_within(Watts(1), Watts(800))},
    {"rate from 1MB/s to 10000TB/s", quantity_within(BytesPerSecond(1e6), BytesPerSecond(1e16))},
    {"frequency from 132MHz to 2.1GHz", quantity_within(Hertz(1.32e8), Hertz(2.1e9))},
    {"energy up to 1uJ/B", quantity_within(JoulesPerByte(0), JoulesPerByte(1e-6))},
    {"number from 0 to 1", [](Section s) { s.number("key", 0.0, 1.0); }},
    {"numbers from 0 to 9", [](Section s) { s.numbers("key", 0.0, 9.0); }},
    {"integer from 1 to 64", [](Section s) { s.integer("key", 1, 64); }},
    {"integers from 0 to 9", [](Section s) { s.integers("key", 0, 9); }},
    {"integers from 0 to 99", [](Section s) { s.integers("key", 0, 99); }},
    {"integer_matrix from 0 to 9", [](Section s) { s.integer_matrix("key", 0, 9); }},
    {"flag", [](Section s) { s.flag("key"); }},
    {"text", [](Section s) { s.text("key"); }},
    {"texts", [](Section s) { s.texts("key"); }},
    {"name", [](Section s) { s.name("key"); }},
    {"names", [](Section s) { s.names("key"); }},
    {"choice", [](Section s) { s.choice<Policy>("key", policies); }},
    {"section", [](Section s) { s.section("key"); }},
    {"list", [](Section s) { s.list("key"); }},
    {"nothing", [](Section) {}},
    {"engines and queues",
     [](Section s) {
       s.integer("engines", 1, 64, 16);
       s.integer("queues", 1, 64, 8);
     }},
    {"gemm or copy",
     [](Section s) {
       if (s.has("gemm") && s.has("copy")) s.integer("copy", 0, 9);
     }},
    {"three kinds of values",
     [](Section s) {
       s.flag("c");
       s.integer("a", 0, 9);
       s.integer("a", 0, 9);  // read twice, told once
       s.quantity<Bytes>("b", {0_B, 1_KiB});
     }},
    {"a platform", read_small_platform}};

// What there is of parameters, warnings and, of platforms, the text that is written beside results.
std::string words_of(const Config& config, bool is_platform) {
  std::string words;
  for (const Parameter& parameter : config.parameters()) {
    words += fmt::format("{} = {}{}{}, alternatives {}\n", parameter.path, parameter.value,
                         parameter.error.empty() ? "" : ", error ", parameter.error, parameter.alternatives);
  }
  for (const Fault& warning : config.warnings()) {
    words += fmt::format("warning: {}: {}: {}\n", warning.where, warning.path, warning.what);
  }
  return words + (is_platform ? config.resolved() : "");
}

// The other inputs are assignments and "sources are required".
TEST(ConfigSamples, OfTextsAndAssignments) {
  expect_samples("configurations.samples", [](const Sample& sample) {
    const auto& [reader, text] = sample.inputs.front();
    std::string words;
    const std::string faults = config_fault([&, &reader = reader, &text = text] {
      const bool is_sourced = sample.inputs.back().first == "sources are required";
      Config config = Config::from_text(text, "f.yaml", is_sourced ? Sources::required : Sources::optional);
      for (const auto& [name, assignment] : sample.inputs) {
        if (name == "--set") config.set(boost::trim_right_copy(assignment));
      }
      readers.at(reader)(config.root());
      config.finish();
      words = words_of(config, reader == "a platform");
    });
    return faults.empty() ? words : faults + '\n';
  });
}

}  // namespace
}  // namespace c3sim::sim
