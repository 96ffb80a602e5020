#include "study/serve/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "study/step/step_faults.h"
#include "study/step/step_memory.h"
#include "study/work/config_folders.h"
#include "study/work/fault_list.h"

namespace c3sim::study {

namespace {

// The steps of the groups of GPUs that a question has, the last of which ends requests.
std::vector<StepQuestion> steps_of(const ServeQuestion& question) {
  std::vector<StepQuestion> steps{question.step};
  if (question.apart > 0) {
    steps.insert(steps.begin(), question.step);
    steps.front().tp = question.apart;
    steps.front().dp = 1;
  }
  for (StepQuestion& step : steps) step.graph = !question.by_op;
  return steps;
}

// Blocks of the cache that one GPU has room for: those of its replica.
std::int64_t cache_blocks(const ServeQuestion& question, StepQuestion step, const models::PlatformSpec& platform) {
  step.phase = Phase::prefill;
  step.tokens = question.budget;
  const StepMemory memory = memory_of(step);
  const sim::Bytes room = platform.gpu.memory.hbm_capacity * question.memory - memory.weights - memory.activations;
  const BlockCopies copies = block_copies(step, question.block);
  return std::max<std::int64_t>(
      0, static_cast<std::int64_t>(std::floor(room / (static_cast<double>(copies.of_block) * copies.bytes))));
}

// Tokens of the longest request that model and caches have room for.
std::int64_t longest_request(const ServeQuestion& question, const models::PlatformSpec& platform) {
  const std::int64_t places = question.step.model.positions;
  std::int64_t longest = places > 0 ? places : std::int64_t{1} << 40;
  for (const StepQuestion& step : steps_of(question)) {
    longest = std::min(longest, cache_blocks(question, step, platform) * question.block);
  }
  return longest;
}

// As many as fit of all batches, each as likely (reservoir sampling).
class DrawnBatches {
 public:
  DrawnBatches(std::int64_t seed, std::size_t most) : generator_(static_cast<std::uint64_t>(seed)), most_(most) {}
  void see(const Batch& batch, std::size_t group) {
    const std::uint64_t place = ++seen_ <= most_ ? seen_ - 1 : generator_() % seen_;
    if (place < batches_.size()) {
      batches_[place] = {batch, group};
    } else if (batches_.size() < most_) {
      batches_.emplace_back(batch, group);
    }
  }
  const std::vector<std::pair<Batch, std::size_t>>& batches() const { return batches_; }

