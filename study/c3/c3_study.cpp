#include "study/c3/c3_study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/config/nearest_name.h"
#include "study/play/testbed.h"
#include "study/program/operation.h"
#include "study/program/scenario.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

// Sums over the scenarios of one collective and class; a gain is a speedup minus one.
struct Group {
  double gain = 0.0;
  double ideal_gain = 0.0;
  double scenarios = 0.0;
};

bool selected(const StudyResult& result, const Selection& selection) {
  return result.c3.strategy == selection.strategy &&
         (!selection.collective || *selection.collective == result.c3.scenario.collective) &&
         (!selection.length_class || *selection.length_class == result.length_class);
}

constexpr std::size_t most_pairs = 10'000;

StudyPair read_pair(sim::Section section, std::span<const NamedGemm> gemms) {
  StudyPair pair;
  const std::string gemm = section.name("gemm");
  if (const auto found = std::ranges::find(gemms, gemm, &NamedGemm::name); found != gemms.end()) {
    pair.gemm = found->shape;
  } else {
    section.fault("gemm",
                  "'" + gemm + "' is not among the GEMMs of this file" + sim::name_hint(gemm, gemms, &NamedGemm::name));
  }
  pair.bytes = section.quantity("bytes", array_sizes);
  if (section.has("class")) pair.length_class = section.choice<LengthClass>("class", sim::choices_of<LengthClass>());
  pair.name = gemm + "_" + sim::to_string(pair.bytes);
  return pair;
}

template <class T>
std::vector<T> read_some(sim::Section& section, std::string_view key) {
  const std::vector<sim::Choice<T>> choices = sim::choices_of<T>();
  std::vector<T> chosen = section.choices<T>(key, choices);
  if (chosen.empty()) {
    section.fault(key, "at least one is needed" + sim::name_hint("", choices, &sim::Choice<T>::first));
  }
  return chosen;
}

// Reads published figures. The first of several entries for the same strategy counts.
void read_published(C3Study& study, sim::Section section) {
  section.text("source");  // for people; published figures without a source are a fault
  const auto figure = [](sim::Section& of, std::string_view key) {
    return of.has(key) ? std::optional(of.number(key, -10.0, 10.0)) : std::nullopt;
  };
  for (sim::Section entry : section.list("strategies")) {
    const auto strategy = entry.choice<Strategy>("strategy", sim::choices_of<Strategy>());
    study.published.emplace(std::pair(strategy, std::nullopt),
                            PublishedC3{.fraction = figure(entry, "fraction"),
                                        .speedup = figure(entry, "speedup"),
                                        .highest_speedup = figure(entry, "highest_speedup")});
    for (const auto& [name, kind] : sim::choices_of<models::CollectiveKind>()) {
      if (!entry.has(name)) continue;
      sim::Section of_kind = entry.section(name);
      study.published.emplace(std::pair(strategy, kind),
                              PublishedC3{.lowest_fraction = figure(of_kind, "lowest_fraction"),
                                          .highest_fraction = figure(of_kind, "highest_fraction"),
                                          .speedup = figure(of_kind, "speedup")});
    }
  }
}

// Returns why the platform cannot run the scenario under a strategy; empty if it can. The text names the strategy.
std::string why_impossible(const Scenario& scenario, Strategy strategy, const Testbed& testbed) {
  const std::string reason = testbed.why_impossible(collective_of(scenario, strategy, testbed.platform()));
  if (reason.empty()) return {};
  return std::string(to_string(strategy)) + ": " + reason;
}

// Records a fault if no strategy can run a pair; warns of strategies that cannot, once for all pairs.
void check_pair(C3Study& study, const StudyPair& pair, sim::Section& section, const Testbed& testbed) {
  if (const std::string reason = testbed.why_impossible(pair.gemm); !reason.empty()) section.fault("gemm", reason);
  for (const models::CollectiveKind kind : study.collectives) {
    const Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
    std::vector<std::string> reasons;
    for (const Strategy strategy : study.strategies) {
      if (std::string reason = why_impossible(scenario, strategy, testbed); !reason.empty()) reasons.push_back(reason);
    }
    if (reasons.size() == study.strategies.size() && !reasons.empty()) section.fault("bytes", reasons.front());
    for (const std::string& reason : reasons) {
      std::string warning = std::string(models::to_string(kind)) + " is left out of " + reason;
      if (std::ranges::find(study.warnings, warning) == study.warnings.end()) study.warnings.push_back(warning);
    }
  }
}

