// Every value that a platform file may give a parameter, alone or together with a value of another parameter, leads
// each question to an answer or to a fault. The faults of refused values say which values are accepted.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "study/play/parallel.h"
#include "study/sweep/point_question.h"
#include "tests/config_folders.h"

namespace c3sim::study {
namespace {

using Words = std::vector<Assignment>;

// Two copies take parts of a product as they are stored; two products are fused with collectives; other work follows.
constexpr std::string_view triggers = R"(name: triggers
operations:
  - {name: product, stream: compute, gemm: 1024x1024x512}
  - {name: exchange, stream: fused, fused: {gemm: 1024x2048x512, kind: all_to_all, pieces: 2, trigger: tracker}}
  - {name: first, stream: copies, stored: {of: product, from: 0KiB, to: 512KiB, trigger: flag}, copy: {from: 0, to: 1, bytes: 512KiB}}
  - {name: last, stream: others, stored: {of: product, from: 512KiB, to: 1MiB, trigger: doorbell}, copy: {from: 1, to: 0, bytes: 512KiB}}
  - {name: gather, stream: others, fused: {gemm: 1024x2048x512, kind: all_gather, path: ring, pieces: 2, trigger: flag}}
  - {name: load, stream: others, remote: {gpu: 0, peers: [1], bytes: 1MiB, cus: 8, access: load}}
)";

struct LegalQuestion {
  Ask ask;
  std::string text;  // "from=gpu0 to=gpu1"

  Words words() const {
    Words words;
    std::istringstream parts(text);
    for (std::string part; parts >> part;) {
      const std::size_t middle = part.find('=');
      words.push_back({part.substr(0, middle), part.substr(middle + 1)});
    }
    return words;
  }
  PointQuestion question() const {
    if (ask != Ask::run) return PointQuestion(ask);
    return PointQuestion(ask, sim::Config::from_text(triggers, "triggers.yaml"));
  }
};

const std::vector<LegalQuestion>& questions() {
  static const std::vector<LegalQuestion> all{
      {Ask::gemm, "gemm=1000x1000x1000"},
      {Ask::gemm, "gemm=1000x1000x1000 dtype=fp8"},
      {Ask::gemm, "gemm=8192x4096x2048"},
      {Ask::collective, "collective=all_gather bytes=8KiB"},
      {Ask::collective, "collective=all_reduce bytes=4MiB"},
      {Ask::collective, "collective=all_to_all bytes=4MiB"},
      {Ask::collective, "collective=reduce_scatter bytes=1MiB"},
      {Ask::collective, "collective=broadcast bytes=1MiB"},
      {Ask::collective, "collective=all_reduce bytes=64KiB backend=one_shot"},
      {Ask::collective, "collective=all_reduce bytes=1MiB backend=two_shot"},
      {Ask::collective, "collective=all_gather bytes=4MiB backend=sdma"},
      {Ask::collective, "collective=all_gather bytes=64KiB backend=sdma variant=bcst"},
      {Ask::collective, "collective=all_to_all bytes=64KiB backend=sdma variant=swap"},
      {Ask::collective, "collective=all_to_all bytes=64KiB backend=sdma variant=b2b prelaunch=yes"},
      {Ask::collective, "collective=all_reduce bytes=1MiB backend=sdma"},
      {Ask::copy, "from=gpu0 to=gpu1 bytes=64MiB"},
      {Ask::copy, "from=host to=gpu1 bytes=4MiB"},
      {Ask::copy, "from=host to=gpu0 bytes=32KiB copies=64 submit=each"},
      {Ask::copy, "from=gpu0 to=host bytes=32KiB copies=64 submit=batch"},
      {Ask::copy, "from=gpu0 to=gpu1 bytes=32KiB copies=64 submit=graph"},
      {Ask::copy, "from=host to=gpu0 bytes=32KiB copies=64 submit=kernel"},
      {Ask::c3, "gemm=2048x2048x1024 collective=all_gather bytes=16MiB strategy=c3_base"},
      {Ask::c3, "gemm=2048x2048x1024 collective=all_gather bytes=16MiB strategy=c3_rp"},
      {Ask::c3, "gemm=2048x2048x1024 collective=all_to_all bytes=16MiB strategy=conccl_rp"},
      {Ask::kernel, "read=16MiB write=16MiB"},
      {Ask::kernel, "operator=rmsnorm elements=256x4096"},
      {Ask::kernel, "operator=attention heads=8 tokens=512"},
      {Ask::kernel, "operator=attention heads=8 kv_heads=1 context=4096"},
      {Ask::kernel, "gpu=gpu0 peers=gpu1 bytes=1MiB"},
      {Ask::step, "model=llama3-8b layers=1 phase=decode batch=4 context=512 tp=2"},
      {Ask::step, "model=mixtral-8x7b layers=1 phase=prefill tokens=128 tp=2 graph=yes"},
      {Ask::step, "model=llama3-8b layers=1 phase=train tokens=128 dp=2 shard=full"},
      {Ask::run, ""},
  };
  return all;
}

// Machines holds a platform and the values that its readers accept for each parameter.
class Machines {
 public:
  explicit Machines(const std::string& name)
      : platforms_(read_platform(C3SIM_SOURCE_DIR "/configs/platforms/" + name + ".yaml", {}, folders)) {
    for (const sim::Parameter& parameter : platforms_.base().parameters) {
      const bool tells_of_the_fit = parameter.path.starts_with("fitted_to") ||
                                    parameter.path.starts_with("correlations") ||
                                    parameter.path.starts_with("concurrent_spread");
      if (!tells_of_the_fit) parameters_.push_back(parameter);
    }
  }

