// Makes an answer whose page shows one text, whatever it holds, in every place where a page shows text.
#pragma once

#include <fmt/format.h>

#include <string>

#include "study/report/page.h"

namespace c3sim::study {

inline Results answer_of_text(const std::string& text) {
  ResultTable table({{"command", text, text}, {"key", text, ""}});
  for (int i = 0; i < 30; ++i) table.add_row({text, fmt::format("{} {}", text, i)});
  const BarChart bars{.id = text,
                      .title = text,
                      .value_axis = text,
                      .series = {text, text + "2"},
                      .bars = {{text, {1.0, 2.0}, {Published{0.5, 1.5}, {}}}},
                      .levels = {{text, 1.0}},
                      .caption = text};
  const ScatterChart points{.id = text,
                            .title = text,
                            .x = {.label = text, .unit = text},
                            .y = {.label = text, .unit = text},
                            .series = {{text, {{1.0, 1.0, text}}}},
                            .guides = {{text, 0.0, 0.0, 1.0, 1.0}},
                            .caption = text};
  const TimelineChart timeline{
      .id = text, .title = text, .series = {text}, .rows = {{text, {{0.0, 1.0, 0, text, text}}}}, .caption = text};
  return {.platform = text,
          .tables = {{.key = text, .title = text, .table = table, .charts = {bars, points, timeline}}},
          .warnings = {text},
          .title = text,
          .notes = {text},
          .headlines = {{text, text, text}}};
}

}  // namespace c3sim::study
