#include "tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "study/fault_list.h"
#include "study/program/operation.h"
#include "study/uncertainty/latin_hypercube.h"

namespace c3sim::tune {

namespace {

using models::CollectiveKind;

constexpr sim::Bytes smallest_array(1024.0);
constexpr sim::Bytes largest_tuned(17179869184.0);  // 16 GiB
constexpr std::size_t most_decisions = 100'000;
// The collectives whose schedules with a GEMM are tuned.
constexpr std::array dependent_collectives{study::DependentSchedule::Collective::gather,
                                           study::DependentSchedule::Collective::scatter};

// Returns the sizes at which collectives alone are tuned: all that fit the memory of a GPU.
std::vector<sim::Bytes> ladder(const models::PlatformSpec& platform) {
  std::vector<sim::Bytes> sizes;
  const sim::Bytes largest = std::min(largest_tuned, platform.gpu.memory.hbm_capacity);
  for (sim::Bytes bytes = smallest_array; bytes <= largest; bytes *= 2.0) sizes.push_back(bytes);
  return sizes;
}

// Interpolates log-linearly between low and high and rounds to a multiple of 256, as shapes of layers are.
std::int64_t between(std::int64_t low, std::int64_t high, double share) {
  constexpr std::int64_t unit = 256;
  const double value =
      std::exp(std::lerp(std::log(static_cast<double>(low)), std::log(static_cast<double>(high)), share));
  return std::max(low, static_cast<std::int64_t>(std::llround(value / unit)) * unit);
}

// Adds decisions with random sizes, log-uniform in the range of those that were asked for.
void add_drawn(std::vector<Decision>& decisions, const TuningQuestion& question, bool with_arrays) {
  if (question.gemms.empty()) return;
  constexpr std::uint64_t seed = 1;
  const study::LatinHypercube shares(static_cast<std::size_t>(question.drawn), seed);
  const std::vector<double> sizes = shares.dimension("bytes");
  std::vector<models::GemmShape> gemms(sizes.size());
  for (const auto& [name, extent] :
       {std::pair("m", &models::GemmShape::m), {"n", &models::GemmShape::n}, {"k", &models::GemmShape::k}}) {
    const auto of = [extent = extent](const study::NamedGemm& gemm) { return gemm.shape.*extent; };
    const auto [low, high] = std::ranges::minmax(question.gemms, {}, of);
    const std::vector<double> drawn = shares.dimension(name);
    for (std::size_t i = 0; i < gemms.size(); ++i) gemms[i].*extent = between(of(low), of(high), drawn[i]);
  }
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const std::string name = fmt::format("drawn {}", i + 1);
    Decision decision{.name = name, .group = name, .sizes = {.gemm = gemms[i]}, .is_drawn = true};
    if (with_arrays) {
      const auto [low, high] = std::ranges::minmax(question.sizes);
      decision.sizes.bytes =
          sim::Bytes(std::round(std::exp(std::lerp(std::log(low.value()), std::log(high.value()), sizes[i]))));
    }
    decisions.push_back(std::move(decision));
  }
}

// Returns decisions about every GEMM, with every array or by itself.
std::vector<Decision> decisions_about_gemms(const TuningQuestion& question, bool with_arrays) {
  std::vector<Decision> decisions;
  for (const study::NamedGemm& gemm : question.gemms) {
    const Decision alone{.name = gemm.name, .group = models::to_string(gemm.shape), .sizes = {.gemm = gemm.shape}};
    if (!with_arrays) decisions.push_back(alone);
    for (const sim::Bytes bytes : with_arrays ? question.sizes : std::vector<sim::Bytes>()) {
      Decision& pair = decisions.emplace_back(alone);
      pair.name += " and " + sim::to_string(bytes);
      pair.sizes.bytes = bytes;
    }
  }
  add_drawn(decisions, question, with_arrays);
  return decisions;
}

std::vector<Decision> sizes_alone(const models::PlatformSpec& platform) {
  std::vector<Decision> decisions;
  for (const sim::Bytes bytes : ladder(platform)) {
    const std::string name = sim::to_string(bytes);
    decisions.push_back({.name = name, .group = name, .sizes = {.bytes = bytes}});
  }
  return decisions;
}

std::vector<Decisions> kinds_of(const TuningQuestion& question, const models::PlatformSpec& platform) {
  std::vector<Decisions> kinds;
  for (const CollectiveKind kind : question.collectives) {
    if (!question.gemms.empty()) {
      kinds.push_back({pair_alternatives(kind, platform), decisions_about_gemms(question, true)});
    }
    kinds.push_back({collective_alternatives(kind, platform), sizes_alone(platform)});
  }
  if (!question.schedules) return kinds;
  for (const auto collective : dependent_collectives) {
    kinds.push_back({schedule_alternatives(collective), decisions_about_gemms(question, false)});
  }
  return kinds;
}

// Fits the tree and judges it and the other rules.
void add_rules(study::Testbed& testbed, Decisions& kind, double error, int jobs) {
  const Alternatives& alternatives = kind.alternatives;
  const auto always = [&kind](std::size_t place) { return std::vector<std::size_t>(kind.all.size(), place); };
  const std::size_t constant = best_constant(kind.all);
  // Names of rules and what they choose, by decision.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> rules{
      {"always " + alternatives.all[constant].name, always(constant)}};
  if (alternatives.subject == Alternatives::Subject::pair) {
    for (const study::Strategy strategy : study::all_strategies()) {
      std::vector<std::size_t> chosen;
      for (const Decision& decision : kind.all) {
        const std::optional<std::size_t> one = alternatives.by_strategy(testbed, decision.sizes, strategy);
        if (one) chosen.push_back(*one);
      }
      if (chosen.size() == kind.all.size()) rules.emplace_back(to_string(strategy), std::move(chosen));
    }
  } else {  // without a choice the first alternative is taken
    rules.emplace_back(alternatives.all.front().name, always(0));
  }
  const std::vector<TreeCase> cases = kind.tree_cases();
  kind.tree = fit_tree(cases);
  std::vector<std::size_t> by_tree = unseen_by_tree(cases);
  if (!by_tree.empty()) rules.emplace_back("tree", std::move(by_tree));
  for (auto& [name, chosen] : rules) {
    kind.attempt(testbed, chosen, jobs);
    kind.rules.push_back(record_of(name, kind.all, chosen, error));
  }
}

