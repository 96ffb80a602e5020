#include "calibrate/measure/result_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ledger_name = "progress.csv";
constexpr std::string_view ledger_columns = "table,item,state,bytes,why";
constexpr std::string_view table_mark = "# source: measured by c3sim-measure";

[[noreturn]] void refuse(const fs::path& file, std::string_view what) {
  throw UserError("{}: {}", file.string(), what);
}

[[noreturn]] void fail(const fs::path& file, const char* what) {
  refuse(file, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

OpenFile open_to_append(const fs::path& name) {
  OpenFile file(std::fopen(name.c_str(), "ae"), std::fclose);
  if (!file) fail(name, "open");
  return file;
}

// On the disk when this returns.
void append(std::FILE* file, std::string_view text, const fs::path& name) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!whole || std::fflush(file) != 0 || fsync(fileno(file)) != 0) fail(name, "write");
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// No comma, no line break: cells of our tables need no quotes.
std::string cell(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](char letter) { return letter == ',' || letter == '\n' || letter == '\r'; }, ';');
  return safe;
}

}  // namespace

ResultFolder::ResultFolder(fs::path folder, Circumstances circumstances)
    : folder_(std::move(folder)), circumstances_(std::move(circumstances)), ledger_(nullptr, std::fclose) {
  std::error_code fault;
  const fs::path ledger = folder_ / ledger_name;
  if (fs::exists(folder_, fault) && !fs::is_directory(folder_, fault)) refuse(folder_, "is a file, not a folder");
  if (fs::exists(folder_, fault) && !fs::is_empty(folder_, fault) && !fs::exists(ledger, fault)) {
    refuse(folder_, "holds files of someone else: a new or empty folder is accepted, or one that this program began");
  }
  fs::create_directories(folder_, fault);
  if (fault) refuse(folder_, "cannot be made: " + fault.message());
  ledger_ = open_to_append(ledger);
  if (flock(fileno(ledger_.get()), LOCK_EX | LOCK_NB) != 0) refuse(folder_, "another c3sim-measure is writing there");
  const std::string text = text_of(ledger);
  // A kill may have torn the head itself; nothing was measured then.
  if (std::count(text.begin(), text.end(), '\n') >= 4) {
    go_on(text);
    return;
  }
  if (ftruncate(fileno(ledger_.get()), 0) != 0) fail(ledger, "write");
  append(ledger_.get(),
         fmt::format("# what c3sim-measure has finished in this folder, and how long each table was then\n"
                     "# environment: {}\n# protocol: {}\n{}\n",
                     circumstances_.environment, circumstances_.protocol, ledger_columns),
         ledger);
}

void ResultFolder::go_on(const std::string& text) {
  const fs::path ledger = folder_ / ledger_name;
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();  // what follows the last line's end: nothing, or a torn line
  const auto same = [&](std::size_t line, std::string_view what, const std::string& now) {
    const std::string mark = fmt::format("# {}: ", what);
    if (!lines[line].starts_with(mark)) refuse(ledger, "is no list of c3sim-measure");
    if (lines[line].substr(mark.size()) == now) return;
    refuse(folder_, fmt::format("was begun in another {}, name another folder for this one\n  then: {}\n  now:  {}",
                                what, lines[line].substr(mark.size()), now));
  };
  same(1, "environment", circumstances_.environment);
  same(2, "protocol", circumstances_.protocol);
  if (lines[3] != ledger_columns) refuse(ledger, "is no list of c3sim-measure");
  std::uintmax_t whole = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    whole += lines[i].size() + 1;
    if (i < 4) continue;
    const std::vector<std::string> cells = split(lines[i], ',');
    std::uintmax_t size = 0;
    const bool read = cells.size() == 5 && kind_of(cells[0]) != nullptr &&
                      std::from_chars(cells[3].data(), cells[3].data() + cells[3].size(), size).ec == std::errc();
    if (!read) refuse(ledger, fmt::format("line {} is none that c3sim-measure writes", i + 1));
    finished_.insert(cells[0] + " " + cells[1]);
    sizes_[cells[0]] = size;
  }
  std::error_code fault;
  for (const Kind& kind : kinds()) {
    const fs::path table = table_of(kind.name);
    const std::uintmax_t is = fs::exists(table, fault) ? fs::file_size(table, fault) : 0;
    const std::uintmax_t was = sizes_[std::string(kind.name)];
    if (is < was) refuse(table, "is shorter than when it was written: someone changed it");
    if (is > was && !text_of(table).starts_with(table_mark)) refuse(table, "is a file of someone else");
  }
  for (const auto& [kind, size] : sizes_) {  // only now that nothing is refused
    const fs::path table = table_of(kind);
    if (fs::exists(table, fault)) fs::resize_file(table, size, fault);
    if (fault) refuse(table, "cannot be written: " + fault.message());
  }
  if (ftruncate(fileno(ledger_.get()), static_cast<off_t>(whole)) != 0) fail(ledger, "write");
}

void ResultFolder::add(const Item& item, const Rows& rows, int gpus) {
  const std::lock_guard lock(mutex_);
  const Kind& kind = *item.kind;
  std::uintmax_t& size = sizes_[std::string(kind.name)];
  std::string text;
  if (size == 0) {
    text = fmt::format("{} on {}; {}\n# {}; {}\n# {}\n{}\n", table_mark, circumstances_.environment,
                       circumstances_.occasion, circumstances_.protocol, kind.times, kind.about, kind.columns);
  }
  for (Row row : rows) {
    row["gpus"] = std::to_string(gpus);
    for (const auto& [column, value] : item.arguments.cells()) row[column] = value;
    std::vector<std::string> cells;
    for (const std::string& column : split(std::string(kind.columns), ',')) {
      const auto found = row.find(column);
      cells.push_back(found == row.end() ? "" : cell(found->second));
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  const fs::path name = table_of(kind.name);
  append(open_to_append(name).get(), text, name);
  size += text.size();
  note(item, "measured", "");
}

void ResultFolder::give_up(const Item& item, std::string_view why) {
  const std::lock_guard lock(mutex_);
  note(item, "given up", why);
}

void ResultFolder::note(const Item& item, std::string_view state, std::string_view why) {
  append(ledger_.get(),
         fmt::format("{},{},{},{},{}\n", item.kind->name, cell(item.arguments.spelled()), state,
                     sizes_[std::string(item.kind->name)], cell(why)),
         folder_ / ledger_name);
  finished_.insert(cell(item.name()));
}

bool ResultFolder::has(const Item& item) const { return finished_.contains(cell(item.name())); }

}  // namespace c3sim::measure