using models::CollectiveKind;

std::optional<double> percent(std::optional<double> share) {
  return share ? std::optional(*share * 100.0) : std::nullopt;
}

// Finds a result. Isolated times do not depend on the strategy, nor those of the GEMM on the collective.
const C3Result* find_result(std::span<const StudyResult> results, const StudyPair& pair,
                            std::optional<CollectiveKind> kind, std::optional<Strategy> strategy = {}) {
  const auto found = std::ranges::find_if(results, [&](const StudyResult& result) {
    return (!strategy || *strategy == result.c3.strategy) && (!kind || *kind == result.c3.scenario.collective) &&
           result.c3.scenario.name == pair.name;
  });
  return found == results.end() ? nullptr : &found->c3;
}

bool belongs_to(PaperFigure figure, Strategy strategy) {
  if (strategy == Strategy::c3_base) return true;
  if (strategy == Strategy::serial || strategy == Strategy::heuristic) return false;
  return on_copy_engines(strategy) == (figure == PaperFigure::copy_engines);
}

// Converts published figures for one class, with its ideal, or for the mean over the classes.
std::optional<Published> published_speedup(const PublishedC3& published, bool of_class, double ideal) {
  const auto at = [ideal](double fraction) { return 1.0 + fraction * (ideal - 1.0); };
  if (!of_class && published.speedup) return Published{*published.speedup, *published.speedup};
  const bool has_range = of_class && published.lowest_fraction && published.highest_fraction;
  return has_range ? std::optional(Published{at(*published.lowest_fraction), at(*published.highest_fraction)})
                   : std::nullopt;
}

// Returns a bar for one class or the mean over the classes. The ideal is last. Absent values have no scenario.
Bar speedup_bar(const C3Study& study, std::span<const StudyResult> results, std::span<const Strategy> strategies,
                CollectiveKind kind, std::optional<LengthClass> length_class) {
  Bar bar;
  bar.label = fmt::format("{} {}", models::to_string(kind), length_class ? to_string(*length_class) : "mean");
  bar.values.resize(strategies.size() + 1);
  bar.published.resize(strategies.size() + 1);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const Average mean = average(results, {strategies[i], kind, length_class});
    if (mean.scenarios == 0) continue;
    bar.values[i] = mean.speedup;
    bar.values.back() = mean.ideal_speedup;
    bar.published[i] =
        published_speedup(published_of(study, strategies[i], kind), length_class.has_value(), mean.ideal_speedup);
  }
  return bar;
}

Column only_in_data(std::string key) { return {key, key, "", 2, false}; }

Cell fraction_cell(const C3Result& result) {
  if (result.has_gain_to_be_had()) return result.fraction_of_ideal();
  return NoNumber{"no gain to be had"};
}

// Returns whether a result is slower than serial by more than launches and notices of the host take.
bool loses(const C3Result& result) {
  constexpr double worth_a_word = 0.995;
  return result.strategy != Strategy::serial && result.speedup() < worth_a_word;
}

// Removes columns of published figures that are empty, as in a study without a paper.
ResultTable without_empty_published(const ResultTable& table) {
  return columns_of(table, [&](const Column& column, std::size_t place) {
    const auto is_empty = [place](const std::vector<Cell>& row) { return row[place] == Cell(); };
    const bool is_left_out = column.key.starts_with("published") && std::ranges::all_of(table.rows(), is_empty);
    return is_left_out ? std::nullopt : std::optional(column);
  });
}

}  // namespace

LengthClass classify(sim::Time gemm, sim::Time collective, double longer_by) {
  const double ratio = sim::to_seconds(gemm) / sim::to_seconds(collective);
  if (ratio > longer_by) return LengthClass::g_long;
  return ratio < 1.0 / longer_by ? LengthClass::c_long : LengthClass::gc_equal;
}

C3Study read_c3_study(sim::Section root, const Testbed& testbed) {
  C3Study study;
  study.name = root.name("name");
  study.longer_by = root.number("longer_by", 1.0, 10.0, study.longer_by);
  const std::vector<NamedGemm> gemms = read_gemms(root.section("gemms"));
  study.collectives = read_some<models::CollectiveKind>(root, "collectives");
  study.strategies = read_some<Strategy>(root, "strategies");
  std::vector<sim::Section> pairs = root.list("pairs");
  if (pairs.size() > most_pairs) {
    root.fault("pairs", "at most " + std::to_string(most_pairs) + " pairs are accepted");
    return study;
  }
  for (sim::Section& section : pairs) {
    study.pairs.push_back(read_pair(section, gemms));
    check_pair(study, study.pairs.back(), section, testbed);
  }
  if (root.has("published")) read_published(study, root.section("published"));
  return study;
}

