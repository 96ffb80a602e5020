#include "calibrate/replay/replay_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>

#include "calibrate/readers/log_reading.h"
#include "calibrate/replay/occupancy.h"
#include "sim/interruption.h"
#include "study/report/table_of.h"

namespace c3sim::calibrate {

namespace {

using sim::to_microseconds;

// A Version is the pieces of a run at their replayed times, or at their traced times if `played` is empty.
struct Version {
  std::string name;
  const Run* run;
  std::vector<study::Stay> played;  // by piece
  Occupancy whole{};

  study::Stay at(std::size_t piece) const {
    return played.empty() ? study::Stay{run->pieces[piece].begin, run->pieces[piece].end} : played[piece];
  }
};

// Returns the times of all work, with its steps if `step_of` is given.
StretchesByGpu stretches_of(const Version& version, const std::vector<Place>& step_of = {}) {
  StretchesByGpu stretches;
  for (const std::size_t i : sim::short_steps(version.run->pieces.size())) {
    const Piece& piece = version.run->pieces[i];
    if (!piece.work) continue;
    const auto [begin, end] = version.at(i);
    stretches[piece.device].push_back(
        {begin, end, piece.communicates(), step_of.empty() ? Place() : step_of[*piece.work]});
  }
  return stretches;
}

std::vector<Stretch> of_all_gpus(StretchesByGpu by_gpu) {
  if (by_gpu.size() == 1) return std::move(by_gpu.begin()->second);
  std::vector<Stretch> all;
  for (const auto& [gpu, stretches] : by_gpu) all.insert(all.end(), stretches.begin(), stretches.end());
  return all;
}

// For several GPUs, the span is from the first begin to the last end, and all other times are means over GPUs.
Occupancy occupancy_of(const Version& version) {
  const StretchesByGpu by_gpu = stretches_of(version);
  const auto gpus = static_cast<std::int64_t>(by_gpu.size());
  if (gpus == 1) return occupancy_of(by_gpu.begin()->second);
  Occupancy mean{.span = occupancy_of(of_all_gpus(by_gpu)).span};
  for (const auto& [gpu, stretches] : by_gpu) {
    const Occupancy one = occupancy_of(stretches);
    mean.busy += one.busy / gpus;
    mean.compute += one.compute / gpus;
    mean.communication += one.communication / gpus;
    mean.overlapped += one.overlapped / gpus;
  }
  return mean;
}

Version version_of(std::string name, const Run& run, std::vector<study::Stay> played = {}) {
  Version version{std::move(name), &run, std::move(played)};
  version.whole = occupancy_of(version);
  return version;
}

struct Versions {
  Version traced, replayed, predicted;
};

// Times are those of the whole run or, where there is a step, of that step on a GPU.
struct Times {
  Occupancy traced, replayed, predicted;
  const StepWork* step = nullptr;
};

std::vector<study::Shown<Times>> shown_of_times() {
  return {{{"measured_us", "measured", "us", 1}, [](const Times& row) { return row.traced.span; }},
          {{"replayed_us", "replayed", "us", 1}, [](const Times& row) { return row.replayed.span; }},
          {{"predicted_us", "predicted", "us", 1}, [](const Times& row) { return row.predicted.span; }},
          {{"exposed_us", "exposed", "us", 1}, [](const Times& row) { return row.predicted.exposed(); }},
          {{"overlapped_us", "overlapped", "us", 1}, [](const Times& row) { return row.predicted.overlapped; }}};
}

// Adds the columns of a row's step in front.
template <class Row>
void add_step(std::vector<study::Shown<Row>>& shown) {
  shown.insert(shown.begin(), {{{"step", "step", ""}, [](const Row& row) { return row.step->name; }},
                               {{"gpu", "GPU", ""}, [](const Row& row) { return row.step->device; }}});
}

study::ResultTable whole_table(const Profile& profile, const Versions& versions, sim::Time simulated,
                               sim::Time without_waits) {
  std::vector<study::Shown<Times>> shown = shown_of_times();
  shown.insert(shown.begin(), {{"trace", "trace", ""}, [&](const Times&) { return profile.file; }});
  shown.push_back({{"simulated_us", "replayed without waits", "us", 1}, [=](const Times&) { return simulated; }});
  shown.push_back(
      {{"without_waits_us", "predicted without waits", "us", 1}, [=](const Times&) { return without_waits; }});
  return table_of(std::array{Times{versions.traced.whole, versions.replayed.whole, versions.predicted.whole}}, shown);
}

study::ResultTable step_table(const Profile& profile, const Versions& versions) {
  const std::vector<StepWork> steps = steps_of(profile);
  std::vector<Times> rows(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) rows[i].step = &steps[i];
  for (const auto& [version, times] : {std::pair(&versions.traced, &Times::traced),
                                       {&versions.replayed, &Times::replayed},
                                       {&versions.predicted, &Times::predicted}}) {
    const std::vector<Occupancy> all = occupancies_of(stretches_of(*version, places_in(steps, profile)), steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) rows[i].*times = all[i];
  }
  std::vector<study::Shown<Times>> shown = shown_of_times();
  add_step(shown);
  return table_of(rows, shown);
}

// A Part is what a version of the run, or a step of the trace, keeps a GPU busy with.
struct Part : Occupancy {
  std::string version{};
  const StepWork* step = nullptr;
  sim::Time for_host{0};
};

std::vector<study::Shown<Part>> shown_of_parts() {
  return {{{"span_us", "first to last", "us", 1}, &Part::span},
          {{"compute_us", "compute", "us", 1}, &Part::compute},
          {{"communication_us", "communication", "us", 1}, &Part::communication},
          {{"exposed_us", "exposed", "us", 1}, &Part::exposed},
          {{"overlapped_us", "overlapped", "us", 1}, &Part::overlapped},
          {{"idle_us", "idle", "us", 1}, &Part::idle}};
}

study::ResultTable part_table(const Versions& versions) {
  std::vector<Part> rows;
  for (const Version* const one : {&versions.traced, &versions.replayed, &versions.predicted}) {
    rows.push_back({one->whole, one->name});
  }
  std::vector<study::Shown<Part>> shown = shown_of_parts();
  shown.insert(shown.begin(), {{"version", "", ""}, &Part::version});
  return table_of(rows, shown);
}

// Returns medians for each collective, and its least traced time: the rank that came last did not wait.
study::ResultTable collective_table(const Profile& profile, const Run& run, const Version& simulated,
                                    Contention& before) {
  struct Sort {
    const models::CollectiveSpec& collective;
    std::vector<double> traced{}, simulated{}, last{};
  };
  std::vector<Sort> sorts;
  for (const models::CollectiveSpec& collective : run.collectives) sorts.push_back({collective});
  for (const std::size_t i : sim::short_steps(run.pieces.size())) {
    const Piece& piece = run.pieces[i];
    if (!piece.collective) continue;
    const ProfiledWork& work = profile.work[*piece.work];
    Sort& sort = sorts[*piece.collective];
    sort.traced.push_back(to_microseconds(work.end - work.begin));
    if (work.least != ProfiledWork::unknown) sort.last.push_back(to_microseconds(work.least));
    const auto [begin, end] = simulated.at(i);
    sort.simulated.push_back(to_microseconds(end - begin));
  }
  const auto median = [](std::vector<double> Sort::*times) {
    return [times](const Sort& sort) {
      return (sort.*times).empty() ? study::Cell() : percentiles_of(sort.*times).median;
    };
  };
  return study::table_of<Sort>(
      sorts,
      {{{"collective", "collective", ""}, [](const Sort& sort) { return to_string(study::Work(sort.collective)); }},
       {{"count", "count", ""}, [](const Sort& sort) { return sort.traced.size(); }},
       {{"traced_us", "traced, median", "us", 1}, median(&Sort::traced)},
       {{"least_us", "least", "us", 1}, [](const Sort& sort) { return std::ranges::min(sort.traced); }},
       {{"last_us", "of the last rank, median", "us", 1}, median(&Sort::last)},
       {{"simulated_us", "simulated, median", "us", 1}, median(&Sort::simulated)},
       {{"alone_us", "simulated alone", "us", 1},
        [&](const Sort& sort) { return before.tenant(sort.collective).alone; }}});
}

// Returns errors in percent of simulated collectives beside compute, if other ranks tell their times without waits.
std::optional<Percentiles> errors_without_waits(const Profile& profile, const Run& run, const Version& simulated) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < run.pieces.size(); ++i) {
    const Piece& piece = run.pieces[i];
    if (!piece.collective || !piece.beside_compute) continue;
    const sim::Time least = profile.work[*piece.work].least;
    if (least == ProfiledWork::unknown) continue;
    const auto [begin, end] = simulated.at(i);
    errors.push_back(100.0 * std::abs(sim::to_seconds(end - begin) / sim::to_seconds(least) - 1.0));
  }
  if (errors.empty()) return {};
  return percentiles_of(std::move(errors));
}