// The best times of a collective alone by kernels and by engines, in seconds.
struct Rivals {
  sim::Bytes bytes;
  double kernels = 0.0, engines = 0.0;

  double advantage() const { return std::log(kernels / engines); }  // of engines
};

// Returns the size at which the engines' advantage crosses `level`, interpolated linearly over the logarithm of size.
sim::Bytes crossing(const Rivals& one, const Rivals& other, double level) {
  const double share = (level - one.advantage()) / (other.advantage() - one.advantage());
  return sim::Bytes(std::exp(std::lerp(std::log(one.bytes.value()), std::log(other.bytes.value()), share)));
}

// Returns the size from which the advantage stays above `level`; none where it is not above at the largest size.
std::optional<sim::Bytes> from_where_above(const std::vector<Rivals>& rivals, double level) {
  if (rivals.empty() || rivals.back().advantage() <= level) return {};
  std::size_t first = rivals.size() - 1;
  while (first > 0 && rivals[first - 1].advantage() > level) --first;
  if (first == 0) return rivals.front().bytes;
  return crossing(rivals[first - 1], rivals[first], level);
}

std::vector<EngineThreshold::Range> undecided(const std::vector<Rivals>& rivals, double error) {
  std::vector<EngineThreshold::Range> ranges;
  const auto is_open = [&](std::size_t i) { return std::abs(rivals[i].advantage()) < error; };
  // Interpolates where the advantage crosses the error, between a size that is decided and its undecided neighbour.
  const auto edge = [&](std::size_t decided, std::size_t open) {
    return crossing(rivals[decided], rivals[open], rivals[decided].advantage() > 0.0 ? error : -error);
  };
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    if (is_open(i)) {
      if (i == 0 || !is_open(i - 1)) ranges.push_back({i == 0 ? rivals[0].bytes : edge(i - 1, i), {}});
      if (i + 1 == rivals.size() || !is_open(i + 1)) {
        ranges.back().to = i + 1 == rivals.size() ? rivals[i].bytes : edge(i + 1, i);
      }
    } else if (i > 0 && !is_open(i - 1) && rivals[i].advantage() * rivals[i - 1].advantage() < 0.0) {
      ranges.push_back({edge(i - 1, i), edge(i, i - 1)});  // a steep crossing: one range spans both sides
    }
  }
  return ranges;
}

