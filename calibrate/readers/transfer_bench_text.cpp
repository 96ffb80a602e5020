// What TransferBench prints for people: the transfers of every test, and the tables of its presets p2p and a2a. Also
// with OUTPUT_TO_CSV=1, where commas stand in place of the rules.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/transfer_matrix.h"

namespace c3sim::calibrate {

namespace {

using Pattern = TransferMatrixForm::Pattern;

constexpr std::string_view p2p_title = "directional copy peak bandwidth";
constexpr std::string_view a2a_title = "All-To-All benchmark";

bool holds(const LogCell& line, std::string_view text) { return line.text.find(text) != std::string_view::npos; }

// "     Transfer 00  | 47.774 GB/s | ...", cut short or not.
bool is_transfer(const LogCell& line) {
  constexpr std::string_view word = "Transfer ";
  const LogCell text = trimmed(line);
  if (!text.text.starts_with(word)) return false;
  const LogCell number = trimmed(text.from(word.size()));
  return number.text.find_first_of("0123456789") == 0;
}

const LogCell* before(const LogCells& words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &LogCell::text);
  return found == words.end() || found == words.begin() ? nullptr : &*(found - 1);
}

// The cells of a line of results, whichever sign stands between them.
LogCells cells_of(const LogCell& line) {
  for (const std::string_view rule : {"|", "\xE2\x94\x82"}) {
    if (holds(line, rule)) return fields_of(line, rule);
  }
  return fields_of(line, ",");
}

class TransferTextReader {
 public:
  TransferTextReader(std::string_view text, const std::string& name) : lines_(text), reading_(name) {}

  Reading read() &&;

 private:
  void read_line(const LogCell& line);
  void begin_run();
  bool read_title(const LogCell& line);
  void read_setting(const LogCell& line);
  void read_amounts(const LogCell& line);
  void read_transfer(const LogCell& line);
  bool read_path(const LogCell& cell, Transfer& transfer);
  void begin_matrix(const LogCell& heads);
  void end_matrix();
  void end_test();

