#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/config/config_error.h"
#include "study/ask/command.h"
#include "study/work/config_folders.h"

namespace c3sim::study {

namespace {

constexpr auto schema_examples =
    "Examples:\n"
    "  c3sim schema > experiment.json\n"
    "An editor with a YAML language server then takes a first line such as\n"
    "  # yaml-language-server: $schema=experiment.json";

Results answer_schema(Request&) {
  for (const std::filesystem::path& folder : config_folders()) {
    std::ifstream file(folder / "schemas" / "experiment.json", std::ios::binary);
    if (file) return {.text = std::string(std::istreambuf_iterator<char>(file), {})};
  }
  throw sim::ConfigError({{"schemas/experiment.json", "",
                           "is in no folder of configurations: set C3SIM_CONFIGS to the folder configs of c3sim"}});
}

}  // namespace

Command schema_command() {
  return {"schema",
          "Print the JSON schema of experiment files, by which editors complete and check them",
          schema_examples,
          {},
          answer_schema};
}

}  // namespace c3sim::study
