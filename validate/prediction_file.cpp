#include "validate/prediction_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/config/config_error.h"
#include "sim/config/csv_file.h"
#include "sim/config/measurement_text.h"
#include "study/run/digest.h"
#include "validate/baseline.h"

namespace c3sim::validate {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::filesystem::path& file, std::string what) {
  throw sim::ConfigError({{file.string(), "", std::move(what)}});
}

std::string digest_of(Json content) {
  content.erase("sha256");
  return study::sha256(content.dump());
}

}  // namespace

std::string to_prediction_json(std::span<const Case> cases, const std::string& version, const Machine& machine,
                               const std::string& platform_text) {
  Json content{{"c3sim", version},
               {"platform", machine.platform},
               {"set", machine.changes},
               {"platform_sha256", study::sha256(platform_text)},
               {"cases", Json::array()}};
  for (const Case& one : cases) {
    Json entry{{"subject", subject_of(one)},
               {"trial", study::to_string(one.trial)},
               {"figure", one.form().key},
               {"unit", one.form().unit},
               {"predicted", one.predicted ? Json(*one.predicted / one.form().per_unit) : Json()}};
    if (!one.predicted) entry["why_not"] = one.why_not_predicted;
    entry["command"] = command_of(one);
    content["cases"].push_back(std::move(entry));
  }
  content["sha256"] = digest_of(content);
  return content.dump(1) + "\n";
}

PredictionFile read_prediction_json(const std::filesystem::path& file) {
  PredictionFile predictions;
  try {
    const Json content = Json::parse(sim::read_measurement_text(file));
    const Json& cases = content.at("cases");
    predictions.digest = content.at("sha256").get<std::string>();
    if (predictions.digest != digest_of(content)) {
      fail(file, "was changed since it was written: its digest is " + digest_of(content) +
                     ", not the one that it names, " + predictions.digest);
    }
    predictions.version = content.at("c3sim").get<std::string>();
    predictions.platform = content.at("platform").get<std::string>();
    predictions.changes = content.at("set").get<std::vector<std::string>>();
    for (const Json& entry : cases) {
      if (entry.at("predicted").is_null()) continue;
      const study::FigureForm* const form = study::figure_named(entry.at("figure").get<std::string>());
      if (form == nullptr) continue;
      predictions.predicted[entry.at("subject").get<std::string>()] =
          entry.at("predicted").get<double>() * form->per_unit;
    }
  } catch (const nlohmann::json::exception&) {
    fail(file, "no file of predictions: c3sim validate --predict writes them");
  }
  return predictions;
}

void apply_predictions(Validation& validation, const PredictionFile& predictions, const Library& library,
                       const Options& options) {
  std::set<std::string> measured;
  for (Case& one : validation.cases) {
    one.machine.platform = predictions.platform;
    one.machine.changes = predictions.changes;
    if (options.tolerance) one.band = *options.tolerance;
    const auto found = predictions.predicted.find(subject_of(one));
    measured.insert(subject_of(one));
    if (found == predictions.predicted.end()) {
      one.why_not_predicted = "the file of predictions has none of it";
    } else {
      one.predicted = found->second;
    }
  }
  const auto unmeasured = std::ranges::count_if(
      predictions.predicted, [&measured](const auto& entry) { return !measured.contains(entry.first); });
  if (unmeasured > 0) {
    validation.remarks.push_back(
        fmt::format("{} of {} predictions of the file were not measured", unmeasured, predictions.predicted.size()));
  }
  require_predictions(validation);
  add_baselines(validation.cases, library.platforms);
  validation.choices = choices_of(validation.cases);
}

}  // namespace c3sim::validate
