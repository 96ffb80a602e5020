#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/config_error.h"
#include "sim/config/files_read.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/config_folders.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto schema_examples = R"(Examples:
  c3sim schema > experiment.json
An editor with a YAML language server then takes a first line such as
  # yaml-language-server: $schema=experiment.json)";

Json reference(const std::string& definition) { return {{"$ref", "#/definitions/" + definition}}; }

// Return a schema that accepts one of these names, or the name of one of these choices.
Json one_of(const std::vector<std::string_view>& names) { return {{"enum", names}}; }
Json one_of(const auto& choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return one_of(names);
}

// Returns the schema of what a file may say for the value.
Json schema_of(const Value& value) {
  if (!value.schema.empty()) return Json::parse(value.schema);
  if (value.said == Said::alone) return {{"type", "boolean"}};
  if (value.form == "MxNxK") return reference("gemm");
  if (value.form == "SIZE") return reference("size");
  std::vector<std::string_view> names = split(value.form, '|');
  std::erase(names, "all");
  return one_of(names);
}

// Adds the words of the question to a section; the section must have the needed ones if `required`.
template <class Question>
void add_words(Json& section, bool required = true) {
  section["type"] = "object";
  section["additionalProperties"] = false;
  Question question;
  for (const Word<Question>& word : words_of(question)) {
    if (!word.is_of_files()) continue;
    Json property = schema_of(word.of(question));
    if (property.contains("$ref")) property = {{"allOf", Json::array({std::move(property)})}};
    property["description"] = word.help;
    const std::string key(word.key());
    section["properties"][key] = std::move(property);
    if (required && word.needed == Needed::always) section["required"].push_back(key);
  }
}

// Lets each number, flag and choice of a file be an expression instead.
void permit_expressions(Json& schema) {
  for (Json& part : schema) {
    if (part.is_structured()) permit_expressions(part);
  }
  const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
  if (type != "integer" && type != "number" && type != "boolean" && !(schema.is_object() && schema.contains("enum")))
    return;
  Json either{{"anyOf", Json::array({schema, reference("expression")})}};
  if (schema.contains("description")) either["description"] = schema["description"];
  either["anyOf"][0].erase("description");
  schema = std::move(either);
}

Json schema_from(std::istream& outline) {
  Json schema = Json::parse(outline);
  schema.erase("$comment");
  Json& of = schema["definitions"];
  add_words<models::GemmShape>(of["operation"], false);
  add_words<models::AttentionShape>(of["attention"]);
  add_words<CollectiveTrial>(of["collective"]);
  add_words<CopyTrial>(of["copy"]);
  add_words<models::ElementwiseSpec>(of["kernel"]);
  add_words<NamedKernel>(of["kernel"], false);
  add_words<models::RemoteKernelSpec>(of["remote"]);
  add_words<models::FusedSpec>(of["fused"]);
  add_words<models::SdmaPacketList>(of["packets"]);
  add_words<StoredRange>(of["stored"]);
  of["operation"]["properties"]["priority"] = one_of(priorities);
  of["operation"]["properties"]["launch"] = one_of(sim::choices_of<Launch>());
  of["operation"]["properties"]["launch"]["description"] =
      "of what begins with a kernel: beforehand, behind others on its GPUs, or by the host when it knows of their ends";
  Json& file = schema["properties"];
  file["protocol"] = one_of(sim::choices_of<models::Protocol>());
  file["launch"] = one_of(sim::choices_of<models::LaunchMode>());
  permit_expressions(schema);
  return schema;
}

Results answer_schema(Request&) {
  constexpr auto name = "schemas/experiment.json";
  const std::optional<std::filesystem::path> file = sim::first_file(config_folders(), name);
  if (!file) {
    throw sim::ConfigError(
        {{name, "", "is in no folder of configurations: set C3SIM_CONFIGS to the folder configs of c3sim"}});
  }
  std::ifstream outline(*file, std::ios::binary);
  return {.text = schema_from(outline).dump(1) + '\n'};
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