 private:
  std::mt19937_64 generator_;
  std::size_t most_;
  std::uint64_t seen_ = 0;
  std::vector<std::pair<Batch, std::size_t>> batches_;
};

void check_lengths(const ServeQuestion& question, const models::PlatformSpec& platform, FaultList& faults) {
  const std::int64_t longest = longest_request(question, platform);
  const std::int64_t asked = question.trace.empty() ? question.prompt + question.output : 2;
  faults.add_if(asked > longest, "prompt",
                "{} tokens and {} of output are more than the {} that the context of {} and the cache have room for",
                question.prompt, question.output, longest, question.step.model.name);
  faults.add_if(question.reuse > 0.0 && (question.prefix < 1 || question.prefix > question.prompt), "prefix",
                "prompts of {} tokens that begin as others do share 1 to {}, not {}", question.prompt, question.prompt,
                question.prefix);
  faults.add_if(question.sequences > question.budget, "budget",
                "{} tokens of a batch are fewer than the {} sequences that are served at once", question.budget,
                question.sequences);
}

}  // namespace

ServeMachine::ServeMachine(const models::PlatformSpec& platform)
    : platform_(platform), operators_(read_operators(config_folders())) {}

const ReadModel& ServeMachine::model(const std::string& name) {
  if (!models_.contains(name)) {
    models_.emplace(name, read_model_file(name, config_folders()));
  }
  return models_.at(name);
}

// With the model, and the format of its weights where none but the usual one is asked for.
void ServeMachine::complete(ServeQuestion& question) { question.step.take(model(question.model)); }

std::vector<sim::Fault> ServeMachine::faults_of(ServeQuestion question) {
  complete(question);
  FaultList faults;
  const std::vector<StepQuestion> steps = steps_of(question);
  for (const StepQuestion& step : steps) {
    for (sim::Fault& fault : study::faults_of(step, platform_)) {
      const bool of_split = fault.where == "tp" || fault.where == "ep";
      if (&step == &steps.front() && question.apart > 0 && of_split) fault.where = "apart";
      faults.add(std::move(fault));
    }
  }
  faults.add_if(question.apart + question.step.gpus() > platform_.gpus, "apart",
                "{} GPUs that compute prompts and {} that decode are more than the {} of the node", question.apart,
                question.step.gpus(), platform_.gpus);
  faults.add_if(question.apart > 0 && question.fetch == Fetch::none, "apart",
                "GPUs that compute prompts hand over what they cache: fetch, in any way but none, is due beside it");
  faults.add_if(question.fetch == Fetch::kernel && question.waits == Waits::request, "waits",
                "a kernel that fetches takes the place of a batch: batch is accepted, which waits until it has ended");
  if (question.fetch != Fetch::none && faults.is_empty()) {
    const std::string why =
        fetch_times(question.fetch, question.store, block_copies(question.step, question.block)).why_impossible();
    faults.add_if(!why.empty(), "fetch", "{}", why);
  }
  if (faults.is_empty()) check_lengths(question, platform_, faults);
  return faults.take();
}

BatchTimes& ServeMachine::batch_times(const StepQuestion& step, std::int64_t budget) {
  std::unique_ptr<BatchTimes>& times = batch_times_[{step, budget}];
  if (times == nullptr) times = std::make_unique<BatchTimes>(platform_, step, operators_, budget);
  return *times;
}

FetchTimes& ServeMachine::fetch_times(Fetch fetch, Store store, const BlockCopies& copies) {
  std::unique_ptr<FetchTimes>& times = fetch_times_[{fetch, store, copies.of_block, copies.bytes}];
  if (times == nullptr) times = std::make_unique<FetchTimes>(platform_, fetch, store, copies);
  return *times;
}

ServeResult ServeMachine::ask(ServeQuestion question, std::size_t simulated) {
  if (std::vector<sim::Fault> faults = faults_of(question); !faults.empty()) {
    throw sim::ConfigError(std::move(faults));
  }
  complete(question);
  const std::vector<StepQuestion> steps = steps_of(question);
  std::vector<ServingGroup> groups;
  std::vector<BatchTimes*> times;
  const bool reuses = question.reuse > 0.0 || !question.trace.empty();
  for (const StepQuestion& step : steps) {
    times.push_back(&batch_times(step, question.budget));
    ServingGroup group;
    group.spec = {.budget = step.dp * question.budget,
                  .chunk = question.budget,
                  .sequences = step.dp * question.sequences,
                  .block = question.block,
                  .blocks = step.dp * cache_blocks(question, step, platform_),
                  .pause = question.pause,
                  .keeps = question.keep,
                  .fetches = question.fetch != Fetch::none && groups.empty() && reuses,
                  .batch_waits = question.waits == Waits::batch};
    if (question.trace.empty()) group.spec.stored = question.prefixes;
    group.spec.stored_tokens = question.prefix;
    group.costs = [&of = *times.back()](const Batch& batch) { return of.cost(batch); };
    const BlockCopies copies = block_copies(step, question.block);
    const int gpus_of_replica = step.gpus() / step.dp;
    const sim::Bytes of_block = static_cast<double>(copies.of_block * gpus_of_replica) * copies.bytes;
    group.spec.store_blocks = static_cast<std::int64_t>(question.store_size / of_block);
    const Store from = groups.empty() ? question.store : Store::peer;
    group.fetch_time = [&of = fetch_times(question.fetch, from, copies), block = question.block](std::int64_t tokens) {
      return of.of((tokens + block - 1) / block);
    };
    if (question.fetch != Fetch::none) {
      group.beside = [&of = fetch_times(question.fetch, from, copies)](const Batch& batch) {
        return of.beside(batch.chunks > 0);
      };
    }
    groups.push_back(std::move(group));
  }
  const std::int64_t longest = longest_request(question, platform_);
  const std::unique_ptr<RequestSource> source =
      question.trace.empty() ? drawn_requests(question, longest) : traced_requests(question.trace, longest);
  DrawnBatches drawn(question.seed, simulated);
  ServeResult result;
  result.served = serve(
      *source, groups, [&drawn](const Batch& batch, std::size_t group) { drawn.see(batch, group); },
      question.concurrency, question.limits);
  result.cut = source->cut();
  result.rejected = source->rejected();
  result.first_rejected = source->first_rejected();
  result.without_output = source->without_output();
  result.remarks = models_.at(question.model).ignored;
  for (const auto& [batch, group] : drawn.batches()) {
    if (const std::optional<double> error = times[group]->error(batch)) result.errors.push_back(*error);
  }
  const double seconds = sim::to_seconds(result.served.duration()).value();
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const ServerCounts& counts = result.served.groups[group];
    const double idle = std::max(0.0, seconds - sim::to_seconds(counts.busy).value());
    result.energy += counts.energy + platform_.gpu.power.at_rest() * sim::Seconds(idle * steps[group].gpus());
  }
  const double blocks = static_cast<double>(groups.back().spec.blocks);
  result.cache_tokens = groups.back().spec.blocks * question.block;
  result.cache_use = seconds > 0.0 ? result.served.groups.back().block_seconds / (blocks * seconds) : 0.0;
  result.most_in_use = static_cast<double>(result.served.groups.back().most_blocks) / blocks;
  result.question = std::move(question);
  return result;
}

ServeResult ask(const Testbed& testbed, const ServeQuestion& question) {
  return ServeMachine(testbed.platform()).ask(question);
}

double ServeResult::busy() const {
  double seconds = 0.0;
  for (const ServerCounts& counts : served.groups) seconds += sim::to_seconds(counts.busy).value();
  const double all = sim::to_seconds(served.duration()).value() * static_cast<double>(served.groups.size());
  return all > 0.0 ? seconds / all : 0.0;
}

double ServeResult::reused() const {
  const ServerCounts& counts = served.groups.front();
  return static_cast<double>(counts.reused + counts.fetched) / static_cast<double>(served.prompt_tokens);
}

double ServeResult::mean_error() const {
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0,
                                     [](double so_far, double error) { return so_far + std::abs(error); });
  return errors.empty() ? 0.0 : sum / static_cast<double>(errors.size());
}

double ServeResult::largest_error() const {
  double largest = 0.0;
  for (const double error : errors) largest = std::max(largest, std::abs(error));
  return largest;
}

}  // namespace c3sim::study
