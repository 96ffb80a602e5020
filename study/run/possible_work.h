// What a node can be asked to do.
#pragma once

#include <string>

#include "models/node.h"
#include "study/work/operation.h"

namespace c3sim::study {

// Why no schedule may hold this work on this node, in one sentence that says what would be accepted; empty if one may.
std::string why_impossible(const Work& work, const models::Node& node);

}  // namespace c3sim::study
