#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/overloaded.h"
#include "study/play/queue_time.h"
#include "study/program/step_writer.h"
#include "study/report/experiment_charts.h"
#include "study/report/table_of.h"
#include "study/step/step.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

constexpr double percent = 100.0;

// Returns the model's operations on a GPU relative to what its matrix units could do at the highest clock.
double model_flops_utilisation(const StepResult& result, const models::PlatformSpec& platform) {
  const double peak = platform.gpu.peak_flops(result.question.dtype);
  return result.flops.value() / (peak * sim::to_seconds(result.time).value());
}

ResultTable answer_of(const StepResult& result, const StepMachine& machine) {
  using R = const StepResult&;
  const auto asked = [](auto member) { return [member](R r) { return std::invoke(member, r.question); }; };
  std::vector<Shown<StepResult>> shown{
      {{"model", "model", ""}, [](R r) { return r.question.model.name; }},
      {{"phase", "phase", ""}, asked(&StepQuestion::phase)},
      {{"gpus", "GPUs", ""}, asked(&StepQuestion::gpus)},
      {{"batch", "batch", ""}, asked(&StepQuestion::batch)},
      {{"tokens", "tokens", ""}, asked(&StepQuestion::tokens)},
      {{"context", "context", ""}, asked(&StepQuestion::context)},
      {{"dtype", "dtype", ""}, [](R r) { return to_string(r.question.dtype, r.question.formats); }},
      {{"time_us", "time", "us", 1}, &StepResult::time},
      {{"tokens_per_s", "tokens", "1/s", 0}, &StepResult::tokens_per_second},
      {{"compute_us", "compute", "us", 1}, &StepResult::compute},
      {{"communication_us", "communication", "us", 1}, &StepResult::communication},
      {{"exposed_us", "exposed", "us", 1}, &StepResult::exposed},
      {{"overlapped_us", "overlapped", "us", 1}, &StepResult::overlapped},
      {{"host_us", "host", "us", 1}, &StepResult::host},
      {{"idle_us", "idle", "us", 1}, &StepResult::idle},
      {{"energy_J", "energy", "J", 3}, [](R r) { return r.energy().value(); }},
      {{"power_W", "power", "W", 0}, [](R r) { return r.power.value(); }},
      {{"mfu", "MFU", "", 3}, [&](R r) { return model_flops_utilisation(r, machine.platform); }},
      {{"memory_GB", "memory", "GB", 1}, [](R r) { return r.memory.total().value() / 1e9; }}};
  for (const Kind kind : all_kinds) {
    const std::string name(to_string(kind));
    shown.push_back({{name, name, "us", 1, false, true, "by_kind"}, [kind](R r) { return r.time_of(kind); }});
  }
  shown.push_back({{"fidelity", "fidelity", ""}, [&](R r) { return fidelity_of(r.question, machine); }});
  return table_of(std::span(&result, 1), shown);
}

// Returns the time of the longest resource at peak, as a percentage of the time.
double share_of_peak(const Limits& limits, double seconds) {
  return seconds > 0.0 ? percent * limits.longest().value() / seconds : 0.0;
}

// Returns work of twice the size; nothing for kinds of work that steps do not have.
std::optional<Work> twice(const Work& work) {
  const auto doubled = [](auto spec, auto... members) {
    ((spec.*members = 2.0 * (spec.*members)), ...);
    return std::optional<Work>(spec);
  };
  const auto longer = [](auto spec, auto extent) {
    spec.*extent *= 2;
    return std::optional<Work>(spec);
  };
  using models::ElementwiseSpec;
  return std::visit(
      sim::Overloaded{
          [&](const models::GemmShape& shape) { return longer(shape, &models::GemmShape::n); },
          [&](const models::AttentionShape& shape) { return longer(shape, &models::AttentionShape::batch); },
          [&](const ElementwiseSpec& spec) {
            return doubled(spec, &ElementwiseSpec::read, &ElementwiseSpec::written, &ElementwiseSpec::flops,
                           &ElementwiseSpec::elements);
          },
          [&](const models::CollectiveSpec& spec) { return doubled(spec, &models::CollectiveSpec::bytes); },
          [&](const models::SdmaCopySpec& copy) { return doubled(copy, &models::SdmaCopySpec::bytes); },
          [&](const models::RemoteKernelSpec& spec) { return doubled(spec, &models::RemoteKernelSpec::bytes); },
          [](const auto&) { return std::optional<Work>(); }},
      work);
}

