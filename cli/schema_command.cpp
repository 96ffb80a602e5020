#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/commands.h"
#include "sim/config/config_error.h"
#include "study/config_folders.h"

namespace c3sim::cli {

namespace {

constexpr auto schema_examples =
    "Examples:\n"
    "  c3sim schema > experiment.json\n"
    "An editor with a YAML language server then takes a first line such as\n"
    "  # yaml-language-server: $schema=experiment.json";

}  // namespace

SchemaCommand::SchemaCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand(
      "schema", "Print the JSON schema of experiment files, by which editors complete and check them");
  command.footer(schema_examples);
  command.callback([this] { run(); });
}

void SchemaCommand::run() {
  for (const std::filesystem::path& folder : study::config_folders()) {
    std::ifstream file(folder / "schemas" / "experiment.json", std::ios::binary);
    if (!file) continue;
    session_.out() << std::string(std::istreambuf_iterator<char>(file), {});
    return;
  }
  throw sim::ConfigError({{"schemas/experiment.json", "",
                           "is in no folder of configurations: set C3SIM_CONFIGS to the folder configs of c3sim"}});
}

}  // namespace c3sim::cli
