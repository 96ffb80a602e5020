// An experiment file that lists operations on streams: what runs, in which order, and what waits for what.
//
//   name: gather_behind_gemm
//   platform: mi300x
//   operations:
//     - {name: up, stream: compute, gemm: 8192x57344x8192, cus: [64, 304]}
//     - {name: gather, stream: communication, collective: {kind: all_gather, bytes: 896MiB, backend: sdma}}
//     - {name: hop, stream: communication, after: [up], copy: {from: 0, to: 1, bytes: 64MiB}}
//     - name: relay
//       stream: packets
//       packets: {gpu: 0, engine: 2, commands: [{poll: ready, equal: 1}, {copy: 1MiB, to: 1}, {fence: done, value: 1}]}
//
// Operations of one stream run one after another, as listed; `after` names earlier operations that must have ended,
// too. Of operations that may start at the same time the one listed first is launched first, which decides who gets the
// CUs: a GEMM before a collective is c3_base, a collective before a GEMM c3_sp. Packets are queued as written: {copy:
// SIZE, to: GPU}, {swap: SIZE, with: GPU}, {poll: WORD, equal|at_least|at_most: VALUE}, {atomic: WORD, add: VALUE},
// {fence: WORD, value: VALUE}; words are shared by the experiment and 0 at first. `cus: [first, end]` confines an
// operation's kernels to these CUs of every GPU, counted across its XCDs: as many of each; `priority: low|normal|high`
// is that of its stream, which decides who gets CUs that fall free. Copy engines take no CUs, so that both are faults
// there. `protocol: shot` beside `platform` is one run from rest, instead of one of many back to back. `kernel:
// {operator: swiglu, elements: 8192x28672}` is an element-wise operator by its name in configs/operators.yaml, `kernel:
// {read: SIZE, write: SIZE, flops: NUMBER}` one without.
#pragma once

#include <string>

#include "sim/config/config_section.h"
#include "study/report/results.h"
#include "study/testbed.h"

namespace c3sim::study {

struct Experiment {
  std::string name;
  Schedule schedule;
};

// Reads an experiment for the platform of the testbed; what is wrong is recorded with the section. The caller has read
// `platform` and `protocol` and finishes the configuration.
Experiment read_experiment(sim::Section root, const Testbed& testbed);

// One row per operation: when it ran and how much longer it took than alone ("results"); and how much the streams
// gained over running everything one after another ("overlap"). Packets, which may wait for others, are not run alone:
// with any of them, all operations are run once more in the order of the list, each after the one before.
// Throws sim::ConfigError where packets wait for ever.
Results run_experiment(Testbed& testbed, const Experiment& experiment);

}  // namespace c3sim::study
