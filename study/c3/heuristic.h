// What a runtime can decide without trying: the two heuristics of ConCCL (arXiv 2412.14335, section V-C).
#pragma once

#include "study/run/testbed.h"
#include "study/work/scenario.h"

namespace c3sim::study {

// Which kernel to launch first: the one of fewer workgroups, so that the other does not starve it.
LaunchOrder order_by_workgroups(const Scenario& scenario, const models::PlatformSpec& platform);

// How many CUs to reserve for the collective, of the counts that cu_reservations offers: so many that the longer of
// GEMM and collective takes least, each taking its roofline time stretched by what the table says. 0 where nothing can
// be reserved, and where by the table every reservation is slower than one after the other, which reserving nothing is
// not: the table, of isolated runs, does not say what sharing costs.
int cus_by_table(Testbed& testbed, const Scenario& scenario);

// The table, of isolated runs of a few representatives, each run once per testbed: how many times as long as with all
// CUs takes a GEMM that leaves `cus` to others (that of cb1, or of mb1 for memory-bound ones), and a collective on
// `cus` CUs (that of a latency-bound or of a bandwidth-bound size, whichever is nearer).
double gemm_stretch(Testbed& testbed, const models::GemmShape& shape, int cus);
double collective_stretch(Testbed& testbed, models::CollectiveSpec spec, int cus);

// Times at 70 % of the peak rates of arithmetic, HBM and links.
sim::Seconds roofline(const models::GemmShape& shape, const models::PlatformSpec& platform);
sim::Seconds roofline(const models::CollectiveSpec& spec, const models::PlatformSpec& platform);

}  // namespace c3sim::study
