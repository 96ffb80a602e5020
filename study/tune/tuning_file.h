// The file of a question for tuning:
//
//   name: llm_layers
//   platform: mi300x
//   gemms: {up: 8192x57344x8192, down: 8192x8192x28672}     # of one GPU, in BLAS order
//   collectives: [all_gather, all_to_all]                   # beside every GEMM, and alone
//   bytes: [64MiB, 512MiB]                                  # of the array of one GPU, beside every GEMM
//   schedules: true       # of the GEMMs with a dependent all-gather or reduce-scatter, too; false unless given
//   drawn: 200            # further shapes and sizes between those above that rules are fitted to; 0 unless given
//   error: 0.05           # within which two predictions do not tell who is faster; 0.05 unless given
#pragma once

#include "sim/config/config_section.h"
#include "study/tune/tuning.h"

namespace c3sim::study {

// What is wrong is recorded; the caller has read `platform` and finishes the configuration.
TuningQuestion read_tuning_question(sim::Section root, const Testbed& testbed);

}  // namespace c3sim::study
