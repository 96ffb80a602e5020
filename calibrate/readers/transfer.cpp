#include "calibrate/readers/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

namespace c3sim::calibrate {

namespace {

using models::RemoteAccess;
using study::RemoteTrial;

// Returns an index or a number of units; nothing if there is none or it is absurd.
std::optional<int> number_of(std::string_view digits) {
  const sim::Parsed<std::int64_t> parsed = parse_printed_integer(digits);
  if (!parsed.error.empty() || parsed.value > most_units) return {};
  return static_cast<int>(parsed.value);
}

// Returns whether the number after the R before a device names another node than the first.
bool is_other_node(const LogCell& node) { return !node.text.empty() && number_of(node.text) != 0; }

// A Move is the trial of a transfer, without its pattern, or the reason why it has no model.
using Move = std::variant<std::string, RemoteTrial, study::CopyTrial>;

Move by_engine(const Transfer& transfer) {
  const int from = transfer.from.front().index;
  if (transfer.to.size() > 1) return "a copy to several GPUs has no model";
  if (transfer.by.index != from) return "a copy by another engine than those of its source has no model";
  models::SdmaCopySpec spec;
  spec.from = from;
  spec.to = transfer.to.front().index;
  spec.bytes = transfer.bytes;
  spec.engine = transfer.by.part;
  return study::CopyTrial{spec};
}

// A kernel may also write to its own memory. That does not limit the transfer and is ignored.
Move by_kernel(const Transfer& transfer, const std::set<int>& others) {
  const TransferMemory& source = transfer.from.front();
  const bool is_load = source.index != transfer.by.index;
  if (transfer.by.part) return "a kernel on one XCD alone has no model";
  if (transfer.by.units == 0) return "a kernel without CUs copies nothing";
  if (is_load && !others.empty()) return "a copy by a GPU that is neither its source nor its destination has no model";
  if (others.size() > 1) return "a copy to several GPUs has no model";
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
  return trial;
}

Move move_of(const Transfer& transfer) {
  using Executor = TransferExecutor::Kind;
  using Memory = TransferMemory::Kind;
  const auto any = [&transfer](Memory kind) {
    return std::ranges::count(transfer.from, kind, &TransferMemory::kind) > 0 ||
           std::ranges::count(transfer.to, kind, &TransferMemory::kind) > 0;
  };
  if (transfer.by.kind == Executor::host) return "a copy by the host's cores has no model";
  if (transfer.by.kind == Executor::other) return "a copy by a network card, or on another node, has no model";
  if (any(Memory::other)) return "a copy from or to the host's memory is compared with nothing";
  if (any(Memory::nowhere)) return "what only reads or only writes has no model";
  if (transfer.from.size() > 1) return "a sum of several sources has no model";
  std::set<int> others;
  for (const TransferMemory& memory : transfer.to) others.insert(memory.index);
  others.erase(transfer.by.index);
  if (others.empty() && transfer.from.front().index == transfer.by.index) {
    return "a GPU that copies to itself uses no link";
  }
  return transfer.by.kind == Executor::engine ? by_engine(transfer) : by_kernel(transfer, others);
}

void add(const Transfer& transfer, const study::Trial& trial, std::string group, LogReading& reading,
         std::vector<std::string> assignments = {}) {
  const bool is_copy = std::holds_alternative<study::CopyTrial>(trial);
  reading.add(
      measurement_of(transfer.line, std::move(group), trial,
                     {.figure = is_copy ? study::Figure::rate : study::Figure::link_rate, .value = transfer.rate},
                     std::move(assignments)));
}

bool are_opposite(const RemoteTrial& one, const RemoteTrial& other) {
  return one.gpu == other.peer && one.peer == other.gpu && one.access == other.access;
}

// Returns the number of GPUs if each copies the same amount to every other, and 0 otherwise.
int gpus_of_all(const std::vector<Move>& moves) {
  std::set<std::pair<int, int>> pairs;
  int gpus = 0;
  const auto* const first = std::get_if<RemoteTrial>(&moves.front());
  for (const Move& move : moves) {
    const auto* const kernel = std::get_if<RemoteTrial>(&move);
    if (kernel == nullptr || first == nullptr) return 0;
    if (kernel->access != first->access || kernel->bytes != first->bytes || kernel->cus != first->cus) return 0;
    pairs.emplace(kernel->gpu, kernel->peer);
    gpus = std::max({gpus, kernel->gpu + 1, kernel->peer + 1});
  }
  const auto all = static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus - 1);
  return pairs.size() == moves.size() && pairs.size() == all ? gpus : 0;
}

}  // namespace

