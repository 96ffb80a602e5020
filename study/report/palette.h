// Which colour each series of a page has, as an index into the colours of study/report/page/page.css.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/report/page.h"

namespace c3sim::study {

inline constexpr int colour_count = 12;
inline constexpr int grey = -1;

using Colours = std::map<std::string, int>;

// The names that a chart shows in colours of their own.
std::vector<std::string> coloured_names(const Chart& chart);

// By name. Names that no palette fixes get, one after the other, the colour that is least used so far among those that
// their chart does not have yet: two series of a chart differ as long as it has no more than there are colours.
Colours colours_of(const Page& page);

}  // namespace c3sim::study
