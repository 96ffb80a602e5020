#include "study/report/results_page.h"

#include <set>

#include "models/platform/interference.h"
#include "study/report/experiment_charts.h"
#include "study/work/scenario.h"

namespace c3sim::study {

namespace {

constexpr std::size_t long_table = 20;    // rows from which on a reader may want to filter
constexpr std::size_t most_choices = 12;  // that a drop-down should hold

// Texts of which there are a few, again and again.
bool is_choice(const ResultTable& table, std::size_t column) {
  std::set<std::string> texts;
  for (const std::vector<Cell>& row : table.rows()) {
    if (std::holds_alternative<std::monostate>(row[column])) continue;
    const std::string* const text = std::get_if<std::string>(&row[column]);
    if (text == nullptr) return false;
    texts.insert(*text);
  }
  return texts.size() >= 2 && texts.size() <= most_choices;
}

PageTable page_table(const NamedTable& named) {
  PageTable table{.id = named.key + "_table", .table = named.table};
  table.every_column = !named.in_text;
  if (named.table.rows().size() <= long_table) return table;
  table.filterable = true;
  for (std::size_t c = 0; c < named.table.columns().size(); ++c) {
    const Column& column = named.table.columns()[c];
    if ((column.in_text || table.every_column) && is_choice(named.table, c)) table.choices.push_back(column.key);
  }
  return table;
}

// Without what the title of the page says already.
std::string heading_of(const std::string& title, const std::string& page_title) {
  if (title.empty() || title == page_title) return "Results";
  const std::string repeated = page_title + ": ";
  return title.starts_with(repeated) ? title.substr(repeated.size()) : title;
}

Section section(const NamedTable& named, const std::string& page_title) {
  return {.id = named.key,
          .heading = heading_of(named.title, page_title),
          .charts = named.charts,
          .tables = {page_table(named)}};
}

}  // namespace

Palette study_palette() {
  using models::Mechanism;
  Palette palette;
  std::vector<std::string>& strategies = palette.first.emplace_back();
  for (const Strategy strategy : {Strategy::conccl, Strategy::c3_base, Strategy::conccl_rp, Strategy::c3_sp,
                                  Strategy::c3_best, Strategy::c3_rp, Strategy::heuristic, Strategy::c3_sp_rp}) {
    strategies.emplace_back(to_string(strategy));
  }
  std::vector<std::string>& mechanisms = palette.first.emplace_back();
  for (const Mechanism mechanism :
       {Mechanism::cu_loss, Mechanism::dispatch_wait, Mechanism::clock, Mechanism::hbm, Mechanism::loaded_latency,
        Mechanism::infinity_cache, Mechanism::l2, Mechanism::link, Mechanism::awake, Mechanism::cold,
        Mechanism::undershoot, Mechanism::shader_engines}) {
    mechanisms.emplace_back(to_string(mechanism));
  }
  palette.first.emplace_back(doers.begin(), doers.end());
  palette.grey = {std::string(to_string(Strategy::serial)), "ideal", "rest"};
  palette.grey.insert(palette.grey.end(), yardsticks.begin(), yardsticks.end());
  return palette;
}

std::string title_of(const Results& results) {
  if (!results.title.empty()) return results.title;
  const std::string& first = results.tables.front().title;
  return first.empty() ? "Predicted for " + results.platform : first;
}

Page results_page(const Results& results) {
  Page page{.title = title_of(results), .palette = study_palette(), .headlines = results.headlines};
  page.lead.push_back("What c3sim predicts for the platform " + results.platform + ".");
  page.lead.insert(page.lead.end(), results.notes.begin(), results.notes.end());
  for (const std::string& warning : results.warnings) page.lead.push_back("Warning: " + warning);
  if (!results.charts.empty()) {
    page.sections.push_back({.id = "overview", .heading = "Overview", .charts = results.charts});
  }
  for (const bool in_text : {true, false}) {
    for (const NamedTable& named : results.tables) {
      if (named.in_text == in_text) page.sections.push_back(section(named, page.title));
    }
  }
  return page;
}

}  // namespace c3sim::study
