#include "study/sweep/sweep_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "sim/config/nearest_name.h"
#include "study/serve/serve.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_axes = 64;
constexpr std::uint64_t points_tried = 10'000;  // until one has an answer

// Leaves out what changes nothing.
std::vector<Assignment> assignments_of(const Point& point, bool of_platform) {
  std::vector<Assignment> chosen;
  for (const AxisValue& value : point.values) {
    std::ranges::copy_if(value.assignments, std::back_inserter(chosen), [=](const Assignment& each) {
      return is_of_platform(each) == of_platform && !lacks_nothing(each);
    });
  }
  return chosen;
}

bool touches_platform(const SweepAxis& axis) {
  const auto values = axis.extremes();
  return std::ranges::any_of(
      values, [](const AxisValue& value) { return std::ranges::any_of(value.assignments, is_of_platform); });
}

std::string first_of(const sim::ConfigError& error) {
  const sim::Fault& fault = error.faults().front();
  return fault.path.empty() ? fault.what : fault.path + ": " + fault.what;
}

// Returns what is wrong with a value on a machine that is otherwise unchanged. Words are not checked where the question
// is unknown.
std::string why_not(const AxisValue& value, Platforms& platforms, const PointQuestion* question) {
  std::vector<Assignment> of_platform;
  for (const Assignment& assignment : value.assignments) {
    if (is_of_platform(assignment)) {
      of_platform.push_back(assignment);
    } else if (assignment.scales) {
      return fmt::format("'{}' has no value today: parameters of the platform are scaled", assignment.name);
    } else if (question != nullptr) {
      if (std::string fault = question->why_not(assignment, platforms.base().spec); !fault.empty()) return fault;
    }
  }
  if (of_platform.empty()) return {};
  try {
    for (const Assignment& assignment : of_platform) {
      if (assignment.name == "platform") platforms.add(assignment.value);
    }
    platforms.with(of_platform);
    return {};
  } catch (const sim::ConfigError& error) {
    return first_of(error);
  }
}

// Returns the key in the file at which faults of an axis are reported.
std::string_view key_of(sim::Section& section) {
  for (const char* const key : {"values", "value", "cases", "from", "times"}) {
    if (section.has(key)) return key;
  }
  return "of";
}

// Checks each value by itself, and reports a fault of neighbouring values once. Of a long list, which is generated, it
// checks up to about 256 values over the whole range: a platform for each would take longer than the study.
void check_values(sim::Section& section, const SweepAxis& axis, Platforms& platforms, const PointQuestion* question) {
  constexpr std::size_t most_checked = 256;
  std::string told;
  const std::vector<AxisValue> values = axis.extremes();
  const std::size_t stride = values.size() / most_checked + 1;
  for (std::size_t i = 0; i < values.size();
       i = i + 1 == values.size() ? i + 1 : std::min(i + stride, values.size() - 1)) {
    const AxisValue& value = values[i];
    std::string fault = why_not(value, platforms, question);
    if (fault.empty() || fault == told) continue;
    const bool names_axis = section.has("of") && fault.starts_with(in_quotes(axis.name));
    const bool says_what = names_axis || value.label.empty() || fault.starts_with(in_quotes(value.label));
    section.fault(names_axis ? "of" : key_of(section), says_what ? fault : fmt::format("{}: {}", value.label, fault));
    told = std::move(fault);
  }
}

std::vector<SweepAxis> read_axes(sim::Section& root, Platforms& platforms, const PointQuestion* question) {
  std::vector<SweepAxis> axes;
  std::vector<sim::Section> sections = root.list("axes");
  if (sections.empty() && root.is_sound("axes")) root.fault("axes", "at least one axis is needed");
  if (sections.size() > most_axes) {
    root.fault("axes", fmt::format("{} axes are too many: at most {} are accepted", sections.size(), most_axes));
    return axes;
  }
  for (sim::Section& section : sections) {
    SweepAxis axis = read_axis(section);
    if (std::ranges::count(axes, axis.name, &SweepAxis::name) > 0) {
      section.fault(section.has("of") ? "of" : "name", "an axis '" + axis.name + "' is there already");
    }
    check_values(section, axis, platforms, question);
    axes.push_back(std::move(axis));
  }
  std::stable_partition(axes.begin(), axes.end(), touches_platform);
  return axes;
}

