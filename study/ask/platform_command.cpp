#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <filesystem>
#include <locale>
#include <map>
#include <string_view>
#include <utility>

#include "sim/config/expression.h"
#include "study/ask/command.h"
#include "study/config_folders.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

constexpr auto platform_examples =
    "Examples:\n"
    "  c3sim platform\n"
    "  c3sim platform --filter sdma --sources\n"
    "  c3sim platform h200 --format csv\n"
    "  c3sim platform mi300x --set gpu.sdma.engines=32\n"
    "  c3sim platform h100 --against h200\n"
    "A value that a fit found is shown with its standard error; CSV and JSON have that in a column of its own.\n"
    "Kinds: data_sheet, measured, fitted (to measurements), probed (to work at once), assumed, what_if (asked for by "
    "--set).";

bool matches(const sim::Parameter& parameter, const std::string& filter) {
  const std::string texts =
      parameter.path + '\n' + parameter.kind + '\n' + parameter.source + '\n' + parameter.description;
  return boost::algorithm::icontains(texts, filter, std::locale::classic());
}

// Returns "396 ± 1.2 GB/s", or both numbers with their units if these differ.
std::string with_error(const sim::Parameter& parameter) {
  const auto unit = [](const std::string& text) {
    const std::size_t last_digit = text.find_last_of("0123456789.");
    return text.substr(last_digit + 1);
  };
  const std::string& value = parameter.value;
  if (parameter.error.empty()) return value;
  const std::string shared = unit(value) == unit(parameter.error) ? unit(value) : "";
  return fmt::format("{} ± {}", value.substr(0, value.size() - shared.size()), parameter.error);
}

ResultTable parameter_table(const std::vector<sim::Parameter>& parameters, const std::string& filter, bool sources) {
  using sim::Parameter;
  std::vector<Parameter> shown;
  std::ranges::copy_if(parameters, std::back_inserter(shown),
                       [&](const Parameter& one) { return matches(one, filter); });
  const auto file = [](const Parameter& one) {
    return fmt::format("{}:{}", std::filesystem::path(one.file).filename().string(), one.line);
  };
  return table_of<Parameter>(shown, {{{"parameter", "parameter", ""}, &Parameter::path},
                                     {{"value_and_error", "value", "", 2, true, false}, with_error},
                                     {{"value", "value", "", 2, false}, &Parameter::value},
                                     {{"unit", "base unit", "", 2, false}, &Parameter::unit},
                                     {{"kind", "kind", ""}, &Parameter::kind},
                                     {{"low", "from", ""}, &Parameter::low},
                                     {{"high", "to", ""}, &Parameter::high},
                                     {{"source", "source", "", 2, sources}, &Parameter::source},
                                     {{"about", "about", "", 2, !sources}, &Parameter::description},
                                     {{"file", "file", "", 2, sources}, file},
                                     {{"error", "standard error", "", 2, false}, &Parameter::error}});
}

// Returns whether a parameter describes the file itself: its name, its base, or how it was fitted.
bool is_of_the_file(std::string_view path) {
  return path == "name" || path == "base" || path.starts_with("fitted_to") || path.starts_with("correlations");
}

// Maps paths that name the rows of lists to parameters, so that a library is compared wherever each file has it.
std::map<std::string, const sim::Parameter*> by_named_path(const Platform& platform) {
  std::map<std::string, const sim::Parameter*> by_path;
  for (const sim::Parameter& parameter : platform.parameters) {
    if (!is_of_the_file(parameter.path)) by_path.emplace(platform.config.by_name(parameter.path), &parameter);
  }
  return by_path;
}