// Adds a bar, in microseconds. Instead extends the previous bar if it is of the same series and ends shortly before, or
// if it begins so close that the row would have more than `most` bars.
template <class Label>
void add_bar(study::TimelineRow& row, double whole, double begin, double end, std::size_t series, const Label& label) {
  constexpr double shares = 1000.0;  // of the whole; shorter gaps are invisible
  constexpr double most = 20'000.0;
  if (!row.bars.empty()) {
    study::TimelineBar& last = row.bars.back();
    const bool is_same = last.series == series && begin - last.end < whole / shares;
    if (is_same || begin - last.start < whole / most) {
      last.end = std::max(last.end, end);
      last.label = "";
      return;
    }
  }
  row.bars.push_back({begin, end, series, label()});
}

// Returns one row per stream and version. Pieces of a kind that follow each other closely are one bar, since nobody
// would see the gaps between thousands of kernels.
study::TimelineChart timeline(const Profile& profile, const Versions& versions) {
  study::TimelineChart chart{.id = "timeline", .title = profile.file + ": streams over time, traced and predicted"};
  // The series follow the order of PieceKind.
  chart.series = {"matrix products",      "other kernels",           "copies to and from the host",
                  "collective, waiting",  "collective, moving data", "collective, as traced",
                  "exposed communication"};
  const auto series = [](const Piece& piece) { return static_cast<std::size_t>(piece.kind); };
  const sim::Time zero = profile.begin();
  const bool several = std::ranges::any_of(
      profile.streams, [&](const ProfiledStream& stream) { return stream.device != profile.streams.front().device; });
  for (const Version* const version : {&versions.traced, &versions.predicted}) {
    std::vector<study::TimelineRow> rows;
    for (const ProfiledStream& stream : profile.streams) {
      const std::string name = several ? stream.name() : fmt::format("stream {}", stream.stream);
      rows.push_back({fmt::format("{}: {}", version->name, name), {}});
    }
    const double whole = to_microseconds(version->whole.span);
    for (const std::size_t i : sim::short_steps(version->run->pieces.size())) {
      const Piece& piece = version->run->pieces[i];
      const study::Stay played = version->at(i);
      if (!piece.work || played.end <= played.begin) continue;
      const ProfiledWork& work = profile.work[*piece.work];
      add_bar(rows[work.stream], whole, to_microseconds(played.begin - zero), to_microseconds(played.end - zero),
              series(piece), [&] { return printable(profile.name_of(work)); });
    }
    study::TimelineRow& exposed = rows.emplace_back(study::TimelineRow{version->name + ": exposed", {}});
    for (const Stretch& one : sim::in_short_steps(exposed_communication(of_all_gpus(stretches_of(*version))))) {
      add_bar(exposed, whole, to_microseconds(one.begin - zero), to_microseconds(one.end - zero),
              chart.series.size() - 1, [] { return "exposed"; });
    }
    for (study::TimelineRow& row : rows) {
      if (!row.bars.empty()) chart.rows.push_back(std::move(row));
    }
  }
  return chart;
}