void check_words(sim::Section& root, const std::vector<SweepAxis>& axes, const PointQuestion& question) {
  for (const std::string& word : question.words(Needed::at_points)) {
    const bool told = std::ranges::any_of(axes, [&](const SweepAxis& axis) {
      const auto values = axis.extremes();
      if (values.empty()) return axis.name == word;  // the axis has a fault of its own
      return std::ranges::all_of(values, [&](const AxisValue& value) {
        return std::ranges::count(value.assignments, word, &Assignment::name) > 0;
      });
    });
    if (!told) {
      root.fault("axes", fmt::format("no axis says '{}', which '{}' asks for: {{of: {}, value: ...}}", word,
                                     to_string(question.ask()), word));
    }
  }
}

void check_count(sim::Section& root, const PointSequence& points, std::uint64_t most_points) {
  const bool grid = !points.is_drawn();
  for (const SweepAxis& axis : points.axes()) {
    if (grid && axis.interval) {
      root.fault("axes", fmt::format("'{}' has two ends and nothing between: a grid needs step, times or steps; "
                                     "sampling: {{method: sobol, points: 1024}} draws from it",
                                     axis.name));
    }
  }
  if (points.size() <= most_points) return;
  const std::string count =
      points.size() == PointSequence::too_many ? "more than 1.8e19" : fmt::format("{}", points.size());
  root.fault(grid ? "axes" : "sampling",
             fmt::format("{} points, of which {} are accepted: --most-points takes more", count, most_points));
}

// Records words about served models that no point makes use of.
void check_use(sim::Section& root, const PointSequence& points) {
  if (points.size() > points_tried) return;
  std::vector<Given> said(points.size());
  for (std::uint64_t index = 0; index < points.size(); ++index) {
    for (const Assignment& word : assignments_of(points.point(index), false)) said[index][word.name] = {word.value};
  }
  for (const sim::Fault& vain : said_in_vain(said)) root.fault("axes", fmt::format("{}: {}", vain.where, vain.what));
}

// Returns the quantities of a point. Throws sim::ConfigError where the machine cannot do what is asked or cannot be
// read.
PointQuestion::Quantities quantities_at(const SweepStudy& study, MachineCache& machines, const Point& point) {
  Testbed& machine = machines.machine(assignments_of(point, true));
  return study.question.quantities_of(
      study.question.answer(machine, assignments_of(point, false), batches_simulated(study.points.size())));
}

// Returns the cell of a quantity, or a null pointer where the point has no such quantity.
const Cell* cell_of(const PointQuestion::Quantities& quantities, const std::string& key) {
  const std::size_t place = place_of(quantities.columns, key);
  return place == quantities.cells.size() ? nullptr : &quantities.cells[place];
}

std::optional<double> value_of(const PointQuestion::Quantities& quantities, const std::string& key) {
  const Cell* const cell = cell_of(quantities, key);
  return cell == nullptr ? std::nullopt : number_of(*cell);
}

// Returns the kind of the work. Intervals are no narrower than the measured prediction error of that kind.
Unfitted unfitted_of(const SweepStudy& study, const PointQuestion::Quantities& found) {
  switch (study.question.ask()) {
    case Ask::step:
    case Ask::serve:
      return Unfitted::steps;
    case Ask::c3:
    case Ask::run:
      return Unfitted::beside;
    default:
      const Cell* const fidelity = cell_of(found, "fidelity");
      const bool is_fitted = fidelity != nullptr && *fidelity == Cell(std::string(to_string(Fidelity::calibrated)));
      return is_fitted ? Unfitted::none : Unfitted::alone;
  }
}

// Returns whether a quantity of this unit is a time or a rate.
bool follows_time(std::string_view unit) {
  const sim::Unit* const known = sim::unit_of(unit);
  return unit.ends_with("/s") || (known != nullptr && known->dimension == sim::Dimension::time);
}