std::optional<std::vector<TransferMemory>> read_memories(const LogCell& cell, LogReading& reading) {
  using Kind = TransferMemory::Kind;
  static const LogPattern all(R"(^(?:(?:R\d+)?(?:[GFCBUPMH]\d+\+?|N\d+\+?|N\+))*(?:R\d+)?(?:[GFCBUPMH]\d+|N\d*)$)");
  static const LogPattern next(R"((?:R(\d+))?([GFNCBUPMH])(\d*)\+?)");
  bool is_known = all.is_in(cell.text);
  std::vector<TransferMemory> memories;
  for (LogCell rest = cell; is_known && !rest.text.empty();) {
    const LogCells found = next.groups(rest);
    const char letter = found[2].text.front();
    const std::optional<int> index = letter == 'N' ? 0 : number_of(found[3].text);
    const bool is_gpu = !is_other_node(found[1]) && (letter == 'G' || letter == 'F');
    memories.push_back({letter == 'N' ? Kind::nowhere
                        : is_gpu      ? Kind::gpu
                                      : Kind::other,
                        index.value_or(0), letter == 'F'});
    is_known = index.has_value();
    rest = rest.from(found.front().text.size());
  }
  if (is_known) return memories;
  reading.fault(cell, "memory",
                shown(cell.text) +
                    " is not known: memories of GPUs (G0, F0), of the host (C0, B0) and none (N0) are "
                    "accepted, several as G0G1");
  return {};
}

std::optional<TransferExecutor> read_executor(const LogCell& cell, LogReading& reading) {
  using Kind = TransferExecutor::Kind;
  static const LogPattern form(
      R"(^(?:R(\d+))?(?:(G|GPU|GFX)|(D|DMA)|(C|CPU)|(?:I|N|NIC))(?:/[A-Z]*)?(\d+)(?:\.(\*|\d*))?(:\d+)?$)");
  if (const LogCells found = form.groups(cell); !found.empty()) {
    const auto is = [&found](std::size_t group) { return !found[group].text.empty(); };
    const std::optional<int> index = number_of(found[5].text);
    const std::optional<int> units = is(7) ? number_of(found[7].text.substr(1)) : std::nullopt;
    const Kind kind = is_other_node(found[1]) ? Kind::other
                      : is(2)                 ? Kind::kernel
                      : is(3)                 ? Kind::engine
                      : is(4)                 ? Kind::host
                                              : Kind::other;
    if (index && units.has_value() == is(7)) return TransferExecutor{kind, *index, number_of(found[6].text), units};
  }
  reading.fault(cell, "executor",
                shown(cell.text) +
                    " is not known: kernels (G0:4, GFX0:4, GPU00:004), copy engines (D0, DMA00) and cores "
                    "of the host (C0:4) are accepted");
  return {};
}

void record_of_all(std::span<const Transfer> transfers, int gpus, std::string_view tool, LogReading& reading) {
  for (const Transfer& transfer : transfers) {
    const Move move = move_of(transfer);
    const auto* const kernel = std::get_if<RemoteTrial>(&move);
    if (kernel == nullptr) {
      const auto* const why = std::get_if<std::string>(&move);
      reading.leave_out(transfer.line, why != nullptr ? *why : "copies by engines, several at once, have no model");
      continue;
    }
    RemoteTrial of_each;
    of_each.pattern = RemoteTrial::Pattern::all;
    of_each.access = kernel->access;
    of_each.bytes = kernel->bytes;
    const int kernels = gpus - 1;  // of each GPU: one kernel per other GPU, which together make one
    if (kernel->cus.value_or(1) > most_units / std::max(kernels, 1)) {
      reading.leave_out(transfer.line, fmt::format("more than {} workgroups at once have no model", most_units));
      continue;
    }
    if (kernel->cus) of_each.cus = *kernel->cus * kernels;
    add(transfer, of_each, fmt::format("{}, all GPUs at once", tool), reading, {fmt::format("gpus={}", gpus)});
  }
}

void record(std::span<const Transfer> at_once, std::string_view tool, LogReading& reading) {
  std::vector<Move> moves;
  for (const Transfer& transfer : at_once) moves.push_back(move_of(transfer));
  const int all = moves.size() > 2 ? gpus_of_all(moves) : 0;
  if (all > 0) return record_of_all(at_once, all, tool, reading);
  const bool alone = moves.size() == 1;
  const auto* const one = moves.empty() ? nullptr : std::get_if<RemoteTrial>(&moves.front());
  const auto* const other = moves.size() == 2 ? std::get_if<RemoteTrial>(&moves.back()) : nullptr;
  const bool opposite = one != nullptr && other != nullptr && are_opposite(*one, *other);
  const bool alike = opposite && one->bytes == other->bytes && one->cus == other->cus;
  // Each direction has its own links, so the transfers of an unequal pair are recorded as if each were alone.
  const std::string_view pattern = alike ? "both ways" : alone ? "one way" : "both ways, unlike each other";
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Transfer& transfer = at_once[i];
    if (const auto* const why = std::get_if<std::string>(&moves[i])) {
      reading.leave_out(transfer.line, *why);
    } else if (const auto* const kernel = std::get_if<RemoteTrial>(&moves[i]); kernel && (alone || opposite)) {
      RemoteTrial trial = *kernel;
      if (alike) {
        trial.pattern = RemoteTrial::Pattern::both_ways;
        std::tie(trial.gpu, trial.peer) = std::minmax({kernel->gpu, kernel->peer});
      }
      add(transfer, trial, fmt::format("{}, {}", tool, pattern), reading);
    } else if (const auto* const copy = std::get_if<study::CopyTrial>(&moves[i]); copy && alone) {
      add(transfer, *copy, fmt::format("{}, copy engine", tool), reading);
    } else {
      reading.leave_out(transfer.line, "no trial stands for these transfers at once");
    }
  }
}

}  // namespace c3sim::calibrate
