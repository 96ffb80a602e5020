#include "study/sweep/machine_cache.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "study/work/operators.h"

namespace c3sim::study {

namespace {

// A testbed remembers what it was asked; a fresh one keeps memory flat. By then all that points share has paid.
constexpr std::size_t most_questions = 256;

constexpr auto platform_word = "platform";

// "platform.gpus" is a parameter whose name questions have as a word of their own.
std::string path_of(const std::string& name) {
  const std::string prefix = platform_word + std::string(".");
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string words_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

bool is_of_platform(const Assignment& assignment) {
  return assignment.name == platform_word || assignment.name.find('.') != std::string::npos;
}

void Platforms::add(const std::string& name) {
  if (platforms_.contains(name)) return;
  const std::vector<std::filesystem::path>& folders = base().config_folders;
  Beside asked = base().asked;
  asked.profiles.clear();  // of the base's own GEMMs
  Platform platform = read_platform(find_platform(name, platform_word, folders), base().assignments, folders);
  keep(name, beside(std::move(platform), std::move(asked)));
}

// Tables of kernels are read with the platform.
void Platforms::keep(const std::string& name, Platform platform) {
  if (const auto file = operators_file(platform.config_folders)) files_.push_back(*file);
  platforms_.emplace(name, std::move(platform));
}

std::string Platforms::missing_file() const {
  const auto missing = std::ranges::find_if(files_, [](const auto& file) { return !std::ifstream(file).good(); });
  return missing == files_.end() ? "" : missing->string();
}

models::PlatformSpec Platforms::with(std::span<const Assignment> assignments) const {
  const auto named = std::ranges::find(assignments, platform_word, &Assignment::name);
  const Platform& platform = named == assignments.end() ? base() : platforms_.at(named->value);
  std::vector<std::string> texts;
  for (const Assignment& assignment : assignments) {
    if (assignment.name != platform_word) texts.push_back(path_of(assignment.name) + "=" + assignment.value);
  }
  return texts.empty() ? platform.spec : reassign(platform, texts);
}

std::string Platforms::text() const {
  std::string text;
  for (const auto& [name, platform] : platforms_) {
    text += "# " + name + "\n" + platform.resolved;
    // A point may ask for any of the platform's libraries.
    for (const std::string& library : platform.spec.gpu.gemm.libraries) text += platform.kernels.text(library);
    if (const auto file = operators_file(platform.config_folders)) text += words_of(*file);
  }
  return text;
}

Testbed& MachineCache::machine(std::span<const Assignment> assignments) {
  if (!testbed_ || asked_ >= most_questions || !std::ranges::equal(assignments, assignments_)) {
    testbed_ = std::make_unique<Testbed>(platforms_.with(assignments));
    assignments_.assign(assignments.begin(), assignments.end());
    asked_ = 0;
  }
  ++asked_;
  return *testbed_;
}

}  // namespace c3sim::study