  const std::vector<sim::Parameter>& parameters() const { return parameters_; }

  // Returns the lowest and the highest accepted number, or all choices; nothing for a name or a list.
  const std::vector<std::string>& extremes(const sim::Parameter& parameter) const {
    const auto [known, is_new] = extremes_.try_emplace(parameter.path);
    if (!is_new) return known->second;
    for (const std::string& absurd : absurd_values(parameter)) {
      known->second = told_of(parameter, absurd);
      if (!known->second.empty()) break;
    }
    return known->second;
  }

  // Returns what is wrong with the outcome of a question on a machine: nothing if it is an answer or a fault.
  std::string wrong(const Words& machine, const LegalQuestion& asked) const {
    // A look comes every 4096 events. A step of 30 products on a GPU of one CU takes two million events, in a second.
    constexpr int most = 2048;
    try {
      int looks = 0;
      const sim::Interruption bound([&looks] {
        if (++looks > most) throw std::runtime_error("it does not end");
      });
      Testbed testbed(platforms_.with(machine));
      const PointQuestion question = asked.question();
      const PointQuestion::Quantities told = question.quantities_of(question.answer(testbed, asked.words()));
      for (std::size_t i = 0; i < told.columns.size(); ++i) {
        const auto* const number = std::get_if<double>(&told.cells[i]);
        const bool may_be_none = told.columns[i].key == "fraction_of_ideal";
        if (number == nullptr || may_be_none || (std::isfinite(*number) && *number > -1e-6)) continue;
        return fmt::format("{} is {}", told.columns[i].key, *number);
      }
    } catch (const sim::ConfigError&) {
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }

 private:
  static std::vector<std::string> absurd_values(const sim::Parameter& parameter) {
    if (parameter.unit == "s") return {"90000 s"};
    if (parameter.unit == "B") return {"9e15 B"};
    if (!parameter.unit.empty()) return {"1e40 " + parameter.unit};
    return {"1000000000000000", "1e15"};
  }

  std::vector<std::string> told_of(const sim::Parameter& parameter, const std::string& absurd) const {
    try {
      platforms_.with(Words{{parameter.path, absurd}});
    } catch (const sim::ConfigError& error) {
      const auto fault = std::ranges::find(error.faults(), parameter.path, &sim::Fault::path);
      if (fault != error.faults().end()) return values_in(fault->what);
    }
    return {};
  }

  static std::vector<std::string> values_in(const std::string& what) {
    const auto behind = [&what](std::string_view words) {
      const std::size_t at = what.find(words);
      return at == std::string::npos ? std::string() : what.substr(at + words.size());
    };
    if (const std::string range = behind("must lie between "); !range.empty()) {
      const std::size_t middle = range.find(" and ");
      return {range.substr(0, middle), range.substr(middle + 5)};
    }
    std::string names = behind("is not one of ");
    if (names.empty()) names = behind("known are: ");
    std::vector<std::string> values;
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(", "), names.size());
      values.push_back(names.substr(0, end));
      names.erase(0, end + 2);
    }
    return values;
  }

