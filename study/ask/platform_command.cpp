#include <fmt/format.h>

#include <boost/algorithm/string/predicate.hpp>
#include <filesystem>
#include <locale>
#include <utility>

#include "study/ask/command.h"

namespace c3sim::study {

namespace {

constexpr auto platform_examples =
    "Examples:\n"
    "  c3sim platform\n"
    "  c3sim platform --filter sdma --sources\n"
    "  c3sim platform h200 --format csv\n"
    "  c3sim platform mi300x --set gpu.sdma.engines=32\n"
    "A value that a fit found is shown with its standard error; CSV and JSON have that in a column of its own.\n"
    "Kinds: data_sheet, measured, fitted (to measurements), probed (to work at once), assumed, what_if (asked for by "
    "--set).";

bool matches(const sim::Parameter& parameter, const std::string& filter) {
  const std::string texts =
      parameter.path + '\n' + parameter.kind + '\n' + parameter.source + '\n' + parameter.description;
  return boost::algorithm::icontains(texts, filter, std::locale::classic());
}

// "396 ± 1.2 GB/s", or each with its unit where these differ.
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
  ResultTable table({{"parameter", "parameter", ""},
                     {"value_and_error", "value", "", 2, true, false},
                     {"value", "value", "", 2, false},
                     {"unit", "base unit", "", 2, false},
                     {"kind", "kind", ""},
                     {"low", "from", ""},
                     {"high", "to", ""},
                     {"source", "source", "", 2, sources},
                     {"about", "about", "", 2, !sources},
                     {"file", "file", "", 2, sources},
                     {"error", "standard error", "", 2, false}});
  for (const sim::Parameter& parameter : parameters) {
    if (!matches(parameter, filter)) continue;
    table.add_row({parameter.path, with_error(parameter), parameter.value, parameter.unit, parameter.kind,
                   parameter.low, parameter.high, parameter.source, parameter.description,
                   fmt::format("{}:{}", std::filesystem::path(parameter.file).filename().string(), parameter.line),
                   parameter.error});
  }
  return table;
}

Results answer_platform(Request& request) {
  Arguments arguments;
  const Platform platform = request.platform(arguments, request.says("name") ? request.text("name") : "mi300x");
  arguments.check();
  const std::string& filter = request.text("filter");
  ResultTable table = parameter_table(platform.parameters, filter, request.says("sources"));
  if (table.rows().empty()) {
    arguments.fault("--filter", "no parameter holds " + in_quotes(filter) + ": without it, all are shown");
    arguments.check();
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
              {"sources", "", "In tables, show where each value is from instead of what it is; CSV and JSON have both",
               Said::alone}} +
              platform_options(),
          answer_platform,
          columns_elsewhere};
}

}  // namespace c3sim::study
