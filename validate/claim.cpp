#include "validate/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "calibrate/readers/trial_fields.h"
#include "sim/config/config.h"
#include "sim/config/csv_file.h"
#include "sim/config/nearest_name.h"
#include "study/experiment/experiment.h"
#include "study/report/table_of.h"
#include "study/report/table_summary.h"
#include "study/sweep/sweep_axis.h"
#include "study/sweep/sweep_study.h"
#include "validate/metrics.h"

namespace c3sim::validate {

bool Claim::holds() const {
  return !predicted.empty() &&
         std::ranges::all_of(predicted, [this](double value) { return low <= value && value <= high; });
}

double Claim::beyond() const {
  double farthest = 0.0;
  for (const double value : predicted) farthest = std::max({farthest, low - value, value - high});
  return farthest;
}

std::string predicted_words(const Claim& claim) {
  constexpr int most_digits = std::numeric_limits<double>::max_digits10;
  const auto is_within_band = [&claim](double value) { return claim.low <= value && value <= claim.high; };
  std::vector<std::string> words;
  for (const double value : claim.predicted) {
    std::string& text = words.emplace_back();
    // Enough digits are shown that a value just beyond a limit does not read as the limit.
    for (int digits = 4; text.empty() || (is_within_band(std::stod(text)) != is_within_band(value)); ++digits) {
      text = fmt::format("{:.{}g}", value, digits);
      if (digits == most_digits) break;
    }
  }
  return fmt::format("{}", fmt::join(words, " to "));
}

std::string interval_words(const Claim& claim) {
  std::vector<std::string> words;
  for (const auto& interval : claim.intervals) {
    if (interval) words.push_back(fmt::format("{:.4g} to {:.4g}", interval->low, interval->high));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::vector<Claim> read_claims(const std::filesystem::path& file) {
  sim::CsvFile table = sim::CsvFile::from_file(file);
  table.require({"id", "paper", "metric", "value", "low", "high", "role"});
  table.check();
  std::vector<Claim> claims;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Claim claim;
    claim.id = table.text(row, "id");
    claim.text = table.text(row, "metric");
    claim.published = table.text(row, "value");
    claim.low = table.number(row, "low", -1e6, 1e6);
    claim.high = table.number(row, "high", -1e6, 1e6);
    if (claim.low > claim.high) table.fault(row, "high", "lies below low");
    const std::string_view role = table.text(row, "role");
    if (role != "calibrate" && role != "predict") table.fault(row, "role", "calibrate or predict is accepted");
    claim.role = role == "calibrate" ? calibrate::Role::calibrate : calibrate::Role::predict;
    claims.push_back(std::move(claim));
  }
  table.check();
  return claims;
}

std::vector<Claim> predict_claims(std::vector<Claim> claims, std::span<const std::string> papers, const ClaimBook& book,
                                  const ClaimInputs& inputs) {
  std::erase_if(claims,
                [&](const Claim& claim) { return std::ranges::find(papers, paper_of(claim.id)) == papers.end(); });
  const ClaimValues values = book.predict(papers, inputs);
  for (Claim& claim : claims) {
    if (const auto found = values.find(claim.id); found != values.end()) claim.predicted = found->second;
  }
  return claims;
}

void add_intervals(std::vector<Claim>& claims, std::span<const std::string> papers, const ClaimBook& book,
                   const study::Platform& platform, const study::Ensemble& ensemble,
                   const std::filesystem::path& experiments, std::span<const Case> cases, int jobs) {
  const std::vector<ClaimValues> drawn = ensemble.ask_each(
      [&](study::Testbed& member) {
        return book.predict(papers, {member, platform, experiments, cases, true});
      },
      jobs);
  for (Claim& claim : claims) {
    for (std::size_t value = 0; value < claim.predicted.size(); ++value) {
      std::vector<double> values;
      for (const ClaimValues& of_member : drawn) {
        const auto known = of_member.find(claim.id);
        if (known != of_member.end() && value < known->second.size()) values.push_back(known->second[value]);
      }
      claim.intervals.push_back(study::interval_of(std::move(values)));
    }
  }
}

namespace {

// A TrialStudy has a row for each combination of its axes that the machine can run, with the figure `seen` of its
// trial.
struct TrialStudy {
  std::string name;
  std::string trial;  // a kind of calibrate/readers/trial_fields.h, whose fields the axes are
  study::PointSequence points;
  study::Figure see = study::Figure::time;
};

TrialStudy read_trials(const std::string& name, std::string_view trial, sim::Section& section) {
  std::vector<study::SweepAxis> axes;
  for (const sim::Section& axis : section.list("over")) axes.push_back(study::read_axis(axis));
  std::vector<sim::Choice<study::Figure>> figures;
  for (const study::FigureForm& form : study::all_figures()) figures.emplace_back(form.key, form.figure);
  const auto see = section.choice<study::Figure>("see", figures, study::Figure::time);
  return {name, std::string(trial), study::PointSequence(std::move(axes), {}), see};
}

// Returns the table of the points of a study and those of its summaries.
ClaimTables tables_of_sweep(const std::string& name_of_study, const ClaimInputs& inputs) {
  constexpr std::uint64_t most_points = 10'000;
  const std::filesystem::path file = inputs.experiments.parent_path() / "studies" / name_of_study;
  sim::Config config = sim::Config::from_file(file);
  sim::Section root = config.root();
  root.text("platform", "");  // that of the suite is asked
  std::optional<sim::Config> experiment;
  if (root.has("experiment")) experiment = study::experiment_config(file.parent_path() / root.text("experiment"));
  study::Platforms platforms(inputs.platform);
  const study::SweepStudy study = study::read_sweep_study(root, platforms, std::move(experiment), most_points);
  config.finish();
  study::MachineCache machines(platforms, inputs.testbed);
  study::ResultTable points(study.columns());
  std::vector<std::string> impossible;
  for (std::uint64_t index = 0; index < study.points.size(); ++index) {
    if (inputs.drawn && study::changes_machine(study.points.point(index))) continue;
    study::PointAnswer answer = study::answer_point(study, machines, index);
    answer.fault.empty() ? points.add_row(std::move(answer.cells)) : impossible.push_back(answer.fault);
  }
  std::vector<study::NamedTable> tables = study::summarized(study.summaries, points);
  tables.push_back({"results", "", std::move(points)});
  return {std::move(tables), study.points.size(), std::move(impossible)};
}

ClaimTables tables_of_trials(const TrialStudy& study, std::span<const study::TableSummary> summaries,
                             const ClaimInputs& inputs) {
  if (inputs.drawn && study.trial == "serve") return {};
  const std::vector<study::SweepAxis>& axes = study.points.axes();
  std::vector<study::Column> columns;
  for (const study::SweepAxis& axis : axes) {
    columns.push_back({axis.name, axis.name, ""});
    columns.insert(columns.end(), axis.label_columns.begin(), axis.label_columns.end());
  }
  columns.push_back({"seen", "seen", ""});
  study::ResultTable rows(std::move(columns));
  std::vector<std::string> impossible;
  for (std::uint64_t index = 0; index < study.points.size(); ++index) {
    const std::vector<study::AxisValue> values = study.points.point(index).values;
    calibrate::Fields fields;
    std::vector<study::Cell> row;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      row.emplace_back(values[axis].label);
      std::ranges::move(axes[axis].label_cells(values[axis]), std::back_inserter(row));
      for (const study::Assignment& assignment : values[axis].assignments) fields[assignment.name] = assignment.value;
    }
    std::vector<sim::Fault> faults;
    const study::Trial trial = calibrate::read_trial(study.trial, fields, faults);
    if (!faults.empty()) throw sim::ConfigError({{"studies." + study.name, faults.front().where, faults.front().what}});
    if (const std::string why = study::why_impossible(inputs.testbed, trial); !why.empty()) {
      impossible.push_back(why);
      continue;
    }
    row.emplace_back(study::observe(inputs.testbed, trial, {study.see}).at(study.see));
    rows.add_row(std::move(row));
  }
  std::vector<study::NamedTable> tables = study::summarized(summaries, rows);
  tables.push_back({"rows", "", std::move(rows)});
  return {std::move(tables), study.points.size(), std::move(impossible)};
}

ClaimTables tables_of_cases(std::span<const Case> cases) {
  std::vector<Case> predicted;
  std::ranges::copy_if(cases, std::back_inserter(predicted), [](const Case& one) { return one.predicted.has_value(); });
  const auto is_points = [](const Case& one) { return one.form().error == study::ErrorKind::points; };
  return {{{"results", "",
            study::table_of<Case>(
                predicted, {{{"figure", "", ""}, [](const Case& one) { return one.form().key; }},
                            {{"unit", "", ""}, [&](const Case& one) { return is_points(one) ? "points" : "relative"; }},
                            {{"choice", "", ""}, [](const Case& one) { return one.decision + " " + one.alternative; }},
                            {{"error", "", ""}, &Case::error}})},
           {"choices", "", study::table_of<Choices>(choices_of(predicted), {{{"right", "", ""}, [](const Choices& one) {
                                                                               return one.predicted.right;
                                                                             }}})}}};
}

ClaimStudy read_study(const std::string& name, sim::Section section) {
  const std::string sweep = section.text("sweep", "");
  std::vector<sim::Choice<std::string_view>> kinds;
  for (const std::string_view kind : calibrate::trial_kinds()) kinds.emplace_back(kind, kind);
  const std::string_view trial =
      section.has("trial") ? section.choice<std::string_view>("trial", kinds) : std::string_view();
  if (sweep.empty() == trial.empty()) section.fault("sweep", "a study has one of sweep and trial");
  const std::vector<study::TableSummary> summaries = study::read_summaries(section, {}, {});
  if (trial.empty()) return [sweep](const ClaimInputs& inputs) { return tables_of_sweep(sweep, inputs); };
  return [study = read_trials(name, trial, section), summaries](const ClaimInputs& inputs) {
    return tables_of_trials(study, summaries, inputs);
  };
}

}  // namespace

std::string paper_of(const std::string& claim) { return claim.substr(0, claim.find('.')); }

ClaimBook::ClaimBook(const std::filesystem::path& file) {
  sim::Config config = sim::Config::from_file(file);
  sim::Section root = config.root();
  studies_.emplace_back("cases", [](const ClaimInputs& inputs) { return tables_of_cases(inputs.cases); });
  sim::Section studies = root.section("studies");
  for (const std::string& name : studies.keys()) studies_.emplace_back(name, read_study(name, studies.section(name)));
  std::vector<sim::Choice<std::string_view>> known;
  for (const auto& [name, study] : studies_) known.emplace_back(name, name);
  for (sim::Section section : root.list("claims")) {
    const Predictor predictor{std::string(section.choice<std::string_view>("study", known)),
                              section.text("table", "results"), study::read_table_figure(section)};
    predictors_.emplace(section.text("claim"), predictor);
  }
  config.finish();
}

std::vector<std::string> ClaimBook::papers() const {
  std::set<std::string> papers;
  for (const auto& [id, predictor] : predictors_) papers.insert(paper_of(id));
  return {papers.begin(), papers.end()};
}

ClaimValues ClaimBook::predict(std::span<const std::string> papers, const ClaimInputs& inputs) const {
  ClaimValues values;
  std::map<std::string, ClaimTables> tables;  // by study
  for (const auto& [id, predictor] : predictors_) {
    if (std::ranges::find(papers, paper_of(id)) == papers.end()) continue;
    const auto [known, is_new] = tables.try_emplace(predictor.study);
    auto& [of_study, points, impossible] = known->second;
    if (is_new) {
      const auto study = std::ranges::find(studies_, predictor.study, [](const auto& one) { return one.first; });
      known->second = study->second(inputs);
      if (inputs.remarks != nullptr && !impossible.empty()) {
        inputs.remarks->push_back(fmt::format(
            "{} cannot do {} of {} points of the study {}, and claims are predicted without them (the first: {})",
            inputs.platform.spec.name, impossible.size(), points, predictor.study, impossible.front()));
      }
    }
    const auto table = std::ranges::find(of_study, predictor.table, &study::NamedTable::key);
    if (table == of_study.end()) continue;
    try {
      values[id] = study::figure_of(predictor.figure, table->table);
    } catch (const sim::ConfigError&) {
      if (impossible.empty()) throw;
    }
  }
  return values;
}

namespace {

Deviation read_deviation(sim::Section section) {
  constexpr sim::Limits<sim::Bytes> sizes{sim::Bytes(0.0), sim::Bytes(1e18)};
  Deviation deviation{.number = static_cast<int>(section.integer("number", 1, 1000)),
                      .title = section.text("title"),
                      .cause = section.text("cause"),
                      .decides = section.text("decides")};
  if (section.has("claims")) {
    deviation.claims = section.texts("claims");
    deviation.beyond = section.numbers("beyond", 0.0, 1e6);
    if (section.is_sound("beyond") && deviation.beyond.size() != deviation.claims.size()) {
      section.fault("beyond", fmt::format("a number for each of the {} claims is needed", deviation.claims.size()));
    }
  }
  if (section.has("suite")) {
    deviation.suite = section.text("suite");
    deviation.group = section.text("group");
    if (section.has("figures")) deviation.figures = section.texts("figures");
    for (const std::string& figure : deviation.figures) {
      if (study::figure_named(figure) != nullptr) continue;
      section.fault("figures", "'" + figure + "' is no figure" +
                                   sim::name_hint(figure, study::all_figures(), &study::FigureForm::key));
    }
    deviation.least_size = section.quantity("from", sizes, sim::Bytes(0.0)).value();
    deviation.greatest_size = section.quantity("to", sizes, sim::Bytes(0.0)).value();
    deviation.error = section.choice<Deviation::Error>("error", sim::choices_of<Deviation::Error>());
    deviation.above = section.number("above", 0.0, 10.0);
  }
  if (deviation.claims.empty() == deviation.suite.empty()) {
    section.fault("claims", "a deviation names either claims or a group of a suite");
  }
  return deviation;
}

void judge_claims(Gap& gap, std::span<const Claim> claims) {
  std::vector<std::string> words;
  for (std::size_t place = 0; place < gap.deviation.claims.size(); ++place) {
    const std::string& id = gap.deviation.claims[place];
    const auto claim = std::ranges::find(claims, id, &Claim::id);
    if (claim == claims.end() || claim->predicted.empty()) continue;
    gap.tested = true;
    gap.open = gap.open || !claim->holds();
    gap.grown = gap.grown || claim->beyond() > gap.deviation.beyond[place];
    words.push_back(fmt::format("{}: {}, band {:.3g} to {:.3g}", id, predicted_words(*claim), claim->low, claim->high));
  }
  gap.size = fmt::format("{}", fmt::join(words, "; "));
}

void judge_cases(Gap& gap, std::span<const Case> cases) {
  const std::vector<const Case*> meant =
      cases_that(cases, [&gap](const Case& one) { return one.predicted.has_value() && gap.deviation.is_about(one); });
  if (meant.empty()) return;
  const Metrics metrics = metrics_of(meant);
  gap.tested = true;
  gap.open = (gap.deviation.error == Deviation::Error::median ? metrics.median : metrics.worst) > gap.deviation.above;
  gap.size = fmt::format("median error {:.1f} %, worst {:.1f} %, bias {:+.1f} %, of {} cases", 100.0 * metrics.median,
                         100.0 * metrics.worst, 100.0 * metrics.bias, meant.size());
}

}  // namespace

bool Deviation::is_about(const Case& one) const {
  if (suite.empty() || one.suite != suite || one.group != group) return false;
  if (!figures.empty() && std::ranges::find(figures, one.form().key) == figures.end()) return false;
  const double size = study::size_of(one.trial);
  return size >= least_size && (greatest_size == 0.0 || size <= greatest_size);
}

std::vector<Deviation> read_deviations(const std::filesystem::path& file) {
  sim::Config config = sim::Config::from_file(file);
  std::vector<Deviation> deviations;
  sim::Section root = config.root();
  for (const sim::Section& section : root.list("deviations")) {
    deviations.push_back(read_deviation(section));
    const auto same = std::ranges::count(deviations, deviations.back().number, &Deviation::number);
    if (same > 1) root.fault("deviations", fmt::format("number {} is given twice", deviations.back().number));
  }
  config.finish();
  return deviations;
}

std::vector<Gap> gaps_of(std::span<const Deviation> deviations, std::span<const Claim> claims,
                         std::span<const Case> cases) {
  std::vector<Gap> gaps;
  for (const Deviation& deviation : deviations) {
    Gap& gap = gaps.emplace_back(Gap{.deviation = deviation});
    deviation.suite.empty() ? judge_claims(gap, claims) : judge_cases(gap, cases);
  }
  return gaps;
}

}  // namespace c3sim::validate
