#include "calibrate/readers/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace c3sim::calibrate {

namespace {

using models::RemoteAccess;
using study::RemoteTrial;

// Reads a word from its front.
class Word {
 public:
  explicit Word(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view letters() {
    return take_while([](char c) { return c >= 'A' && c <= 'Z'; });
  }
  // An index or a number of units; nothing where none stands or it is absurd.
  std::optional<int> number() {
    const sim::Parsed<std::int64_t> parsed =
        parse_printed_integer(take_while([](char c) { return c >= '0' && c <= '9'; }));
    if (!parsed.error.empty() || parsed.value > most_units) return {};
    return static_cast<int>(parsed.value);
  }

 private:
  template <class Belongs>
  std::string_view take_while(Belongs belongs) {
    const auto end = std::ranges::find_if_not(rest_, belongs);
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

// "R1" before a device: another node than the first.
bool skip_node(Word& word, std::string_view& letters) {
  if (letters != "R") return false;
  const bool is_other = word.number().value_or(1) != 0;
  letters = word.letters();
  return is_other;
}

std::optional<TransferMemory> memory_of(Word& word) {
  using Kind = TransferMemory::Kind;
  std::string_view letters = word.letters();
  const bool is_elsewhere = skip_node(word, letters);
  constexpr std::string_view known = "GFNCBUPMH";
  if (letters.size() != 1 || known.find(letters.front()) == std::string_view::npos) return {};
  const char letter = letters.front();
  const std::optional<int> index = word.number();
  if (letter == 'N') return TransferMemory{.kind = Kind::nowhere};
  if (!index) return {};
  const bool is_gpu = !is_elsewhere && (letter == 'G' || letter == 'F');
  return TransferMemory{is_gpu ? Kind::gpu : Kind::other, *index, letter == 'F'};
}

std::optional<TransferExecutor::Kind> executor_called(std::string_view letters) {
  using Kind = TransferExecutor::Kind;
  if (letters == "G" || letters == "GPU" || letters == "GFX") return Kind::kernel;
  if (letters == "D" || letters == "DMA") return Kind::engine;
  if (letters == "C" || letters == "CPU") return Kind::host;
  if (letters == "I" || letters == "N" || letters == "NIC") return Kind::other;
  return {};
}

// Who moves what over which link: the trial, but for its pattern.
struct Move {
  std::string why_not;  // empty if there is a model of it
  std::optional<RemoteTrial> kernel{};
  std::optional<study::CopyTrial> copy{};
};

Move by_engine(const Transfer& transfer) {
  const int from = transfer.from.front().index;
  if (transfer.to.size() > 1) return {"a copy to several GPUs has no model"};
  if (transfer.by.index != from) return {"a copy by another engine than those of its source has no model"};
  models::SdmaCopySpec spec;
  spec.from = from;
  spec.to = transfer.to.front().index;
  spec.bytes = transfer.bytes;
  spec.engine = transfer.by.part;
  return {.why_not = {}, .copy = study::CopyTrial{spec}};
}

// What a kernel writes to its own memory besides is not the bound, and not looked at.
Move by_kernel(const Transfer& transfer, const std::set<int>& others) {
  const TransferMemory& source = transfer.from.front();
  const bool is_load = source.index != transfer.by.index;
  if (transfer.by.part) return {"a kernel on one XCD alone has no model"};
  if (transfer.by.units == 0) return {"a kernel without CUs copies nothing"};
  if (is_load && !others.empty())
    return {"a copy by a GPU that is neither its source nor its destination has no model"};
  if (others.size() > 1) return {"a copy to several GPUs has no model"};
  RemoteTrial trial;
  trial.access = RemoteAccess::load;
  trial.gpu = transfer.by.index;
  trial.peer = is_load ? source.index : *others.begin();
  trial.bytes = transfer.bytes;
  trial.cus = transfer.by.units;
  if (!is_load) {
    const bool is_fine_grained = std::ranges::any_of(transfer.to, [&trial](const TransferMemory& memory) {
      return memory.index == trial.peer && memory.is_fine_grained;
    });
    trial.access = is_fine_grained ? RemoteAccess::uncached_store : RemoteAccess::store;
  }
  return {.why_not = {}, .kernel = trial};
}

Move move_of(const Transfer& transfer) {
  using Executor = TransferExecutor::Kind;
  using Memory = TransferMemory::Kind;
  const auto any = [&transfer](Memory kind) {
    const auto is_of_it = [kind](const TransferMemory& memory) { return memory.kind == kind; };
    return std::ranges::any_of(transfer.from, is_of_it) || std::ranges::any_of(transfer.to, is_of_it);
  };
  if (transfer.by.kind == Executor::host) return {"a copy by the host's cores has no model"};
  if (transfer.by.kind == Executor::other) return {"a copy by a network card, or on another node, has no model"};
  if (any(Memory::other)) return {"a copy from or to the host's memory is compared with nothing"};
  if (any(Memory::nowhere)) return {"what only reads or only writes has no model"};
  if (transfer.from.size() > 1) return {"a sum of several sources has no model"};
  std::set<int> others;
  for (const TransferMemory& memory : transfer.to) others.insert(memory.index);
  others.erase(transfer.by.index);
  if (others.empty() && transfer.from.front().index == transfer.by.index) {
    return {"a GPU that copies to itself uses no link"};
  }
  return transfer.by.kind == Executor::engine ? by_engine(transfer) : by_kernel(transfer, others);
}

void add(const Transfer& transfer, study::Trial trial, std::string group, LogReading& reading,
         std::vector<std::string> assignments = {}) {
  const bool is_copy = std::holds_alternative<study::CopyTrial>(trial);
  Measurement measurement;
  measurement.line = transfer.line;
  measurement.group = std::move(group);
  measurement.assignments = std::move(assignments);
  measurement.trial = std::move(trial);
  measurement.seen.push_back(
      {.figure = is_copy ? study::Figure::rate : study::Figure::link_rate, .value = transfer.rate});
  reading.add(std::move(measurement));
}

bool are_opposite(const RemoteTrial& one, const RemoteTrial& other) {
  return one.gpu == other.peer && one.peer == other.gpu && one.access == other.access;
}

// How many GPUs, where each copies as much to every other; 0 otherwise.
int gpus_of_all(const std::vector<Move>& moves) {
  std::set<std::pair<int, int>> pairs;
  int gpus = 0;
  for (const Move& move : moves) {
    if (!move.kernel) return 0;
    const RemoteTrial& first = *moves.front().kernel;
    const RemoteTrial& kernel = *move.kernel;
    if (kernel.access != first.access || kernel.bytes != first.bytes || kernel.cus != first.cus) return 0;
    pairs.emplace(kernel.gpu, kernel.peer);
    gpus = std::max({gpus, kernel.gpu + 1, kernel.peer + 1});
  }
  const auto all = static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus - 1);
  return pairs.size() == moves.size() && pairs.size() == all ? gpus : 0;
}

}  // namespace

std::optional<std::vector<TransferMemory>> read_memories(const LogCell& cell, LogReading& reading) {
  Word word(cell.text);
  std::vector<TransferMemory> memories;
  while (!word.at_end()) {
    const std::optional<TransferMemory> memory = memory_of(word);
    if (!memory) break;
    memories.push_back(*memory);
    if (word.at_end()) return memories;
    word.take('+');
  }
  reading.fault(cell, "memory",
                shown(cell.text) +
                    " is not known: memories of GPUs (G0, F0), of the host (C0, B0) and none (N0) are "
                    "accepted, several as G0G1");
  return {};
}

std::optional<TransferExecutor> read_executor(const LogCell& cell, LogReading& reading) {
  Word word(cell.text);
  std::string_view letters = word.letters();
  const bool is_elsewhere = skip_node(word, letters);
  const std::optional<TransferExecutor::Kind> kind = executor_called(letters);
  if (word.take('/')) word.letters();  // "GFX/G0"
  const std::optional<int> index = word.number();
  TransferExecutor executor;
  bool is_whole = kind && index;
  if (is_whole) executor = {is_elsewhere ? TransferExecutor::Kind::other : *kind, *index};
  if (word.take('.')) {
    executor.part = word.take('*') ? std::nullopt : word.number();
  }
  if (word.take(':')) {
    executor.units = word.number();
    is_whole = is_whole && executor.units;
  }
  if (is_whole && word.at_end()) return executor;
  reading.fault(cell, "executor",
                shown(cell.text) +
                    " is not known: kernels (G0:4, GFX0:4, GPU00:004), copy engines (D0, DMA00) and cores "
                    "of the host (C0:4) are accepted");
  return {};
}

void record_of_all(std::span<const Transfer> transfers, int gpus, std::string_view tool, LogReading& reading) {
  for (const Transfer& transfer : transfers) {
    Move move = move_of(transfer);
    if (!move.kernel) {
      reading.leave_out(transfer.line, move.copy ? "copies by engines, several at once, have no model" : move.why_not);
      continue;
    }
    move.kernel->pattern = RemoteTrial::Pattern::all;
    move.kernel->gpu = RemoteTrial().gpu;
    move.kernel->peer = RemoteTrial().peer;
    const int kernels = gpus - 1;  // of each GPU: one for every other, and all of them make one
    if (move.kernel->cus.value_or(1) > most_units / std::max(kernels, 1)) {
      reading.leave_out(transfer.line, fmt::format("more than {} workgroups at once have no model", most_units));
      continue;
    }
    if (move.kernel->cus) *move.kernel->cus *= kernels;
    add(transfer, *move.kernel, fmt::format("{}, all GPUs at once", tool), reading, {fmt::format("gpus={}", gpus)});
  }
}

void record(std::span<const Transfer> at_once, std::string_view tool, LogReading& reading) {
  std::vector<Move> moves;
  for (const Transfer& transfer : at_once) moves.push_back(move_of(transfer));
  const bool alone = moves.size() == 1;
  const bool opposite =
      moves.size() == 2 && moves[0].kernel && moves[1].kernel && are_opposite(*moves[0].kernel, *moves[1].kernel);
  const bool alike =
      opposite && moves[0].kernel->bytes == moves[1].kernel->bytes && moves[0].kernel->cus == moves[1].kernel->cus;
  // Each way has links of its own, so that of an unequal pair each is held against one that is alone.
  const std::string_view pattern = alike ? "both ways" : alone ? "one way" : "both ways, unlike each other";
  const int all = moves.size() > 2 ? gpus_of_all(moves) : 0;
  if (all > 0) return record_of_all(at_once, all, tool, reading);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    Move& move = moves[i];
    const Transfer& transfer = at_once[i];
    if (!move.why_not.empty()) {
      reading.leave_out(transfer.line, move.why_not);
    } else if (move.kernel && (alone || opposite)) {
      if (alike) {
        move.kernel->pattern = RemoteTrial::Pattern::both_ways;
        std::tie(move.kernel->gpu, move.kernel->peer) = std::minmax({move.kernel->gpu, move.kernel->peer});
      }
      add(transfer, *move.kernel, fmt::format("{}, {}", tool, pattern), reading);
    } else if (move.copy && alone) {
      add(transfer, *move.copy, fmt::format("{}, copy engine", tool), reading);
    } else {
      reading.leave_out(transfer.line, "no trial stands for these transfers at once");
    }
  }
}

}  // namespace c3sim::calibrate
