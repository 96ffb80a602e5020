// Reads what TransferBench prints for people: the transfers of every test, and the tables of its presets p2p and a2a,
// which have commas as rules with OUTPUT_TO_CSV=1. Also reads the rows that it writes with OUTPUT_TO_CSV=1, one per
// transfer (Test#, NumBytes, Src, Exe, Dst, CUs, BW(GB/s) and others), below the settings of the run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "models/kernels/remote_kernel.h"

namespace c3sim::calibrate {

namespace {

using models::RemoteAccess;
using study::RemoteTrial;
using TransferPattern = RemoteTrial::Pattern;

struct TransferMemory {
  int index = 0;
  bool is_fine_grained = false;
  std::string_view why_not{};  // why it has no model; empty: it is of a GPU of the first node
  bool operator==(const TransferMemory&) const = default;
};
constexpr std::string_view elsewhere = "a copy from or to the host's memory is compared with nothing";
constexpr std::string_view nowhere = "what only reads or only writes has no model";

struct TransferExecutor {
  bool is_engine = false;  // false: a kernel
  int index = 0;
  std::optional<int> part{};   // index of an XCD or an engine
  std::optional<int> units{};  // number of CUs; none: not said
  std::string_view why_not{};  // why it has no model; may be empty
};
constexpr std::string_view by_host = "a copy by the host's cores has no model";

// A Transfer is what TransferBench runs: a kernel of a number of workgroups, a copy engine or the host's cores move
// bytes from one memory to others.
struct Transfer {
  int line = 0;
  std::vector<TransferMemory> from, to;
  TransferExecutor by;
  sim::Bytes bytes;
  double rate = 0.0;  // bytes per second
};

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
  models::SdmaCopySpec spec{
      .from = from, .to = transfer.to.front().index, .bytes = transfer.bytes, .engine = transfer.by.part};
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
  if (!transfer.by.why_not.empty()) return std::string(transfer.by.why_not);
  for (const std::string_view why : {elsewhere, nowhere}) {
    if (std::ranges::count(transfer.from, why, &TransferMemory::why_not) > 0 ||
        std::ranges::count(transfer.to, why, &TransferMemory::why_not) > 0)
      return std::string(why);
  }
  if (transfer.from.size() > 1) return "a sum of several sources has no model";
  std::set<int> others;
  for (const TransferMemory& memory : transfer.to) others.insert(memory.index);
  others.erase(transfer.by.index);
  if (others.empty() && transfer.from.front().index == transfer.by.index) {
    return "a GPU that copies to itself uses no link";
  }
  return transfer.by.is_engine ? by_engine(transfer) : by_kernel(transfer, others);
}

void add(const Transfer& transfer, const study::Trial& trial, std::string group, LogReading& reading,
         std::vector<std::string> assignments = {}) {
  const bool is_copy = std::holds_alternative<study::CopyTrial>(trial);
  reading.add(
      measurement_of(transfer.line, std::move(group), trial,
                     {.figure = is_copy ? study::Figure::rate : study::Figure::link_rate, .value = transfer.rate},
                     std::move(assignments)));
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

// Reads memories such as "G0", "F1", "C0" or "N0", several as "G0G1" or "G0+G1", or of another node as "R1G0". Records
// a fault and returns nothing for other words.
std::optional<std::vector<TransferMemory>> read_memories(const LogCell& cell, LogReading& reading) {
  static const LogPattern all(R"(^(?:(?:R\d+)?(?:[GFCBUPMH]\d+\+?|N\d+\+?|N\+))*(?:R\d+)?(?:[GFCBUPMH]\d+|N\d*)$)");
  static const LogPattern next(R"((?:R(\d+))?([GFNCBUPMH])(\d*)\+?)");
  bool is_known = all.is_in(cell.text);
  std::vector<TransferMemory> memories;
  for (LogCell rest = cell; is_known && !rest.text.empty();) {
    const LogCells found = next.groups(rest);
    const char letter = found[2].text.front();
    const std::optional<int> index = letter == 'N' ? 0 : number_of(found[3].text);
    const bool is_gpu = !is_other_node(found[1]) && (letter == 'G' || letter == 'F');
    memories.push_back({index.value_or(0), letter == 'F', letter == 'N' ? nowhere : is_gpu ? "" : elsewhere});
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

// Reads "G0", "GPU00", "GFX0", "GFX/G0", "D0", "DMA00", "C0" or "CPU00", perhaps with a part (".2") and units (":4").
std::optional<TransferExecutor> read_executor(const LogCell& cell, LogReading& reading) {
  static const LogPattern form(
      R"(^(?:R(\d+))?(?:(G|GPU|GFX)|(D|DMA)|(C|CPU)|(?:I|N|NIC))(?:/[A-Z]*)?(\d+)(?:\.(\*|\d*))?(:\d+)?$)");
  if (const LogCells found = form.groups(cell); !found.empty()) {
    const auto is = [&found](std::size_t group) { return !found[group].text.empty(); };
    const std::optional<int> index = number_of(found[5].text);
    const std::optional<int> units = is(7) ? number_of(found[7].text.substr(1)) : std::nullopt;
    const std::string_view why_not = is_other_node(found[1]) || !(is(2) || is(3) || is(4))
                                         ? "a copy by a network card, or on another node, has no model"
                                     : is(4) ? by_host
                                             : "";
    if (index && units.has_value() == is(7))
      return TransferExecutor{is(3), *index, number_of(found[6].text), units, why_not};
  }
  reading.fault(cell, "executor",
                shown(cell.text) +
                    " is not known: kernels (G0:4, GFX0:4, GPU00:004), copy engines (D0, DMA00) and cores "
                    "of the host (C0:4) are accepted");
  return {};
}

// Records some of the transfers of a run in which all GPUs copied to all others; `gpus` is the number of GPUs.
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

// Records concurrent transfers as the trial that stands for them, or leaves them out with the reason. Trials stand for
// one transfer alone, a pair in opposite directions, and all GPUs to all others. An unequal pair counts as two single
// transfers, since each direction has its own links; its group says so. Groups begin with `tool`: "TransferBench p2p".
void record(std::span<const Transfer> at_once, std::string_view tool, LogReading& reading) {
  std::vector<Move> moves;
  for (const Transfer& transfer : at_once) moves.push_back(move_of(transfer));
  const int all = moves.size() > 2 ? gpus_of_all(moves) : 0;
  if (all > 0) return record_of_all(at_once, all, tool, reading);
  const bool alone = moves.size() == 1;
  const auto* const one = moves.empty() ? nullptr : std::get_if<RemoteTrial>(&moves.front());
  const auto* const other = moves.size() == 2 ? std::get_if<RemoteTrial>(&moves.back()) : nullptr;
  const bool opposite = one != nullptr && other != nullptr && one->gpu == other->peer && one->peer == other->gpu &&
                        one->access == other->access;
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

// A TransferMatrixForm is what the lines around a table say of it.
struct TransferMatrixForm {
  TransferPattern pattern = TransferPattern::one_way;
  bool by_engine = false;  // false: by a kernel
  bool by_destination = false;
  bool is_fine_grained = false;
  std::optional<int> cus{};  // for each transfer
  std::optional<sim::Bytes> bytes{};
  std::string why_not{};  // why nothing in the table can be compared; empty if it can
};

LogCells words_in(const LogCell& line) {
  return words_of(line, ",|\xE2\x94\x82");  // the last is U+2502, the rule of boxes
}

// A TransferMatrix is a table of rates of the presets p2p and a2a, with a source per row and a destination per column.
class TransferMatrix {
 public:
  // `heads` names the columns: "SRC\DST  CPU 00  GPU 00  GPU 01  STotal". The log must outlive the matrix.
  TransferMatrix(TransferMatrixForm form, const LogCell& heads, LogReading& log)
      : form_(std::move(form)),
        log_(log),
        table_(log),
        tool_(form_.pattern == TransferPattern::all ? "TransferBench a2a" : "TransferBench p2p") {
    const LogCells words = words_in(heads);
    LogCells names{words.front()};
    bool are_sums = false;  // columns after those of devices
    for (std::size_t at = 1; at < words.size();) {
      const LogCell& word = words[at];
      names.push_back(word);
      const bool is_sum = word.text == "STotal" || word.text == "Actual";
      are_sums |= is_sum;
      const std::optional<TransferMemory> device = are_sums ? std::nullopt : read_device(words, at);
      if (is_sum) {
        ++at;
      } else if (device && !has_column(*device)) {
        columns_.push_back(*device);
      } else {
        columns_.clear();
        log_.fault(word, "",
                   device ? "this column is named twice"
                          : shown(word.text) + " is not known: CPU 00, GPU 00, STotal and Actual are accepted");
        return;
      }
    }
    table_.take_heads(names);
  }

  static bool are_heads(const LogCell& line) {
    static const LogPattern heads(R"(^[\s,|\xe2\x94\x82]*SRC\S*\\\S*DST)");
    return heads.is_in(line.text);
  }

  // Returns whether the line is a row of the table, and reads it.
  bool read_row(const LogCell& line) {
    static const LogPattern label("^[CG]PU(?:\\d|$)");  // unlike "GPU->GPU" above averages
    static const LogPattern arrows("^(?:->|<-|<->)$");
    const LogCells words = words_in(line);
    if (columns_.empty() || words.empty() || !label.is_in(words.front().text)) return false;
    std::size_t at = 0;
    const std::optional<TransferMemory> source = read_device(words, at);
    if (!source) return true;
    const bool has_arrow = at < words.size() && arrows.is_in(words[at].text);
    const std::string_view arrow = has_arrow ? words[at++].text : std::string_view();
    LogCells cells(words.begin() + static_cast<std::ptrdiff_t>(at) - 1, words.end());
    cells.front() = words.front();
    if (!has_column(*source)) {
      log_.fault(words.front(), "", "this source is no destination: rows and columns of the same devices are accepted");
    } else if (arrow == "<->" || !table_.take_row(std::move(cells), !log_.is_cut())) {
      return true;  // a row of sums over both directions is not needed; of any other row a fault has been recorded
    } else if (!form_.why_not.empty()) {
      log_.leave_out(line.line, form_.why_not);
    } else if (!form_.bytes) {
      log_.fault(words.front(), "bytes",
                 "is missing: 'Bytes Per Direction N', or '- Copying N bytes', is accepted above the table");
    } else {
      read_cells(*source, words.front(), arrow == "<-");
    }
    return true;
  }

  // Ends the table after its last row.
  void end() {
    for (auto row = both_ways_.begin(); row != both_ways_.end(); ++row) {
      const auto next = std::next(row);
      if (row->is_reversed) {
        log_.fault(row->place, "", "the row of the other direction ('->') is accepted above it");
      } else if (next == both_ways_.end() || !next->is_reversed) {
        log_.fault(row->place, "", "the row of the other direction ('<-') is missing");
      } else {
        for (const auto& [column, back] : next->cells) {
          if (row->cells.contains(column)) record(std::array{row->cells.at(column), back}, tool_, log_);
        }
        row = next;
      }
    }
    const auto gpus = static_cast<int>(std::ranges::count(columns_, "", &TransferMemory::why_not));
    if (!misses_some_) return record_of_all(all_, gpus, tool_, log_);
    for (const Transfer& transfer : all_) {
      log_.leave_out(transfer.line, "some GPUs did not copy to all others: no trial stands for that");
    }
  }

 private:
  // A Row is one of two rows that tell the rates of both directions at once.
  struct Row {
    LogCell place;
    bool is_reversed = false;
    std::map<std::size_t, Transfer> cells;  // by column
  };

  bool has_column(const TransferMemory& device) const { return std::ranges::find(columns_, device) != columns_.end(); }

  // Reads "GPU 00", in one word or two.
  std::optional<TransferMemory> read_device(const LogCells& words, std::size_t& at) {
    if (at >= words.size()) return {};
    const std::string_view kind = words[at].text.substr(0, 3);
    if (kind != "GPU" && kind != "CPU") return {};
    const bool is_apart = words[at].text.size() == kind.size() && at + 1 < words.size();
    const LogCell index = is_apart ? words[at + 1] : words[at].from(kind.size());
    const std::optional<int> number = log_.integer(index, 0, most_units - 1, kind);
    if (!number) return {};
    at += is_apart ? 2 : 1;
    if (kind == "CPU") return TransferMemory{*number, false, elsewhere};
    return TransferMemory{*number, form_.is_fine_grained};
  }

  Transfer transfer(const TransferMemory& from, const TransferMemory& to, double rate, int line) const {
    const TransferMemory& by = form_.by_destination ? to : from;
    const std::optional<int> units = form_.by_engine ? std::nullopt : form_.cus;
    return {line,         {from}, {to}, {form_.by_engine, by.index, {}, units, by.why_not.empty() ? "" : by_host},
            *form_.bytes, rate};
  }

  // Records each cell as a test of its own. But an all-to-all table is recorded as a whole, and rows of a table of both
  // ways are recorded in pairs.
  void read_cells(const TransferMemory& source, const LogCell& place, bool is_reversed) {
    Row row{place, is_reversed, {}};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const TransferMemory& other = columns_[i];
      const LogCell& cell = table_.row()[i + 1];
      if (cell.text == "N/A" || cell.text == "-") {
        if (source == other) continue;
        misses_some_ = true;
        log_.leave_out(place.line, "not measured");
      } else if (const auto rate = log_.figure(cell, study::Figure::link_rate, "GB/s")) {
        row.cells[i] = transfer(is_reversed ? other : source, is_reversed ? source : other, *rate, place.line);
      }
    }
    if (form_.pattern == TransferPattern::both_ways) return both_ways_.push_back(std::move(row));
    for (auto& [column, one] : row.cells) {
      if (form_.pattern == TransferPattern::one_way) record(std::span(&one, 1), tool_, log_);
      if (form_.pattern == TransferPattern::all) all_.push_back(std::move(one));
    }
  }

  TransferMatrixForm form_;
  LogReading& log_;
  LogTable table_;
  std::string_view tool_;
  std::vector<TransferMemory> columns_;
  std::vector<Row> both_ways_;
  std::vector<Transfer> all_;
  bool misses_some_ = false;
};

constexpr std::string_view p2p_title = "directional copy peak bandwidth";
constexpr std::string_view a2a_title = "All-To-All benchmark";

// Returns whether a line begins like " Transfer 00 | 47.774 GB/s | ...", even if it is cut short.
bool is_transfer(const LogCell& line) {
  static const LogPattern form(R"(^\s*Transfer\s+\d)");
  return form.is_in(line.text);
}

const LogCell* before(const LogCells& words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &LogCell::text);
  return found == words.end() || found == words.begin() ? nullptr : &*(found - 1);
}

// Returns the cells of a line of results, whatever separates them.
LogCells cells_of(const LogCell& line) {
  for (const std::string_view rule : {"|", "\xE2\x94\x82"}) {
    if (line.holds(rule)) return fields_of(line, rule);
  }
  return fields_of(line, ",");
}

bool are_transfer_heads(const LogCell& line) {
  return trimmed(line).text.starts_with("Test#") && line.holds("NumBytes");
}

class TransferReader {
 public:
  TransferReader(std::string_view text, const std::string& name) : log_(name, text) {}

  // Reads the text that is printed for people.
  Reading read() && {
    has_sums_ = true;
    while (log_.next()) read_line(log_.line());
    end_of_log("a line 'Aggregate (CPU) ...' below them");
    return std::move(log_).take("no result: tests with transfers, and tables of p2p and a2a, are accepted");
  }

  Reading read_csv() && {
    while (log_.next()) read_csv_line(log_.line());
    end_of_log("a row of all of them");
    return std::move(log_).take("no row: transfers are accepted below their columns");
  }

 private:
  // Settings are the lines above the tables of a run. Presets differ in the values of settings that are not printed.
  struct Settings {
    TransferMatrixForm form;  // for the next table
    bool has_title = false;
    bool is_summed_up = false;  // "Summary: [268435456 bytes per Transfer] [GFX:8] [1 Read(s) 1 Write(s)]"
    std::optional<bool> fine_grained, by_destination;
  };

  void read_line(const LogCell& line) {
    if (is_transfer(line)) return read_transfer(line);
    const std::string_view text = trimmed(line).text;
    if (text.starts_with("RTotal") || text.starts_with("Average")) return end_matrix();
    if (text.starts_with("Test ") || text.starts_with("Aggregate")) return end_test();
    if (line.holds("TransferBench v")) {  // a new run: earlier settings end
      end_part();
      settings_ = {};
      return;
    }
    if (line.holds(p2p_title) || line.holds(a2a_title)) return read_title(line);
    if (TransferMatrix::are_heads(line)) return begin_matrix(line);
    if (matrix_ && matrix_->read_row(line)) return;
    read_setting(line);
    read_amounts(line);
  }

  void read_title(const LogCell& line) {
    end_part();
    settings_.has_title = true;
    has_details_ = false;
    TransferMatrixForm& form = settings_.form;
    form.by_engine = line.holds("DMA");
    if (!line.holds(p2p_title)) return expect_all_to_all();
    form.pattern = line.holds(fmt::format("Bi{}", p2p_title)) ? TransferPattern::both_ways : TransferPattern::one_way;
    form.by_destination = line.holds("Remote read");
    form.is_fine_grained = settings_.fine_grained.value_or(false);
  }

  void expect_all_to_all() {
    settings_.form.pattern = TransferPattern::all;
    settings_.form.by_destination = settings_.by_destination.value_or(false);
    settings_.form.is_fine_grained = settings_.fine_grained.value_or(true);
  }

  // Reads "USE_FINE_GRAIN = 1 : Using fine-grained memory", perhaps with commas.
  void read_setting(const LogCell& line) {
    const LogCells words = words_of(line, "=,");
    if (words.size() < 2) return;
    const std::string_view name = words[0].text;
    const auto flag = [&]() -> std::optional<bool> {
      const std::optional<int> value = log_.integer(words[1], 0, most_units, name);
      return value ? std::optional(*value != 0) : std::nullopt;
    };
    TransferMatrixForm& form = settings_.form;
    if (name == "USE_FINE_GRAIN") settings_.fine_grained = flag();
    if (name == "USE_REMOTE_READ") settings_.by_destination = flag();
    if (name == "NUM_GPU_SE" || name == "NUM_SUB_EXEC") form.cus = log_.integer(words[1], 1, most_units, name);
    if (name == "A2A_MODE" && flag().value_or(false)) form.why_not = "A2A_MODE is not 0: only copies have a model";
  }

  // Reads "Bytes Per Direction 67108864", "- Copying 64 bytes between ... using 8 CUs" or "[64 bytes per Transfer]".
  void read_amounts(const LogCell& line) {
    const bool is_p2p = line.holds("Bytes Per Direction");
    if (!is_p2p && !line.holds("- Copying ") && !line.holds(" bytes per Transfer]")) return;
    if (line.holds(" bytes per Transfer]")) read_summary(line);
    const LogCells words = words_of(line, ",[]");
    const LogCell* const bytes = is_p2p ? &words.back() : before(words, "bytes");
    if (bytes != nullptr) settings_.form.bytes = log_.bytes(*bytes, "bytes");
    if (const LogCell* const cus = before(words, "CUs")) settings_.form.cus = log_.integer(*cus, 1, most_units, "CUs");
  }

  void read_summary(const LogCell& line) {
    static const LogPattern executor(R"(\[(GFX|DMA)(?::(\d+))?\])");
    static const LogPattern directions(R"(\[(\d+) Read\(s\) (\d+) Write\(s\)\])");
    settings_.is_summed_up = true;
    TransferMatrixForm& form = settings_.form;
    if (const LogCells by = executor.groups(line); !by.empty()) {
      form.by_engine = by[1].text == "DMA";
      if (!form.by_engine && !by[2].text.empty()) form.cus = log_.integer(by[2], 1, most_units, "GFX");
    }
    const LogCells each = directions.groups(line);
    if (!each.empty() && (each[1].text != "1" || each[2].text != "1"))
      form.why_not = "transfers that do not read once and write once: only copies have a model";
  }

  void read_transfer(const LogCell& line) {
    const std::size_t faults_before = log_.faults();
    Transfer transfer{.line = line.line, .from = {}, .to = {}, .by = {}, .bytes = {}};
    std::optional<LogCell> rate, bytes, path;
    for (const LogCell& cell : cells_of(line)) {
      if (!rate && cell.text.ends_with("GB/s")) rate = trimmed(cell.from(0, cell.text.size() - 4));
      if (!bytes && cell.text.ends_with("bytes")) bytes = trimmed(cell.from(0, cell.text.size() - 5));
      if (cell.holds("->") || cell.holds("\xE2\x86\x92")) path = cell;
    }
    if (!rate || !bytes || !path) {
      log_.fault(trimmed(line), "",
                 "cut short: 'Transfer 00 | 1.0 GB/s | 1.0 ms | 64 bytes | G0 -> G0:4 -> G1' is accepted");
    } else {
      transfer.rate = log_.figure(*rate, study::Figure::link_rate, "GB/s").value_or(0.0);
      transfer.bytes = log_.bytes(*bytes, "bytes").value_or(sim::Bytes());
      read_path(*path, transfer);
    }
    is_damaged_ |= log_.faults() != faults_before;
    has_details_ = true;
    at_once_.push_back(std::move(transfer));
  }

  // Reads "G0 -> G000:004 -> G1", perhaps in parentheses.
  void read_path(const LogCell& cell, Transfer& transfer) {
    LogCell inner = cell;
    if (inner.text.starts_with('(') && inner.text.ends_with(')')) inner = inner.from(1, inner.text.size() - 2);
    const LogCells ends = fields_of(inner, inner.holds("->") ? "->" : "\xE2\x86\x92");
    if (ends.size() != 3) {
      return log_.fault(cell, "", shown(cell.text) + " is no path: 'G0 -> G0:4 -> G1' is accepted");
    }
    const auto from = read_memories(ends[0], log_);
    const auto by = read_executor(ends[1], log_);
    const auto to = read_memories(ends[2], log_);
    if (!from || !by || !to) return;
    transfer.from = *from;
    transfer.by = *by;
    transfer.to = *to;
  }

  void begin_matrix(const LogCell& heads) {
    end_part();
    if (!settings_.has_title && settings_.is_summed_up) {
      // The lines above were cut off, title included: such a summary belongs to the preset a2a.
      settings_.has_title = true;
      expect_all_to_all();
      log_.remark(
          "",
          "the settings above a table of all-to-all were cut off: it is read as one of copies by their source to "
          "fine-grained memory, as TransferBench has them unless told otherwise");
    }
    if (!settings_.has_title) {
      return log_.fault(trimmed(heads), "",
                        "the title is missing: 'Unidirectional copy peak bandwidth ...', 'Bidirectional ...' or "
                        "'GPU-GFX All-To-All benchmark' is accepted above the table");
    }
    if (settings_.form.pattern == TransferPattern::all && has_details_) return;
    matrix_.emplace(settings_.form, heads, log_);
  }

  // If several runs were written to one file, settings and comments stand between rows.
  void read_csv_line(const LogCell& line) {
    const LogCells cells = fields_of(line, ",");
    if (are_transfer_heads(line)) {
      end_test();
      table_.take_heads(cells);
      for (const std::string_view name : {"Test#", "NumBytes", "Src", "Exe", "Dst", "CUs", "BW(GB/s)"})
        table_.require(name);
      return;
    }
    const std::string_view first = cells.front().text;
    const bool begins_as_row = cells.size() > 1 && !first.empty() && sim::is_digit(first.front());
    if (!table_.is_readable() || (cells.size() != table_.names().size() && !begins_as_row)) return;
    begin_row(first);
    if (table_.take_row(cells)) {
      read_row(line.line);
    } else {
      is_damaged_ = true;
    }
  }

  void read_row(int line) {
    if (table_.cell("Exe").text == "ALL") {  // the sum of the test
      has_sums_ = true;
      return end_test();
    }
    const std::size_t faults_before = log_.faults();
    log_.integer(table_.cell("Test#"), 0, most_units * most_units, "Test#");
    const auto size = log_.bytes(table_.cell("NumBytes"), "NumBytes");
    const auto sources = read_memories(table_.cell("Src"), log_);
    const auto executor = read_executor(table_.cell("Exe"), log_);
    const auto destinations = read_memories(table_.cell("Dst"), log_);
    const auto workgroups = log_.integer(table_.cell("CUs"), 0, most_units, "CUs");
    const auto measured = log_.figure(table_.cell("BW(GB/s)"), study::Figure::link_rate, "BW(GB/s)");
    if (log_.faults() != faults_before) {
      is_damaged_ = true;
      return;
    }
    at_once_.push_back({line, *sources, *destinations, *executor, *size, *measured});
    at_once_.back().by.units = workgroups;
  }

  void begin_row(std::string_view test_number) {
    if (test_number != test_) end_test();
    test_ = test_number;
  }

  void end_test() {
    const std::vector<Transfer> at_once = std::exchange(at_once_, {});
    if (!std::exchange(is_damaged_, false)) return record(at_once, "TransferBench", log_);
    for (const Transfer& transfer : at_once) {
      if (transfer.rate > 0.0) log_.leave_out(transfer.line, "what ran beside it could not be read");
    }
  }
  void end_matrix() {
    if (matrix_) matrix_->end();
    matrix_.reset();
  }
  void end_part() {
    end_test();
    end_matrix();
  }
  // The last test is complete if the line that `due` describes follows it.
  void end_of_log(std::string_view due) {
    if (has_sums_ && !at_once_.empty() && !is_damaged_) {
      is_damaged_ = true;
      log_.fault({.text = {}, .line = at_once_.back().line}, "",
                 fmt::format("the test is cut off: more transfers, and {}, are accepted", due));
    }
    end_part();
  }

  LogReading log_;
  std::vector<Transfer> at_once_;  // transfers of the test that is being read
  bool is_damaged_ = false;        // some transfers of the test could not be read
  bool has_details_ = false;       // the table of the preset a2a repeats transfers above it
  bool has_sums_ = false;          // tests end with the sum of their transfers
  Settings settings_;
  std::optional<TransferMatrix> matrix_;
  // These serve CSV.
  LogTable table_{log_};
  std::string_view test_;
};

}  // namespace

const LogFormat transfer_bench_text{
    "TransferBench", "rates of transfers and the tables of p2p and a2a, as TransferBench prints them",
    [](std::string_view text) {
      return has_line(text, [](const LogCell& any) {
        const LogCell line = trimmed(any);
        const bool is_executor = line.text.starts_with("Executor") && line.holds("GB/s");
        const bool is_titled =
            line.holds(p2p_title) && !line.text.ends_with("bandwidth GB/s");  // that title is rocm_bandwidth_test's
        return !line.text.starts_with('#') && (is_transfer(line) || is_executor || is_titled || line.holds(a2a_title) ||
                                               TransferMatrix::are_heads(line));
      });
    },
    [](std::string_view text, const std::string& name) { return TransferReader(text, name).read(); }};

const LogFormat transfer_bench_csv{
    "TransferBench CSV", "rates of transfers, as TransferBench writes them with OUTPUT_TO_CSV=1",
    [](std::string_view text) { return has_line(text, are_transfer_heads); },
    [](std::string_view text, const std::string& name) { return TransferReader(text, name).read_csv(); }};

}  // namespace c3sim::calibrate