// Asks the question of every machine that the point's may be. Draws that are impossible are left out.
void add_intervals(PointAnswer& answer, const SweepStudy& study, MachineCache& machines, const Point& point,
                   const PointQuestion::Quantities& found) {
  const Ensemble& ensemble = machines.ensemble(assignments_of(point, true), *study.uncertainty);
  const std::vector<Assignment> words = assignments_of(point, false);
  std::vector<std::vector<double>> drawn(study.bounds.size());
  for (std::size_t member = 0; member < ensemble.size(); ++member) {
    try {
      const std::unique_ptr<Testbed> machine = ensemble.member(member);
      const PointQuestion::Quantities seen = study.question.quantities_of(study.question.answer(*machine, words));
      for (std::size_t b = 0; b < drawn.size(); ++b) {
        if (const std::optional<double> value = value_of(seen, study.bounds[b].of)) drawn[b].push_back(*value);
      }
    } catch (const sim::ConfigError&) {
      continue;
    }
  }
  const std::vector<Column> columns = study.columns();
  for (std::size_t b = 0; b < drawn.size(); ++b) {
    const std::optional<double> predicted = value_of(found, study.bounds[b].of);
    if (!predicted) continue;
    const bool follows = follows_time(columns[place_of(columns, study.bounds[b].of)].unit);
    const std::optional<Interval> interval = at_least(interval_of(std::move(drawn[b])), *predicted,
                                                      follows ? ensemble.error_of(unfitted_of(study, found)) : 0.0);
    if (!interval) continue;
    answer.cells[place_of(columns, study.bounds[b].low)] = interval->low;
    answer.cells[place_of(columns, study.bounds[b].high)] = interval->high;
  }
}

// Returns the quantities of the first point that has an answer.
std::vector<Column> find_quantities(sim::Section& root, const SweepStudy& study, const Platforms& platforms) {
  MachineCache machines(platforms);
  std::string reason;
  const std::uint64_t tried = std::min(study.points.size(), points_tried);
  const std::vector<Column> axes = study.columns();
  for (std::uint64_t index = 0; index < tried; ++index) {
    try {
      std::vector<Column> columns = quantities_at(study, machines, study.points.point(index)).columns;
      std::erase_if(columns, [&](const Column& each) { return std::ranges::count(axes, each.key, &Column::key) > 0; });
      return columns;
    } catch (const sim::ConfigError& error) {
      if (reason.empty()) reason = first_of(error);
    }
  }
  const std::string none = tried == 1 ? "the point is not" : fmt::format("none of the first {} points is", tried);
  root.fault("axes", fmt::format("{} possible: {}", none, reason));
  return {};
}

// Reads a number in the unit of a column.
std::optional<double> read_bound(sim::Section& section, std::string_view key, const Column* known) {
  if (!section.has(key)) return {};
  const std::string text = section.text(key);
  if (known == nullptr) return {};
  const std::optional<WrittenNumber> bound = read_number(text);
  const sim::Unit* const unit = sim::unit_of(known->unit);
  if (!bound || bound->dimension != (unit == nullptr ? sim::Dimension::number : unit->dimension)) {
    section.fault(key, fmt::format("'{}' is no bound of '{}': a number{} is accepted", text, known->key,
                                   unit == nullptr ? "" : " with its unit, such as 1 " + known->unit));
    return {};
  }
  return unit == nullptr ? bound->base : bound->base / unit->worth();
}

// Returns the column with this key, or of the axis with this name; a null pointer where there is none.
const Column* column_named(const std::string& name, const std::vector<Column>& columns) {
  const auto found =
      std::ranges::find_if(columns, [&](const Column& each) { return each.key == name || each.heading == name; });
  return found == columns.end() ? nullptr : &*found;
}

// Returns the column that a constraint, an objective or a chart names, or a null pointer. Reports an unknown name
// unless a fault of the axes left no columns.
const Column* find_column(sim::Section& section, std::string_view key, const std::vector<Column>& columns) {
  const std::string name = section.text(key);
  const Column* const found = column_named(name, columns);
  if (found == nullptr && section.is_sound(key) && !columns.empty()) {
    section.fault(key, fmt::format("'{}' is neither an axis that varies nor a quantity{}", name,
                                   sim::name_hint(name, columns, &Column::key)));
  }
  return found;
}

