#include "study/step/repositories.h"

#include <algorithm>
#include <cctype>

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

}  // namespace

std::optional<std::string> model_of_repository(std::string_view repository,
                                               std::span<const std::filesystem::path> config_folders) {
  const std::string_view name = repository.substr(repository.rfind('/') + 1);
  std::optional<std::string> model;
  for (const std::filesystem::path& folder : config_folders) {
    const std::filesystem::path file = folder / "models" / "repositories.csv";
    std::error_code absent;
    if (!std::filesystem::is_regular_file(file, absent)) continue;
    const std::string text = sim::read_measurement_text(file);
    sim::CsvLexer lexer(text);
    std::size_t longest = 0;
    for (sim::CsvRow row; lexer.next(row);) {
      if (row.cells.size() != 2 || row.cells[0].text.size() <= longest || !begins_with(name, row.cells[0].text))
        continue;
      longest = row.cells[0].text.size();
      model = std::string(row.cells[1].text);
    }
    break;
  }
  return model;
}

}  // namespace c3sim::study
