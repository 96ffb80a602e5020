#include "study/sweep/point_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/config/nearest_name.h"
#include "study/answers.h"
#include "study/choices.h"
#include "study/experiment_reader.h"

namespace c3sim::study {

namespace {

constexpr auto makespan_key = "makespan_us";

// Every reader of a word sets what it reads and returns what is wrong with the text, or nothing.
template <class Question>
struct Word {
  std::string_view name;
  bool required;
  std::string (*read)(Question& question, std::string_view text);
};

template <class T>
std::string read_choice(T& value, std::string_view text, const std::vector<Choice<T>>& choices) {
  std::vector<std::string> known;
  for (const auto& [name, alternative] : choices) {
    known.emplace_back(name);
    if (name != text) continue;
    value = alternative;
    return {};
  }
  return fmt::format("'{}' is not known{}", text, sim::name_hint(text, known));
}

template <class T>
std::string read_choice(std::optional<T>& value, std::string_view text, const std::vector<Choice<T>>& choices) {
  return read_choice(value.emplace(), text, choices);
}

// A list of one.
template <class T>
std::string read_choice(std::vector<T>& value, std::string_view text, const std::vector<Choice<T>>& choices) {
  value.assign(1, {});
  return read_choice(value.front(), text, choices);
}

std::vector<Choice<bool>> yes_or_no() { return {{"no", false}, {"yes", true}}; }

std::string read_count(std::optional<int>& value, std::string_view text, int low = 1) {
  const sim::Parsed<std::int64_t> parsed = sim::parse_integer(text);
  if (!parsed.error.empty() || parsed.value < low || parsed.value > models::most_channels) {
    return fmt::format("'{}' is no count: a whole number from {} to {} is accepted", text, low, models::most_channels);
  }
  value = static_cast<int>(parsed.value);
  return {};
}

std::string read_gemm(models::GemmShape& shape, std::string_view text) {
  const models::ParsedGemmShape parsed = models::parse_gemm_shape(text);
  shape = parsed.shape;
  return parsed.error;
}

std::string read_size(sim::Bytes& bytes, std::string_view text) {
  const sim::ParsedQuantity parsed = sim::parse_quantity(text, sim::Dimension::bytes);
  if (!parsed.ok()) return parsed.error;
  bytes = sim::Bytes(parsed.value);
  if (bytes >= sim::Bytes(1.0) && bytes <= largest_array) return {};
  return fmt::format("'{}' is out of bounds: 1B to {} are accepted", text, sim::to_string(largest_array));
}

std::string read_time(sim::Time& time, std::string_view text) {
  const sim::ParsedQuantity parsed = sim::parse_quantity(text, sim::Dimension::time);
  if (parsed.ok()) time = sim::to_time(sim::Seconds(parsed.value));
  return parsed.error;
}

std::string read_device(int& device, std::string_view text) {
  const sim::Parsed<std::int64_t> index = sim::parse_integer(text.starts_with("gpu") ? text.substr(3) : "");
  if (text == models::device_name(models::host_device)) {
    device = models::host_device;
  } else if (index.error.empty() && index.value >= 0 && index.value < models::most_channels) {
    device = static_cast<int>(index.value);
  } else {
    return fmt::format("'{}' is no device: gpu0, gpu1 ... or host are accepted", text);
  }
  return {};
}

using C3Words = std::array<Word<C3Question>, 12>;
const C3Words& words_of(const C3Question&) {
  static const C3Words words{{
      {"gemm", true, [](auto& q, auto text) { return read_gemm(q.scenario.gemm, text); }},
      {"collective", true,
       [](auto& q, auto text) { return read_choice(q.scenario.collective, text, collective_choices()); }},
      {"bytes", true, [](auto& q, auto text) { return read_size(q.scenario.bytes, text); }},
      {"strategy", true, [](auto& q, auto text) { return read_choice(q.strategies, text, strategy_choices()); }},
      {"backend", false, [](auto& q, auto text) { return read_choice(q.scenario.kernels, text, backend_choices()); }},
      {"channels", false, [](auto& q, auto text) { return read_count(q.scenario.channels, text); }},
      {"reserve", false, [](auto& q, auto text) { return read_count(q.scenario.reserved, text, 0); }},
      {"splits", false, [](auto& q, auto text) { return read_choice(q.scenario.splits, text, split_choices()); }},
      {"delay", false, [](auto& q, auto text) { return read_time(q.scenario.delay, text); }},
      {"barrier", false, [](auto& q, auto text) { return read_choice(q.scenario.barrier, text, barrier_choices()); }},
      {"variant", false, [](auto& q, auto text) { return read_choice(q.scenario.variant, text, variant_choices()); }},
      {"prelaunch", false, [](auto& q, auto text) { return read_choice(q.scenario.prelaunch, text, yes_or_no()); }},
  }};
  return words;
}

using GemmWords = std::array<Word<GemmQuestion>, 7>;
const GemmWords& words_of(const GemmQuestion&) {
  static const GemmWords words{{
      {"gemm", true, [](auto& q, auto text) { return read_gemm(q.gemm, text); }},
      {"cus", false,
       [](auto& q, auto text) {
         std::optional<int> cus;
         std::string fault = read_count(cus, text);
         if (cus) q.cus = {*cus};
         return fault;
       }},
      {"before", false, [](auto& q, auto text) { return read_choice(q.before, text, before_choices()); }},
      {"collective", false,
       [](auto& q, auto text) { return read_choice(q.collective.kind, text, collective_choices()); }},
      {"bytes", false, [](auto& q, auto text) { return read_size(q.collective.bytes, text); }},
      {"backend", false, [](auto& q, auto text) { return read_choice(q.collective.backend, text, backend_choices()); }},
      {"channels", false, [](auto& q, auto text) { return read_count(q.collective.channels, text); }},
  }};
  return words;
}

using CollectiveWords = std::array<Word<CollectiveQuestion>, 11>;
const CollectiveWords& words_of(const CollectiveQuestion&) {
  static const CollectiveWords words{{
      {"collective", true, [](auto& q, auto text) { return read_choice(q.collective, text, collective_choices()); }},
      {"bytes", true,
       [](auto& q, auto text) {
         q.sizes.assign(1, {});
         return read_size(q.sizes.front(), text);
       }},
      {"backend", false, [](auto& q, auto text) { return read_choice(q.backend, text, backend_choices()); }},
      {"variant", false, [](auto& q, auto text) { return read_choice(q.variants, text, variant_choices()); }},
      {"prelaunch", false,
       [](auto& q, auto text) {
         bool prelaunch = false;
         std::string fault = read_choice(prelaunch, text, yes_or_no());
         if (prelaunch) q.prelaunch = {true};
         return fault;
       }},
      {"gpus", false, [](auto& q, auto text) { return read_count(q.gpus, text, 2); }},
      {"engines", false, [](auto& q, auto text) { return read_count(q.engines, text); }},
      {"host_threads", false,
       [](auto& q, auto text) { return read_choice(q.host_threads, text, host_thread_choices()); }},
      {"cus", false, [](auto& q, auto text) { return read_count(q.cus, text); }},
      {"channels", false, [](auto& q, auto text) { return read_count(q.channels, text); }},
      {"graph", false, [](auto& q, auto text) { return read_choice(q.graph, text, yes_or_no()); }},
  }};
  return words;
}

using CopyWords = std::array<Word<CopyQuestion>, 4>;
const CopyWords& words_of(const CopyQuestion&) {
  static const CopyWords words{{
      {"from", true, [](auto& q, auto text) { return read_device(q.copy.from, text); }},
      {"to", true, [](auto& q, auto text) { return read_device(q.copy.to, text); }},
      {"bytes", true,
       [](auto& q, auto text) {
         q.sizes.assign(1, {});
         return read_size(q.sizes.front(), text);
       }},
      {"engine", false, [](auto& q, auto text) { return read_count(q.copy.engine, text, 0); }},
  }};
  return words;
}

// A plain question, that none of its words has been told.
using PlainQuestion = std::variant<C3Question, GemmQuestion, CollectiveQuestion, CopyQuestion>;
PlainQuestion untold(Ask ask) {
  switch (ask) {
    case Ask::gemm:
      return GemmQuestion{};
    case Ask::collective:
      return CollectiveQuestion{};
    case Ask::copy:
      return CopyQuestion{};
    default:
      return C3Question{};
  }
}

std::string tell(PlainQuestion& question, const Assignment& word) {
  return std::visit(
      [&word](auto& plain) -> std::string {
        std::vector<std::string> known;
        for (const auto& entry : words_of(plain)) {
          if (entry.name == word.name) return entry.read(plain, word.value);
          known.emplace_back(entry.name);
        }
        return fmt::format("'{}' is no word of this question{}", word.name, sim::name_hint(word.name, known));
      },
      question);
}

Results answer_plain(Testbed& testbed, const CopyQuestion& question) {
  return to_tables(ask(testbed, question), testbed.platform(), false);
}
Results answer_plain(Testbed& testbed, C3Question question) {
  return to_tables(ask(testbed, question), testbed.platform());
}
template <class Question>
Results answer_plain(Testbed& testbed, const Question& question) {
  return to_tables(ask(testbed, question), testbed.platform());
}

std::string why_no_parameter(sim::Config experiment, const Assignment& word, const models::PlatformSpec& platform) {
  std::vector<std::string> known;
  if (sim::Section root = experiment.root(); root.has("parameters")) known = root.section("parameters").keys();
  if (std::ranges::count(known, word.name) == 0) {
    return fmt::format("'{}' is no parameter of the experiment{}", word.name, sim::name_hint(word.name, known));
  }
  const auto told = [](const sim::Fault& fault) { return fault.path + ": " + fault.what; };
  try {
    set_parameters(experiment, std::vector{word.name + "=" + word.value});
    sim::Config resolved = experiment;
    resolve_parameters(resolved, platform);
  } catch (const sim::ConfigError& error) {
    return told(error.faults().front());
  }
  // Beside other values it may be possible where it is not by itself, but a word that stands for nothing never is.
  try {
    static_cast<void>(read_machine(experiment));
    static_cast<void>(read_experiment(experiment, Testbed(platform)));
  } catch (const sim::ConfigError& error) {
    const auto word_fault = std::ranges::find(error.faults(), true, &sim::Fault::is_word);
    if (word_fault != error.faults().end()) return told(*word_fault);
  }
  return {};
}

// What one run of the experiment measures with these values of its parameters, its makespan first. The machine that it
// names is the caller's business.
Results answer_experiment(Testbed& testbed, sim::Config config, std::span<const Assignment> words) {
  std::vector<std::string> parameters;
  for (const Assignment& word : words) parameters.push_back(word.name + "=" + word.value);
  set_parameters(config, parameters);
  static_cast<void>(read_machine(config));
  const Experiment experiment = read_experiment(config, testbed);
  std::vector<Column> columns;
  std::vector<Cell> cells;
  const auto add = [&](const std::string& name, std::optional<double> value) {
    const bool is_time = name.ends_with("_us");
    columns.push_back({name, name.substr(0, name.rfind("_us")), is_time ? "us" : "", is_time ? 2 : 3});
    cells.push_back(value ? Cell(*value) : Cell(NoNumber{"none"}));
  };
  const Quantities measured = measure(testbed, experiment);
  add(makespan_key, measured.at(makespan_key));
  for (const auto& [name, value] : measured) {
    if (name != makespan_key) add(name, value);
  }
  ResultTable table(std::move(columns));
  table.add_row(std::move(cells));
  return {testbed.platform().name, {{"results", "", std::move(table)}}, testbed.warnings(), {}};
}

bool is_quantity(const ResultTable& table, std::size_t column) {
  const Column& known = table.columns()[column];
  if (known.key == "fidelity") return true;
  return std::ranges::any_of(table.rows(), [&](const std::vector<Cell>& row) {
    return std::holds_alternative<double>(row[column]) || std::holds_alternative<std::int64_t>(row[column]) ||
           std::holds_alternative<NoNumber>(row[column]);
  });
}

}  // namespace

std::string_view to_string(Ask ask) {
  constexpr std::array<std::string_view, 5> names{"c3", "gemm", "collective", "copy", "run"};
  return names[static_cast<std::size_t>(ask)];
}

std::span<const Ask> all_asks() {
  static constexpr std::array asks{Ask::c3, Ask::gemm, Ask::collective, Ask::copy, Ask::run};
  return asks;
}

PointQuestion::PointQuestion(Ask ask, std::optional<sim::Config> experiment)
    : ask_(ask), experiment_(std::move(experiment)) {}

std::vector<std::string> PointQuestion::words() const {
  std::vector<std::string> names;
  if (ask_ == Ask::run) return names;
  std::visit(
      [&](const auto& plain) {
        for (const auto& word : words_of(plain)) names.emplace_back(word.name);
      },
      untold(ask_));
  return names;
}

std::vector<std::string> PointQuestion::required_words() const {
  std::vector<std::string> names;
  if (ask_ == Ask::run) return names;
  std::visit(
      [&](const auto& plain) {
        for (const auto& word : words_of(plain)) {
          if (word.required) names.emplace_back(word.name);
        }
      },
      untold(ask_));
  return names;
}

std::string PointQuestion::why_not(const Assignment& word, const models::PlatformSpec& platform) const {
  if (ask_ == Ask::run) return why_no_parameter(*experiment_, word, platform);
  PlainQuestion question = untold(ask_);
  return tell(question, word);
}

Results PointQuestion::answer(Testbed& testbed, std::span<const Assignment> words) const {
  if (ask_ == Ask::run) return answer_experiment(testbed, *experiment_, words);
  PlainQuestion question = untold(ask_);
  for (const Assignment& word : words) {
    if (std::string fault = tell(question, word); !fault.empty()) throw sim::ConfigError({{word.name, "", fault}});
  }
  return std::visit([&](const auto& plain) { return answer_plain(testbed, plain); }, question);
}

PointQuestion::Quantities PointQuestion::quantities_of(const Results& results) const {
  const std::vector<std::string> echoes = words();
  Quantities quantities;
  for (const NamedTable& named : results.tables) {
    const ResultTable& table = named.table;
    for (const std::vector<Cell>& row : table.rows()) {
      const auto* const name = table.rows().size() > 1 ? std::get_if<std::string>(&row.front()) : nullptr;
      for (std::size_t c = 0; c < row.size(); ++c) {
        Column column = table.columns()[c];
        if (!is_quantity(table, c) || std::ranges::count(echoes, column.key) > 0) continue;
        if (name != nullptr) {
          column.key = *name + "." + column.key;
          column.heading = *name + " " + column.heading;
        }
        if (std::ranges::count(quantities.columns, column.key, &Column::key) > 0) continue;
        quantities.columns.push_back(std::move(column));
        quantities.cells.push_back(row[c]);
      }
    }
  }
  return quantities;
}

}  // namespace c3sim::study
