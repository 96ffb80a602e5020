#include "study/serve/serve.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "study/fault_list.h"
#include "study/program/step_memory.h"
#include "study/step/step.h"

namespace c3sim::study {

namespace {

// Returns the steps of the groups of GPUs of a replica; the last group ends requests.
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

// Records contradictions in drafts, arrivals and lengths of requests.
void check_requests(const ServeQuestion& question, FaultList& faults) {
  faults.add_if(question.draft.empty() && question.acceptance > 0.0, "acceptance",
                "is not used without a draft: draft has to name a model, or {}", draft_for_nothing);
  faults.add_if(!question.draft.empty() && question.acceptance == 0.0, "acceptance",
                "is missing: it says which share of what {} drafts is accepted, above 0 and up to 1", question.draft);
  faults.add_if(!question.draft.empty() && question.draft_tokens >= question.budget, "draft_tokens",
                "{} and the one behind them are more than the {} tokens of a batch", question.draft_tokens,
                question.budget);
  faults.add_if(question.arrivals == Arrivals::at_once && !question.stages.empty(), "stages",
                "are rates, and arrivals at_once has none: poisson and even are accepted");
  faults.add_if(question.least < 1.0 && question.spread > 0.0, "least",
                "draws lengths evenly, and spread log-normally: one of both is accepted");
  faults.add_if(question.concurrency > 0 && !question.stages.empty(), "stages",
                "are rates at which requests arrive, and with a concurrency each arrives when another ends: one of "
                "both is accepted");
  double arriving = 0.0;  // expected number of requests in all stages
  for (const LoadStage& stage : question.stages) arriving += stage.rate * sim::to_seconds(stage.time).value();
  faults.add_if(!question.stages.empty() && (arriving < 1.0 || arriving > most_requests), "stages",
                "bring {:.3g} requests: 1 to {} are accepted, as each is simulated", arriving, most_requests);
}

// Returns the weaker fidelity of two steps: decoding, and the prefill of a prompt of mean length.
Fidelity fidelity_of(const ServeQuestion& question, const StepMachine& machine) {
  StepQuestion step = question.step;
  step.graph = !question.by_op;
  const Fidelity decoding = fidelity_of(step, machine);
  step.phase = Phase::prefill;
  step.tokens = std::min(question.prompt, question.budget);
  if (question.apart > 0) step.tp = question.apart;
  return weaker(decoding, fidelity_of(step, machine));
}

}  // namespace

const ReadModel& ServeMachine::model_of(const StepWords& words) {
  const std::array<std::string, 3> asked{words.model_name, words.ignored_keys, words.like};
  const auto known = models_.find(asked);
  return known != models_.end() ? known->second : models_.emplace(asked, read_model_of(words)).first->second;
}

std::optional<StepQuestion> ServeMachine::draft_of(const ServeQuestion& question, StepQuestion step) {
  if (question.draft.empty() || question.draft == draft_for_nothing) return {};
  step.take(model_of(served_step(question.draft)));
  return step;
}

// Returns the cache blocks for which one GPU has room, with keys and values of the drafting model in each.
ServerSpec ServeMachine::cache_of(const ServeQuestion& question, const StepQuestion& of_group) {
  StepQuestion step = of_group;
  step.phase = Phase::prefill;
  step.tokens = question.budget;
  const StepMemory memory = memory_of(step, testbed_.templates());
  sim::Bytes room = platform_.gpu.memory.hbm_capacity * question.memory - memory.weights - memory.activations;
  std::map<std::int64_t, sim::Bytes> by_window;  // bytes of a block in the layers that have the window
  sim::Bytes block;
  const auto count = [&](const StepQuestion& of) {
    for (const CachedTensor& one : cached_tensors(of, testbed_.templates())) {
      const auto layers = static_cast<double>(one.layers);
      // What a sequence has once is like what layers with a window of one token have: in its first block alone.
      if (one.of_sequence > sim::Bytes()) by_window[1] += layers * one.of_sequence;
      by_window[one.window] += layers * static_cast<double>(question.block) * one.of_token;
      block += layers * one.of_block(question.block);
    }
  };
  count(step);
  if (const std::optional<StepQuestion> draft = draft_of(question, step)) {
    room -= memory_of(*draft, testbed_.templates()).weights;
    count(*draft);
  }
  const double blocks = std::floor(room / std::max(block, sim::Bytes(1.0)));  // a layer may cache nothing
  ServerSpec cache{.block = question.block, .blocks = std::max<std::int64_t>(0, static_cast<std::int64_t>(blocks))};
  for (const auto& [window, bytes] : by_window) {
    if (window > 0) cache.windowed.push_back({window, bytes / block});
  }
  return cache;
}

// Returns the tokens of the longest request for which model and caches have room.
std::int64_t ServeMachine::longest_request(const ServeQuestion& question) {
  const std::int64_t places = question.step.model.positions;
  std::int64_t longest = places > 0 ? places : std::int64_t{1} << 40;
  for (const StepQuestion& step : steps_of(question)) {
    longest = std::min(longest, cache_of(question, step).longest());
  }
  return longest;
}

void ServeMachine::check_lengths(const ServeQuestion& question, FaultList& faults) {
  const std::int64_t longest = longest_request(question);
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

std::vector<sim::Fault> ServeMachine::faults_of(ServeQuestion question) {
  if (question.step.model_name.empty()) {
    return {{"model", "", "is missing: a name in configs/models, a file like those, or a config.json is accepted"}};
  }
  question.step.take(model_of(question.step));
  FaultList faults;
  const std::vector<StepQuestion> steps = steps_of(question);
  for (const StepQuestion& step : steps) {
    for (sim::Fault& fault : study::faults_of(step, {platform_, testbed_.templates()})) {
      const bool of_split = fault.where == "tp" || fault.where == "ep";
      if (&step == &steps.front() && question.apart > 0 && of_split) fault.where = "apart";
      faults.add(std::move(fault));
    }
  }
  if (const std::optional<StepQuestion> draft = draft_of(question, steps.back()); draft && faults.is_empty()) {
    for (const sim::Fault& fault : study::faults_of(*draft, {platform_, testbed_.templates()}))
      faults.add({"draft", "", fault.what});
  }
  check_requests(question, faults);
  const int of_replica = question.apart + question.step.gpus();
  faults.add_if(question.replicas == 1 && of_replica > platform_.gpus, "apart",
                "{} GPUs that compute prompts and {} that decode are more than the {} of the node", question.apart,
                question.step.gpus(), platform_.gpus);
  faults.add_if(question.replicas > 1 && question.replicas * of_replica > platform_.gpus, "replicas",
                "{} of {} GPUs each are more than the {} of the node: 1 to {} are accepted", question.replicas,
                of_replica, platform_.gpus, std::max(1, platform_.gpus / of_replica));
  faults.add_if(question.apart > 0 && question.fetch == Fetch::none, "apart",
                "GPUs that compute prompts hand over what they cache: fetch has to say how (any way but none)");
  faults.add_if(question.fetch == Fetch::kernel && question.waits == Waits::request, "waits",
                "a kernel that fetches takes the place of a batch: batch is accepted, which waits until it has ended");
  if (question.fetch != Fetch::none && faults.is_empty()) {
    const BlockCopies copies = block_copies(cached_tensors(question.step, testbed_.templates()), question.block);
    const std::string why = copies.of_block == 0 ? question.step.model.name + " caches nothing: none is accepted"
                                                 : fetch_times(question.fetch, question.store, copies).why_impossible();
    faults.add_if(!why.empty(), "fetch", "{}", why);
  }
  if (faults.is_empty()) check_lengths(question, faults);
  return faults.take();
}

BatchTimes& ServeMachine::batch_times(const StepQuestion& step, const ServeQuestion& question) {
  std::unique_ptr<BatchTimes>& times = batch_times_[{step, question.budget, question.captured}];
  if (times == nullptr) {
    times = std::make_unique<BatchTimes>(StepMachine{platform_, testbed_.templates()}, step, question.budget,
                                         question.captured, grid);
  }
  return *times;
}

// Returns costs that include a drafting model's: prompts, and for each token of a draft a step of decoding sequences.
BatchCosts ServeMachine::costs_of(const ServeQuestion& question, const StepQuestion& step) {
  BatchTimes& times = batch_times(step, question);
  const std::optional<StepQuestion> draft = draft_of(question, step);
  if (!draft) return [&times](const Batch& batch) { return times.cost(batch); };
  return [&times, &drafts = batch_times(*draft, question), tokens = question.draft_tokens](const Batch& batch) {
    BatchCost sum = times.cost(batch);
    const auto add = [&sum](std::int64_t count, const BatchCost& cost) {
      sum.time += count * cost.time;
      sum.energy += static_cast<double>(count) * cost.energy;
    };
    if (batch.decoding > 0)
      add(tokens, drafts.cost({.decoding = batch.decoding, .decoding_context = batch.decoding_context}));
    if (batch.chunks > 0) {
      add(1,
          drafts.cost({.chunks = batch.chunks, .chunk_tokens = batch.chunk_tokens, .chunk_pairs = batch.chunk_pairs}));
    }
    return sum;
  };
}

ServingGroup ServeMachine::group_of(const ServeQuestion& question, const StepQuestion& step, bool is_first) {
  const bool reuses = question.reuse > 0.0 || !question.trace.empty();
  const ServerSpec cache = cache_of(question, step);
  ServingGroup group;
  group.spec = cache;
  group.spec.replicas = static_cast<std::size_t>(step.dp);
  group.spec.blocks *= step.dp;
  group.spec.fetches = question.fetch != Fetch::none && is_first && reuses;
  group.costs = costs_of(question, step);
  group.at_rest = static_cast<double>(step.gpus()) * platform_.gpu.power.at_rest();
  const BlockCopies copies = block_copies(cached_tensors(step, testbed_.templates()), question.block);
  const int gpus_of_replica = step.gpus() / step.dp;
  const sim::Bytes of_block = static_cast<double>(copies.of_block * gpus_of_replica) * copies.bytes;
  group.spec.store_blocks = static_cast<std::int64_t>(question.store_size / of_block);
  FetchTimes& fetches = fetch_times(question.fetch, is_first ? question.store : Store::peer, copies);
  group.fetch_time = [&fetches, cache](std::int64_t tokens) { return fetches.of(cache.blocks_of(tokens)); };
  if (question.fetch != Fetch::none) {
    group.beside = [&fetches](const Batch& batch) { return fetches.beside(batch.chunks > 0); };
  }
  return group;
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
  question.step.take(model_of(question.step));
  const std::vector<StepQuestion> steps = steps_of(question);
  std::vector<ServingGroup> groups;
  for (const StepQuestion& step : steps) groups.push_back(group_of(question, step, groups.empty()));
  const std::int64_t longest = longest_request(question);
  const std::unique_ptr<RequestSource> source =
      question.trace.empty() ? drawn_requests(question, longest) : traced_requests(question.trace, longest);
  // Up to `simulated` of all batches are drawn with equal probability (reservoir sampling).
  std::mt19937_64 generator(static_cast<std::uint64_t>(question.seed));
  std::uint64_t seen = 0;
  std::vector<std::pair<Batch, std::size_t>> drawn;
  const auto sees_batch = [&](const Batch& batch, std::size_t group) {
    const std::uint64_t place = ++seen <= simulated ? seen - 1 : generator() % seen;
    if (place < drawn.size()) {
      drawn[place] = {batch, group};
    } else if (drawn.size() < simulated) {
      drawn.emplace_back(batch, group);
    }
  };
  ServeResult result;
  result.served = serve(*source, groups, question, sees_batch);
  result.requests = source->counts();
  result.fidelity = fidelity_of(question, {platform_, testbed_.templates()});
  result.remarks = model_of(question.step).ignored;
  for (const auto& [batch, group] : drawn) {
    if (const std::optional<double> error = batch_times(steps[group], question).error(batch))
      result.errors.push_back(std::abs(*error));
  }
  const double seconds = sim::to_seconds(result.served.duration()).value();
  const std::int64_t blocks = groups.back().spec.blocks;
  for (std::size_t server = 0; server < result.served.groups.size(); ++server) {
    const ServerCounts& counts = result.served.groups[server];
    const std::size_t group = server % groups.size();
    const double idle = std::max(0.0, seconds - sim::to_seconds(counts.busy).value());
    result.energy += counts.energy + platform_.gpu.power.at_rest() * sim::Seconds(idle * steps[group].gpus());
    if (group + 1 < groups.size()) continue;
    const double all = static_cast<double>(blocks) * seconds * question.replicas;
    if (all > 0.0) result.cache_use += counts.block_seconds / all;
    result.most_in_use =
        std::max(result.most_in_use, static_cast<double>(counts.most_blocks) / static_cast<double>(blocks));
  }
  const std::int64_t whole = std::max(question.block, longest / question.block * question.block);
  // States of a fixed size have room for sequences of any length.
  constexpr double most_tokens = 1e15;
  const auto of_sequence = static_cast<double>(groups.back().spec.blocks_of(whole));
  const double tokens = static_cast<double>(blocks) * static_cast<double>(whole) / of_sequence;
  result.cache_tokens = question.replicas * static_cast<std::int64_t>(std::min(most_tokens, tokens));
  result.question = std::move(question);
  return result;
}

double ServeResult::busy() const {
  double seconds = 0.0;
  for (const ServerCounts& counts : served.groups) seconds += sim::to_seconds(counts.busy).value();
  const double all = sim::to_seconds(served.duration()).value() * static_cast<double>(served.groups.size());
  return all > 0.0 ? seconds / all : 0.0;
}

// The first group of each replica computes prompts.
double ServeResult::reused() const {
  const std::size_t of_replica = served.groups.size() / served.of_replicas.size();
  std::int64_t tokens = 0;
  for (std::size_t first = 0; first < served.groups.size(); first += of_replica) {
    tokens += served.groups[first].reused;
  }
  return static_cast<double>(tokens) / static_cast<double>(served.prompt_tokens);
}

}  // namespace c3sim::study