std::vector<Rivals> rivals_of(const Decisions& kind, bool prelaunch) {
  std::vector<Rivals> all;
  for (const Decision& decision : kind.all) {
    Rivals rivals{decision.sizes.bytes, std::numeric_limits<double>::infinity(),
                  std::numeric_limits<double>::infinity()};
    for (std::size_t i = 0; i < decision.attempts.size(); ++i) {
      const study::C3Trial& trial = kind.alternatives.all[i].trial;
      const bool by_engines = on_copy_engines(trial.strategy);
      const Attempted& attempt = decision.attempts[i];
      if (!attempt.is_possible || (by_engines && trial.scenario.prelaunch != prelaunch)) continue;
      double& best = by_engines ? rivals.engines : rivals.kernels;
      best = std::min(best, sim::to_seconds(attempt.known()).value());
    }
    if (std::isfinite(rivals.engines)) all.push_back(rivals);
  }
  return all;
}

void add_thresholds(Tuning& tuning, const Decisions& kind) {
  if (kind.alternatives.subject != Alternatives::Subject::collective) return;
  for (const bool prelaunch : {false, true}) {
    const std::vector<Rivals> rivals = rivals_of(kind, prelaunch);
    if (rivals.empty()) continue;
    EngineThreshold threshold{kind.alternatives.kind, prelaunch, from_where_above(rivals, 0.0)};
    threshold.undecided = undecided(rivals, std::log1p(tuning.question.error));
    tuning.thresholds.push_back(threshold);
  }
}

// Maps collectives in the words of RCCL's tuner to the kinds predicted for them. A reduction to one GPU is not
// simulated: it moves the same bytes as a broadcast in the opposite direction.
constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> tuned_kinds{
    {{"broadcast", CollectiveKind::broadcast},
     {"reduce", CollectiveKind::broadcast},
     {"allgather", CollectiveKind::all_gather},
     {"reducescatter", CollectiveKind::reduce_scatter},
     {"allreduce", CollectiveKind::all_reduce}}};

models::CollectiveSpec by_library(CollectiveKind kind, sim::Bytes bytes, const models::PlatformSpec& platform,
                                  std::optional<int> channels = {}) {
  const study::Scenario scenario{.name = {}, .gemm = {}, .collective = kind, .bytes = bytes, .channels = channels};
  return scenario.collective_by(models::Backend::rccl, platform);
}

// Returns what the library does best with an array, as a line for this size alone: the fewest channels that are as good
// as the best, to leave CUs to other kernels.
TunerLine best_line(study::Testbed& testbed, CollectiveKind kind, sim::Bytes bytes) {
  const models::PlatformSpec& platform = testbed.platform();
  const int most = platform.rccl.channels(kind, {});
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  std::vector<double> times;
  for (const int count : counts) {
    times.push_back(sim::to_seconds(testbed.alone(by_library(kind, bytes, platform, count))).value());
  }
  const double best = std::ranges::min(times);
  const auto fewest =
      std::ranges::find_if(times, [best](double time) { return time <= (1.0 + Decision::as_good) * best; });
  const int channels = counts[static_cast<std::size_t>(fewest - times.begin())];
  return {.protocol = testbed.protocol_of(by_library(kind, bytes, platform, channels)), .channels = channels};
}

// Adds lines that cover every size from 0 bytes to the largest that a tuner can be asked for. Choices change at the
// geometric mean of neighbouring sizes.
void add_lines(Tuning& tuning, study::Testbed& testbed) {
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  std::map<CollectiveKind, std::vector<TunerLine>> best;  // by size
  const std::vector<sim::Bytes> sizes = ladder(testbed.platform());
  for (const auto& [name, kind] : tuned_kinds) {
    std::vector<TunerLine>& own = best[kind];
    for (std::size_t i = own.size(); i < sizes.size(); ++i) own.push_back(best_line(testbed, kind, sizes[i]));
    std::uint64_t low = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      TunerLine line = own[i];
      const bool is_last = i + 1 == sizes.size();
      if (!is_last && line.protocol == own[i + 1].protocol && line.channels == own[i + 1].channels) continue;
      line.collective = name;
      line.low = low;
      line.high = is_last ? largest : static_cast<std::uint64_t>(std::sqrt(sizes[i].value() * sizes[i + 1].value()));
      low = line.high + 1;
      tuning.lines.push_back(line);
    }
  }
}

constexpr std::size_t most_sizes = 1000;
constexpr std::int64_t most_drawn = 10'000;
constexpr double largest_error = 1.0;

