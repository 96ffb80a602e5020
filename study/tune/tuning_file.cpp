#include "study/tune/tuning_file.h"

#include <algorithm>

#include "sim/config/nearest_name.h"
#include "study/work/operation.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_sizes = 1000;
constexpr std::int64_t most_drawn = 10'000;
constexpr double largest_error = 1.0;

std::vector<models::CollectiveKind> read_collectives(sim::Section& root) {
  const std::vector<sim::Choice<models::CollectiveKind>> choices = sim::choices_of<models::CollectiveKind>();
  constexpr auto name_of_choice = &sim::Choice<models::CollectiveKind>::first;
  std::vector<models::CollectiveKind> kinds;
  for (const std::string& name : root.names("collectives")) {
    const auto found = std::ranges::find(choices, name, name_of_choice);
    if (found == choices.end()) {
      root.fault("collectives", "'" + name + "' is not known" + sim::name_hint(name, choices, name_of_choice));
      continue;
    }
    if (std::ranges::count(kinds, found->second) > 0) root.fault("collectives", "'" + name + "' is named twice");
    kinds.push_back(found->second);
  }
  return kinds;
}

std::vector<sim::Bytes> read_sizes(sim::Section& root) {
  std::vector<sim::Bytes> sizes;
  const std::vector<std::string> texts = root.texts("bytes");
  if (texts.size() > most_sizes) root.fault("bytes", "at most " + std::to_string(most_sizes) + " sizes are accepted");
  for (const std::string& text : texts) {
    const sim::ParsedQuantity parsed = sim::parse_quantity(text, sim::Dimension::bytes);
    if (!parsed.ok()) {
      root.fault("bytes", parsed.error);
    } else if (parsed.value < 1.0 || sim::Bytes(parsed.value) > largest_array) {
      root.fault("bytes", "'" + text + "' is out of bounds: 1B to " + sim::to_string(largest_array) + " are accepted");
    } else {
      sizes.emplace_back(parsed.value);
    }
  }
  return sizes;
}

}  // namespace

TuningQuestion read_tuning_question(sim::Section root, const Testbed& testbed) {
  TuningQuestion question;
  question.name = root.name("name");
  if (root.has("gemms")) question.gemms = read_gemms(root.section("gemms"));
  if (root.has("collectives")) question.collectives = read_collectives(root);
  if (root.has("bytes")) question.sizes = read_sizes(root);
  question.schedules = root.flag("schedules", false);
  question.drawn = static_cast<int>(root.integer("drawn", 0, most_drawn, 0));
  question.error = root.number("error", 0.0, largest_error, TuningQuestion::usual_error);
  for (const sim::Fault& fault : faults_of(question, testbed)) root.fault(fault.where, fault.what);
  return question;
}

}  // namespace c3sim::study
