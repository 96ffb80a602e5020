// Defines the commands that ask a plain question (study/ask/questions.h): their help, options and answers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"

namespace c3sim::study {

namespace {

constexpr auto c3_notes = R"(Strategies:
  serial     one after the other
  c3_base    both at once, RCCL's kernels launched behind the GEMM
  c3_sp      both at once, RCCL's kernels launched first
  c3_rp      c3_base, with CUs kept from the GEMM for RCCL
  c3_sp_rp   c3_sp, with CUs kept from the GEMM for RCCL
  c3_best    the fastest of the four before it
  heuristic  launch order and CUs kept as ConCCL's table has them, without a search
  conccl     both at once, the collective on SDMA engines
  conccl_rp  conccl, with a CU of each XCD kept from GEMMs that are memory-bound
Examples:
  c3sim c3 --gemm 8192x57344x8192 --collective all_gather --bytes 896MiB
  c3sim c3 --gemm 16384x16384x8192 --collective all_to_all --bytes 512MiB --strategy c3_sp,conccl --format json
  c3sim c3 --gemm 12288x12288x12288 --collective all_reduce --bytes 512MiB --strategy c3_sp --channels 32 --delay 100us
  c3sim c3 --gemm 8192x57344x8192 --collective all_gather --bytes 896MiB --platform fitted.yaml --uncertainty 200
Times are in microseconds, from the first launch; speedups are over RCCL and GEMM one after the other, alone.)";

constexpr auto gemm_examples = R"(Examples:
  c3sim gemm --gemm 8192x8192x8192
  c3sim gemm --gemm 8192x57344x8192 --cus 304,272,240 --format csv
  c3sim gemm --gemm 8192x8192x8192 --before collective --collective all_reduce --bytes 64MiB
  c3sim gemm --gemm 8192x8192x8192 --platform fitted.yaml --uncertainty --seed 7
Times are in microseconds, launch included; rates in TFLOP/s of one GPU.)";

constexpr auto collective_examples = R"(Examples:
  c3sim collective --collective all_gather --bytes 1KiB:2GiB:x2
  c3sim collective --collective all_reduce --bytes 64KiB --graph
  c3sim collective --collective all_reduce --backend sdma --bytes 64MiB   (RCCL reduces, engines gather)
  c3sim collective --collective all_gather --backend sdma --variant bcst --prelaunch --bytes 64KiB,1MiB
  c3sim collective --collective all_to_all --backend sdma --variant all --prelaunch both --bytes 1KiB:2GiB:x2
  c3sim collective --collective all_gather --backend sdma --variant b2b --engines 4 --gpus 6 --bytes 1MiB
  c3sim collective --collective all_gather --backend sdma --host-threads per_gpu --bytes 64KiB --explain
Times are in microseconds from the host's first instruction to its knowledge of the end; bus bandwidth is in GB/s
as RCCL's tests define it.)";

constexpr auto copy_examples = R"(Examples:
  c3sim copy --from gpu0 --to gpu1 --bytes 64MiB --phases
  c3sim copy --from gpu0 --to gpu1 --bytes 1KiB:64MiB:x2 --engine 4 --format csv
  c3sim copy --from host --to gpu0 --bytes 4KiB:1MiB:x4 --copies 1024 --submit batch
Times are in microseconds: control (the host writes packets and rings the doorbell), schedule (the engine fetches
and decodes), copy, completion (the signal travels to the host, which sees it).)";

constexpr auto kernel_examples = R"(Examples:
  c3sim kernel --read 2GiB --write 1GiB                     on every GPU; two arrays are read, one is written
  c3sim kernel --read 2GiB --write 1GiB --flops 5e11 --cus 304,152
  c3sim kernel --operator swiglu --elements 8192x28672
  c3sim kernel --operator attention --heads 8 --kv-heads 1 --batch 64 --context 4096      decoding
  c3sim kernel --operator attention --heads 32 --tokens 4096 --gradient
  c3sim kernel --gpu gpu0 --peers gpu1,gpu2 --bytes 64MiB --access load