// Returns "0.3 % longer than", "0.3 % shorter than", or "as long as" for a difference that rounds to nothing.
std::string compared(sim::Time time, sim::Time other) {
  const double percent = std::round(1000.0 * (sim::to_seconds(time) / sim::to_seconds(other) - 1.0)) / 10.0;
  if (percent == 0.0) return "as long as";
  return fmt::format("{:.1f} % {} than", std::abs(percent), percent > 0.0 ? "longer" : "shorter");
}

// Counts collectives that the other machine cannot run, by the reason.
std::map<std::string, std::size_t> kept_as_traced(const Run& run, Contention& after) {
  std::map<std::string, std::size_t> kept;
  for (const models::CollectiveSpec& one : run.collectives) {
    const Tenant& tenant = after.tenant(one);
    if (!tenant.alone) ++kept[tenant.why_not];
  }
  return kept;
}

std::string counted(const std::string& why, const CountedEvents& what) {
  const std::string time =
      what.time > sim::Time(0) ? fmt::format(", {:.1f} us", to_microseconds(what.time)) : std::string();
  return fmt::format("{} events{}: {}.", what.events, time, why);
}

// Returns a warning about collectives that keep their traced time whatever is asked.
std::vector<std::string> warnings_of(const Run& run) {
  sim::Time all{0};
  sim::Time unknown{0};
  for (const Piece& piece : run.pieces) {
    if (piece.communicates()) all += piece.end - piece.begin;
    if (piece.kind == PieceKind::unknown) unknown += piece.end - piece.begin;
  }
  if (unknown == sim::Time(0)) return {};
  return {
      fmt::format("{} of its collectives are simulated: {:.1f} us of {:.1f} us keep their traced time, whatever is "
                  "asked for; the notes say why",
                  unknown == all ? "none" : "not all", to_microseconds(unknown), to_microseconds(all))};
}