// Returns a row for each parameter that differs or that only one platform has; those of `first` come first.
ResultTable difference_table(const Platform& first, const Platform& second, const std::string& filter, bool sources) {
  // A platform with --set has the name of that from which it comes.
  const bool is_same_name = first.title == second.title;
  const std::string name = first.title + (is_same_name ? " as asked" : "");
  const std::string other_name = second.title + (is_same_name ? " of --against" : "");
  ResultTable table({{"parameter", "parameter", ""},
                     {"value", name, ""},
                     {"kind", "kind", ""},
                     {"source", "source", "", 2, sources},
                     {"other_value", other_name, ""},
                     {"other_kind", "kind", ""},
                     {"other_source", "source", "", 2, sources},
                     {"about", "about", "", 2, !sources}});
  sim::Parameter none;
  none.value = "-";
  const std::map<std::string, const sim::Parameter*> of_first = by_named_path(first);
  const std::map<std::string, const sim::Parameter*> of_second = by_named_path(second);
  const auto add = [&](const std::string& path, const sim::Parameter* here, const sim::Parameter* there) {
    if (here != nullptr && there != nullptr && sim::is_same_value(here->value, there->value)) return;
    if (!((here != nullptr && matches(*here, filter)) || (there != nullptr && matches(*there, filter)))) return;
    const sim::Parameter& a = here == nullptr ? none : *here;
    const sim::Parameter& b = there == nullptr ? none : *there;
    table.add_row({path, with_error(a), a.kind, a.source, with_error(b), b.kind, b.source,
                   here == nullptr ? b.description : a.description});
  };
  for (const auto& [path, parameter] : of_first) {
    const auto there = of_second.find(path);
    add(path, parameter, there == of_second.end() ? nullptr : there->second);
  }
  for (const auto& [path, parameter] : of_second) {
    if (!of_first.contains(path)) add(path, nullptr, parameter);
  }
  return table;
}

Results answer_platform(Request& request) {
  Arguments arguments;
  if (request.says("name") && request.says("platform") && request.text("name") != request.text("platform")) {
    throw sim::ConfigError({{"--platform", "",
                             fmt::format("{} is another platform than {}: one of both is accepted, and --against "
                                         "holds two against each other",
                                         in_quotes(request.text("platform")), in_quotes(request.text("name")))}});
  }
  const Platform platform = request.platform(arguments, request.says("name") ? request.text("name") : "mi300x");
  arguments.check();
  const std::string& filter = request.text("filter");
  if (request.says("against")) {
    const std::filesystem::path file = find_platform(request.text("against"), "--against", config_folders());
    request.reads(file);
    const Platform other = read_platform(file, {}, config_folders());
    ResultTable table = difference_table(platform, other, filter, request.says("sources"));
    const bool is_same = table.rows().empty();
    Results results{platform.spec.name, {{"results", "", std::move(table)}}};
    if (is_same) {
      results.notes = {"No parameter that was asked for differs between " + platform.title + " and " + other.title +
                       "."};
    }
    return request.finish(platform, std::move(results));
  }
  ResultTable table = parameter_table(platform.parameters, filter, request.says("sources"));
  if (table.rows().empty()) {
    throw sim::ConfigError(
        {{"--filter", "", "no parameter holds " + in_quotes(filter) + ": without it, all are shown"}});
  }
  return request.finish(platform, {platform.spec.name, {{"results", "", std::move(table)}}, {}, {}});
}

}  // namespace

Command platform_command() {
  constexpr std::size_t columns_elsewhere = 120;
  return {"platform",
          "Show every parameter of a platform: value, unit, kind, range and source",
          platform_examples,
          std::vector<Option>{
              {"name", "NAME|FILE", "Platform by its name or its file, as --platform (mi300x unless given)",
               Said::in_place},
              {"filter", "TEXT", "Only parameters whose path, kind, source or description holds this text"},
              {"against", "NAME|FILE",
               "Only parameters whose values differ from those of this other platform, or that one of the two lacks"},
              {"sources", "", "In tables, show where each value is from instead of what it is; CSV and JSON have both",
               Said::alone}} +
              platform_options(),
          answer_platform,
          columns_elsewhere};
}

}  // namespace c3sim::study
