#include "calibrate/replay/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calibrate/readers/log_text.h"
#include "calibrate/replay/occupancy.h"

namespace c3sim::calibrate {

namespace {

using sim::to_microseconds;

// By step.
std::vector<Occupancy> occupancies_of_steps(const Profile& profile, const std::vector<StepWork>& steps) {
  const std::vector<Place> step_of = places_in(steps, profile);
  StretchesByGpu stretches;
  for (std::size_t place = 0; place < profile.work.size(); ++place) {
    const ProfiledWork& work = profile.work[place];
    stretches[profile.streams[work.stream].device].push_back(
        {work.begin, work.end, work.kind == WorkKind::collective, step_of[place]});
  }
  return occupancies_of(stretches, steps.size());
}

study::ResultTable step_table(const Profile& profile, const std::vector<StepWork>& steps) {
  study::ResultTable table({{"file", "file", "", 2, false},
                            {"step", "step", ""},
                            {"gpu", "GPU", ""},
                            {"span_us", "first to last", "us", 1},
                            {"busy_us", "busy", "us", 1},
                            {"compute_us", "compute", "us", 1},
                            {"communication_us", "communication", "us", 1},
                            {"exposed_us", "exposed", "us", 1},
                            {"overlapped_us", "overlapped", "us", 1},
                            {"idle_us", "idle", "us", 1},
                            {"host_gaps_us", "for the host", "us", 1}});
  const std::vector<Occupancy> occupancies = occupancies_of_steps(profile, steps);
  std::vector<sim::Time> for_host(steps.size(), sim::Time(0));
  for (const IdleGap& gap : idle_gaps(profile, steps))
    for_host[gap.step] += gap.by_host ? gap.end - gap.begin : sim::Time(0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Occupancy& all = occupancies[i];
    table.add_row({profile.file, steps[i].name, steps[i].device, to_microseconds(all.span), to_microseconds(all.busy),
                   to_microseconds(all.compute), to_microseconds(all.communication), to_microseconds(all.exposed()),
                   to_microseconds(all.overlapped), to_microseconds(all.idle()), to_microseconds(for_host[i])});
  }
  return table;
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
  study::ResultTable table({{"file", "file", "", 2, false},
                            {"step", "step", ""},
                            {"gpu", "GPU", ""},
                            {"begin_us", "begins at", "us", 1},
                            {"gap_us", "idle", "us", 1},
                            {"ended_by", "ended by", ""},
                            {"why", "why then", ""}});
  std::vector<IdleGap> gaps = idle_gaps(profile, steps);
  std::ranges::stable_sort(gaps, std::ranges::greater(), [](const IdleGap& gap) { return gap.end - gap.begin; });
  for (std::size_t i = 0; i < std::min(most, gaps.size()); ++i) {
    const IdleGap& gap = gaps[i];
    const StepWork& step = steps[gap.step];
    const ProfiledWork& work = profile.work[gap.ended_by];
    table.add_row(
        {profile.file, step.name, step.device, to_microseconds(gap.begin - profile.begin()),
         to_microseconds(gap.end - gap.begin),
         fmt::format("{} on stream {}", printable(profile.name_of(work)), profile.streams[work.stream].stream),
         why_ended(profile, gap)});
  }
  return table;
}

study::ResultTable communication_table(const Profile& profile) {
  study::ResultTable table({{"file", "file", "", 2, false},
                            {"class", "kernels that communicate", ""},
                            {"kernels", "kernels", ""},
                            {"time_us", "which took", "us", 1}});
  for (const auto& [name, one] : profile.communication)
    table.add_row({profile.file, name, static_cast<std::int64_t>(one.kernels), to_microseconds(one.time)});
  return table;
}

study::ResultTable misunderstood_table(const Profile& profile) {
  study::ResultTable table({{"file", "file", "", 2, false},
                            {"why", "what is not understood", ""},
                            {"events", "events", ""},
                            {"time_us", "which took", "us", 1}});
  for (const auto& [why, what] : profile.misunderstood) {
    table.add_row({profile.file, why, static_cast<std::int64_t>(what.events),
                   what.time > sim::Time(0) ? study::Cell(to_microseconds(what.time)) : study::Cell()});
  }
  return table;
}

}  // namespace

std::vector<study::NamedTable> profile_tables(const Profile& profile) {
  const std::vector<StepWork> steps = steps_of(profile);
  std::vector<study::NamedTable> tables{
      {"steps", profile.file + ": what its GPU did", step_table(profile, steps)},
      {"communication", profile.file + ": what communicates, by its names", communication_table(profile)},
      {"idle_gaps", profile.file + ": the longest idle gaps, and what ended them", gap_table(profile, steps)},
      {"not_understood", profile.file + ": what a replay cannot use", misunderstood_table(profile)}};
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
