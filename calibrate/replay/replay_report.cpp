#include "calibrate/replay/replay_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calibrate/readers/log_text.h"
#include "calibrate/readers/repeated_runs.h"

namespace c3sim::calibrate {

namespace {

using sim::to_microseconds;

// The pieces of a run at the times that they had or would have.
struct Version {
  std::string name;
  std::vector<Played> played;  // by piece
};

Version as_traced(const Run& run) {
  Version traced{"traced", {}};
  for (const Piece& piece : run.pieces) traced.played.push_back({piece.begin, piece.end});
  return traced;
}

// Of the pieces of this work, or of all.
using OfPieces = std::vector<std::size_t>;
std::vector<OfPieces> pieces_of_steps(const Profile& profile, const Run& run, const std::vector<StepWork>& steps) {
  std::vector<OfPieces> of_work(profile.work.size());
  for (std::size_t i = 0; i < run.pieces.size(); ++i) {
    if (run.pieces[i].work) of_work[*run.pieces[i].work].push_back(i);
  }
  std::vector<OfPieces> all;
  for (const StepWork& step : steps) {
    OfPieces& pieces = all.emplace_back();
    for (const std::size_t work : step.work) pieces.insert(pieces.end(), of_work[work].begin(), of_work[work].end());
  }
  return all;
}

OfPieces pieces_of_all(const Run& run) {
  OfPieces pieces;
  for (std::size_t i = 0; i < run.pieces.size(); ++i) {
    if (run.pieces[i].work) pieces.push_back(i);
  }
  return pieces;
}

std::vector<Stretch> stretches_of(const Run& run, const Version& version, const OfPieces& pieces) {
  std::vector<Stretch> stretches;
  for (const std::size_t piece : pieces) {
    const Played& played = version.played[piece];
    stretches.push_back({played.begin, played.end, run.pieces[piece].communicates()});
  }
  return stretches;
}

Occupancy occupancy_of(const Run& run, const Version& version, const OfPieces& pieces) {
  return occupancy_of(stretches_of(run, version, pieces));
}

std::vector<study::Column> columns_of_times() {
  return {{"measured_us", "measured", "us", 1},
          {"replayed_us", "replayed", "us", 1},
          {"predicted_us", "predicted", "us", 1},
          {"exposed_us", "exposed", "us", 1},
          {"overlapped_us", "overlapped", "us", 1}};
}

struct Versions {
  Version traced, replayed, predicted;
  std::vector<study::Cell> cells(const Run& run, const OfPieces& pieces) const {
    const Occupancy after = occupancy_of(run, predicted, pieces);
    return {to_microseconds(occupancy_of(run, traced, pieces).span),
            to_microseconds(occupancy_of(run, replayed, pieces).span), to_microseconds(after.span),
            to_microseconds(after.exposed()), to_microseconds(after.overlapped)};
  }
};

study::ResultTable whole_table(const Profile& profile, const Run& run, const Versions& versions,
                               const Version& simulated, const Version& without_waits) {
  std::vector<study::Column> columns{{"trace", "trace", ""}};
  const std::vector<study::Column> times = columns_of_times();
  columns.insert(columns.end(), times.begin(), times.end());
  columns.push_back({"simulated_us", "replayed without waits", "us", 1});
  columns.push_back({"without_waits_us", "predicted without waits", "us", 1});
  study::ResultTable table(std::move(columns));
  const OfPieces all = pieces_of_all(run);
  std::vector<study::Cell> cells{profile.file};
  for (study::Cell& cell : versions.cells(run, all)) cells.push_back(std::move(cell));
  cells.emplace_back(to_microseconds(occupancy_of(run, simulated, all).span));
  cells.emplace_back(to_microseconds(occupancy_of(run, without_waits, all).span));
  table.add_row(std::move(cells));
  return table;
}

study::ResultTable step_table(const Profile& profile, const Run& run, const Versions& versions) {
  std::vector<study::Column> columns{{"step", "step", ""}, {"gpu", "GPU", ""}};
  const std::vector<study::Column> times = columns_of_times();
  columns.insert(columns.end(), times.begin(), times.end());
  study::ResultTable table(std::move(columns));
  const std::vector<StepWork> steps = steps_of(profile);
  const std::vector<OfPieces> pieces = pieces_of_steps(profile, run, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<study::Cell> cells{steps[i].name, steps[i].device};
    for (study::Cell& cell : versions.cells(run, pieces[i])) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  return table;
}

study::ResultTable part_table(const Run& run, const Versions& versions) {
  study::ResultTable table({{"version", "", ""},
                            {"span_us", "first to last", "us", 1},
                            {"compute_us", "compute", "us", 1},
                            {"communication_us", "communication", "us", 1},
                            {"exposed_us", "exposed", "us", 1},
                            {"overlapped_us", "overlapped", "us", 1},
                            {"idle_us", "idle", "us", 1}});
  for (const Version* const one : {&versions.traced, &versions.replayed, &versions.predicted}) {
    const Occupancy all = occupancy_of(run, *one, pieces_of_all(run));
    table.add_row({one->name, to_microseconds(all.span), to_microseconds(all.compute),
                   to_microseconds(all.communication), to_microseconds(all.exposed()), to_microseconds(all.overlapped),
                   to_microseconds(all.idle())});
  }
  return table;
}

// Of all of a sort the middle, and of their traced times the least, too: of one that came last there was no wait.
study::ResultTable collective_table(const Profile& profile, const Run& run, const Version& simulated,
                                    Contention& before) {
  study::ResultTable table({{"collective", "collective", ""},
                            {"count", "count", ""},
                            {"traced_us", "traced, median", "us", 1},
                            {"least_us", "least", "us", 1},
                            {"simulated_us", "simulated, median", "us", 1},
                            {"alone_us", "simulated alone", "us", 1}});
  struct Times {
    std::vector<double> traced, simulated;
  };
  std::vector<Times> times(run.collectives.size());
  for (std::size_t i = 0; i < run.pieces.size(); ++i) {
    const Piece& piece = run.pieces[i];
    if (!piece.collective) continue;
    const ProfiledWork& work = profile.work[*piece.work];
    times[*piece.collective].traced.push_back(to_microseconds(work.end - work.begin));
    times[*piece.collective].simulated.push_back(to_microseconds(simulated.played[i].end - simulated.played[i].begin));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Percentiles traced = percentiles_of(times[i].traced);
    table.add_row({study::to_string(study::Work(run.collectives[i])), static_cast<std::int64_t>(times[i].traced.size()),
                   traced.median, *std::ranges::min_element(times[i].traced), percentiles_of(times[i].simulated).median,
                   to_microseconds(*before.tenant(run.collectives[i]).alone)});
  }
  return table;
}

// One row per stream and version. Pieces of a kind that follow each other closely are one bar: of thousands of kernels
// nobody would see the gaps.
study::TimelineChart timeline(const Profile& profile, const Run& run, const Versions& versions) {
  study::TimelineChart chart{.id = "timeline", .title = "Streams over time, traced and predicted"};
  chart.series = {"matrix products",      "other kernels",           "copies to and from the host",
                  "collective, waiting",  "collective, moving data", "collective, as traced",
                  "exposed communication"};
  const auto series = [](const Piece& piece) {
    if (piece.kind == PieceKind::matrix) return 0U;
    if (piece.kind == PieceKind::memory) return 1U;
    if (piece.kind == PieceKind::other) return 2U;
    return piece.kind == PieceKind::waiting ? 3U : piece.kind == PieceKind::moving ? 4U : 5U;
  };
  constexpr double shares = 1000.0;  // of the whole, that can be told apart
  const sim::Time zero = profile.begin();
  const bool several = std::ranges::any_of(
      profile.streams, [&](const ProfiledStream& stream) { return stream.device != profile.streams.front().device; });
  for (const Version* const version : {&versions.traced, &versions.predicted}) {
    std::vector<study::TimelineRow> rows;
    for (const ProfiledStream& stream : profile.streams) {
      const std::string name = several ? stream.name() : fmt::format("stream {}", stream.stream);
      rows.push_back({fmt::format("{}: {}", version->name, name), {}});
    }
    const OfPieces pieces = pieces_of_all(run);
    const double apart = to_microseconds(occupancy_of(run, *version, pieces).span) / shares;
    for (const std::size_t i : pieces) {
      const Piece& piece = run.pieces[i];
      const Played& played = version->played[i];
      if (played.end <= played.begin) continue;
      const ProfiledWork& work = profile.work[*piece.work];
      std::vector<study::TimelineBar>& bars = rows[work.stream].bars;
      const double begin = to_microseconds(played.begin - zero);
      const double end = to_microseconds(played.end - zero);
      if (!bars.empty() && bars.back().series == series(piece) && begin - bars.back().end < apart) {
        bars.back().end = std::max(bars.back().end, end);
        bars.back().label = "";
      } else {
        bars.push_back({begin, end, series(piece), printable(work.name)});
      }
    }
    study::TimelineRow& exposed = rows.emplace_back(study::TimelineRow{version->name + ": exposed", {}});
    for (const Stretch& one : exposed_communication(stretches_of(run, *version, pieces))) {
      const double begin = to_microseconds(one.begin - zero);
      exposed.bars.push_back({begin, to_microseconds(one.end - zero), chart.series.size() - 1, "exposed"});
    }
    for (study::TimelineRow& row : rows) {
      if (!row.bars.empty()) chart.rows.push_back(std::move(row));
    }
  }
  return chart;
}

// "+0.3 %"; what rounds to nothing is "0.0 %".
std::string beyond(sim::Time part, sim::Time whole) {
  const double percent = std::round(1000.0 * (sim::to_seconds(part) / sim::to_seconds(whole) - 1.0)) / 10.0;
  return percent == 0.0 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

std::vector<std::string> notes_of(const Profile& profile, const Run& run, const Dependencies& dependencies,
                                  const Versions& versions, const Contention& after) {
  const OfPieces all = pieces_of_all(run);
  const sim::Time measured = occupancy_of(run, versions.traced, all).span;
  const sim::Time replayed = occupancy_of(run, versions.replayed, all).span;
  const sim::Time predicted = occupancy_of(run, versions.predicted, all).span;
  std::vector<std::string> notes{
      fmt::format("Played again unchanged, it is {} off its traced time; what is asked about is {} off that.",
                  beyond(replayed, measured), beyond(predicted, replayed))};
  if (run.unexplained > std::chrono::microseconds(1)) {
    notes.push_back(fmt::format(
        "Of the collectives' time the model of the traced machine explains all but {:.1f} us: they wait for other "
        "GPUs, or are slower than it knows. That stays in what is predicted; the column without waits has it gone.",
        to_microseconds(run.unexplained)));
  }
  if (run.beyond > std::chrono::microseconds(1)) {
    notes.push_back(
        fmt::format("The model gives collectives {:.1f} us more than they took.", to_microseconds(run.beyond)));
  }
  if (dependencies.by_time > 0) {
    notes.push_back(fmt::format(
        "{} times the order of work is known by time alone: its stream was free and its launch past, and it began when "
        "work elsewhere had ended, which it is taken to have waited for. The profiler tells such waits with "
        "enable_cuda_sync_events.",
        dependencies.by_time));
  }
  if (profile.unnamed_waits > 0) {
    notes.push_back(
        fmt::format("{} waits of streams are not told with what they wait for: those that held nothing up in the trace "
                    "hold nothing "
                    "up here, even where what they wait for comes later.",
                    profile.unnamed_waits));
  }
  if (dependencies.for_room > 0) {
    notes.push_back(fmt::format(
        "{} times work began while kernels of other streams ran, as if these had left it no room before: it keeps its "
        "distance from their begin.",
        dependencies.for_room));
  }
  if (dependencies.unexplained > 0) {
    notes.push_back(fmt::format("{} times work began later than anything in the trace explains: it keeps its distance.",
                                dependencies.unexplained));
  }
  for (const auto& [why, count] : after.by_library()) {
    notes.push_back(fmt::format("Sorts of collectives that stay with the library's kernels: {} ({}).", count, why));
  }
  for (const auto& [why, what] : profile.misunderstood) {
    notes.push_back(fmt::format("{} events: {}.", what.events, why));
  }
  return notes;
}

}  // namespace

Met play_unchanged(const Profile& profile, Contention& contention) {
  const Run run = take_apart(profile, dependencies_of(profile), contention);
  const OfPieces all = pieces_of_all(run);
  return {occupancy_of(run, as_traced(run), all).span,
          occupancy_of(run, {"replayed", play(run, contention)}, all).span};
}

study::Results replay_results(const Profile& profile, Contention& before, Contention& after,
                              bool without_communication) {
  const Dependencies dependencies = dependencies_of(profile);
  const Run run = take_apart(profile, dependencies, before);
  const Versions versions{as_traced(run),
                          {"replayed", play(run, before)},
                          {"predicted", play(run, after, {.communication = without_communication})}};
  const Version simulated{"simulated", play(run, before, {.waits = true})};
  const Version without_waits{"without waits", play(run, after, {without_communication, true})};
  study::Results results;
  results.title = profile.file;
  results.tables.push_back({"results", "", whole_table(profile, run, versions, simulated, without_waits)});
  results.tables.push_back({"parts", "What its GPUs do", part_table(run, versions)});
  if (!run.collectives.empty()) {
    results.tables.push_back(
        {"collectives", "Collectives, by sort", collective_table(profile, run, simulated, before)});
  }
  if (!profile.steps.empty()) results.tables.push_back({"steps", "Steps", step_table(profile, run, versions)});
  results.charts.push_back(timeline(profile, run, versions));
  results.notes = notes_of(profile, run, dependencies, versions, after);
  return results;
}

}  // namespace c3sim::calibrate
