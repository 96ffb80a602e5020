#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"

namespace c3sim::cli {

namespace {

constexpr auto description = "Show every parameter of a platform: value, unit, kind, range and source";
constexpr auto examples =
    "Examples:\n"
    "  c3sim platform\n"
    "  c3sim platform h200 --format csv\n"
    "  c3sim platform mi300x --set gpu.sdma.engines=32\n"
    "Kinds: data_sheet, measured, fitted (to measurements), assumed, what_if (asked for by --set).";

study::ResultTable parameter_table(const std::vector<sim::Parameter>& parameters) {
  study::ResultTable table({{"parameter", "parameter", ""},
                            {"value", "value", ""},
                            {"unit", "base unit", ""},
                            {"kind", "kind", ""},
                            {"low", "from", ""},
                            {"high", "to", ""},
                            {"source", "source", ""},
                            {"about", "about", ""},
                            {"file", "file", ""}});
  for (const sim::Parameter& parameter : parameters) {
    table.add_row({parameter.path, parameter.value, parameter.unit, parameter.kind, parameter.low, parameter.high,
                   parameter.source, parameter.description,
                   fmt::format("{}:{}", std::filesystem::path(parameter.file).filename().string(), parameter.line)});
  }
  return table;
}

}  // namespace

PlatformCommand::PlatformCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("platform", description);
  command.footer(examples);
  command.add_option("NAME", name_, "Platform by its name or its file, as --platform (mi300x unless given)")
      ->type_name("NAME|FILE");
  session.add_platform_options(command);
  command.callback([this] { run(); });
}

void PlatformCommand::run() {
  Arguments arguments;
  const study::Platform platform = session_.platform(arguments, name_.empty() ? "mi300x" : name_);
  session_.answer(platform, {platform.spec.name, {{"results", "", parameter_table(platform.parameters)}}, {}, {}});
}

}  // namespace c3sim::cli
