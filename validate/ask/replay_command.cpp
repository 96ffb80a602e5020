#include <fmt/format.h>

#include "calibrate/readers/screen.h"
#include "calibrate/replay/experiment_text.h"
#include "calibrate/replay/kineto.h"
#include "calibrate/replay/profile_report.h"
#include "calibrate/replay/replay_report.h"
#include "sim/config/measurement_text.h"
#include "sim/config/output_file.h"
#include "study/work/choices.h"
#include "study/work/config_folders.h"
#include "validate/ask/commands.h"

namespace c3sim::validate {

namespace {

constexpr auto replay_examples =
    "Examples:\n"
    "  c3sim replay trace.json.gz                          the same again: how well the model meets it\n"
    "  c3sim replay trace.json --collectives sdma          its collectives on copy engines instead\n"
    "  c3sim replay trace.json --channels 16 --set fabric.link_rate='64 GB/s'\n"
    "  c3sim replay trace.json --without communication     how fast it could be\n"
    "  c3sim replay trace.json --collectives sdma --out out/replay       with a page of both timelines\n"
    "Read are traces of PyTorch's profiler (export_chrome_trace), compressed by gzip or not. Computation keeps its "
    "traced\n"
    "time, less what the model says that collectives beside it cost it, and gets back what is beside it now; the host "
    "keeps\n"
    "its own; collectives are simulated. The time of one beyond the model's is taken for waiting for other GPUs, and "
    "stays.";

struct Replaying {
  calibrate::ByWhat by_what;
  bool without_communication = false;
};

Replaying replaying_of(const study::Request& request, study::Arguments& arguments) {
  constexpr int most = models::most_channels;
  Replaying asked;
  if (request.says("collectives")) {
    asked.by_what.backend = arguments.choice("--collectives", request.text("collectives"), study::backend_choices());
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
  asked.without_communication = request.says("without");
  return asked;
}

calibrate::Profile read_profile(const std::filesystem::path& file) {
  calibrate::Profile profile =
      calibrate::read_kineto(sim::read_measurement_text(file), file.string(), calibrate::Labels::beside(file));
  if (!profile.cut_off.empty()) {
    throw sim::ConfigError({{file.string(), "", profile.cut_off + ": a whole trace can be played again"}});
  }
  return profile;
}

// The platform that the trace ran on, as its GPU is called; where that is none, the one that was asked for stands for
// it as well.
std::string traced_platform(const calibrate::Profile& profile, const std::optional<std::string>& asked) {
  const std::vector<std::string> known = study::platform_names(study::config_folders());
  const std::optional<std::string> own = calibrate::platform_of_gpu(profile.gpu, known);
  if (own) return *own;
  if (asked) return *asked;
  const std::string named = profile.gpu.empty() ? "names no GPU" : fmt::format("names {}", profile.gpu);
  throw sim::ConfigError({{"--platform", "",
                           fmt::format("{} {}, after which no platform is called: say with --platform on which its "
                                       "collectives are to be simulated",
                                       profile.file, named)}});
}

study::Results answer_replay(study::Request& request) {
  study::Arguments arguments;
  const std::filesystem::path file = request.text("file");
  request.reads(file);
  const Replaying asked = replaying_of(request, arguments);
  request.take("without");  // elsewhere, mechanisms of interference
  if (request.says("write")) request.check_output(arguments, "--write", request.text("write"));
  arguments.check();
  const calibrate::Profile profile = read_profile(file);
  const std::string own = traced_platform(profile, request.platform_name());
  std::vector<std::string> node;
  if (profile.ranks) node.push_back(fmt::format("gpus={}", *profile.ranks));
  const study::Platform platform = request.platform(arguments, own, {}, node);
  const std::vector<std::filesystem::path> folders = study::config_folders();
  const study::Platform traced = study::read_platform(study::find_platform(own, "--platform", folders), node, folders);

  study::Testbed traced_testbed(traced.spec);
  study::Testbed testbed(platform.spec);
  calibrate::Contention before(traced_testbed, {});
  calibrate::Contention after(testbed, asked.by_what);
  if (request.says("write")) {
    const auto run = calibrate::take_apart(profile, calibrate::dependencies_of(profile), before);
    sim::OutputFile written(request.text("write"));
    written.stream() << calibrate::experiment_text(profile, run, before, asked.by_what.backend);
    written.commit();
  }
  study::Results results = calibrate::replay_results(profile, before, after, asked.without_communication);
  results.platform = platform.spec.name;
  return request.finish(platform, std::move(results));
}

}  // namespace

study::Command replay_command() {
  using study::Option;
  using study::Said;
  return {"replay", "Play a profiler's trace again: as it was, and with another way to communicate", replay_examples,
          std::vector<Option>{
              {"file", "TRACE", "Trace of PyTorch's profiler, .json or .json.gz", Said::in_place, true},
              {"collectives", study::names_of(study::backend_choices()),
               "What carries out its collectives instead (rccl unless given: the library's kernels)"},
              {"channels", "COUNT", "Workgroups of each of their kernels, instead of the library's choice"},
              {"without", "communication", "Leave something out: with no communication it cannot be faster"},
              {"write", "FILE", "Write the trace as an experiment for c3sim run, to be edited"}} +
              study::platform_options(),
          answer_replay};
}

}  // namespace c3sim::validate