std::vector<std::string> notes_of(const Profile& profile, const Run& run, const Dependencies& dependencies,
                                  const Versions& versions, Contention& after) {
  const sim::Time measured = versions.traced.whole.span;
  const sim::Time replayed = versions.replayed.whole.span;
  const sim::Time predicted = versions.predicted.whole.span;
  std::vector<std::string> notes{fmt::format(
      "Played again unchanged, the run is {} its trace; with what is asked for, it is {} the unchanged replay.",
      compared(replayed, measured), compared(predicted, replayed))};
  if (run.unexplained > std::chrono::microseconds(1)) {
    notes.push_back(
        fmt::format("The model of the traced machine explains the time of the collectives except {:.1f} us, in which "
                    "they waited for other GPUs or were slower than the model says. The predicted time includes these; "
                    "the column 'predicted without waits' leaves them out.",
                    to_microseconds(run.unexplained)));
  }
  if (run.beyond > std::chrono::microseconds(1)) {
    notes.push_back(fmt::format("The model gives collectives {:.1f} us more than they took in the trace.",
                                to_microseconds(run.beyond)));
  }
  const std::array<std::pair<std::size_t, const char*>, 4> counts{
      {{dependencies.by_time,
        "{} times work began just when work on another stream had ended, although its own stream was free and it had "
        "been launched. It is taken to have waited for that other work. The profiler records such waits if "
        "enable_cuda_sync_events is set."},
       {profile.unnamed_waits,
        "{} waits of streams are in the trace without what they wait for. Those that held nothing up in the trace hold "
        "nothing up in the replay, even if what they wait for ends later there."},
       {dependencies.for_room,
        "{} times work that was ready began only after kernels of other streams had begun. These are taken to have "
        "left it no room on the GPU at first: in the replay it begins as long after their begin as it did in the "
        "trace."},
       {dependencies.unexplained,
        "{} times work began later than anything in the trace explains: in the replay it begins as long after the work "
        "that it waits for as it did in the trace."}}};
  for (const auto& [count, text] : counts) {
    if (count > 0) notes.push_back(fmt::format(fmt::runtime(text), count));
  }
  for (const auto& [why, count] : after.by_library()) {
    notes.push_back(fmt::format("Sorts of collectives that stay with the library's kernels: {} ({}).", count, why));
  }
  for (const auto& [why, count] : kept_as_traced(run, after)) {
    notes.push_back(fmt::format("Sorts of collectives that keep their traced time: {} ({}).", count, why));
  }
  for (const auto& [why, what] : run.not_simulated) {
    notes.push_back(counted("a collective that is not simulated: " + why, what));
  }
  for (const auto& [why, what] : profile.misunderstood) notes.push_back(counted(why, what));
  return notes;
}

// Returns nothing if the run is not cut, since a copy of millions of pieces would be large.
std::optional<Run> parts_of(const Run& run, int count) {
  return count > 1 ? std::optional(split(run, count)) : std::nullopt;
}

}  // namespace

