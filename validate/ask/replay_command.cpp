#include <fmt/format.h>

#include <algorithm>

#include "calibrate/measurement_files.h"
#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/replay_report.h"
#include "study/ask/answers.h"
#include "study/config_folders.h"
#include "study/program/operation.h"
#include "study/report/results_folder.h"
#include "validate/ask/commands.h"

namespace c3sim::validate {

namespace {

constexpr auto replay_examples = R"(Examples:
  c3sim replay trace.json.gz                          unchanged: this shows how well the model meets the trace
  c3sim replay trace.json --collectives sdma          its collectives on copy engines instead
  c3sim replay trace.json --channels 16 --set fabric.link_rate='64 GB/s'
  c3sim replay trace.json --without communication     how fast it could be
  c3sim replay rank0.json rank1.json                  several ranks: who came last did not wait for the others
  c3sim replay kernel_trace.csv memory_copy_trace.csv hip_api_trace.csv --platform mi300x
  c3sim replay trace.json --split 4                   collectives and what computes around them in four parts
  c3sim replay trace.json --collectives sdma --out out/replay       with a page of both timelines
It reads traces of PyTorch's profiler (export_chrome_trace), and traces of rocprofv3: its JSON, or the CSV files of
one run (kernels, copies, calls of HIP). All may be compressed by gzip. Kernels that compute keep their traced time,
less what the collectives beside them in the trace cost them according to the model, plus what the collectives beside
them in the replay cost them. The host keeps its traced times. Collectives are simulated. Where a traced collective
took longer than the model says, the difference is taken for waiting for other GPUs, and remains in the replay.)";

struct Replaying {
  calibrate::ByWhat by_what;
  calibrate::ReplayOptions options;
};

Replaying replaying_of(const study::Request& request, study::Arguments& arguments) {
  constexpr int most = models::most_channels;
  Replaying asked;
  if (request.says("collectives")) {
    asked.by_what.backend = arguments.choice<models::Backend>("--collectives", request.text("collectives"));
  }
  if (request.says("channels")) {
    asked.by_what.channels = arguments.integer("--channels", request.text("channels"), 1, most);
    if (!models::by_kernels(asked.by_what.backend)) {
      arguments.fault("--channels", "goes with collectives by kernels, not with copy engines");
    }
  }
  if (request.says("without") && request.text("without") != "communication") {
    arguments.fault("--without",
                    study::in_quotes(request.text("without")) + " is not known: communication is accepted");
  }
  asked.options.without_communication = request.says("without");
  constexpr int most_parts = 256;
  if (request.says("split")) asked.options.split = arguments.integer("--split", request.text("split"), 1, most_parts);
  return asked;
}

std::vector<calibrate::Profile> read_profiles(const std::vector<std::filesystem::path>& files) {
  std::vector<calibrate::Profile> profiles = calibrate::read_profiles(files);
  for (const calibrate::Profile& one : profiles) {
    if (!one.cut_off.empty())
      throw sim::ConfigError({{one.file, "", one.cut_off + ": a whole trace can be played again"}});
    if (one.begin() == one.end())
      throw sim::ConfigError({{one.file, "", "its work on GPUs takes no time: kernels that last are accepted"}});
    if (one.gpu == profiles.front().gpu) continue;
    throw sim::ConfigError(
        {{one.file, "", "of another GPU than " + profiles.front().file + ": ranks of one run are accepted"}});
  }
  std::vector<calibrate::Profile*> all;
  for (calibrate::Profile& one : profiles) all.push_back(&one);
  calibrate::tell_waits(all);
  return profiles;
}

// Machines holds the platform of the question and the platform on which the trace ran.
struct Machines {
  study::Platform platform;  // of the question
  study::Platform traced;
  bool same = false;
  std::vector<std::string> warnings{};
};

// Returns the interval of the predicted time over the machines of the ensemble.
study::Intervals interval_of(const calibrate::Profile& profile, const Machines& machines, const Replaying& asked,
                             const study::Ensemble& ensemble, int jobs) {
  const auto time_on = [&](study::Testbed& drawn) {
    study::Testbed own(machines.traced.spec);
    calibrate::Contention before(machines.same ? drawn : own, {});
    calibrate::Contention after(drawn, asked.by_what);
    return sim::to_seconds(calibrate::predicted_time(profile, before, after, asked.options)).value();
  };
  return {study::interval_of(ensemble.ask_each(time_on, jobs))};
}

// Appends the rows and charts of another trace.
void append(study::Results& all, study::Results one) {
  if (all.tables.empty()) {
    all = std::move(one);
    return;
  }
  for (study::NamedTable& table : one.tables) {
    const auto known = std::ranges::find(all.tables, table.key, &study::NamedTable::key);
    if (known == all.tables.end()) {
      all.tables.push_back(std::move(table));
    } else {
      for (const std::vector<study::Cell>& row : table.table.rows()) known->table.add_row(row);
    }
  }
  std::ranges::move(one.charts, std::back_inserter(all.charts));
  std::ranges::move(one.notes, std::back_inserter(all.notes));
  std::ranges::move(one.warnings, std::back_inserter(all.warnings));
}

// Sets the number of GPUs to that of the program if a node has this many; collectives over several nodes have no model.
std::vector<std::string> node_of(const std::string& platform, const calibrate::Profile& profile) {
  if (!profile.ranks || *profile.ranks > platform_named(platform, {}).spec.gpus) return {};
  return {fmt::format("gpus={}", *profile.ranks)};
}

// Returns whether a platform is `base`, or a file with this base or fitted from it, and thus has the same GPU.
bool stands_on(const study::Platform& platform, const study::Platform& base) {
  if (platform.spec.name == base.spec.name) return true;
  const std::string file = base.config.files().front();
  return std::ranges::any_of(platform.config.files(),
                             [&](const std::string& one) { return study::is_same_place(one, file); });
}

// Returns the machines. The trace ran on the platform named after its GPU, or else on the requested platform.
Machines machines_of(study::Request& request, study::Arguments& arguments, const calibrate::Profile& profile) {
  const std::optional<std::string> asked = request.platform_name();
  const std::optional<std::string> own =
      calibrate::platform_of_gpu(profile.gpu, study::platform_names(study::config_folders()));
  if (!own && !asked) {
    const std::string named =
        profile.gpu.empty() ? "names no GPU" : fmt::format("names {}, of which there is no platform", profile.gpu);
    throw sim::ConfigError(
        {{"--platform", "",
          fmt::format("is missing: {} {}. --platform says on which machine its collectives are to be simulated",
                      profile.file, named)}});
  }
  const std::string traced = own ? *own : *asked;
  Machines machines{.platform = request.platform(arguments, traced, {}, node_of(asked.value_or(traced), profile)),
                    .traced = platform_named(traced, node_of(traced, profile))};
  machines.same = !request.says("set") && machines.platform.spec.name == machines.traced.spec.name;
  if (!own && !profile.gpu.empty()) {
    machines.warnings.push_back(fmt::format("{} is of {}, of which there is no platform: {} stands for it, too",
                                            profile.file, profile.gpu, machines.traced.spec.name));
  }
  if (own && !stands_on(machines.platform, machines.traced)) {
    machines.warnings.push_back(
        fmt::format("{} is of {}: its kernels that compute take as long as they did there, whatever {} would make of "
                    "them; only its collectives, and what these cost the kernels beside them, are those of {}",
                    profile.file, profile.gpu, machines.platform.spec.name, machines.platform.spec.name));
  }
  return machines;
}

study::Results answer_replay(study::Request& request) {
  study::Arguments arguments;
  const std::vector<std::filesystem::path> files = request.files("file");
  calibrate::require_files(files);
  for (const std::filesystem::path& file : files) request.reads(file);
  Replaying asked = replaying_of(request, arguments);
  request.take("without");  // not left to the platform options: elsewhere it names mechanisms of interference
  const std::optional<study::Sampling> sampling = request.sampling(arguments);
  const int jobs = request.jobs(arguments);
  request.check_options(arguments);
  arguments.check();
  std::vector<sim::Fault> twice;
  const std::vector<calibrate::Profile> profiles = read_profiles(calibrate::each_once(files, twice));
  const Machines machines = machines_of(request, arguments, profiles.front());
  arguments.check();
  asked.by_what.channels_as_traced = machines.platform.spec.name == machines.traced.spec.name;

  study::Testbed traced_testbed(machines.traced.spec);
  study::Testbed testbed(machines.platform.spec);
  calibrate::Contention before(traced_testbed, {});
  calibrate::Contention after(testbed, asked.by_what);
  study::Results results;
  std::vector<study::Intervals> intervals;
  std::optional<study::Ensemble> ensemble;
  if (sampling) ensemble.emplace(machines.platform, *sampling, jobs, request.progress());
  for (const calibrate::Profile& profile : profiles) {
    append(results, calibrate::replay_results(profile, before, after, asked.options));
    if (ensemble) intervals.push_back(interval_of(profile, machines, asked, *ensemble, jobs));
  }
  study::add_intervals(results.tables.front().table, intervals, {{"predicted", "predicted"}});
  for (const sim::Fault& fault : twice) results.warnings.push_back(sim::in_words(fault));
  std::ranges::copy(machines.warnings, std::back_inserter(results.warnings));
  for (const calibrate::Profile& profile : profiles) {
    for (const calibrate::KnownWork& one : profile.known) {
      const auto* const known = one.trial ? std::get_if<study::CollectiveTrial>(&*one.trial) : nullptr;
      if (known == nullptr || !asked.by_what.channels) continue;
      models::CollectiveSpec collective = known->spec;
      collective.backend = asked.by_what.backend;
      collective.channels = asked.by_what.channels;
      study::warn_of_channels(results.warnings, collective, machines.platform.spec);
    }
  }
  results.platform = machines.platform.spec.name;
  return request.finish(machines.platform, std::move(results));
}

}  // namespace

study::Command replay_command() {
  using study::Option;
  using study::Said;
  return {"replay", "Play a profiler's trace again: as it was, and with another way to communicate", replay_examples,
          std::vector<Option>{
              {"file", "TRACE...",
               "Traces of PyTorch's profiler (.json or .json.gz), of one rank or of several ranks of the same run; or "
               "the traces (.csv) that rocprofv3 wrote of one run",
               Said::all_in_place, true},
              {"collectives", study::names_of<models::Backend>(),
               "What carries out the collectives of the trace (unless given rccl: the library's kernels)"},
              {"channels", "COUNT",
               "How many workgroups each kernel of a collective has (as the library chooses unless given)"},
              {"split", "COUNT",
               "Cut each collective, and the computation before and behind it, into so many parts that overlap"},
              {"without", "communication",
               "Leave all communication out: no way to communicate makes the run faster than this"}} +
              study::platform_options() + study::uncertainty_options(),
          answer_replay};
}

}  // namespace c3sim::validate