// Returns the key of one end of an interval as commands name it: "time_p5_us" for "time_us".
std::string bound_key(const Column& quantity, std::string_view end) {
  std::string suffix = '_' + quantity.unit;
  std::ranges::replace(suffix, '/', 'p');
  const bool has_unit = !quantity.unit.empty() && quantity.key.ends_with(suffix);
  const std::string stem = has_unit ? quantity.key.substr(0, quantity.key.size() - suffix.size()) : quantity.key;
  return fmt::format("{}_{}{}", stem, end, has_unit ? suffix : "");
}

// Adds columns for the intervals of quantities in goals and charts, or, where there are none, of the first quantity
// with a unit: numbers of GPUs and the like are certain.
void add_bounds(sim::Section& root, SweepStudy& study) {
  constexpr std::int64_t most_draws = 1000;  // for every point
  if (!root.has("uncertainty")) return;
  study.uncertainty = Sampling{};
  study.uncertainty->draws = static_cast<std::size_t>(root.integer("uncertainty", fewest_draws, most_draws));
  std::vector<std::string> wanted;
  for (const Objective& objective : study.objectives) wanted.push_back(objective.of);
  for (const Constraint& constraint : study.constraints) wanted.push_back(constraint.of);
  for (const ChartAxes& chart : study.charts) wanted.push_back(chart.y);
  const auto measured = std::ranges::find_if(study.quantities, [](const Column& one) { return !one.unit.empty(); });
  if (wanted.empty() && measured != study.quantities.end()) wanted.push_back(measured->key);
  const std::vector<Column> quantities = study.quantities;
  for (const Column& quantity : quantities) {
    if (std::ranges::count(wanted, quantity.key) == 0 || quantity.key == "fidelity") continue;
    study.bounds.push_back({quantity.key, bound_key(quantity, "p5"), bound_key(quantity, "p95")});
    const SweepStudy::Bounds& bounds = study.bounds.back();
    study.quantities.push_back({bounds.low, quantity.heading + " p5", quantity.unit, quantity.decimals});
    study.quantities.push_back({bounds.high, quantity.heading + " p95", quantity.unit, quantity.decimals});
  }
}

// Returns no columns where the quantities were not found.
std::vector<Column> known_columns(const SweepStudy& study) {
  return study.quantities.empty() ? std::vector<Column>{} : study.columns();
}

// Reads which axes are cases.
void read_cases(sim::Section& root, SweepStudy& study) {
  if (!root.has("cases")) return;
  const std::vector<SweepAxis>& axes = study.points.axes();
  for (const std::string& name : root.texts("cases")) {
    const auto found = std::ranges::find(axes, name, &SweepAxis::name);
    if (found == axes.end()) {
      root.fault("cases", fmt::format("'{}' is no axis{}", name, sim::name_hint(name, axes, &SweepAxis::name)));
    } else if (found->interval) {
      root.fault("cases", fmt::format("'{}' is drawn from an interval: an axis with listed values is accepted", name));
    } else {
      study.cases.push_back(static_cast<std::size_t>(found - axes.begin()));
    }
  }
}

void read_goals(sim::Section& root, SweepStudy& study) {
  const std::vector<Column> columns = known_columns(study);
  if (root.has("constraints")) {
    for (sim::Section section : root.list("constraints")) {
      const Column* const column = find_column(section, "of", columns);
      const std::optional<double> least = read_bound(section, "at_least", column);
      const std::optional<double> most = read_bound(section, "at_most", column);
      if (column != nullptr) study.constraints.push_back({column->key, least, most});
      if (!section.has("at_least") && !section.has("at_most"))
        section.fault("at_most", "at_least or at_most is needed");
    }
  }
  if (root.has("objectives")) {
    for (sim::Section section : root.list("objectives")) {
      const bool minimize = !section.has("maximize");
      const Column* const column = find_column(section, minimize ? "minimize" : "maximize", columns);
      if (column != nullptr) study.objectives.push_back({column->key, minimize});
    }
  }
}