Met play_unchanged(const Profile& profile, Contention& contention) {
  const Run run = take_apart(profile, dependencies_of(profile), contention);
  const Version simulated = version_of("simulated", run, play(run, contention, {.waits = true}));
  Met met{.measured = version_of("traced", run).whole.span,
          .replayed = version_of("replayed", run, play(run, contention)).whole.span,
          .simulated = simulated.whole.span};
  std::map<models::CollectiveKind, std::vector<double>> times;
  for (std::size_t i = 0; i < run.pieces.size(); ++i) {
    const Piece& piece = run.pieces[i];
    if (!piece.collective || !piece.beside_compute) continue;
    const sim::Time time = simulated.played[i].end - simulated.played[i].begin;
    times[run.collectives[*piece.collective].kind].push_back(sim::to_seconds(time).value());
  }
  for (auto& [kind, all] : times)
    met.collectives[kind] = sim::to_time(sim::Seconds(percentiles_of(std::move(all)).median));
  return met;
}

sim::Time predicted_time(const Profile& profile, Contention& before, Contention& after, const ReplayOptions& options) {
  const Run run = take_apart(profile, dependencies_of(profile), before);
  const std::optional<Run> parts = parts_of(run, options.split);
  const Run& cut = parts ? *parts : run;
  return version_of("predicted", cut, play(cut, after, {.communication = options.without_communication})).whole.span;
}

study::Results replay_results(const Profile& profile, Contention& before, Contention& after,
                              const ReplayOptions& options) {
  Dependencies dependencies = dependencies_of(profile);
  const Run run = take_apart(profile, dependencies, before);
  dependencies.nodes = {};  // frees memory: there may be millions
  dependencies.after = {};
  const std::optional<Run> parts = parts_of(run, options.split);
  const Run& cut = parts ? *parts : run;
  const bool none = options.without_communication;
  const sim::Time without_waits = version_of("without waits", cut, play(cut, after, {none, true})).whole.span;
  Version simulated = version_of("simulated", run, play(run, before, {.waits = true}));
  const study::ResultTable collectives = collective_table(profile, run, simulated, before);
  const std::optional<Percentiles> errors = errors_without_waits(profile, run, simulated);
  simulated.played = {};
  const Versions versions{version_of("traced", run), version_of("replayed", run, play(run, before)),
                          version_of("predicted", cut, play(cut, after, {.communication = none}))};
  study::Results results;
  results.title = profile.file;
  results.tables.push_back({"results", "", whole_table(profile, versions, simulated.whole.span, without_waits)});
  results.tables.push_back({"parts", "What its GPUs do", part_table(versions)});
  if (!run.collectives.empty()) results.tables.push_back({"collectives", "Collectives, by sort", collectives});
  if (!profile.steps.empty()) results.tables.push_back({"steps", "Steps", step_table(profile, versions)});
  results.charts.emplace_back(timeline(profile, versions));
  results.warnings = warnings_of(run);
  results.notes = notes_of(profile, run, dependencies, versions, after);
  if (errors) {
    results.notes.push_back(fmt::format(
        "The simulated times of collectives beside compute differ by {:.1f} % in the median ({:.1f} % at the "
        "90th percentile) from their traced times without waits, which the traces of other ranks tell.",
        errors->median, errors->high));
  }
  return results;
}