PublishedC3 published_of(const C3Study& study, Strategy strategy, std::optional<models::CollectiveKind> kind) {
  const auto found = study.published.find({strategy, kind});
  return found == study.published.end() ? PublishedC3{} : found->second;
}

std::vector<C3Result> run_all(Testbed& testbed, std::span<const C3Trial> trials, const Progress& progress, int jobs) {
  // Returns the indices of the trials that a c3_best trial is the best of; none unless all of them are given.
  const auto made_of = [&](const C3Trial& trial) {
    std::vector<std::size_t> places;
    if (trial.strategy != Strategy::c3_best) return places;
    for (const Strategy strategy : all_kernel_strategies()) {
      const auto found = std::ranges::find(trials, C3Trial{trial.scenario, strategy});
      if (found == trials.end()) return std::vector<std::size_t>();
      places.push_back(static_cast<std::size_t>(found - trials.begin()));
    }
    return places;
  };
  std::vector<C3Result> results(trials.size());
  const auto run = [&](Testbed& asked, std::size_t index) {
    const C3Trial& trial = trials[index];
    if (made_of(trial).empty()) results[index] = run_strategy(asked, trial.scenario, trial.strategy);
  };
  TestbedPool(testbed).for_each(trials.size(), run, progress, jobs);
  for (std::size_t index = 0; index < trials.size(); ++index) {
    std::vector<C3Result> candidates;
    for (const std::size_t place : made_of(trials[index])) candidates.push_back(results[place]);
    if (!candidates.empty()) results[index] = best_kernel_strategy(candidates);
  }
  return results;
}

std::vector<StudyResult> run_study(Testbed& testbed, const C3Study& study, const Progress& progress, int jobs) {
  std::vector<C3Trial> trials;
  std::vector<std::optional<LengthClass>> classes;
  for (const StudyPair& pair : study.pairs) {
    for (const models::CollectiveKind kind : study.collectives) {
      const Scenario scenario{.name = pair.name, .gemm = pair.gemm, .collective = kind, .bytes = pair.bytes};
      for (const Strategy strategy : study.strategies) {
        if (!testbed.why_impossible(collective_of(scenario, strategy, testbed.platform())).empty()) continue;
        trials.push_back({scenario, strategy});
        classes.push_back(pair.length_class);
      }
    }
  }
  std::vector<C3Result> runs = run_all(testbed, trials, progress, jobs);
  std::vector<StudyResult> results;
  results.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const LengthClass predicted = classify(runs[i].isolated_gemm, runs[i].isolated_collective, study.longer_by);
    results.push_back({std::move(runs[i]), classes[i].value_or(predicted)});
  }
  return results;
}

Average average(std::span<const StudyResult> results, const Selection& selection) {
  Average average;
  double with_gain = 0.0;
  std::map<std::pair<models::CollectiveKind, LengthClass>, Group> groups;
  for (const StudyResult& result : results) {
    if (!selected(result, selection)) continue;
    Group& group = groups[{result.c3.scenario.collective, result.length_class}];
    group.gain += result.c3.speedup() - 1.0;
    group.ideal_gain += result.c3.ideal_speedup() - 1.0;
    group.scenarios += 1.0;
    if (result.c3.has_gain_to_be_had()) {
      average.mean_fraction += result.c3.fraction_of_ideal();
      with_gain += 1.0;
    }
    average.highest_speedup = std::max(average.highest_speedup, result.c3.speedup());
    ++average.scenarios;
  }
  if (groups.empty()) return average;
  Group mean;
  for (const auto& [key, group] : groups) {
    mean.gain += group.gain / group.scenarios / static_cast<double>(groups.size());
    mean.ideal_gain += group.ideal_gain / group.scenarios / static_cast<double>(groups.size());
  }
  average.speedup = 1.0 + mean.gain;
  average.ideal_speedup = 1.0 + mean.ideal_gain;
  average.fraction_of_ideal = mean.gain / mean.ideal_gain;
  average.mean_fraction /= std::max(with_gain, 1.0);
  return average;
}