// Bounds says what bounds operations. One far from every peak is either slowed down by concurrent work, or slow alone,
// too: bound by a latency if twice the work takes hardly longer, otherwise by its poor use of the resource that takes
// longest at peak.
class Bounds {
 public:
  Bounds(const StepResult& result, const models::PlatformSpec& platform)
      : testbed_(launching(platform, result.question.launch())) {
    for (const GraphNode& node : result.graph.nodes()) {
      add(node.operation.work);
      const auto* const fused = std::get_if<models::FusedSpec>(&node.operation.work);
      if (fused == nullptr) continue;
      add(fused->gemm);
      add(models::collective_of(*fused, platform.gpus));
    }
  }

  std::string of(const StepShare& share) {
    std::string at_peak = bound_of(share.limits, sim::Seconds(share.time));
    const auto known = works_.find(share.work);
    if (at_peak != "latency" || known == works_.end()) return at_peak;
    const double alone = seconds_alone(known->second);
    if (share.time > beside_others * share.count * alone) return "work beside it";
    const std::optional<Work> more = twice(known->second);
    if (!more || !testbed_.why_impossible(*more).empty()) return at_peak;
    if (seconds_alone(*more) < alone / least_share_of_twice) return at_peak;
    return bound_of(share.limits, share.limits.longest());
  }

  // Returns the bound of several operations together, or of the longest one if together they are far from every peak.
  std::string of(const std::vector<const StepShare*>& shares) {
    Limits limits;
    double time = 0.0;
    for (const StepShare* const share : shares) {
      limits.add(1.0, share->limits);
      time += share->time;
    }
    std::string at_peak = bound_of(limits, sim::Seconds(time));
    return at_peak == "latency" ? of(*std::ranges::max(shares, {}, [](const StepShare* share) { return share->time; }))
                                : at_peak;
  }

 private:
  static constexpr double beside_others = 1.5;         // concurrent work is the bound from this slowdown on
  static constexpr double least_share_of_twice = 0.6;  // a latency bounds work that takes this share of twice the work

  void add(const Work& work) { works_.try_emplace(to_string(work), work); }
  double seconds_alone(const Work& work) {
    return sim::to_seconds(alone_on_queue(testbed_, operation_of(work), is_kernel(work))).value();
  }

  Testbed testbed_;
  std::map<std::string, Work> works_;  // by StepShare::work
};

ResultTable kinds_of(const StepResult& result, Bounds& bounds) {
  ResultTable table({{"kind", "kind", ""},
                     {"time_us", "time", "us", 1},
                     {"share_percent", "of the step", "%", 1},
                     {"bound", "bound by", ""},
                     {"peak_percent", "of its peak", "%", 0}});
  for (const Kind kind : all_kinds) {
    const sim::Time time = result.time_of(kind);
    if (time == sim::Time(0)) continue;
    Limits limits;
    std::vector<const StepShare*> shares;
    for (const auto& [name, share] : result.operations) {
      if (share.kind != kind) continue;
      limits.add(1.0, share.limits);
      shares.push_back(&share);
    }
    const sim::Seconds seconds = sim::to_seconds(time);
    table.add_row({std::string(to_string(kind)), sim::to_microseconds(time),
                   percent * (seconds / sim::to_seconds(result.time)), bounds.of(shares),
                   share_of_peak(limits, seconds.value())});
  }
  for (const auto& [name, time] : {std::pair("waiting for the host", result.host), {"idle", result.idle()}}) {
    if (time == sim::Time(0)) continue;
    table.add_row({std::string(name), sim::to_microseconds(time),
                   percent * (sim::to_seconds(time) / sim::to_seconds(result.time)), Cell(), Cell()});
  }
  return table;
}

