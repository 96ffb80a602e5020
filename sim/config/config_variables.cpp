// The part of Config that concerns parameters which expressions use.
#include <optional>
#include <string>

#include "sim/config/config.h"
#include "sim/config/config_leaf.h"
#include "sim/config/config_reading.h"
#include "sim/config/expression.h"
#include "sim/config/variables.h"

namespace c3sim::sim {

void Config::declare_parameters(std::string_view key) {
  reading_->variables.use();
  ConfigEntry* const section = reading_->root.find(key);
  if (section == nullptr) return;
  section->read = true;
  if (section->node.kind != ConfigNode::Kind::map) {
    return reading_->fault(section->position, std::string(key), "a section (keys indented below) is due here");
  }
  section->node.entered = true;
  for (ConfigEntry& entry : section->node.entries) {
    entry.read = true;
    const std::string path = path_of(key, entry.key);
    if (is_reserved(entry.key)) {
      reading_->fault(entry.position, path, "a unit or a function has this name: another is accepted");
    }
    // As text: a value, or expressions that are evaluated when they are needed.
    const std::optional<ConfigLeaf> leaf = read_leaf(*reading_, entry, path, LeafRole::unevaluated);
    if (!leaf) continue;
    if (leaf->value->kind != ConfigNode::Kind::scalar) {
      reading_->fault(leaf->value->position, path, "a list where a single value is due");
      continue;
    }
    ConfigPosition position = leaf->value->position;
    if (leaf->value->quoted) ++position.column;
    reading_->variables.declare(entry.key, leaf->value->text, position);
  }
}

void Config::evaluate_parameters() {
  reading_->variables.evaluate_all();
  reading_->note_parameter_faults();
  reading_->throw_faults();
}

Variables& Config::variables() { return reading_->variables; }

void Config::check() const { reading_->throw_faults(); }

}  // namespace c3sim::sim