  LogLines lines_;
  LogReading reading_;
  std::vector<Transfer> at_once_;  // of the test that is being read
  bool is_damaged_ = false;        // it has transfers that could not be read
  bool has_details_ = false;       // of the preset a2a, whose table repeats them
  TransferMatrixForm form_;        // of the next table
  bool has_title_ = false;
  // What the settings above the tables say; they differ in what holds where one says nothing.
  std::optional<bool> fine_grained_, by_destination_;
  std::optional<TransferMatrix> matrix_;
};

Reading TransferTextReader::read() && {
  while (lines_.next()) {
    if (reading_.accepts(lines_.line())) read_line(without_rank(lines_.line()));
  }
  if (!at_once_.empty() && !is_damaged_) {
    is_damaged_ = true;
    reading_.fault({.text = {}, .line = at_once_.back().line}, "",
                   "the test is cut off: more transfers, and a line 'Aggregate (CPU) ...' below them, are accepted");
  }
  end_test();
  end_matrix();
  if (reading_.empty()) {
    reading_.fault({}, "", "no result: tests with transfers, and tables of p2p and a2a, are accepted");
  }
  return std::move(reading_).take();
}

void TransferTextReader::read_line(const LogCell& line) {
  if (is_transfer(line)) return read_transfer(line);
  const std::string_view text = trimmed(line).text;
  if (text.starts_with("RTotal") || text.starts_with("Average")) return end_matrix();
  if (text.starts_with("Test ") || text.starts_with("Aggregate")) return end_test();
  if (holds(line, "TransferBench v")) return begin_run();
  if (read_title(line)) return;
  if (TransferMatrix::are_heads(line)) return begin_matrix(line);
  if (matrix_ && matrix_->read_row(line, !lines_.is_ended())) return;
  read_setting(line);
  read_amounts(line);
}

// Settings of the run before hold no longer.
void TransferTextReader::begin_run() {
  end_test();
  end_matrix();
  form_ = {};
  has_title_ = false;
  fine_grained_.reset();
  by_destination_.reset();
}

bool TransferTextReader::read_title(const LogCell& line) {
  const std::size_t p2p = line.text.find(p2p_title);
  const bool is_p2p = p2p != std::string_view::npos;
  if (!is_p2p && !holds(line, a2a_title)) return false;
  end_test();
  end_matrix();
  has_title_ = true;
  has_details_ = false;
  form_.by_engine = holds(line, "DMA");
  if (is_p2p) {
    form_.pattern = line.text.substr(0, p2p).ends_with("Bi") ? Pattern::both_ways : Pattern::one_way;
    form_.by_destination = holds(line, "Remote read");
    form_.is_fine_grained = fine_grained_.value_or(false);
  } else {
    form_.pattern = Pattern::all;
    form_.by_destination = by_destination_.value_or(false);
    form_.is_fine_grained = fine_grained_.value_or(true);
  }
  return true;
}

// "USE_FINE_GRAIN       =            1 : Using fine-grained memory", or with commas.
void TransferTextReader::read_setting(const LogCell& line) {
  const LogCells words = words_of(line, "=,");
  if (words.size() < 2) return;
  const std::string_view name = words[0].text;
  const auto flag = [&]() -> std::optional<bool> {
    const std::optional<int> value = reading_.integer(words[1], 0, most_units, name);
    if (!value) return {};
    return *value != 0;
  };
  if (name == "USE_FINE_GRAIN") fine_grained_ = flag();
  if (name == "USE_REMOTE_READ") by_destination_ = flag();
  if (name == "NUM_GPU_SE" || name == "NUM_SUB_EXEC") form_.cus = reading_.integer(words[1], 1, most_units, name);
  if (name == "A2A_MODE" && flag().value_or(false)) form_.why_not = "A2A_MODE is not 0: only copies have a model";
}

// "Bytes Per Direction 67108864", "- Copying 67108864 bytes between ... using 8 CUs", "[67108864 bytes per Transfer]"
void TransferTextReader::read_amounts(const LogCell& line) {
  const bool is_p2p = holds(line, "Bytes Per Direction");
  if (!is_p2p && !holds(line, "- Copying ") && !holds(line, " bytes per Transfer]")) return;
  const LogCells words = words_of(line, ",[]");
  const LogCell* const bytes = is_p2p ? &words.back() : before(words, "bytes");
  if (bytes != nullptr) form_.bytes = reading_.bytes(*bytes, "bytes");
  if (const LogCell* const cus = before(words, "CUs")) form_.cus = reading_.integer(*cus, 1, most_units, "CUs");
}

void TransferTextReader::begin_matrix(const LogCell& heads) {
  end_test();
  end_matrix();
  if (!has_title_) {
    return reading_.fault(trimmed(heads), "",
                          "the title is missing: 'Unidirectional copy peak bandwidth ...', 'Bidirectional ...' or "
                          "'GPU-GFX All-To-All benchmark' is accepted above the table");
  }
  if (form_.pattern == Pattern::all && has_details_) return;
  matrix_.emplace(form_, heads, reading_);
}

void TransferTextReader::end_matrix() {
  if (matrix_) matrix_->end();
  matrix_.reset();
}

void TransferTextReader::read_transfer(const LogCell& line) {
  const std::size_t faults_before = reading_.faults();
  Transfer transfer{.line = line.line, .from = {}, .to = {}, .by = {}, .bytes = {}};
  const LogCell* rate = nullptr;
  const LogCell* bytes = nullptr;
  const LogCell* path = nullptr;
  const LogCells cells = cells_of(line);
  for (const LogCell& cell : cells) {
    if (rate == nullptr && cell.text.ends_with("GB/s")) rate = &cell;
    if (bytes == nullptr && cell.text.ends_with("bytes")) bytes = &cell;
    if (holds(cell, "->") || holds(cell, "\xE2\x86\x92")) path = &cell;
  }
  if (rate == nullptr || bytes == nullptr || path == nullptr) {
    reading_.fault(trimmed(line), "",
                   "cut short: 'Transfer 00 | 1.0 GB/s | 1.0 ms | 64 bytes | G0 -> G0:4 -> G1' is accepted");
  } else {
    const auto number = [](const LogCell& cell, std::string_view unit) {
      return trimmed(cell.from(0, cell.text.size() - unit.size()));
    };
    transfer.rate = reading_.figure(number(*rate, "GB/s"), study::Figure::link_rate, "GB/s").value_or(0.0);
    transfer.bytes = reading_.bytes(number(*bytes, "bytes"), "bytes").value_or(sim::Bytes());
    read_path(*path, transfer);
  }
  is_damaged_ |= reading_.faults() != faults_before;
  has_details_ = true;
  at_once_.push_back(std::move(transfer));
}

// "G0 -> G000:004 -> G1", perhaps in parentheses.
bool TransferTextReader::read_path(const LogCell& cell, Transfer& transfer) {
  LogCell inner = cell;
  if (inner.text.starts_with('(') && inner.text.ends_with(')')) inner = inner.from(1, inner.text.size() - 2);
  const LogCells ends = fields_of(inner, holds(inner, "->") ? "->" : "\xE2\x86\x92");
  if (ends.size() != 3) {
    reading_.fault(cell, "", shown(cell.text) + " is no path: 'G0 -> G0:4 -> G1' is accepted");
    return false;
  }
  const auto from = read_memories(ends[0], reading_);
  const auto by = read_executor(ends[1], reading_);
  const auto to = read_memories(ends[2], reading_);
  if (!from || !by || !to) return false;
  transfer.from = *from;
  transfer.by = *by;
  transfer.to = *to;
  return true;
}

void TransferTextReader::end_test() {
  const std::vector<Transfer> at_once = std::exchange(at_once_, {});
  if (!std::exchange(is_damaged_, false)) return record(at_once, "TransferBench", reading_);
  for (const Transfer& transfer : at_once) {
    if (transfer.rate > 0.0) reading_.leave_out(transfer.line, "what ran beside it could not be read");
  }
}

}  // namespace

bool is_transfer_bench_text(std::string_view text) {
  return has_line(text, [](const LogCell& any) {
    const LogCell line = trimmed(without_rank(any));
    const bool is_executor = line.text.starts_with("Executor") && holds(line, "GB/s");
    return !line.text.starts_with('#') &&
           (is_transfer(line) || is_executor || holds(line, p2p_title) || holds(line, a2a_title));
  });
}

Reading read_transfer_bench_text(std::string_view text, const std::string& name) {
  return TransferTextReader(text, name).read();
}

}  // namespace c3sim::calibrate
