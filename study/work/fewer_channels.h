// Collectives that are asked to have more channels than their library gives them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/work/operation.h"

namespace c3sim::study {

// What a reader is to be told of it: what was asked for and what the library has; empty where it has as many.
std::string fewer_channels(const models::CollectiveSpec& collective, const models::PlatformSpec& platform);

// The same of all collectives of these works, each sentence once, added to those that are there.
void warn_of_channels(std::vector<std::string>& warnings, std::span<const Work> works,
                      const models::PlatformSpec& platform);

}  // namespace c3sim::study