// Lists the ten operations with the longest times.
ResultTable operations_of(const StepResult& result, Bounds& bounds) {
  constexpr std::size_t most = 10;
  constexpr double microseconds = 1e6;
  std::vector<std::pair<std::string, StepShare>> dear(result.operations.begin(), result.operations.end());
  std::ranges::stable_sort(dear, std::greater<>(), [](const auto& one) { return one.second.time; });
  dear.resize(std::min(most, dear.size()));
  ResultTable table({{"operation", "operation", ""},
                     {"work", "work", ""},
                     {"count", "times", "", 0},
                     {"time_us", "time", "us", 1},
                     {"share_percent", "of the step", "%", 1},
                     {"bound", "bound by", ""},
                     {"peak_percent", "of its peak", "%", 0}});
  for (const auto& [name, share] : dear) {
    table.add_row({name, share.work, share.count, microseconds * share.time,
                   percent * share.time / sim::to_seconds(result.time).value(), bounds.of(share),
                   share_of_peak(share.limits, share.time)});
  }
  return table;
}

// Lists the operations of products that a split repeats on several GPUs.
ResultTable repeated_of(const StepResult& result, const ProductFlops& products) {
  constexpr double tera = 1e12;
  ResultTable table({{"split", "split", ""},
                     {"products_TFLOP", "products of all GPUs", "TFLOP", 3},
                     {"on_one_TFLOP", "on one GPU", "TFLOP", 3},
                     {"repeated_TFLOP", "repeated by the split", "TFLOP", 3},
                     {"repeated_percent", "of that on one GPU", "%", 2}});
  table.add_row({to_string(static_cast<const Split&>(result.question)), products.of_all_gpus.value() / tera,
                 products.on_one.value() / tera, products.repeated().value() / tera,
                 percent * (products.repeated() / products.on_one)});
  return table;
}

BarChart kind_chart(const StepResult& result) {
  BarChart chart{.id = "kinds_us",
                 .title = "Kernels of one GPU by kind",
                 .value_axis = "time of all of a kind [us]",
                 .series = {"time"}};
  for (const Kind kind : all_kinds) {
    if (result.time_of(kind) == sim::Time(0)) continue;
    chart.bars.push_back({std::string(to_string(kind)), {sim::to_microseconds(result.time_of(kind))}});
  }
  return chart;
}

TimelineChart timeline_of(const StepResult& result, const models::PlatformSpec& platform) {
  TimelineChart chart = stream_chart(result.graph, result.spans, platform.gpus);
  const auto shorten = [&chart](std::int64_t all, std::int64_t shown, const char* what) {
    if (shown < all) chart.caption += fmt::format(" Of the {} {} the first {}.", all, what, shown);
  };
  const StepQuestion& question = result.question;
  shorten(question.stage_layers(), result.layers_shown, question.pp > 1 ? "layers of each stage" : "layers");
  if (result.stages_shown < question.pp) {
    chart.caption += fmt::format(" Of the {} stages the first, one between and the last.", question.pp);
  }
  shorten(question.micro, result.micro_shown, "micro-batches");
  return chart;
}

std::string carrier_in(const StepQuestion& question, const std::string& collective, models::CollectiveKind kind,
                       const models::SdmaSpec& engines) {
  if (question.decides_by_size(collective, kind)) return std::string(to_string(question.collectives));
  return to_string(with_channels(question.carrier_of(collective, kind), kind, question, engines));
}

