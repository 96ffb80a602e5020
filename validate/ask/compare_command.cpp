// The command c3sim compare shows two answers to one question side by side: two folders of results, or one command that
// is asked of two machines.
#include <fmt/format.h>

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"
#include "study/report/results_folder.h"
#include "validate/ask/commands.h"

namespace c3sim::validate {

namespace {

using Json = nlohmann::ordered_json;
using study::Cell;

constexpr auto compare_examples = R"(Examples:
  c3sim compare before/ after/
  c3sim compare mi300x h200 --ask "c3 --gemm 8192x57344x8192 --collective all_gather --bytes 896MiB"
  c3sim compare mi300x faster.yaml --ask "collective --collective all_gather --bytes 1KiB:1GiB:x4" --out DIR
The first example compares two folders that --out wrote; the others ask two platforms the same question.
Two rows are compared if their cells before the first answered number are the same or, if no rows are alike in this
way, if they have the same place. The change is the second number over the first, less one, in percent.)";

constexpr std::string_view quotes = "'\"";

// The words of a line, of which quotes hold together what has blanks: --set gpu.power.cap='600 W'.
std::vector<std::string> words_of_line(const std::string& line) {
  const boost::escaped_list_separator<char> by_blanks("", " \t\n", std::string(quotes));
  const boost::tokenizer<boost::escaped_list_separator<char>> parts(line, by_blanks);
  std::vector<std::string> words(parts.begin(), parts.end());
  std::erase(words, "");
  return words;
}

// Returns whether a quote is left open. As in words_of_line(), every quote opens or closes, also behind a backslash.
bool has_open_quote(const std::string& line) {
  return std::ranges::count_if(line, [](char one) { return quotes.find(one) != std::string_view::npos; }) % 2 != 0;
}

struct Side {
  std::string name;       // of the machine or folder
  Json answer;            // content of results.json
  std::string command{};  // that answered; empty where the folder does not say
};

Side read_folder(const std::string& folder, std::string_view option) {
  const std::filesystem::path file = std::filesystem::path(folder) / "results.json";
  std::ifstream stream(file, std::ios::binary);
  if (stream) sim::note_read(file);
  Json answer = stream ? Json::parse(stream, nullptr, false) : Json();
  if (!answer.is_object()) {
    throw sim::ConfigError({{std::string(option), "",
                             file.string() + (stream ? " is no answer of c3sim: " : " cannot be read: ") +
                                 "a folder that --out wrote is accepted, or a platform beside --ask COMMAND; c3sim "
                                 "platform A --against B compares the parameters of two"}});
  }
  const std::vector<std::string> command = words_of_line(answer.value("command", ""));
  return {folder, std::move(answer), command.size() > 1 ? command[1] : ""};
}

// Returns the words of the command as its options.
study::Given given_in(const study::Command& command, std::span<const std::string> words, study::Arguments& arguments) {
  study::Given given;
  const auto say = [&](const study::Option& option, const std::string& value) {
    std::vector<std::string>& texts = given[option.name];
    const bool is_one = option.said == study::Said::once || option.said == study::Said::in_place;
    if (is_one && !texts.empty()) arguments.fault("--ask", fmt::format("{} is said twice", option.typed()));
    texts.push_back(value);
  };
  const study::Option* open = nullptr;  // option that waits for its value
  for (const std::string& word : words) {
    const std::string typed = word.substr(0, word.find('='));
    const auto named = std::ranges::find(command.options, typed, &study::Option::typed);
    const bool is_option = named != command.options.end() && named->has_name();
    if (is_option && named->said == study::Said::alone) {
      given[named->name] = {std::string(study::yes)};
    } else if (is_option && typed.size() < word.size()) {
      say(*named, word.substr(typed.size() + 1));
    } else if (is_option) {
      open = &*named;
      if (named->said == study::Said::maybe_alone) given[named->name] = {named->alone};
      continue;
    } else if (word.starts_with("--")) {
      arguments.fault("--ask", command.unknown(word));
    } else if (open != nullptr) {
      if (open->said == study::Said::maybe_alone) given[open->name].clear();
      say(*open, word);
    } else {
      const auto in_place = std::ranges::find_if(command.options, std::not_fn(&study::Option::has_name));
      if (in_place == command.options.end()) {
        arguments.fault("--ask", fmt::format("{} is not expected of {}", study::in_quotes(word), command.name));
      } else {
        say(*in_place, word);
      }
    }
    open = nullptr;
  }
  return given;
}

std::vector<Side> both_sides(study::Request& request) {
  const std::vector<std::string> names{request.text("first"), request.text("second")};
  std::vector<Side> sides;
  if (!request.says("ask")) {
    for (const std::string& name : names) sides.push_back(read_folder(name, sides.empty() ? "FIRST" : "SECOND"));
    if (sides[0].command != sides[1].command) {
      throw sim::ConfigError(
          {{"SECOND", "",
            fmt::format("c3sim {} answered there, and c3sim {} in {}: answers of the same command are accepted",
                        sides[1].command, sides[0].command, names[0])}});
    }
    return sides;
  }
  study::Arguments arguments;
  const std::string& line = request.text("ask");
  if (has_open_quote(line)) {
    throw sim::ConfigError({{"--ask", "", study::in_quotes(line) + " has a quote that nothing closes"}});
  }
  const std::vector<std::string> words = words_of_line(line);
  const std::string name = words.empty() ? "" : words.front();
  std::vector<std::string> known;
  for (const study::Command& command : all_commands()) {
    const bool asks_a_machine = command.name != "platform" &&  // whose answer has no numbers
                                std::ranges::count(command.options, "platform", &study::Option::name) > 0;
    if (asks_a_machine) known.push_back(command.name);
    if (!asks_a_machine || command.name != name) continue;
    study::Given given = given_in(command, std::span(words).subspan(1), arguments);
    if (!command.missing(given).empty()) {
      arguments.fault("--ask", fmt::format("{0} needs more than that: c3sim {0} --help shows what", name));
    }
    for (const char* const shared : {"out", "trace", "format", "platform", "write", "report"}) {
      if (given.contains(shared)) arguments.fault("--ask", fmt::format("--{} is no part of the question", shared));
    }
    arguments.check();
    for (const std::string& platform : names) {
      given["platform"] = {platform};
      study::Request asked(given, request.origin(), {.progress = request.progress()});
      sides.push_back({platform, Json::parse(study::json_text(study::to_json(command.answer(asked)))), command.name});
    }
    return sides;
  }
  throw sim::ConfigError(
      {{"--ask", "",
        name == "platform"
            ? "the answer of 'platform' has no numbers: c3sim platform A --against B compares the parameters of two"
            : study::in_quotes(name) + " asks nothing of a machine" + sim::name_hint(name, known)}});
}

// A Label holds what may distinguish a row from others, each with its name: "bytes 1024".
using Label = std::vector<std::string>;

// Returns all before the first measured number of a row.
Label label_of(const Json& row, const std::set<std::string>& asked) {
  Label label;
  for (const auto& [key, value] : row.items()) {
    if (value.is_number_float() && !asked.contains(key)) break;
    if (value.is_string()) label.push_back(key + " " + value.get<std::string>());
    if (value.is_number()) label.push_back(key + " " + value.dump());
  }
  return label;
}

// Returns what all labels of a table have, which distinguishes none of its rows.
Label shared_by(const std::vector<Label>& labels) {
  Label shared = labels.empty() ? Label{} : labels.front();
  for (const Label& label : labels) {
    std::erase_if(shared, [&label](const std::string& part) { return std::ranges::count(label, part) == 0; });
  }
  return shared;
}

// Returns what distinguishes a row within its table, or the first of its label if nothing does.
std::string shown_label(const Label& label, const Label& shared) {
  std::string shown;
  for (const std::string& part : label) {
    if (std::ranges::count(shared, part) == 0) shown += (shown.empty() ? "" : ", ") + part;
  }
  return shown.empty() && !label.empty() ? label.front() : shown;
}

// Finds, for each row of a table by its label, the row of the other one that answers the same, or null if there is
// none.
std::vector<const Json*> counterparts(const std::vector<Label>& labels, const Json& other,
                                      const std::set<std::string>& asked) {
  std::map<Label, const Json*> by_label;
  for (const Json& row : other) by_label.try_emplace(label_of(row, asked), &row);
  std::vector<const Json*> same;
  for (const Label& label : labels) {
    const auto known = by_label.find(label);
    same.push_back(known == by_label.end() ? nullptr : known->second);
  }
  const bool none = std::ranges::count(same, nullptr) == std::ssize(same);
  if (none && labels.size() == other.size())
    std::ranges::transform(other, same.begin(), [](const Json& row) { return &row; });
  return same;
}

// Returns a row for each number that both sides have, with its change in percent, and adds bars for these.
study::ResultTable differences(const std::vector<Side>& sides, std::vector<study::Bar>& bars) {
  study::ResultTable table({{"table", "table", ""},
                            {"row", "row", ""},
                            {"quantity", "quantity", ""},
                            {"first", sides[0].name, "", 3},
                            {"second", sides[1].name, "", 3},
                            {"change_percent", "change", "%", 1}});
  std::set<std::string> asked;  // what the command can be told, whose columns are no quantities
  for (const study::Command& command : all_commands()) {
    if (command.name != sides[0].command) continue;
    for (const study::Option& option : command.options) asked.insert(option.name);
  }
  for (const auto& [key, rows] : sides[0].answer.items()) {
    const auto other = sides[1].answer.find(key);
    if (other == sides[1].answer.end() || !rows.is_array() || !other->is_array()) continue;
    std::vector<Label> labels;
    for (const Json& row : rows) labels.push_back(label_of(row, asked));
    const Label shared = shared_by(labels);
    const std::vector<const Json*> counterpart = counterparts(labels, *other, asked);
    for (std::size_t place = 0; place < rows.size(); ++place) {
      const Json* const same = counterpart[place];
      if (same == nullptr || !same->is_object() || !rows[place].is_object()) continue;
      const std::string label = shown_label(labels[place], shared);
      bool leads = true;
      const Json here = rows[place].flatten();
      const Json other_row = same->flatten();
      for (const auto& [quantity, value] : here.items()) {
        const Json there = other_row.value(quantity, Json());
        if (!value.is_number_float() || !there.is_number() || asked.contains(quantity.substr(1))) continue;
        const double first = value.get<double>();
        const double second = there.get<double>();
        table.add_row({key, label, quantity.substr(1), first, second,
                       first == second ? Cell(0.0)
                       : first == 0.0  ? Cell(study::NoNumber{"from nothing"})
                                       : Cell(100.0 * (second / first - 1.0))});
        if (std::exchange(leads, false)) bars.push_back({label + ": " + quantity.substr(1), {first, second}});
      }
    }
  }
  return table;
}

study::Results answer_compare(study::Request& request) {
  constexpr std::size_t most_bars = 40;
  const std::vector<Side> sides = both_sides(request);
  study::Results results{.title = fmt::format("{} beside {}", sides[1].name, sides[0].name)};
  std::vector<study::Bar> bars;
  study::NamedTable table{"comparison", results.title, differences(sides, bars)};
  if (table.table.rows().empty()) {
    throw sim::ConfigError(
        {{"SECOND", "",
          "the two have no number in common: answers of the same command to the same question are accepted"}});
  }
  bars.resize(std::min(bars.size(), most_bars));
  table.charts.emplace_back(study::BarChart{.id = "comparison",
                                            .title = "The first number of each row",
                                            .value_axis = "as its name says",
                                            .series = {sides[0].name, sides[1].name},
                                            .bars = std::move(bars)});
  std::size_t same = 0;
  for (const std::vector<Cell>& row : table.table.rows()) same += row[3] == row[4] ? 1 : 0;
  results.notes.push_back(fmt::format("{} of {} numbers are the same in both.", same, table.table.rows().size()));
  results.tables.push_back(std::move(table));
  if (const std::filesystem::path folder = request.out_folder(); !folder.empty()) {
    study::save(results, request.origin(), folder);
  }
  return results;
}

}  // namespace

study::Command compare_command() {
  std::vector<study::Option> options{
      {"first", "DIR|PLATFORM", "Folder that --out wrote or, with --ask, a platform", study::Said::in_place, true},
      {"second", "DIR|PLATFORM", "Folder or platform that is compared with the first", study::Said::in_place, true},
      {"ask", "COMMAND", "Question that both platforms are asked: a command of c3sim with its options, in quotes"},
      {"format", study::names_of<study::Format>(), "How results are written on stdout"},
      {"out", "DIR", "Folder that gets the comparison as CSV, JSON and a page for the browser"}};
  return {"compare", "Hold two answers against each other: two folders of results, or one question on two machines",
          compare_examples, std::move(options) + study::overwrite_option(), answer_compare};
}

}  // namespace c3sim::validate
