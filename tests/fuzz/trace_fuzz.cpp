// Reads arbitrary bytes as a profiler's trace, whole or as far as it goes, or there is a ConfigError; a trace that is
// read can be put in order and, unchanged, keeps its times.
#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/dependencies.h"
#include "calibrate/replay/occupancy.h"
#include "calibrate/replay/replay.h"
#include "calibrate/replay/replay_report.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mi300x_testbed.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  or_fault([&] {
    const calibrate::Profile profile = calibrate::read_kineto(text, "t.json");
    for (const calibrate::ProfiledWork& work : profile.work) {
      require(work.begin <= work.end && work.stream < profile.streams.size());
      require(!work.launch() || *work.launch() < profile.calls.size());
    }
    require(profile.begin() <= profile.end());
    static_cast<void>(calibrate::profile_tables(profile));
    const calibrate::Dependencies dependencies = calibrate::dependencies_of(profile);
    for (std::size_t i = 0; i < dependencies.nodes.size(); ++i) {
      for (const calibrate::After& after : dependencies.after[i]) require(after.node < i);
    }
    // Collectives are left out: the reader has no part in their simulation.
    calibrate::Profile plain = profile;
    for (calibrate::KnownWork& one : plain.known) {
      if (one.trial && std::holds_alternative<study::CollectiveTrial>(*one.trial)) one.trial.reset();
    }
    static study::Testbed testbed(mi300x_testbed().platform());
    calibrate::Contention contention(testbed, {});
    const auto run = calibrate::take_apart(plain, dependencies, contention);
    for (const study::Stay& one : calibrate::play(calibrate::split(run, 3), contention)) {
      require(one.begin <= one.end);
    }
  });
}