std::string losses_of(std::span<const C3Result> results) {
  std::vector<std::string> losers;
  bool is_heuristic = false;
  for (const C3Result& result : results) {
    if (!loses(result)) continue;
    losers.push_back(
        fmt::format("{} takes {:.2g} % longer", to_string(result.strategy), 100.0 * (1.0 / result.speedup() - 1.0)));
    is_heuristic = is_heuristic || result.strategy == Strategy::heuristic;
  }
  if (losers.empty()) return {};
  return fmt::format("{} than one after the other{}", fmt::join(losers, ", "),
                     is_heuristic ? ": the heuristic looks up isolated times and tries nothing; c3_best does" : "");
}

std::vector<Shown<C3Result>> shown_of(std::span<const C3Result> results) {
  using R = const C3Result&;
  std::vector<Shown<C3Result>> shown{
      {only_in_data("scenario"), [](R r) { return r.scenario.name; }},
      {only_in_data("gemm"), [](R r) { return r.scenario.gemm; }},
      {only_in_data("collective"), [](R r) { return r.scenario.collective; }},
      // Bytes are whole and below 2^53.
      {only_in_data("bytes"), [](R r) { return static_cast<std::int64_t>(r.scenario.bytes.value()); }},
      {{"strategy", "strategy", ""}, &C3Result::strategy},
      {{"makespan_us", "makespan", "us"}, &C3Result::makespan},
      {{"speedup", "speedup", "", 3}, &C3Result::speedup},
      {{"ideal_speedup", "ideal", "", 3}, &C3Result::ideal_speedup},
      {{"fraction_of_ideal", "of ideal", "", 3}, fraction_cell},
      {{"gemm_us", "GEMM end", "us"}, &C3Result::gemm},
      {{"collective_us", "collective end", "us"}, &C3Result::collective},
      {{"isolated_gemm_us", "GEMM alone", "us"}, &C3Result::isolated_gemm},
      {{"isolated_collective_us", "RCCL alone", "us"}, &C3Result::isolated_collective},
      {{"collective_alone_us", "collective alone", "us"}, &C3Result::collective_alone},
      {{"serial_us", "serial", "us"}, &C3Result::isolated_sum},
      {{"chosen", "chosen", ""}, &C3Result::chosen},
      {{"reserved_cus", "reserved", "CU"}, &C3Result::reserved_cus},
      {only_in_data("gemm_start_us"), &C3Result::gemm_start},
      {only_in_data("collective_start_us"), &C3Result::collective_start}};
  if (std::ranges::any_of(results, loses)) {
    shown.push_back({{"note", "note", "", 2, true, false},
                     [](R r) { return loses(r) ? Cell(std::string("slower than serial")) : Cell(); }});
  }
  return shown;
}

ResultTable strategy_table(const C3Study& study, std::span<const StudyResult> results) {
  struct Row {
    Strategy strategy;
    Average mean;
    PublishedC3 published;
  };
  std::vector<Row> rows;
  for (const Strategy strategy : study.strategies) {
    rows.push_back({strategy, average(results, {strategy, {}, {}}), published_of(study, strategy)});
  }
  using R = const Row&;
  return table_of<Row>(
      rows, {{{"strategy", "strategy", ""}, &Row::strategy},
             {{"fraction_of_ideal_percent", "of ideal", "%", 0}, [](R r) { return percent(r.mean.fraction_of_ideal); }},
             {{"published_fraction_of_ideal_percent", "published", "%", 0},
              [](R r) { return percent(r.published.fraction); }},
             {{"mean_fraction_of_ideal_percent", "mean of scenarios", "%", 0},
              [](R r) { return percent(r.mean.mean_fraction); }},
             {{"speedup", "speedup", ""}, [](R r) { return r.mean.speedup; }},
             {{"published_speedup", "published", ""}, [](R r) { return r.published.speedup; }},
             {{"highest_speedup", "highest", ""}, [](R r) { return r.mean.highest_speedup; }},
             {{"published_highest_speedup", "published", ""}, [](R r) { return r.published.highest_speedup; }},
             {{"ideal_speedup", "ideal", ""}, [](R r) { return r.mean.ideal_speedup; }}});
}