Times are in microseconds, launch included; operations are vector operations in single precision, on each GPU.)";

// Adds a column for programs for each word that was said and that the table lacks, so that a row tells what was asked.
void add_said(ResultTable& table, const std::vector<AskedWord>& asked) {
  constexpr std::array<std::string_view, 3> elsewhere{"copies", "phases", "reserve"};  // blocks, none, reserved_cus
  for (const AskedWord& word : asked) {
    const bool is_there = place_of(table.columns(), word.name) < table.columns().size();
    if (!word.is_told() || is_there || std::ranges::count(elsewhere, word.name) > 0) continue;
    table.add_column(for_programs(word.name), std::vector<Cell>(table.rows().size(), word.cell));
  }
}

template <class Asked>
Results answer_plain(Request& request) {
  Arguments arguments;
  Question<Asked> asked;
  read_words(asked, request.given(), arguments, nullptr);
  const int jobs = request.jobs(arguments);
  const std::optional<Sampling> sampling = request.sampling(arguments);
  const Platform platform = request.platform(arguments);
  read_words(asked, request.given(), arguments, &platform.spec);
  arguments.check();
  std::vector<sim::Fault> faults;
  const auto question = question_in(asked, request.given(), faults);
  arguments.check_with(faults);

  Testbed testbed(platform.spec);
  arguments.check_with(faults_of(question, testbed));
  auto answer = [&] {
    if constexpr (std::is_same_v<Asked, C3Trial>)
      return ask(testbed, question, request.progress(), jobs);
    else
      return ask(testbed, question, request.progress());
  }();
  if (sampling) {
    const Ensemble ensemble(platform, *sampling, jobs, request.progress());
    add_intervals(answer, ensemble, platform.spec, request.progress(), jobs);
  }
  Results results = to_tables(question, answer, platform.spec);
  if (const std::string& quantity = request.text("sensitivity"); !quantity.empty()) {
    results.tables.push_back(sensitivity_of(
        quantity, platform,
        [&question](Testbed& other) { return to_tables(question, study::ask(other, question), other.platform()); },
        request.progress()));
  }
  add_said(results.tables.front().table, asked_words(asked.points.front()));
  return request.finish(testbed, platform, std::move(results));
}

}  // namespace

Command c3_command() {
  return {"c3", "Predict a GEMM and a collective running at once (C3), under one or more strategies", c3_notes,
          options_of<C3Trial>() + run_options() + gemm_options() + c3_options() + uncertainty_options() + jobs_option(),
          answer_plain<C3Trial>};
}

Command gemm_command() {
  return {"gemm", "Predict a GEMM alone, on all CUs or on fewer", gemm_examples,
          options_of<GemmTrial>() + run_options() + gemm_options() + timing_option() + uncertainty_options() +
              sensitivity_option("time_us"),
          answer_plain<GemmTrial>};
}

Command collective_command() {
  return {"collective", "Predict a collective alone, by RCCL's kernels or by SDMA engines", collective_examples,
          options_of<CollectiveTrial>() + run_options() + timing_option() + uncertainty_options() +
              sensitivity_option("time_us"),
          answer_plain<CollectiveTrial>};
}

Command copy_command() {
  return {
      "copy", "Predict one copy between two GPUs, or a GPU and the host, by an SDMA engine, and its phases",
      copy_examples,
      options_of<CopyTrial>() + run_options() + timing_option() + uncertainty_options() + sensitivity_option("time_us"),
      answer_plain<CopyTrial>};
}

Command kernel_command() {
  return {"kernel", "Predict a kernel alone that streams through memory, or that reaches into other GPUs",
          kernel_examples, options_of<KernelWords>() + run_options() + timing_option() + sensitivity_option("time_us"),
          answer_plain<KernelWords>};
}

}  // namespace c3sim::study
