#include "study/step/repositories.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <system_error>
#include <utility>

#include "sim/config/csv_lexer.h"
#include "sim/config/measurement_text.h"

namespace c3sim::study {

namespace {

bool begins_with(std::string_view name, std::string_view beginning) {
  const auto alike = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return name.size() >= beginning.size() && std::ranges::equal(name.substr(0, beginning.size()), beginning, alike) &&
         (name.size() == beginning.size() || name[beginning.size()] == '-');
}

// What the table says; a row without a model counts.
std::optional<HeldModel> told_of(std::string_view name, std::span<const std::filesystem::path> config_folders) {
  std::optional<HeldModel> told;
  for (const std::filesystem::path& folder : config_folders) {
    const std::filesystem::path file = folder / "models" / "repositories.csv";
    std::error_code absent;
    if (!std::filesystem::is_regular_file(file, absent)) continue;
    const std::string text = sim::read_measurement_text(file);
    sim::CsvLexer lexer(text);
    std::size_t longest = 0;
    sim::CsvRow row;
    lexer.next(row);  // what columns are called
    while (lexer.next(row)) {
      if (row.cells.size() < 2 || row.cells[0].text.size() <= longest || !begins_with(name, row.cells[0].text))
        continue;
      longest = row.cells[0].text.size();
      told = HeldModel{std::string(row.cells[1].text), row.cells.size() < 3 ? "" : std::string(row.cells[2].text)};
    }
    break;
  }
  return told;
}

}  // namespace

std::optional<std::filesystem::path> named_model_file(std::string_view name,
                                                      std::span<const std::filesystem::path> config_folders) {
  if (name.find('\0') != std::string_view::npos) return {};  // the file system would read up to there
  for (const std::filesystem::path& folder : config_folders) {
    std::error_code absent;
    std::filesystem::path file = folder / "models" / (std::string(name) + ".yaml");
    if (std::filesystem::is_regular_file(file, absent)) return file;
  }
  return {};
}

std::optional<HeldModel> held_by_repository(std::string_view repository,
                                            std::span<const std::filesystem::path> config_folders) {
  const std::string_view name = repository.substr(repository.rfind('/') + 1);
  std::optional<HeldModel> told = told_of(name, config_folders);
  const bool is_told = told && !told->model.empty();
  const bool is_called_as_told = is_told && told->model == name;
  if (!is_called_as_told && named_model_file(name, config_folders)) return HeldModel{std::string(name), ""};
  if (!is_told) return {};
  return told;
}

std::optional<std::string> model_of_repository(std::string_view repository,
                                               std::span<const std::filesystem::path> config_folders) {
  std::optional<HeldModel> held = held_by_repository(repository, config_folders);
  if (!held) return {};
  return std::move(held->model);
}

}  // namespace c3sim::study