  Platforms platforms_;
  std::vector<sim::Parameter> parameters_;
  mutable std::map<std::string, std::vector<std::string>> extremes_;
};

// Returns one of the extremes of the parameter, or a thousandth to a thousand times its value.
std::string any_value(const sim::Parameter& parameter, const std::vector<std::string>& extremes) {
  const bool is_extreme = *rc::gen::inRange(0, 2) == 0;
  char* unit = nullptr;
  const double number = std::strtod(parameter.value.c_str(), &unit);
  if (is_extreme || unit == parameter.value.c_str()) return *rc::gen::elementOf(extremes);
  const double scaled = number * std::pow(10.0, *rc::gen::inRange(-30, 31) / 10.0);
  const bool is_whole = parameter.unit == "B" || parameter.value.find('.') == std::string::npos;
  return is_whole ? fmt::format("{:.0f}{}", scaled, unit) : fmt::format("{:.6g}{}", scaled, unit);
}

RC_GTEST_PROP(LegalParameters, AloneAndInPairsGiveAnAnswerOrAFault, ()) {
  static const Machines machines("mi300x");
  for (int machine = 0; machine < 3; ++machine) {
    Words words;
    for (int count = *rc::gen::inRange(1, 3); count > 0; --count) {
      const sim::Parameter parameter = *rc::gen::elementOf(machines.parameters());
      const std::vector<std::string>& extremes = machines.extremes(parameter);
      const bool is_new = std::ranges::find(words, parameter.path, &Assignment::name) == words.end();
      if (!extremes.empty() && is_new) words.push_back({parameter.path, any_value(parameter, extremes)});
    }
    const auto asked = *rc::gen::inRange<std::size_t>(0, questions().size());
    std::string machine_words;
    for (const Assignment& word : words) machine_words += " --set " + word.name + "=" + word.value;
    RC_LOG() << to_string(questions()[asked].ask) << " " << questions()[asked].text << machine_words;
    RC_ASSERT(machines.wrong(words, questions()[asked]) == "");
  }
}

// If a question had no answer on the unchanged platform, the other tests would try out no value with it.
TEST(LegalParameters, AreTriedOnQuestionsThatHaveAnswers) {
  const Platform platform = read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}, folders);
  for (const LegalQuestion& asked : questions()) {
    Testbed testbed(platform.spec);
    EXPECT_NO_THROW(asked.question().answer(testbed, asked.words())) << to_string(asked.ask);
  }
}

class FullLegalParameters : public testing::TestWithParam<const char*> {};

// Half of the questions are asked at one end of a parameter's range, and the other half at the other end; of platforms
// that have most parameters in common with the MI300X, half of these.
TEST_P(FullLegalParameters, AtBothEndsGiveQuestionsAnAnswerOrAFault) {
  const std::string name = GetParam();
  const Machines machines(name);
  const std::size_t parts = name == "mi300x" ? 2 : 4;
  std::size_t tried = 0;
  for (const sim::Parameter& parameter : machines.parameters()) {
    for (const std::string& value : machines.extremes(parameter)) {
      ++tried;
      for (std::size_t asked = tried % parts; asked < questions().size(); asked += parts) {
        EXPECT_EQ(machines.wrong({{parameter.path, value}}, questions()[asked]), "")
            << parameter.path << "=" << value << ", " << to_string(questions()[asked].ask) << " "
            << questions()[asked].text;
      }
    }
  }
  EXPECT_GT(tried, machines.parameters().size()) << "most parameters are numbers, which have two ends";
}

INSTANTIATE_TEST_SUITE_P(Platforms, FullLegalParameters, testing::Values("mi300x", "h200"));

}  // namespace
}  // namespace c3sim::study