// Chooses the columns of tables: those of `columns`, sorted first; or, for an experiment with many quantities, the
// first one (its makespan) and those of goals and charts. Files for programs have all columns.
void choose_columns(sim::Section& root, SweepStudy& study) {
  constexpr std::size_t most_shown = 7;  // for an experiment without `columns`: the quantities of two operations
  std::vector<std::string> wanted;
  if (root.has("columns")) {
    const std::vector<std::string> names = root.texts("columns");
    if (names.empty() && root.is_sound("columns")) root.fault("columns", "at least one quantity is needed");
    for (const std::string& name : names) {
      if (study.quantities.empty()) return;  // a fault of the axes left no quantities
      const Column* const column = column_named(name, study.quantities);
      if (column == nullptr) {
        root.fault("columns",
                   fmt::format("'{}' is no quantity{}", name, sim::name_hint(name, study.quantities, &Column::key)));
      } else {
        wanted.push_back(column->key);
      }
    }
  } else if (study.question.ask() == Ask::run && study.quantities.size() > most_shown) {
    wanted.push_back(study.quantities.front().key);
    for (const Objective& objective : study.objectives) wanted.push_back(objective.of);
    for (const Constraint& constraint : study.constraints) wanted.push_back(constraint.of);
    for (const ChartAxes& chart : study.charts) wanted.insert(wanted.end(), {chart.x, chart.y});
  } else {
    return;
  }
  const auto place = [&](const Column& column) { return std::ranges::find(wanted, column.key) - wanted.begin(); };
  std::ranges::stable_sort(study.quantities, {}, place);
  for (Column& column : study.quantities) column.in_text = std::ranges::count(wanted, column.key) > 0;
}

// Reads the points that a chart shows: `only: [context=1024]`.
std::map<std::string, std::string> read_only(sim::Section& section, const SweepStudy& study) {
  std::map<std::string, std::string> only;
  if (!section.has("only")) return only;
  for (const std::string& text : section.texts("only")) {
    const std::size_t sign = text.find('=');
    const std::string name = text.substr(0, sign);
    const std::string label = sign == std::string::npos ? "" : text.substr(sign + 1);
    const auto is_named = [&](const SweepAxis& axis) { return axis.varies() && axis.column().key == name; };
    const auto axis = std::ranges::find_if(study.points.axes(), is_named);
    if (axis == study.points.axes().end()) {
      section.fault("only", fmt::format("'{}' names no axis that varies: AXIS=VALUE is accepted", text));
    } else if (axis->place_of(label) == axis->values.size()) {
      section.fault("only", fmt::format("axis {} has no value '{}'", name, label));
    }
    only[name] = label;
  }
  return only;
}

void read_charts(sim::Section& root, SweepStudy& study) {
  if (!root.has("charts")) return;
  const std::vector<Column> columns = known_columns(study);
  for (sim::Section section : root.list("charts")) {
    const Column* const x = find_column(section, "x", columns);
    const Column* const y = find_column(section, "y", columns);
    const bool log_x = is_logarithmic(section, "x_scale");
    const bool log_y = is_logarithmic(section, "y_scale");
    std::map<std::string, std::string> only = read_only(section, study);
    if (x != nullptr && y != nullptr) study.charts.push_back({x->key, y->key, log_x, log_y, std::move(only)});
  }
}

// Labels become columns beside those of axes and quantities.
void check_labels(sim::Section& root, const SweepStudy& study) {
  std::set<std::string> known;
  for (const Column& column : study.columns()) {
    if (known.insert(column.key).second) continue;
    root.fault("axes", fmt::format("two columns are named '{}': labels need names of their own", column.key));
  }
}

void read_summaries_of(sim::Section& root, SweepStudy& study) {
  constexpr std::uint64_t most_summarized = 100'000;  // points, whose cells are held at once
  constexpr std::array<std::string_view, 8> taken{"results", "best",     "choices",  "inputs",
                                                  "points",  "platform", "warnings", "notes"};
  study.summaries = read_summaries(root, known_columns(study), taken);
  if (!study.summaries.empty() && study.points.size() > most_summarized) {
    root.fault("summaries", fmt::format("at most {} points are summarized", most_summarized));
  }
}

}  // namespace

std::vector<Column> SweepStudy::columns() const {
  std::vector<Column> all;
  for (const SweepAxis& axis : points.axes()) {
    if (!is_column(axis)) continue;
    all.push_back(axis.column());
    std::ranges::copy(axis.label_columns, std::back_inserter(all));
  }
  all.insert(all.end(), quantities.begin(), quantities.end());
  return all;
}