ResultTable class_table(const C3Study& study, std::span<const StudyResult> results) {
  struct Row {
    CollectiveKind kind;
    Strategy strategy;
    PublishedC3 published;
  };
  std::vector<Row> rows;
  for (const CollectiveKind kind : study.collectives) {
    for (const Strategy strategy : study.strategies) {
      rows.push_back({kind, strategy, published_of(study, strategy, kind)});
    }
  }
  using R = const Row&;
  // Returns no value where the mean has no scenario.
  const auto of_mean = [results](R r, std::optional<LengthClass> length_class, auto value) {
    const Average mean = average(results, {r.strategy, r.kind, length_class});
    return mean.scenarios > 0 ? std::optional(std::invoke(value, mean)) : std::nullopt;
  };
  std::vector<Shown<Row>> shown{{{"collective", "collective", ""}, &Row::kind},
                                {{"strategy", "strategy", ""}, &Row::strategy}};
  for (const LengthClass length_class : sim::all_of<LengthClass>()) {
    const std::string name(to_string(length_class));
    shown.push_back({{name + "_percent", name, "%", 0},
                     [=](R r) { return percent(of_mean(r, length_class, &Average::fraction_of_ideal)); }});
  }
  shown.push_back({{"published_lowest_percent", "published lowest", "%", 0},
                   [](R r) { return percent(r.published.lowest_fraction); }});
  shown.push_back(
      {{"published_highest_percent", "highest", "%", 0}, [](R r) { return percent(r.published.highest_fraction); }});
  shown.push_back({{"speedup", "speedup", ""}, [=](R r) { return of_mean(r, {}, &Average::speedup); }});
  shown.push_back({{"published_speedup", "published", ""}, [](R r) { return r.published.speedup; }});
  return table_of(rows, shown);
}

ResultTable pair_table(const C3Study& study, std::span<const StudyResult> results) {
  using R = const StudyPair&;
  const auto of = [=](R pair, std::optional<CollectiveKind> kind, auto value) {
    const C3Result* const result = find_result(results, pair, kind);
    return result == nullptr ? std::nullopt : std::optional(std::invoke(value, *result));
  };
  std::vector<Shown<StudyPair>> shown{
      {{"pair", "pair", ""}, &StudyPair::name},
      {{"published_class", "published class", ""}, &StudyPair::length_class},
      {{"isolated_gemm_us", "GEMM alone", "us", 1}, [=](R pair) { return of(pair, {}, &C3Result::isolated_gemm); }}};
  for (const CollectiveKind kind : study.collectives) {
    const std::string name(models::to_string(kind));
    shown.push_back({{fmt::format("isolated_{}_us", name), name + " alone", "us", 1},
                     [=](R pair) { return of(pair, kind, &C3Result::isolated_collective); }});
    shown.push_back({{name + "_class", "class", ""}, [=, longer_by = study.longer_by](R pair) {
                       return of(pair, kind, [longer_by](const C3Result& result) {
                         return classify(result.isolated_gemm, result.isolated_collective, longer_by);
                       });
                     }});
  }
  return table_of(study.pairs, shown);
}

ResultTable heuristic_table(const C3Study& study, std::span<const StudyResult> results) {
  ResultTable table({{"collective", "collective", ""},
                     {"scenarios", "scenarios", ""},
                     {"right", "right", ""},
                     {"largest_loss_percent", "largest loss", "%", 1}});
  for (const CollectiveKind kind : study.collectives) {
    std::int64_t scenarios = 0;
    std::int64_t right = 0;
    double loss = 0.0;
    for (const StudyPair& pair : study.pairs) {
      const C3Result* const heuristic = find_result(results, pair, kind, Strategy::heuristic);
      const C3Result* const sweep = find_result(results, pair, kind, Strategy::c3_sp_rp);
      if (heuristic == nullptr || sweep == nullptr) continue;
      ++scenarios;
      right += heuristic->reserved_cus == sweep->reserved_cus ? 1 : 0;
      loss = std::max(loss, sim::to_seconds(heuristic->makespan) / sim::to_seconds(sweep->makespan) - 1.0);
    }
    if (scenarios > 0) table.add_row({std::string(models::to_string(kind)), scenarios, right, 100.0 * loss});
  }
  return table;
}

BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform) {
  BarChart chart{.id = "fraction_of_ideal",
                 .title = fmt::format("Fraction of the ideal speedup by strategy: {} on {}", study.name, platform),
                 .value_axis = "fraction of ideal speedup [%]",
                 .series = {"predicted"}};
  for (const Strategy strategy : study.strategies) {
    if (strategy == Strategy::serial) continue;  // what it gains or loses is not due to overlap
    Bar& bar = chart.bars.emplace_back();
    bar.label = to_string(strategy);
    bar.values = {100.0 * average(results, {strategy, {}, {}}).fraction_of_ideal};
    const std::optional<double> published = percent(published_of(study, strategy).fraction);
    bar.published = {published ? std::optional(Published{*published, *published}) : std::nullopt};
  }
  return chart;
}

BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure) {
  const bool kernels = figure == PaperFigure::kernels;
  BarChart chart{
      .id = kernels ? "speedup_by_kernels" : "speedup_by_copy_engines",
      .title = fmt::format("Speedup with collectives on {}: {}", kernels ? "kernels" : "copy engines", study.name),
      .value_axis = "mean speedup over serial execution",
      .decimals = 2,
      .levels = {{"serial", 1.0}},
      .caption = ""};
  std::vector<Strategy> strategies;
  for (const Strategy strategy : study.strategies) {
    if (!belongs_to(figure, strategy)) continue;
    strategies.push_back(strategy);
    chart.series.emplace_back(to_string(strategy));
  }
  chart.series.emplace_back("ideal");
  const auto add = [&](CollectiveKind kind, std::optional<LengthClass> length_class) {
    Bar bar = speedup_bar(study, results, strategies, kind, length_class);
    if (bar.values.back()) chart.bars.push_back(std::move(bar));
  };
  for (const CollectiveKind kind : study.collectives) {
    const std::size_t before = chart.bars.size();
    for (const LengthClass length_class : sim::all_of<LengthClass>()) add(kind, length_class);
    if (chart.bars.size() > before + 1) add(kind, {});
  }
  if (std::ranges::any_of(chart.bars, [](const Bar& bar) {
        return std::ranges::any_of(bar.published, [](const auto& range) { return range.has_value(); });
      })) {
    chart.caption =
        "Published for the classes: the lowest and the highest fraction of ideal over all three, at the predicted "
        "ideal of each; for their mean: the speedup.";
  }
  return chart;
}

Results study_results(const C3Study& study, std::span<const StudyResult> results, const std::string& platform) {
  std::vector<C3Result> all;
  std::vector<NamedRun> runs;
  for (const StudyResult& result : results) {
    all.push_back(result.c3);
    runs.push_back({fmt::format("{} {} {}", result.c3.scenario.name, models::to_string(result.c3.scenario.collective),
                                to_string(result.c3.strategy)),
                    result.c3.schedule});
  }
  std::vector<Chart> speedups;
  for (const PaperFigure figure : {PaperFigure::kernels, PaperFigure::copy_engines}) {
    BarChart chart = speedup_chart(study, results, figure);
    if (!chart.bars.empty()) speedups.emplace_back(std::move(chart));
  }
  const std::string averages = fmt::format("{} on {}: {} scenarios; mean over collectives and classes{}", study.name,
                                           platform, study.pairs.size() * study.collectives.size(),
                                           study.published.empty() ? "" : ", beside the published figure");
  std::vector<NamedTable> tables{
      {"results", "Every scenario under every strategy", table_of(all, shown_of(all)), false}};
  const auto add = [&](const char* key, std::string title, const ResultTable& table, std::vector<Chart> charts = {}) {
    tables.push_back({key, std::move(title), without_empty_published(table), true, std::move(charts), true});
  };
  add("by_strategy", averages, strategy_table(study, results), {fraction_chart(study, results, platform)});
  add("by_class", "Of ideal by collective and class", class_table(study, results), std::move(speedups));
  add("pairs", "Isolated times and the class that follows from them", pair_table(study, results));
  if (const ResultTable heuristic = heuristic_table(study, results); !heuristic.rows().empty()) {
    add("heuristic", "CUs reserved by heuristic, against the sweep of c3_sp_rp", heuristic);
  }
  return {platform, std::move(tables), study.warnings, std::move(runs), fmt::format("{} on {}", study.name, platform)};
}

bool holds_paper_study(sim::Section root) {
  return root.has("pairs") || root.has("schedules") || root.has("sublayers");
}

PaperStudy read_paper_study(sim::Section root, const Testbed& testbed) {
  const std::string platform = testbed.platform().name;
  if (root.has("pairs")) {
    const C3Study study = read_c3_study(root, testbed);
    return {fmt::format("{}: {} pairs with {} collectives by {} strategies", study.name, study.pairs.size(),
                        study.collectives.size(), study.strategies.size()),
            [=](Testbed& asked, bool, const Progress& progress, int jobs) {
              return study_results(study, run_study(asked, study, progress, jobs), platform);
            }};
  }
  return root.has("schedules") ? read_finer_grain_study(root, testbed) : read_sublayer_study(root, testbed);
}

}  // namespace c3sim::study
