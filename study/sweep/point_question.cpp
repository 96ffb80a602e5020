#include "study/sweep/point_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/config/expression.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"
#include "study/ask/answers.h"
#include "study/config_folders.h"
#include "study/experiment/experiment.h"
#include "study/program/layer_templates.h"
#include "study/serve/serve.h"
#include "study/step/step.h"

namespace c3sim::study {

namespace {

// A testbed caches what it simulated. A fresh one after this many questions bounds memory, and most is still shared.
constexpr std::size_t most_questions = 256;

constexpr auto platform_word = "platform";
constexpr auto without_word = "without";

// Strips "platform.", which tells parameters such as "platform.gpus" from words of questions.
std::string path_of(const std::string& name) {
  const std::string prefix = platform_word + std::string(".");
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// Returns the mechanisms that a point's machine lacks by all that it sets: "none", "sharing", which are all by which
// work at once slows itself down, or names separated by commas. Throws sim::ConfigError.
std::vector<models::Mechanism> lacking(std::span<const Assignment> assignments) {
  std::vector<models::Mechanism> all;
  for (const Assignment& one : assignments) {
    if (one.name != without_word || lacks_nothing(one)) continue;
    std::string names = one.value;
    std::erase(names, ' ');
    Arguments arguments;
    const std::vector<models::Mechanism> named =
        one.value == "sharing" ? std::vector(models::sharing_mechanisms.begin(), models::sharing_mechanisms.end())
                               : arguments.choice_list<models::Mechanism>(without_word, names);
    arguments.check();
    all.insert(all.end(), named.begin(), named.end());
  }
  return all;
}

std::string whole_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A plain question whose words all have their defaults.
using PlainQuestion =
    std::variant<C3Trial, GemmTrial, CollectiveTrial, CopyTrial, KernelWords, StepWords, ServeQuestion>;
PlainQuestion untold(Ask ask) {
  static const std::array<PlainQuestion, 7> as_in_ask{C3Trial{},     GemmTrial{}, CollectiveTrial{}, CopyTrial{},
                                                      KernelWords{}, StepWords{}, ServeQuestion{}};
  return as_in_ask[static_cast<std::size_t>(ask)];
}

// Returns the path of the file that a word names, as the question will look it up; none for words that name no file.
// Throws sim::ConfigError where there is no such model.
std::optional<std::filesystem::path> file_of(const PlainQuestion& question, const Assignment& word) {
  if (std::holds_alternative<StepWords>(question) || std::holds_alternative<ServeQuestion>(question)) {
    if (word.name == "model" && !names_experts(word.value)) return model_file(word.value, config_folders());
  }
  if (std::holds_alternative<ServeQuestion>(question) && word.name == "trace" && !word.value.empty()) {
    return word.value;
  }
  return {};
}

// Sets a word of the question. Returns what is wrong with the word; empty where nothing is.
std::string tell(PlainQuestion& question, const Assignment& word) {
  const auto tell_plain = [&word](auto& plain) -> std::string {
    using Entry = Word<std::decay_t<decltype(plain)>>;
    const auto known = words_said(plain);
    const auto found = std::ranges::find(known, word.name, &Entry::name);
    if (found == known.end()) {
      return fmt::format("'{}' is no word of this question{}", word.name,
                         sim::name_hint(word.name, known, &Entry::name));
    }
    Arguments arguments;
    found->of(plain).read({.arguments = arguments, .option = word.name, .text = word.value});
    return arguments.faults().empty() ? "" : arguments.faults().front().what;
  };
  return std::visit(tell_plain, question);
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
  // The value may be possible only together with other values, but unknown words are always a fault.
  try {
    static_cast<void>(read_machine(experiment));
    static_cast<void>(read_experiment(experiment, Testbed(platform)));
  } catch (const sim::ConfigError& error) {
    const auto word_fault = std::ranges::find(error.faults(), true, &sim::Fault::is_word);
    if (word_fault != error.faults().end()) return told(*word_fault);
  }
  return {};
}

// Returns what one run of the experiment measures with these parameters. The caller has chosen the machine, so the one
// that the experiment names is read and ignored.
Results answer_experiment(Testbed& testbed, sim::Config config, std::span<const Assignment> words) {
  std::vector<std::string> parameters;
  for (const Assignment& word : words) parameters.push_back(word.name + "=" + word.value);
  set_parameters(config, parameters);
  static_cast<void>(read_machine(config));
  return measured(testbed, read_experiment(config, testbed));
}

template <class Trial>
Results answer_to(Testbed& testbed, const Trial& trial) {
  const Question asked{trial};
  return to_tables(asked, study::ask(testbed, asked), testbed.platform());
}
// Returns only the first table of a step's answer, the figures of the step as a whole.
Results answer_to(Testbed& testbed, const StepWords& words) {
  StepQuestion question = words;
  question.take(read_model_of(words));
  const StepMachine machine{testbed.platform(), testbed.templates()};
  Results results = to_tables(study::ask(machine, question, testbed.factor()), machine);
  results.tables.erase(results.tables.begin() + 1, results.tables.end());
  return results;
}

bool is_quantity(const ResultTable& table, std::size_t column) {
  const Column& known = table.columns()[column];
  if (known.key == "fidelity") return true;
  return std::ranges::any_of(table.rows(), [&](const std::vector<Cell>& row) {
    return is_number(row[column]) || std::holds_alternative<NoNumber>(row[column]);
  });
}

}  // namespace

bool lacks_nothing(const Assignment& assignment) {
  return assignment.name == without_word && assignment.value == "none";
}

bool is_of_platform(const Assignment& assignment) {
  return assignment.name == platform_word || assignment.name == without_word ||
         assignment.name.find('.') != std::string::npos;
}

const sim::Parameter* parameter_of(const Platform& platform, const Assignment& assignment) {
  const auto found = std::ranges::find(platform.parameters, path_of(assignment.name), &sim::Parameter::path);
  return found == platform.parameters.end() ? nullptr : &*found;
}

bool is_as_today(const Platform& platform, const Assignment& assignment) {
  const sim::Parameter* const parameter = parameter_of(platform, assignment);
  if (parameter == nullptr) return false;
  if (assignment.scales) return read_number(assignment.value)->number == 1.0;
  return sim::is_same_value(assignment.value, parameter->value);
}

void Platforms::add(const std::string& name) {
  if (platforms_.contains(name)) return;
  const std::vector<std::filesystem::path>& folders = base().config_folders;
  Beside asked = base().asked;
  asked.profiles.clear();  // they measure the base's own GEMMs
  Platform platform = read_platform(find_platform(name, platform_word, folders), base().settings, folders);
  keep(name, beside(std::move(platform), std::move(asked)));
}

// Tables of kernels are read together with the platform.
void Platforms::keep(const std::string& name, Platform platform) {
  std::ranges::copy(template_files(platform.config_folders), std::back_inserter(files_));
  platforms_.emplace(name, std::move(platform));
}

std::string Platforms::missing_file() const {
  const auto missing = std::ranges::find_if(files_, [](const auto& file) { return !std::ifstream(file).good(); });
  return missing == files_.end() ? "" : missing->string();
}

const Platform& Platforms::named(std::span<const Assignment> assignments) const {
  const auto named = std::ranges::find(assignments, platform_word, &Assignment::name);
  return named == assignments.end() ? base() : platforms_.at(named->value);
}

std::vector<std::string> Platforms::texts(const Platform& platform, std::span<const Assignment> assignments) {
  std::vector<std::string> texts;
  for (const Assignment& assignment : assignments) {
    if (assignment.name == platform_word || assignment.name == without_word) continue;
    std::string value = assignment.value;
    if (assignment.scales) {
      const sim::Parameter* const parameter = parameter_of(platform, assignment);
      const auto scaled =
          parameter == nullptr ? std::nullopt : scaled_text(parameter->value, read_number(assignment.value)->number);
      if (!scaled) {
        throw sim::ConfigError(
            {{assignment.name, assignment.name,
              parameter == nullptr ? "is no parameter of " + platform.spec.name + ", whose value could be scaled"
                                   : "is '" + parameter->value + "', and only numbers are scaled"}});
      }
      value = *scaled;
    }
    texts.push_back(path_of(assignment.name) + "=" + value);
  }
  return texts;
}

models::PlatformSpec Platforms::with(std::span<const Assignment> assignments) const {
  const Platform& platform = named(assignments);
  const std::vector<std::string> changes = texts(platform, assignments);
  models::PlatformSpec spec = changes.empty() ? platform.spec : reassign(platform, changes);
  for (const models::Mechanism mechanism : lacking(assignments)) spec.without.add(mechanism);
  return spec;
}

std::string Platforms::text() const {
  std::string text;
  for (const auto& [name, platform] : platforms_) {
    text += "# " + name + "\n" + platform.resolved;
    for (const models::Mechanism mechanism : models::all_mechanisms) {
      if (platform.asked.without.has(mechanism)) text += fmt::format("# without {}\n", to_string(mechanism));
    }
    // A point may use any of the platform's libraries.
    for (const std::string& library : platform.spec.gpu.gemm.libraries) text += platform.kernels.text(library);
    for (const std::filesystem::path& file : template_files(platform.config_folders)) text += whole_text(file);
  }
  return text;
}

Testbed& MachineCache::machine(std::span<const Assignment> assignments) {
  if (own_ != nullptr && assignments.empty()) return *own_;
  if (!testbed_ || asked_ >= most_questions || !std::ranges::equal(assignments, assignments_)) {
    testbed_ = std::make_unique<Testbed>(platforms_.with(assignments));
    assignments_.assign(assignments.begin(), assignments.end());
    asked_ = 0;
  }
  ++asked_;
  return *testbed_;
}

const Ensemble& MachineCache::ensemble(std::span<const Assignment> assignments, const Sampling& sampling) {
  if (!ensemble_ || !std::ranges::equal(assignments, assignments_of_ensemble_)) {
    const Platform& named = platforms_.named(assignments);
    Beside asked = named.asked;
    for (const models::Mechanism mechanism : lacking(assignments)) asked.without.add(mechanism);
    const Platform platform = beside(named, std::move(asked));
    constexpr int jobs = 1;  // many threads ask points already
    ensemble_ =
        std::make_unique<Ensemble>(platform, sampling, jobs, Progress{}, Platforms::texts(platform, assignments));
    assignments_of_ensemble_.assign(assignments.begin(), assignments.end());
  }
  return *ensemble_;
}

PointQuestion::PointQuestion(Ask ask, std::optional<sim::Config> experiment)
    : ask_(ask), experiment_(std::move(experiment)) {}

std::vector<std::string> PointQuestion::words(Needed least) const {
  std::vector<std::string> names;
  if (ask_ == Ask::run) return names;
  std::visit(
      [&](const auto& plain) {
        for (const auto& word : words_said(plain)) {
          if (word.needed >= least) names.emplace_back(word.name);
        }
      },
      untold(ask_));
  return names;
}

std::string PointQuestion::why_not(const Assignment& word, const models::PlatformSpec& platform) const {
  if (ask_ == Ask::run) return why_no_parameter(*experiment_, word, platform);
  PlainQuestion question = untold(ask_);
  if (std::string fault = tell(question, word); !fault.empty()) return fault;
  try {
    const std::optional<std::filesystem::path> file = file_of(question, word);
    if (file && word.name == "model") static_cast<void>(read_model(word.value, config_folders()));
    if (file && !std::ifstream(*file).good()) return fmt::format("'{}' cannot be read", file->string());
    if (file) sim::note_read(*file);
    return {};
  } catch (const sim::ConfigError& error) {
    const sim::Fault& first = error.faults().front();
    return first.where == "--model" ? first.what : sim::in_words(first);
  }
}

std::string PointQuestion::text_of_file(const Assignment& word) const {
  if (ask_ == Ask::run) return {};
  const std::optional<std::filesystem::path> file = file_of(untold(ask_), word);
  std::error_code absent;
  return file && std::filesystem::is_regular_file(*file, absent) ? whole_text(*file) : "";
}

Results PointQuestion::answer(Testbed& testbed, std::span<const Assignment> words, std::size_t batches) const {
  if (ask_ == Ask::run) return answer_experiment(testbed, *experiment_, words);
  PlainQuestion question = untold(ask_);
  Given given;
  for (const Assignment& word : words) given[word.name] = {word.value};
  // Words are set in the order of their table, as the default of a word may follow from earlier words.
  for (const std::string& name : this->words()) {
    if (!given.contains(name)) continue;
    const std::string fault = tell(question, {name, given[name].front()});
    if (!fault.empty()) throw sim::ConfigError({{name, "", fault}});
  }
  return std::visit(
      [&](const auto& plain) {
        std::vector<sim::Fault> faults;
        const auto trial = trial_in(plain, given, faults);
        for (sim::Fault& fault : faults) fault.path = fault.where;  // points name the word that is at fault
        if (!faults.empty()) throw sim::ConfigError(std::move(faults));
        if constexpr (std::is_same_v<decltype(trial), const ServeQuestion>) {
          return to_tables(testbed.kept<ServeMachine>().ask(trial, batches), testbed.platform());
        } else {
          return answer_to(testbed, trial);
        }
      },
      question);
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
        if (!is_quantity(table, c)) continue;
        if (std::ranges::count(echoes, column.key) > 0) {
          if (column.group.empty()) continue;
          // A part of a sum is a quantity, although a word has its name: the time of the optimizer.
          column.key = std::exchange(column.group, "") + "." + column.key;
        }
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