std::vector<Cell> SweepStudy::axis_cells(const Point& point) const {
  std::vector<Cell> cells;
  for (std::size_t a = 0; a < points.axes().size(); ++a) {
    if (!is_column(points.axes()[a])) continue;
    cells.push_back(points.axes()[a].cell(point.values[a]));
    std::ranges::copy(points.axes()[a].label_cells(point.values[a]), std::back_inserter(cells));
  }
  return cells;
}

SweepStudy::Case SweepStudy::case_of(const Point& point) const {
  Case places;
  for (const std::size_t axis : cases) places.push_back(points.axes()[axis].place_of(point.values[axis].label));
  return places;
}

const SweepStudy::Bounds* SweepStudy::bounds_of(const std::string& quantity) const {
  const auto found = std::ranges::find(bounds, quantity, &Bounds::of);
  return found == bounds.end() ? nullptr : &*found;
}

std::string SweepStudy::name_of(const Case& which) const {
  std::string text;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const SweepAxis& axis = points.axes()[cases[i]];
    text += (i == 0 ? "" : ", ") + axis.told(axis.values[which[i]].label);
  }
  return text;
}

bool SweepStudy::is_choice(std::size_t axis) const {
  return points.axes()[axis].varies() && std::ranges::count(cases, axis) == 0;
}

bool SweepStudy::is_first_choice(const Point& point) const {
  for (std::size_t a = 0; a < point.values.size(); ++a) {
    const SweepAxis& axis = points.axes()[a];
    if (is_choice(a) && (axis.interval || point.values[a].label != axis.values.front().label)) return false;
  }
  return true;
}

SweepStudy read_sweep_study(sim::Section root, Platforms& platforms, std::optional<sim::Config> experiment,
                            std::uint64_t most_points) {
  const std::string name = root.name("name");
  const std::string about = root.text("about", "");
  const Ask ask = root.choice<Ask>("ask", sim::choices_of<Ask>());
  root.text("experiment", "");  // the caller has read it
  if (ask == Ask::run && !experiment)
    root.fault("experiment", "the file of an experiment is needed, which 'run' plays");
  const bool is_clear = root.is_sound("ask") && root.is_sound("experiment");
  PointQuestion question(ask, std::move(experiment));
  std::vector<SweepAxis> axes = read_axes(root, platforms, is_clear ? &question : nullptr);
  std::optional<std::uint64_t> drawn;
  if (root.has("sampling")) drawn = read_sampling(root.section("sampling"));
  if (is_clear) check_words(root, axes, question);
  SweepStudy study{name, about, PointSequence(std::move(axes), drawn), std::move(question), {}, {}, {}, {}, {}};
  study.is_summarized = root.has("summaries");
  check_count(root, study.points, most_points);
  const auto is_sound = [&] { return is_clear && root.is_sound("axes") && root.is_sound("sampling"); };
  if (ask == Ask::serve && is_sound()) check_use(root, study.points);
  if (is_sound()) study.quantities = find_quantities(root, study, platforms);
  read_cases(root, study);
  read_goals(root, study);
  read_charts(root, study);
  choose_columns(root, study);
  add_bounds(root, study);
  check_labels(root, study);
  read_summaries_of(root, study);
  return study;
}

bool changes_machine(const Point& point) { return !assignments_of(point, true).empty(); }

PointAnswer answer_point(const SweepStudy& study, MachineCache& machines, std::uint64_t index) {
  const Point point = study.points.point(index);
  PointAnswer answer{index, study.axis_cells(point), {}};
  const std::size_t axes = answer.cells.size();
  answer.cells.resize(axes + study.quantities.size());
  try {
    const PointQuestion::Quantities found = quantities_at(study, machines, point);
    for (std::size_t q = 0; q < study.quantities.size(); ++q) {
      if (const Cell* const cell = cell_of(found, study.quantities[q].key)) answer.cells[axes + q] = *cell;
    }
    if (study.uncertainty) add_intervals(answer, study, machines, point, found);
  } catch (const sim::ConfigError& error) {
    // A machine looks impossible, too, while one of its files is gone.
    if (const std::string missing = machines.platforms().missing_file(); !missing.empty()) {
      throw sim::ConfigError({{missing, "",
                               "cannot be read any more: what was finished before is kept by --out, and once the file "
                               "is back the same command with --resume goes on"}});
    }
    answer.fault = first_of(error);
  }
  return answer;
}

}  // namespace c3sim::study
