#include <fmt/format.h>

#include "cli/commands.h"
#include "study/answers.h"
#include "study/explain/variation.h"
#include "study/uncertainty.h"

namespace c3sim::cli {

namespace {

constexpr auto c3_examples =
    "Examples:\n"
    "  c3sim c3 --gemm 8192x57344x8192 --collective all_gather --bytes 896MiB\n"
    "  c3sim c3 --gemm 16384x16384x8192 --collective all_to_all --bytes 512MiB --strategy c3_sp,conccl --format json\n"
    "  c3sim c3 --gemm 12288x12288x12288 --collective all_reduce --bytes 512MiB --strategy c3_sp --channels 32 "
    "--delay 100us\n"
    "  c3sim c3 --gemm 8192x57344x8192 --collective all_gather --bytes 896MiB --platform fitted.yaml --uncertainty "
    "200\n"
    "Times are in microseconds, from the first launch; speedups are over RCCL and GEMM one after the other, alone.";

std::string_view about(study::Strategy strategy) {
  switch (strategy) {
    using enum study::Strategy;
    case serial:
      return "one after the other";
    case c3_base:
      return "both at once, RCCL's kernels launched behind the GEMM";
    case c3_sp:
      return "both at once, RCCL's kernels launched first";
    case c3_rp:
      return "c3_base, with CUs kept from the GEMM for RCCL";
    case c3_sp_rp:
      return "c3_sp, with CUs kept from the GEMM for RCCL";
    case c3_best:
      return "the fastest of the four before it";
    case heuristic:
      return "launch order and CUs kept as ConCCL's table has them, without a search";
    case conccl:
      return "both at once, the collective on SDMA engines";
    case conccl_rp:
      return "conccl, with a CU of each XCD kept from GEMMs that are memory-bound";
  }
  return "";
}

std::string strategies_explained() {
  std::string text = "Strategies:\n";
  for (const auto& [name, strategy] : study::strategy_choices()) {
    text += fmt::format("  {:<10} {}\n", name, about(strategy));
  }
  return text;
}

}  // namespace

C3Command::C3Command(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command =
      *app.add_subcommand("c3", "Predict a GEMM and a collective running at once (C3), under one or more strategies");
  command.footer(strategies_explained() + c3_examples);
  command.add_option("--gemm", gemm_, "GEMM on every GPU, in BLAS order, two bytes per element")
      ->type_name("MxNxK")
      ->required();
  command.add_option("--collective", collective_, "Collective over all GPUs")
      ->type_name(names_of(study::collective_choices()))
      ->required();
  command.add_option("--bytes", bytes_, "Whole array of one GPU, with its unit: 896MiB")->type_name("SIZE")->required();
  command.add_option("--strategy", strategies_, "Strategies, separated by commas, or all that the collective permits")
      ->type_name(names_of(study::strategy_choices()) + "|all");
  command.add_option("--backend", backend_, "Whose kernels carry the collective where kernels do (rccl unless given)")
      ->type_name("rccl|one_shot|two_shot");
  command
      .add_option("--channels", channels_,
                  "Channels (workgroups) of the collective's kernels (as the library has it unless given)")
      ->type_name("COUNT");
  command
      .add_option(
          "--reserve", reserved_,
          "CUs of each GPU that c3_rp, c3_sp_rp and conccl_rp keep from the GEMM, 0 for none (unless given, the "
          "best of --splits, and of conccl_rp as described below)")
      ->type_name("COUNT");
  command
      .add_option("--splits", splits_,
                  "Reservations that c3_rp and c3_sp_rp try: powers of two, as the paper does, or none and every "
                  "multiple of the XCDs (paper unless given)")
      ->type_name("paper|fine");
  command
      .add_option("--delay", delay_, "What the operation launched second is launched after the first (0s unless given)")
      ->type_name("TIME");
  command
      .add_option("--barrier", barrier_,
                  "Whether all GPUs wait for each other before each step of a benchmark; without, channels wait on "
                  "their CUs for GPUs that are late (each unless given)")
      ->type_name(names_of(study::barrier_choices()));
  command
      .add_option("--variant", variant_,
                  "Variant of the collective on engines, of conccl and conccl_rp (pcpy unless given)")
      ->type_name(names_of(study::variant_choices()));
  command.add_flag("--prelaunch", prelaunch_, "Queue the engines' commands beforehand, of conccl and conccl_rp");
  session.add_run_options(command);
  session.add_c3_options(command);
  session.add_uncertainty_options(command);
  session.add_jobs_option(command);
  command.callback([this] { run(); });
}

void C3Command::run() {
  Arguments arguments;
  study::C3Question question;
  study::Scenario& scenario = question.scenario;
  scenario.gemm = arguments.gemm("--gemm", gemm_);
  scenario.collective = arguments.choice("--collective", collective_, study::collective_choices());
  scenario.bytes = arguments.size("--bytes", bytes_);
  if (!backend_.empty()) scenario.kernels = arguments.choice("--backend", backend_, study::backend_choices());
  if (!channels_.empty()) scenario.channels = arguments.integer("--channels", channels_, 1, models::most_channels);
  scenario.splits = arguments.choice("--splits", splits_, study::split_choices());
  if (!delay_.empty()) scenario.delay = arguments.time("--delay", delay_);
  if (!barrier_.empty()) scenario.barrier = arguments.choice("--barrier", barrier_, study::barrier_choices());
  if (!variant_.empty()) scenario.variant = arguments.choice("--variant", variant_, study::variant_choices());
  scenario.prelaunch = prelaunch_;
  if (strategies_ != "all") {
    question.strategies = arguments.choice_list("--strategy", strategies_, study::strategy_choices());
  }
  question.jobs = session_.jobs(arguments);
  const std::optional<study::Sampling> sampling = session_.sampling(arguments);
  const study::Platform platform = session_.platform(arguments);
  if (!reserved_.empty()) {
    scenario.reserved = arguments.integer("--reserve", reserved_, 0, platform.spec.gpu.cus());
  }
  arguments.check();

  study::Testbed testbed(platform.spec);
  arguments.check_with(study::faults_of(question, testbed));
  study::Answer<study::C3Result> answer = study::ask(testbed, question, session_.progress());
  if (sampling) {
    const study::Ensemble ensemble(platform, *sampling, question.jobs);
    study::add_intervals(answer, ensemble, session_.progress(), question.jobs);
  }
  study::Results results = study::to_tables(answer, platform.spec);
  if (session_.tries_sensitivity()) {
    std::vector<study::Strategy> asked;
    for (const study::C3Result& result : answer.results) asked.push_back(result.strategy);
    const auto vary = study::strategies_that_vary(asked);
    results.tables.push_back(study::sensitivity_table(
        vary, study::vary_parameters(platform, study::question_of(answer.results.front().scenario, vary),
                                     session_.progress())));
  }
  session_.answer(testbed, platform, std::move(results));
}

}  // namespace c3sim::cli
