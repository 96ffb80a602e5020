#include "study/ask/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {

// Returns the first example in a command's notes, or an empty text if there is none.
std::string example_in(const std::string& notes) {
  constexpr std::string_view before = "Examples:\n";
  const std::size_t at = notes.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = notes.find_first_not_of(' ', at + before.size());
  return notes.substr(begin, notes.find('\n', begin) - begin);
}

struct KindOfFile {
  std::string_view key, what, reader;
};
// The first key that a file has tells its kind.
constexpr std::array kinds_of_files{KindOfFile{"ask", "a study", "c3sim sweep"},
                                    KindOfFile{"operations", "an experiment", "c3sim run"},
                                    KindOfFile{"pairs",
                                               "an earlier study of pairs, which are cases of an axis now as in "
                                               "configs/studies/conccl.yaml",
                                               "c3sim sweep"},
                                    KindOfFile{"sublayers",
                                               "an earlier study of sub-layers, which are points now as in "
                                               "configs/studies/t3.yaml",
                                               "c3sim sweep"},
                                    KindOfFile{"schedules",
                                               "an earlier study of schedules, which are points now as in "
                                               "configs/studies/ficco.yaml",
                                               "c3sim sweep"},
                                    KindOfFile{"axes", "a study", "c3sim sweep"},
                                    KindOfFile{"collectives", "a list of what to tune", "c3sim tune"},
                                    KindOfFile{"fabric", "a platform", "--platform"},
                                    KindOfFile{"heads", "a model", "--model"},
                                    KindOfFile{"model", "a study of serving", "c3sim serve"}};

}  // namespace

void refuse_file_of_another(sim::Config& config, std::string_view command) {
  sim::Section root = config.root();
  const std::vector<std::string> keys = root.keys();
  const auto* const kind = std::ranges::find_if(
      kinds_of_files, [&keys](const KindOfFile& one) { return std::ranges::count(keys, one.key) > 0; });
  if (kind == kinds_of_files.end() || kind->reader.ends_with(command)) return;
  root.fault(kind->key,
             fmt::format("this is a key of {}, which {} reads, not c3sim {}", kind->what, kind->reader, command));
  config.check();
}

std::string Command::missing(const Given& given) const {
  std::string missing;
  std::string accepted;
  for (const Option& option : options) {
    if (!option.required || given.contains(option.name)) continue;
    missing += (missing.empty() ? "" : ", ") + option.typed();
    if (option.has_name()) accepted += fmt::format("  {} {}\n", option.typed(), option.form);
  }
  if (missing.empty()) return {};
  const std::string example = example_in(notes);
  return fmt::format("error: {} needs {}\n{}{}", name, missing, accepted,
                     example.empty() ? "" : fmt::format("for example: {}\n", example));
}

void Command::check(const Given& given) const {
  Arguments arguments;
  for (const Option& option : options) {
    const auto said = given.find(option.name);
    if (said == given.end() || std::ranges::count(said->second, "") == 0) continue;
    arguments.fault(option.typed(), fmt::format("is empty: {} is accepted", option.form));
  }
  arguments.check();
}

std::string Command::unknown(const std::string& typed, std::vector<std::string> known) const {
  for (const Option& option : options) {
    if (option.has_name()) known.push_back(option.typed());
  }
  return fmt::format("{} is no option of {}{}", in_quotes(typed), name, sim::name_hint(typed, known));
}

}  // namespace c3sim::study
