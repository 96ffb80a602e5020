#include "study/sweep/machine_cache.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "study/sweep/sweep_axis.h"
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

const sim::Parameter* parameter_of(const Platform& platform, const Assignment& assignment) {
  const auto found = std::ranges::find(platform.parameters, path_of(assignment.name), &sim::Parameter::path);
  return found == platform.parameters.end() ? nullptr : &*found;
}

bool is_as_today(const Platform& platform, const Assignment& assignment) {
  const sim::Parameter* const parameter = parameter_of(platform, assignment);
  if (parameter == nullptr) return false;
  if (assignment.scales) return read_number(assignment.value)->number == 1.0;
  const std::optional<WrittenNumber> today = read_number(parameter->value);
  const std::optional<WrittenNumber> asked = read_number(assignment.value);
  if (!today || !asked) return sim::trimmed(parameter->value) == sim::trimmed(assignment.value);
  return today->dimension == asked->dimension && std::abs(asked->base - today->base) <= 1e-9 * std::abs(today->base);
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

const Platform& Platforms::named(std::span<const Assignment> assignments) const {
  const auto named = std::ranges::find(assignments, platform_word, &Assignment::name);
  return named == assignments.end() ? base() : platforms_.at(named->value);
}

std::vector<std::string> Platforms::texts(const Platform& platform, std::span<const Assignment> assignments) {
  std::vector<std::string> texts;
  for (const Assignment& assignment : assignments) {
    if (assignment.name == platform_word) continue;
    std::string value = assignment.value;
    if (assignment.scales) {
      const sim::Parameter* const parameter = parameter_of(platform, assignment);
      const auto scaled =
          parameter == nullptr ? std::nullopt : scaled_text(parameter->value, read_number(assignment.value)->number);
      if (!scaled) {
        throw sim::ConfigError(
            {{assignment.name, assignment.name,
              parameter == nullptr ? "is no parameter of " + platform.spec.name + ", whose value could be scaled"
                                   : "is '" + parameter->value + "', and only numbers are scaled"}});
      }
      value = *scaled;
    }
    texts.push_back(path_of(assignment.name) + "=" + value);
  }
  return texts;
}

models::PlatformSpec Platforms::with(std::span<const Assignment> assignments) const {
  const Platform& platform = named(assignments);
  const std::vector<std::string> changes = texts(platform, assignments);
  return changes.empty() ? platform.spec : reassign(platform, changes);
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

const Ensemble& MachineCache::ensemble(std::span<const Assignment> assignments, const Sampling& sampling) {
  if (!ensemble_ || !std::ranges::equal(assignments, assignments_of_ensemble_)) {
    const Platform& platform = platforms_.named(assignments);
    constexpr int jobs = 1;  // points are asked on many threads
    ensemble_ =
        std::make_unique<Ensemble>(platform, sampling, jobs, Progress{}, Platforms::texts(platform, assignments));
    assignments_of_ensemble_.assign(assignments.begin(), assignments.end());
  }
  return *ensemble_;
}

}  // namespace c3sim::study