namespace {

// Returns the occupancy of each step.
std::vector<Occupancy> occupancies_of_steps(const Profile& profile, const std::vector<StepWork>& steps) {
  const std::vector<Place> step_of = places_in(steps, profile);
  StretchesByGpu stretches;
  for (const std::size_t place : sim::short_steps(profile.work.size())) {
    const ProfiledWork& work = profile.work[place];
    stretches[profile.streams[work.stream].device].push_back(
        {work.begin, work.end, work.kind == WorkKind::collective, step_of[place]});
  }
  return occupancies_of(stretches, steps.size());
}

// Returns the table with an additional column for programs that names the file.
template <class Row, class Rows>
study::ResultTable table_of_file(const Profile& profile, const Rows& rows, std::vector<study::Shown<Row>> shown) {
  shown.insert(shown.begin(), {{"file", "file", "", 2, false}, [&profile](const Row&) { return profile.file; }});
  return study::table_of(rows, shown);
}

study::ResultTable step_table(const Profile& profile, const std::vector<StepWork>& steps) {
  std::vector<Part> rows;
  for (const Occupancy& one : occupancies_of_steps(profile, steps)) rows.push_back({one, "", &steps[rows.size()]});
  for (const IdleGap& gap : idle_gaps(profile, steps)) {
    if (gap.by_host) rows[gap.step].for_host += gap.end - gap.begin;
  }
  std::vector<study::Shown<Part>> shown = shown_of_parts();
  shown.insert(shown.begin() + 1, {{"busy_us", "busy", "us", 1}, &Part::busy});
  add_step(shown);
  shown.push_back({{"host_gaps_us", "for the host", "us", 1}, &Part::for_host});
  return table_of_file(profile, rows, std::move(shown));
}

std::string why_ended(const Profile& profile, const IdleGap& gap) {
  const ProfiledWork& work = profile.work[gap.ended_by];
  if (!work.launch()) return "its launch is not in the trace";
  const HostCall& call = profile.calls[*work.launch()];
  const std::string ago = sim::to_string(work.begin - call.begin);
  return gap.by_host ? fmt::format("the host launched it {} before it began", ago)
                     : fmt::format("launched {} before it began, it waited", ago);
}

study::ResultTable gap_table(const Profile& profile, const std::vector<StepWork>& steps) {
  constexpr std::size_t most = 5;
  std::vector<IdleGap> gaps = idle_gaps(profile, steps);
  std::ranges::stable_sort(gaps, std::ranges::greater(), [](const IdleGap& gap) { return gap.end - gap.begin; });
  gaps.resize(std::min(most, gaps.size()));
  const auto ended_by = [&profile](const IdleGap& gap) {
    const ProfiledWork& work = profile.work[gap.ended_by];
    return fmt::format("{} on stream {}", printable(profile.name_of(work)), profile.streams[work.stream].stream);
  };
  return table_of_file<IdleGap>(
      profile, gaps,
      {{{"step", "step", ""}, [&](const IdleGap& gap) { return steps[gap.step].name; }},
       {{"gpu", "GPU", ""}, [&](const IdleGap& gap) { return steps[gap.step].device; }},
       {{"begin_us", "begins at", "us", 1}, [&](const IdleGap& gap) { return gap.begin - profile.begin(); }},
       {{"gap_us", "idle", "us", 1}, [](const IdleGap& gap) { return gap.end - gap.begin; }},
       {{"ended_by", "ended by", ""}, ended_by},
       {{"why", "why then", ""}, [&](const IdleGap& gap) { return why_ended(profile, gap); }}});
}

// Returns counts by sort. A time of 0 may mean that the time is unknown.
study::ResultTable table_of_counts(const Profile& profile, const std::map<std::string, CountedEvents>& counts,
                                   study::Column sort, study::Column count, bool tells_no_time) {
  using Row = std::pair<const std::string, CountedEvents>;
  const auto time = [tells_no_time](const Row& row) {
    const bool is_told = tells_no_time || row.second.time > sim::Time(0);
    return is_told ? study::Cell(to_microseconds(row.second.time)) : study::Cell();
  };
  return table_of_file<Row>(profile, counts,
                            {{std::move(sort), &Row::first},
                             {std::move(count), [](const Row& row) { return row.second.events; }},
                             {{"time_us", "which took", "us", 1}, time}});
}

}  // namespace

std::vector<study::NamedTable> profile_tables(const Profile& profile) {
  const std::vector<StepWork> steps = steps_of(profile);
  std::vector<study::NamedTable> tables{
      {"steps", profile.file + ": what its GPU did", step_table(profile, steps)},
      {"communication", profile.file + ": what communicates, by its names",
       table_of_counts(profile, profile.communication, {"class", "kernels that communicate", ""},
                       {"kernels", "kernels", ""}, true)},
      {"idle_gaps", profile.file + ": the longest idle gaps, and what ended them", gap_table(profile, steps)},
      {"not_understood", profile.file + ": what a replay cannot use",
       table_of_counts(profile, profile.misunderstood, {"why", "what is not understood", ""}, {"events", "events", ""},
                       false)}};
  for (study::NamedTable& table : tables) table.in_text = !table.table.rows().empty();
  return tables;
}

std::vector<std::string> profile_warnings(const Profile& profile) {
  std::vector<std::string> warnings;
  if (!profile.cut_off.empty()) {
    warnings.push_back(fmt::format("{}: {}: what comes before is counted", profile.file, profile.cut_off));
  }
  return warnings;
}

}  // namespace c3sim::calibrate
