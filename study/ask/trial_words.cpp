#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/overloaded.h"
#include "study/ask/trial.h"
#include "study/ask/words.h"

namespace c3sim::study {

namespace {

std::string words(const RestTrial&) { return "rest"; }
std::string words(const EmptyKernelTrial&) { return "empty kernel"; }

std::string words(const GemmTrial& trial) {
  std::string text = "gemm " + models::to_string(trial.shape);
  if (trial.quantise) text = "quantise and " + text;
  if (trial.cus) text += fmt::format(" on {} CUs", *trial.cus);
  const bool pauses = trial.pause > sim::Time::zero();
  if (trial.nth) text += fmt::format(" number {} {}", *trial.nth, trial.group > 1 ? "of a group" : "from rest");
  if (trial.group > 1) text += fmt::format(" of {}", trial.group);
  if (pauses) text += fmt::format(" every time after {}us", sim::to_microseconds(trial.pause));
  if (trial.operands) text += fmt::format(" of {} operands", to_string(*trial.operands));
  if (trial.before == Before::traffic) text += " of other operands every time, on awake links";
  if (trial.before == Before::collective) text += " every time after " + to_string(Work(trial.collective));
  return text;
}

std::string words(const models::AttentionShape& shape) { return models::to_string(shape); }
std::string words(const CollectiveTrial& trial) { return to_string(Work(trial.spec)); }
std::string words(const CopyTrial& trial) { return to_string(Work(trial.spec)); }

std::string words(const FanOutTrial& trial) {
  return fmt::format("copies gpu0 to {} peers of {} each", trial.peers, sim::to_string(trial.bytes));
}

std::string words(const RemoteTrial& trial) {
  std::string text = fmt::format("{} of {}", to_string(trial.access), sim::to_string(trial.bytes));
  if (trial.cus) text += fmt::format(" on {} CUs", *trial.cus);
  switch (trial.pattern) {
    case RemoteTrial::Pattern::one_way:
      return text + fmt::format(" by gpu{} of gpu{}", trial.gpu, trial.peer);
    case RemoteTrial::Pattern::both_ways:
      return text + fmt::format(" between gpu{} and gpu{} both ways", trial.gpu, trial.peer);
    case RemoteTrial::Pattern::all:
      break;
  }
  return text + " by all GPUs of all others";
}

std::string words(const StreamTrial& trial) {
  std::string text = fmt::format("stream of {} from {} arrays to {}", sim::to_string(trial.bytes), trial.arrays_read,
                                 trial.arrays_written);
  if (trial.workgroups) text += fmt::format(" on {} workgroups", *trial.workgroups);
  if (trial.flops_per_byte > 0.0) text += fmt::format(" with {} operations a byte", trial.flops_per_byte);
  if (trial.threads) text += fmt::format(" by {} threads a CU", *trial.threads);
  if (trial.set > sim::Bytes(0.0)) text += fmt::format(" in {} again and again", sim::to_string(trial.set));
  return text;
}

std::string words(const LoadTrial& trial) {
  std::string text = fmt::format("loads in {}", sim::to_string(trial.working_set));
  if (trial == LoadTrial{.working_set = trial.working_set, .beside = {}}) return text;
  return text + fmt::format(" beside {} GB/s of which {} read", trial.beside.value() / sim::worth_of("GB/s"),
                            trial.beside_reads);
}

std::string words(const C3Trial& trial) {
  const Scenario& scenario = trial.scenario;
  std::string text = fmt::format("{} gemm {}", to_string(trial.strategy), models::to_string(scenario.gemm));
  if (scenario.operands) text += fmt::format(" of {} operands", to_string(*scenario.operands));
  text += fmt::format(" with {} of {}", models::to_string(scenario.collective), sim::to_string(scenario.bytes));
  if (scenario.kernels != models::Backend::rccl) text += fmt::format(" by {}", models::to_string(scenario.kernels));
  if (scenario.channels) text += fmt::format(" on {} channels", *scenario.channels);
  if (scenario.reserved) text += fmt::format(" with {} CUs reserved", *scenario.reserved);
  if (scenario.delay > sim::Time::zero()) text += fmt::format(" after {}us", sim::to_microseconds(scenario.delay));
  if (scenario.barrier == Barrier::none) text += " without barriers";
  if (scenario.variant != models::SdmaVariant::pcpy) text += fmt::format(" by {}", models::to_string(scenario.variant));
  if (scenario.prelaunch) text += " prelaunched";
  return text;
}

std::string words(const FusedTrial& trial) { return to_string(trial.spec) + (trial.gathered ? ", then gathered" : ""); }
std::string words(const DependentTrial& trial) {
  return fmt::format("{} gemm {}", to_string(trial.schedule), models::to_string(trial.shape));
}

std::string words(const StreamAndCollectiveTrial& trial) {
  return fmt::format("{} and {}", words(trial.stream), to_string(Work(trial.collective)));
}

std::string words(const StreamAndCopiesTrial& trial) {
  std::string text = fmt::format("copies of {} one after another {} seen from gpu{}", sim::to_string(trial.bytes),
                                 trial.both_ways ? "both ways" : "gpu0 to gpu1", trial.gpu);
  if (trial.stream) text += " beside a " + words(*trial.stream);
  return text;
}

std::string words(const HogTrial& trial) {
  const std::string beside = to_string(trial.beside);
  const int workgroups = trial.arrays.workgroups.value_or(0);
  if (trial.hog == Hog::compute) return fmt::format("{} beside {} workgroups that compute", beside, workgroups);
  std::string text = fmt::format("{} beside {} workgroups that stream from {} arrays to {}", beside, workgroups,
                                 trial.arrays.arrays_read, trial.arrays.arrays_written);
  if (trial.arrays.under_way > sim::Bytes(0.0)) {
    text += fmt::format(" with {} under way each", sim::to_string(trial.arrays.under_way));
  }
  return text;
}

// Returns "decode of llama3-8b, 8 x 1 tokens, 1024 cached, 4 layers, tp 2".
std::string words(const StepTrial& trial) {
  const StepQuestion& question = trial.question;
  std::string text = fmt::format("{} of {}, {} x {} tokens", to_string(question.phase), question.model.name,
                                 question.batch, question.tokens);
  if (question.context > 0) text += fmt::format(", {} cached", question.context);
  if (question.decoding > 0) {
    text += fmt::format(", beside {} x 1, {} cached", question.decoding, question.decoding_context);
  }
  if (question.layers) text += fmt::format(", {} layers", *question.layers);
  if (question.pieces) text += fmt::format(", in {} pieces", *question.pieces);
  if (question.ffn_pieces) text += fmt::format(", {} of the feed-forward half", *question.ffn_pieces);
  // The replicas that experts need follow from the split, and are not named.
  Split split = question;
  if (split.dp == split.least_dp()) split.dp = 1;
  if (split != Split{.shard = split.shard}) text += ", " + to_string(split);
  if (question.shard == Shard::full) text += ", sharded";
  if (question.dtype != models::Dtype::bf16 || question.formats != Formats{}) {
    text += ", " + to_string(question.dtype, question.formats);
  }
  if (question.optimizer != Optimizer::none) text += fmt::format(", {}", to_string(question.optimizer));
  if (question.forward) text += ", forward";
  if (question.recompute) text += ", recomputed";
  if (!question.routing.told.empty()) text += fmt::format(", {} routing", question.routing.told);
  if (question.dispatch != Dispatch::all_to_all) text += fmt::format(", {} dispatch", to_string(question.dispatch));
  if (question.overlap != Overlap::none) text += fmt::format(", {} overlapped", to_string(question.overlap));
  if (question.kernels != Kernels::eager) text += fmt::format(", {} kernels", to_string(question.kernels));
  if (question.half != Half::both) text += fmt::format(", {} half", to_string(question.half));
  if (question.collectives != models::Backend::rccl) {
    text += fmt::format(", {}", to_string(question.collectives));
  }
  for (const auto& [name, carrier] : question.chosen) text += fmt::format(", {} by {}", name, to_string(carrier));
  if (question.channels) text += fmt::format(", {} channels", *question.channels);
  if (question.variant != models::SdmaVariant::pcpy) text += fmt::format(", {}", models::to_string(question.variant));
  if (question.prelaunch) text += ", prelaunched";
  if (question.pause > sim::Time(0)) text += fmt::format(", behind a pause of {}", sim::to_string(question.pause));
  text += question.graph ? ", from a graph" : ", op by op";
  return trial.kind ? fmt::format("{} kernels of {}", to_string(*trial.kind), text) : text;
}

std::string arrivals_of(const ServeQuestion& question) {
  if (question.concurrency > 0) return fmt::format("{} at a time", question.concurrency);
  if (question.stages.empty()) return fmt::format("{:g} a second", question.rate);
  std::string text;
  for (const LoadStage& stage : question.stages) {
    text += fmt::format("{}{:g} a second for {:g} s", text.empty() ? "" : ", then ", stage.rate,
                        sim::to_seconds(stage.time).value());
  }
  return text;
}

// The other words are spelled as on the command line.
std::string words(const ServeTrial& trial) {
  const ServeQuestion& question = trial.question;
  std::string text = "serving " + question.step.model_name + ":";
  if (question.stages.empty()) text += fmt::format(" {} requests", question.requests);
  text += fmt::format(" of {} + {} tokens, {}", question.prompt, question.output, arrivals_of(question));
  constexpr std::array told{"model", "requests", "prompt", "output", "rate", "concurrency", "stages"};
  for (const auto& [word, texts] : spelled(question)) {
    if (std::ranges::find(told, word) == told.end()) text += fmt::format(", {} {}", word, texts.front());
  }
  return text;
}

std::string words(const ReplayTrial& trial) {
  std::string text = "replay of " + trial.trace.substr(trial.trace.rfind('/') + 1);
  if (trial.collective) text += fmt::format(": {}", models::to_string(*trial.collective));
  return text + (trial.simulated ? ", collectives as simulated" : ", unchanged");
}

template <class Question>
std::string said(std::string_view command, const Question& question) {
  return command_line(command, options_of<Question>(), spelled(question));
}

// Returns an empty text for trials that no command asks for.
template <class T>
std::string command(const T&) {
  return {};
}

std::string command(const GemmTrial& trial) {
  if (trial.nth || trial.pause > sim::Time::zero()) return {};
  models::CollectiveSpec told = collective_of_all();  // with all that c3sim gemm has an option for
  told.kind = trial.collective.kind;
  told.backend = trial.collective.backend;
  told.bytes = trial.collective.bytes;
  told.channels = trial.collective.channels;
  const bool takes_all = trial.before != Before::collective || trial.collective == told;
  return takes_all ? said("gemm", trial) : std::string();
}

std::string command(const models::AttentionShape& shape) {
  KernelWords asked{.named = {.name = "attention", .elements = {}},
                    .attention = shape,
                    .context = shape.keys - shape.queries,
                    .bidirectional = !shape.causal};
  if (shape.set > sim::Bytes(0.0)) asked.operands = Operands::warm;
  return said("kernel", asked);
}

std::string command(CollectiveTrial trial) {
  models::CollectiveSpec& spec = trial.spec;
  if (spec.backend != models::Backend::sdma) {
    spec.variant = models::SdmaVariant::pcpy;
    spec.prelaunch = false;
    spec.engines = 1;
    spec.host_threads = {};
  } else if (spec.kind != models::CollectiveKind::all_reduce) {
    // Engines take no CUs and are launched from no graph. In an all-reduce, kernels do the sums.
    spec.cus = {};
    spec.channels = {};
    spec.graph = false;
  }
  return said("collective", trial);
}

std::string command(const StepTrial& trial) { return said("step", trial.question); }

std::string command(CopyTrial trial) {
  trial.phases = true;
  return said("copy", trial);
}

std::string command(C3Trial trial) {
  // The command refuses what changes nothing.
  Scenario& scenario = trial.scenario;
  if (on_copy_engines(trial.strategy)) {
    scenario.channels.reset();
  } else {
    scenario.variant = models::SdmaVariant::pcpy;
    scenario.prelaunch = false;
  }
  if (!reserves_cus(trial.strategy)) scenario.reserved.reset();
  if (trial.strategy == Strategy::serial) scenario.delay = sim::Time(0);
  return said("c3", trial);
}

TrialSize extent(sim::Bytes bytes) { return {bytes.value(), sim::to_string(bytes)}; }
TrialSize extent(const models::GemmShape& shape) { return {shape.flops().value(), models::to_string(shape)}; }

}  // namespace

std::string_view kind_of(const Trial& trial) {
  constexpr std::array<std::string_view, std::variant_size_v<Trial>> names =
      sim::names("rest", "empty kernel", "gemm", "collective by kernels", "copy", "copies to several peers", "remote",
                 "stream", "loads", "C3", "dependent", "stream beside a collective", "stream beside copies", "step",
                 "replay", "fused", "beside a hog", "attention", "serving");
  const auto* const collective = std::get_if<CollectiveTrial>(&trial);
  if (collective != nullptr && collective->spec.backend == models::Backend::sdma) return "collective by copy engines";
  const auto* const copies = std::get_if<StreamAndCopiesTrial>(&trial);
  if (copies != nullptr && !copies->stream) return "copies one after another";
  return names[trial.index()];
}

std::string to_string(const Trial& trial) {
  return std::visit([](const auto& kind) { return words(kind); }, trial);
}

std::string command_of(const Trial& trial) {
  return std::visit([](const auto& kind) { return command(kind); }, trial);
}

TrialSize extent_of(const Trial& trial) {
  return std::visit(
      sim::Overloaded{[](const GemmTrial& gemm) { return extent(gemm.shape); },
                      [](const models::AttentionShape& shape) { return TrialSize{shape.flops().value()}; },
                      [](const CollectiveTrial& collective) { return extent(collective.spec.bytes); },
                      [](const CopyTrial& copy) {
                        return TrialSize{copy.spec.all_bytes().value(), sim::to_string(copy.spec.bytes)};
                      },
                      [](const FanOutTrial& fan_out) { return extent(fan_out.bytes); },
                      [](const RemoteTrial& remote) { return extent(remote.bytes); },
                      [](const StreamTrial& stream) { return extent(stream.bytes); },
                      [](const LoadTrial& loads) { return extent(loads.working_set); },
                      [](const C3Trial& c3) { return extent(c3.scenario.bytes); },
                      [](const StreamAndCollectiveTrial& both) { return extent(both.collective.bytes); },
                      [](const StreamAndCopiesTrial& copies) { return extent(copies.bytes); },
                      [](const FusedTrial& fused) { return extent(fused.spec.gemm); },
                      [](const HogTrial& hog) {
                        const auto* const collective = std::get_if<models::CollectiveSpec>(&hog.beside);
                        return collective == nullptr ? extent(std::get<models::GemmShape>(hog.beside))
                                                     : extent(collective->bytes);
                      },
                      [](const DependentTrial& dependent) {
                        return TrialSize{gathered_bytes(dependent.shape).value(), models::to_string(dependent.shape)};
                      },
                      [](const auto&) { return TrialSize{}; }},
      trial);
}

}  // namespace c3sim::study