std::vector<sim::Bytes> read_sizes(sim::Section& root) {
  std::vector<sim::Bytes> sizes;
  const std::vector<std::string> texts = root.texts("bytes");
  if (texts.size() > most_sizes) root.fault("bytes", "at most " + std::to_string(most_sizes) + " sizes are accepted");
  for (const std::string& text : texts) {
    const sim::ParsedQuantity parsed = sim::parse_quantity(text, sim::Dimension::bytes);
    if (!parsed.ok()) {
      root.fault("bytes", parsed.error);
    } else if (parsed.value < 1.0 || sim::Bytes(parsed.value) > study::largest_array) {
      root.fault("bytes",
                 "'" + text + "' is out of bounds: 1B to " + sim::to_string(study::largest_array) + " are accepted");
    } else {
      sizes.emplace_back(parsed.value);
    }
  }
  return sizes;
}

}  // namespace

std::vector<sim::Fault> faults_of(const TuningQuestion& question, const study::Testbed& testbed) {
  study::FaultList faults;
  faults.add_if(question.collectives.empty() && !question.schedules, "collectives",
                "there is nothing to tune: collectives, or schedules, are needed");
  faults.add_if(question.schedules && question.gemms.empty(), "gemms",
                "schedules are of GEMMs: at least one is needed");
  faults.add_if(question.gemms.size() > study::most_gemms, "gemms", "1 to {} GEMMs are accepted", study::most_gemms);
  faults.add_if(!question.gemms.empty() && !question.collectives.empty() && question.sizes.empty(), "bytes",
                "sizes of the arrays beside the GEMMs are needed");
  const std::size_t drawn = question.gemms.empty() ? 0 : static_cast<std::size_t>(question.drawn);
  const std::size_t pairs = drawn + question.gemms.size() * question.sizes.size() * question.collectives.size();
  faults.add_if(pairs > most_decisions, "bytes", "GEMMs, sizes and collectives make {} pairs: at most {} are accepted",
                pairs, most_decisions);
  const models::PlatformSpec& platform = testbed.platform();
  for (const study::NamedGemm& gemm : question.gemms) {
    std::string why = testbed.why_impossible(gemm.shape);
    for (const auto collective : dependent_collectives) {
      if (!question.schedules || !why.empty()) break;
      why = study::why_impossible(study::DependentSchedule{.collective = collective}, gemm.shape, platform);
    }
    faults.add_if(!why.empty(), "gemms", "{}: {}", gemm.name, why);
  }
  for (const CollectiveKind kind : question.collectives) {
    const std::string why_none = testbed.why_impossible(by_library(kind, smallest_array, platform));
    faults.add_if(!why_none.empty(), "collectives", "{}", why_none);
    if (!why_none.empty()) continue;
    for (const sim::Bytes bytes : question.sizes) {
      const std::string why = testbed.why_impossible(by_library(kind, bytes, platform));
      faults.add_if(!why.empty(), "bytes", "{}", why);
    }
  }
  return faults.take();
}

Tuning tune(study::Testbed& testbed, const TuningQuestion& question, const study::Progress& progress, int jobs) {
  Tuning tuning{.question = question};
  tuning.kinds = kinds_of(question, testbed.platform());
  std::size_t all = 0;
  for (const Decisions& kind : tuning.kinds) all += kind.all.size();
  // What predictions cannot tell from the best is compared by its time, not by its bound.
  constexpr double always = 0.1;
  const double beyond = std::max(always, question.error);
  std::size_t before = 0;
  for (Decisions& kind : tuning.kinds) {
    const study::Progress of_all = [&](std::size_t done, std::size_t) {
      if (progress) progress(before + done, all);
    };
    kind.attempt(testbed, question.measured, beyond, of_all, jobs);
    before += kind.all.size();
    add_thresholds(tuning, kind);
    add_rules(testbed, kind, question.error, jobs);
  }
  if (!question.collectives.empty()) add_lines(tuning, testbed);
  return tuning;
}

TuningQuestion read_tuning_question(sim::Section root, const study::Testbed& testbed) {
  TuningQuestion question;
  question.name = root.name("name");
  if (root.has("gemms")) question.gemms = study::read_gemms(root.section("gemms"));
  if (root.has("collectives")) {
    question.collectives = root.choices<CollectiveKind>("collectives", sim::choices_of<CollectiveKind>());
  }
  if (root.has("bytes")) question.sizes = read_sizes(root);
  question.schedules = root.flag("schedules", false);
  question.drawn = static_cast<int>(root.integer("drawn", 0, most_drawn, 0));
  question.error = root.number("error", 0.0, largest_error, TuningQuestion::usual_error);
  for (const sim::Fault& fault : faults_of(question, testbed)) root.fault(fault.where, fault.what);
  return question;
}

}  // namespace c3sim::tune