// Describes what carries collectives: kind by kind, or one by one if carriers differ within a kind.
std::string carriers_of(const StepResult& result, const models::SdmaSpec& engines) {
  std::vector<std::string> words;
  for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::all_to_all}) {
    if (result.time_of(kind) == sim::Time(0)) continue;
    if (kind == Kind::reduce_scatter && result.question.fuses()) {
      words.push_back(fmt::format("{} by engines as their products are computed (t3)", to_string(kind)));
      continue;
    }
    std::map<std::string, std::string> carriers;  // by name
    std::set<std::string> different;
    for (const auto& [name, share] : result.operations) {
      if (share.kind != kind) continue;
      const std::string collective(collective_name(name));
      carriers[collective] = carrier_in(result.question, collective, *collective_of(kind), engines);
      different.insert(carriers[collective]);
    }
    if (different.size() == 1) {
      words.push_back(fmt::format("{} by {}", to_string(kind), *different.begin()));
      continue;
    }
    for (const auto& [name, carrier] : carriers) words.push_back(fmt::format("{} by {}", name, carrier));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// Returns what readers who compare steps should know about the kernels of this one.
std::vector<std::string> notes_of_kernels(const StepQuestion& question) {
  std::vector<std::string> notes;
  const ModelSpec& model = question.model;
  const bool trains = question.phase == Phase::train;
  if (trains && question.mixes()) {
    notes.push_back(fmt::format(
        "It trains by automatic mixed precision: weights are in single precision, and products cast what they multiply "
        "to {}. With --shard full weights come in {}, and norms are one kernel each.",
        to_string(question.dtype), to_string(question.dtype)));
  } else if (trains && size_of(question.dtype) < single_precision) {
    notes.push_back(fmt::format(
        "Weights come in {} without casts around products, and norms are one kernel each. With --shard none a step "
        "trains by automatic mixed precision, with casts of weights and of what they multiply.",
        to_string(question.dtype)));
  }
  if (question.trains() && model.tied && question.pp > 1 && !question.layers) {
    notes.emplace_back(
        "The gradients of the embedding on the first stage and of its copy on the last are not added up: this sum is "
        "not modelled.");
  }
  const bool attends = question.half == Half::both || question.half == Half::attention;
  if (question.phase == Phase::prefill && question.kernels == Kernels::eager && attends && !model.is_latent()) {
    notes.emplace_back(
        "No kernel writes keys and values to the cache or turns them by their positions, as in the forward pass that "
        "this was measured with: --kernels compiled has both.");
  }
  return notes;
}

std::vector<Headline> headlines_of(const StepResult& result, const models::PlatformSpec& platform) {
  constexpr double giga = 1e9;
  return {{"time", time_in_words(sim::to_seconds(result.time))},
          {"tokens a second", fmt::format("{:.0f}", result.tokens_per_second())},
          {"MFU", fmt::format("{:.3f}", model_flops_utilisation(result, platform))},
          {"memory", fmt::format("{:.1f} GB", result.memory.total().value() / giga),
           fmt::format("of {:.0f} GB", platform.gpu.memory.hbm_capacity.value() / giga)},
          {"exposed communication", time_in_words(sim::to_seconds(result.exposed)),
           fmt::format("{:.1f} % of the step",
                       percent * (sim::to_seconds(result.exposed) / sim::to_seconds(result.time)))}};
}

}  // namespace

std::string time_in_words(sim::Seconds time) {
  constexpr double thousand = 1000.0;
  double value = time.value() * thousand * thousand;
  const char* unit = "us";
  for (const char* const larger : {"ms", "s"}) {
    if (value < thousand) break;
    value /= thousand;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", value, unit);
}

Results to_tables(const StepResult& result, const StepMachine& machine) {
  const models::PlatformSpec& platform = machine.platform;
  Results results{platform.name, {}, result.warnings, {}};
  results.tables.push_back({"results", "", answer_of(result, machine)});
  Bounds bounds(result, platform);
  results.tables.push_back({"kinds", "Kernels of one GPU", kinds_of(result, bounds), true, {kind_chart(result)}, true});
  results.tables.push_back({"operations", "The dearest operations", operations_of(result, bounds), false, {}, true});
  if (const ProductFlops products = product_flops(result.question, machine); products.some_are_repeated()) {
    results.tables.push_back({"repeated", "What the split repeats", repeated_of(result, products)});
  }
  results.headlines = headlines_of(result, platform);
  results.runs.push_back({.name = std::string(to_string(result.question.phase)), .schedule = result.graph.schedule()});
  results.charts.emplace_back(timeline_of(result, platform));
  results.title = fmt::format("A step of {}: {}", result.question.model.name, to_string(result.question.phase));
  results.notes.push_back(fmt::format("Of one GPU: {}.", to_string(result.memory)));
  if (std::string carriers = carriers_of(result, platform.gpu.sdma); !carriers.empty()) {
    results.notes.push_back(fmt::format("Between GPUs: {}.", carriers));
  }
  for (std::string& note : notes_of_kernels(result.question)) results.notes.push_back(std::move(note));
  if (result.of_few_turns) {
    results.notes.emplace_back(
        "Its turns follow from those of a few stages and micro-batches, mostly within 0.2 % and at most some 1 % of a "
        "simulation of all, which --write asks for.");
  }
  results.notes.emplace_back(
      "Energy and power are of one GPU; kernels of several streams overlap, so that their times may "
      "sum up to more than the step. Compute, exposed, host and idle sum up to it: host is when nothing runs and the "
      "host has not launched what could; idle when nothing runs for any other reason.");
  return results;
}

}  // namespace c3sim::study
