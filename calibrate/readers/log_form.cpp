#include "calibrate/readers/log_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>

#include "calibrate/readers/json_records.h"

namespace c3sim::calibrate {

namespace {

constexpr std::string_view gpu_column = "gpu";

std::optional<std::size_t> index_of(const std::vector<std::string>& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name);
  return found == columns.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - columns.begin()));
}

// Reads the parts of a form, and gathers its columns.
class FormReader {
 public:
  explicit FormReader(sim::Section section) : section_(section) {}

  LogForm read() {
    form_.name = section_.text("name");
    form_.about = section_.text("about", "");
    form_.nothing = section_.text("nothing");
    form_.names = read_names(section_, "columns");
    form_.csv = texts(section_, "csv");
    if (section_.has("json")) form_.json = read_json(section_.section("json"));
    if (section_.has("tables")) read_lines();
    form_.recognised = expressions(section_, "recognised");
    form_.says = patterns(section_, "says");
    form_.of_file = patterns(section_, "file");
    form_.defaults = read_words(section_, "defaults");
    for (const auto& [column, word] : form_.defaults) add(column);
    form_.greatest = indices("greatest");
    form_.counted = indices("counted");
    form_.once = indices("once");
    form_.plain = indices("plain");
    form_.zero_is_nothing = indices("zero_is_nothing");
    form_.gpu = add(std::string(gpu_column));
    return std::move(form_);
  }

 private:
  std::size_t add(const std::string& column) {
    if (const auto known = index_of(form_.columns, column)) return *known;
    form_.columns.push_back(column);
    return form_.columns.size() - 1;
  }

  static LogPattern expression(sim::Section& section, std::string_view key, const std::string& text) {
    LogPattern pattern(text);
    if (pattern.is_valid()) return pattern;
    section.fault(key, "'" + text + "' is no regular expression as RE2 has them");
    return LogPattern("$.");
  }
  static std::vector<LogPattern> expressions(sim::Section& section, std::string_view key) {
    std::vector<LogPattern> all;
    if (!section.has(key)) return all;
    for (const std::string& text : section.texts(key)) all.push_back(expression(section, key, text));
    return all;
  }
  static std::optional<LogPattern> expression_at(sim::Section& section, std::string_view key) {
    return section.has(key) ? std::optional(expression(section, key, section.text(key))) : std::nullopt;
  }
  std::vector<LogForm::Pattern> patterns(sim::Section& section, std::string_view key) {
    std::vector<LogForm::Pattern> all;
    for (LogPattern& one : expressions(section, key)) {
      all.push_back({std::move(one)});
      for (const auto& [group, column] : all.back().expression.names())
        all.back().groups.emplace_back(static_cast<std::size_t>(group), add(column));
    }
    return all;
  }

  static LogForm::Names read_words(sim::Section& section, std::string_view key) {
    LogForm::Names words;
    if (!section.has(key)) return words;
    sim::Section own = section.section(key);
    for (const std::string& word : own.keys()) words[word] = own.text(word);
    return words;
  }
  LogForm::Names read_names(sim::Section& section, std::string_view key) {
    LogForm::Names names = read_words(section, key);
    for (const auto& [name, column] : names) add(column);
    return names;
  }
  static std::vector<std::string> texts(sim::Section& section, std::string_view key) {
    return section.has(key) ? section.texts(key) : std::vector<std::string>();
  }

  LogForm::Json read_json(sim::Section section) {
    LogForm::Json json;
    json.recognised = section.texts("recognised");
    json.rows = section.texts("rows");
    json.settings = read_names(section, "settings");
    json.beside = section.text("beside", "");
    json.columns_beside = read_names(section, "columns_beside");
    json.lines = texts(section, "lines");
    return json;
  }

  void read_lines() {
    form_.begins = patterns(section_, "begins");
    form_.ends = patterns(section_, "ends");
    form_.over = expression_at(section_, "over");
    form_.rest_of_row = expression_at(section_, "rest_of_row");
    form_.between = expression_at(section_, "between");
    if (form_.between && form_.between->groups_count() == 0)
      section_.fault("between", "a group for the name of the host, such as (\\S+), is due");
    form_.said_between = patterns(section_, "said_between");
    form_.like_heads = expression_at(section_, "like_heads");
    form_.strange_heads = section_.text("strange_heads", "");
    for (sim::Section& table : section_.list("tables")) {
      form_.tables.push_back({expression(table, "heads", table.text("heads")),
                              expression(table, "row", table.text("row")), table.text("cells", ""),
                              texts(table, "names"), texts(table, "needed"), texts(table, "blank")});
    }
  }

  std::vector<std::size_t> indices(std::string_view key) {
    std::vector<std::size_t> all;
    for (const std::string& column : texts(section_, key)) {
      if (!index_of(form_.columns, column)) section_.fault(key, "no pattern has a group '" + column + "'");
      all.push_back(add(column));
    }
    return all;
  }

  sim::Section section_;
  LogForm form_;
};

bool is_in_any(const std::vector<LogPattern>& patterns, const LogCell& line) {
  return std::ranges::any_of(patterns, [&line](const LogPattern& one) { return one.is_in(line.text); });
}

bool holds(const std::vector<std::size_t>& columns, std::size_t column) {
  return std::ranges::find(columns, column) != columns.end();
}

// Returns the group of that name in a match, or else the whole line.
LogCell named_group(const LogPattern& pattern, const LogCells& found, std::string_view name, const LogCell& line) {
  for (const auto& [group, own] : pattern.names()) {
    if (own == name && !found.empty()) return found[static_cast<std::size_t>(group)];
  }
  return line;
}

// A RunTable gathers the rows of a log and what holds for all rows of one run, and makes a table of them.
class RunTable {
 public:
  RunTable(const LogForm& form, const std::string& name)
      : form_(form),
        file_(std::filesystem::path(name).filename().string()),
        table_(sim::CsvFile::of_columns(form.columns, name)),
        now_(form.columns.size()),
        next_(now_),
        named_(now_) {
    take_name();
  }

  // Puts what a line says into the columns of this run, or of the next one.
  void take(const std::vector<LogForm::Pattern>& patterns, const LogCell& line, LogReading& log, bool of_next = false,
            bool keeps = false) {
    for (const LogForm::Pattern& pattern : patterns) {
      const LogCells found = pattern.expression.groups(line);
      if (found.empty()) continue;
      for (const auto& [group, column] : pattern.groups) {
        if (!keeps || is_unset(now_[column])) put(column, found[group], log, of_next ? next_ : now_);
      }
    }
  }

  void put(std::size_t column, const LogCell& cell, LogReading& log) { put(column, cell, log, now_); }

  // Adds a row, whose cells count more than what holds for the test.
  void add(LogCells cells, const LogCell& place) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (is_unset(cells[i])) cells[i] = now_[i];
    }
    rows_.push_back({std::move(cells), place});
    for (const std::size_t column : form_.once) now_[column] = {};
  }

  // Ends the run. `heads` is the place of what it does not say.
  void end(const std::optional<LogCell>& heads) {
    for (const std::size_t column : form_.counted) {
      if (!words_[column].empty()) now_[column].text = owned(fmt::to_string(words_[column].size()));
    }
    for (const Row& row : std::exchange(rows_, {})) {
      const LogCell missing = heads.value_or(row.place).from(0, 0);
      sim::CsvRow cells{.line = row.place.line, .cells = {}};
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const bool is_late = is_unset(row.cells[i]) || holds(form_.counted, i);
        const LogCell& cell = is_late ? now_[i] : row.cells[i];
        const LogCell& place = is_unset(cell) ? missing : cell;
        cells.cells.push_back({is_unset(cell) ? untold(i) : text_of(i, cell.text), place.line, place.column});
      }
      table_.add(cells);
      rewritten_.clear();
    }
    now_ = std::exchange(next_, std::vector<LogCell>(form_.columns.size()));
    words_.clear();
  }

  std::string_view owned(std::string text) { return owned_.emplace_back(std::move(text)); }
  const sim::CsvFile& table() const { return table_; }

 private:
  struct Row {
    LogCells cells;
    LogCell place;
  };

  static bool is_unset(const LogCell& cell) { return cell.text.empty(); }

  // Puts what the name of the file says into columns, unless it says two things.
  void take_name() {
    for (const LogForm::Pattern& pattern : form_.of_file) {
      const LogCells found = pattern.expression.groups({file_});
      if (found.empty()) continue;
      const auto end = static_cast<std::size_t>(found[0].column - 1) + found[0].text.size();
      if (pattern.expression.is_in(std::string_view(file_).substr(end))) return;
      for (const auto& [group, column] : pattern.groups) named_[column] = found[group];
      return;
    }
  }

  // Returns what stands in a column of which the log says nothing.
  std::string_view untold(std::size_t column) {
    if (!is_unset(named_[column])) return text_of(column, named_[column].text);
    const auto otherwise = form_.defaults.find(form_.columns[column]);
    return otherwise == form_.defaults.end() ? std::string_view() : std::string_view(otherwise->second);
  }

  void put(std::size_t column, const LogCell& cell, LogReading& log, LogCells& cells) {
    if (column == form_.gpu) {
      if (std::ranges::any_of(cell.text, sim::is_letter)) log.set_gpu(cell.text);
      return;
    }
    if (holds(form_.counted, column)) words_[column].emplace(cell.text);
    if (holds(form_.greatest, column)) {
      const auto value = log.integer(cell, 0, most_units - 1, form_.columns[column]);
      const auto known = parse_printed_integer(cells[column].text);
      if (!value || (known.error.empty() && known.value >= *value)) return;
    }
    if (!cell.text.empty()) cells[column] = cell;
  }

  // Returns the cell as tables spell it: numbers as sim::parse_number() reads them, in ASCII, of bounded length.
  std::string_view text_of(std::size_t column, std::string_view text) {
    constexpr std::size_t longest = 256;
    if (holds(form_.plain, column)) return rewritten_.emplace_back(plain_name(text.substr(0, longest)));
    if (text == "nan" || text == "NaN") return "NAN";  // in tables, but not in logs, these mean that nothing is known
    const bool may_be_number = !text.empty() && text.front() <= '9';
    const sim::Parsed<double> number = may_be_number ? parse_printed_number(text) : sim::Parsed<double>();
    if (may_be_number && number.error.empty()) {
      if (number.value == 0.0 && holds(form_.zero_is_nothing, column)) return {};
      if (sim::parse_number(text).error.empty()) return text;
      return rewritten_.emplace_back(fmt::to_string(number.value));
    }
    const bool is_plain =
        text.size() <= longest && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (is_plain) return text;
    std::string& shown = rewritten_.emplace_back(text.substr(0, longest));
    std::ranges::replace_if(
        shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown;
  }

  const LogForm& form_;
  std::string file_;
  sim::CsvFile table_;
  LogCells now_, next_;                                              // what holds for this run, and for the next one
  LogCells named_;                                                   // what the name of the file says
  std::map<std::size_t, std::set<std::string, std::less<>>> words_;  // of counted columns
  std::vector<Row> rows_;
  std::deque<std::string> owned_;
  std::deque<std::string> rewritten_;  // cells of one row
};

// Reads the lines of a log. What a library prints between them may break rows, whose cells a tool prints as they become
// known: what precedes such a message in its line continues in the next line of the tool itself.
class LineReader {
 public:
  LineReader(const LogForm& form, LogReading& log, RunTable& run)
      : form_(form), log_(log), run_(run), telling_(patterns_of_lines(form)) {}

  void read() {
    while (log_.next()) take_line(log_.line());
    end_row();
    run_.end(heads_);
  }

 private:
  static std::vector<const LogPattern*> patterns_of_lines(const LogForm& form) {
    std::vector<const LogPattern*> all;
    for (const auto* const patterns : {&form.says, &form.begins, &form.ends}) {
      for (const LogForm::Pattern& one : *patterns) all.push_back(&one.expression);
    }
    for (const LogForm::Table& table : form.tables) all.push_back(&table.heads);
    for (const auto* const one : {&form.over, &form.like_heads}) {
      if (*one) all.push_back(&**one);
    }
    return all;
  }

  void take_line(const LogCell& line) {
    const std::optional<std::size_t> message = message_in(line);
    const LogCell own = message ? line.from(0, *message) : line;
    if (trimmed(own).text.empty() && (message || row_)) return;
    if (row_ && (table_->row.is_in(own.text) || !form_.rest_of_row->is_in(own.text))) end_row();
    if (row_) {
      row_->text = run_.owned(std::string(row_->text) + " " + std::string(own.text));
      cells_ = cells_of(*row_);
    } else if (table_ == nullptr || !table_->row.is_in(own.text)) {
      return read_line(own);
    } else {
      row_ = own;
      cells_ = cells_of(*row_);
    }
    if (!form_.rest_of_row || cells_.size() >= columns_.size()) end_row();
  }

  // Returns where a message of a library begins. The name of its host, directly after a number, is recognised from the
  // lines above.
  std::optional<std::size_t> message_in(const LogCell& line) {
    if (!form_.between) return {};
    const LogCells found = form_.between->groups(line);
    if (found.empty()) return {};
    run_.take(form_.said_between, found[0], log_);
    std::size_t begin = static_cast<std::size_t>(found[0].column - line.column);
    const LogCell host = trimmed(found[1]);
    if (trimmed(line.from(0, begin)).text.empty()) hosts_.emplace(host.text);
    for (const std::string& known : hosts_) begin = std::min(begin, line.text.find(known + ":"));
    return begin;
  }

  void read_line(const LogCell& line) {
    if (!telling_.is_any_in(line.text)) return;
    const auto is_any = [&line](const std::vector<LogForm::Pattern>& patterns) {
      return std::ranges::any_of(patterns, [&line](const auto& one) { return one.expression.is_in(line.text); });
    };
    if (is_any(form_.ends)) return run_.take(form_.ends, line, log_, false, true);
    if (form_.over && form_.over->is_in(line.text)) table_ = nullptr;
    const bool begins = is_any(form_.begins);
    if (begins) begin_run();
    run_.take(form_.says, line, log_, heads_ && !begins && !form_.begins.empty());
    for (const LogForm::Table& table : form_.tables) {
      if (const LogCells found = table.heads.groups(line); !found.empty())
        return read_heads(table, trimmed(named_group(table.heads, found, "heads", line)));
    }
    if (!form_.like_heads || !form_.like_heads->is_in(line.text)) return;
    log_.fault(trimmed(line), "", form_.strange_heads);
    begin_run();
    table_ = nullptr;
  }

  void read_heads(const LogForm::Table& table, const LogCell& line) {
    if (!form_.begins.empty()) begin_run();
    table_ = &table;
    LogCells cells = cells_of(line);
    if (!table.names.empty()) {
      cells.clear();
      for (const std::string& name : table.names) cells.push_back({name, line.line, line.column});
    }
    if (!heads_) heads_ = cells.front();
    shown_.take_heads(cells);
    for (const std::string& name : table.needed) shown_.require(name);
    columns_.clear();
    blank_.clear();
    std::map<std::string, int> times;
    for (const std::string& name : shown_.names()) {
      const int nth = ++times[name];
      const auto column = form_.names.find(nth == 1 ? name : name + fmt::to_string(nth));
      blank_.push_back(std::ranges::find(table.blank, name) != table.blank.end());
      columns_.push_back(column == form_.names.end() ? std::nullopt : index_of(form_.columns, column->second));
    }
  }

  LogCells cells_of(const LogCell& line) const {
    const bool is_part = !table_->row.names().empty();
    const LogCell cells =
        is_part ? trimmed(named_group(table_->row, table_->row.groups(line), "row", line)) : trimmed(line);
    return table_->separator.empty() ? words_of(cells) : fields_of(cells, table_->separator);
  }

  // Reads the row as far as it goes.
  void end_row() {
    const std::optional<LogCell> line = std::exchange(row_, {});
    if (!line || !shown_.is_readable()) return;
    LogCells cells = std::move(cells_);
    if (cells.size() + static_cast<std::size_t>(std::ranges::count(blank_, true)) == columns_.size()) {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (blank_[i]) cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(i), line->from(0, 0));
      }
    }
    if (!shown_.take_row(std::move(cells), !log_.is_cut())) return;
    LogCells row(form_.columns.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i]) row[*columns_[i]] = shown_.row()[i];
    }
    run_.add(std::move(row), trimmed(*line));
  }

  void begin_run() {
    if (!heads_) return;
    run_.end(heads_);
    heads_.reset();
    table_ = nullptr;
  }

  const LogForm& form_;
  LogReading& log_;
  RunTable& run_;
  const LogForm::Table* table_ = nullptr;  // that rows belong to
  LogTable shown_{log_};
  std::vector<std::optional<std::size_t>> columns_;  // of the form, by columns of the table
  std::vector<bool> blank_;                          // by columns of the table
  std::optional<LogCell> heads_;                     // where the table of this run begins
  LogPatterns telling_;                              // what read_line() looks for
  LogCells cells_;                                   // of the row that is not complete yet
  std::optional<LogCell> row_;                       // a row that is not complete yet
  std::set<std::string> hosts_;
};

class RecordReader {
 public:
  RecordReader(const LogForm& form, LogReading& log, RunTable& run) : form_(form), log_(log), run_(run) {}

  void read_json(std::string_view text) {
    const auto fault = read_json_records(text, [this](const JsonRecord& record) { take(record); });
    if (fault) log_.fault(fault->at, "", fault->what);
    run_.end({});
  }

  void read_csv(std::string_view text) {
    CsvTable rows(text, log_);
    for (const std::string& column : form_.csv) rows.require(column);
    while (rows.next()) {
      LogCells cells(form_.columns.size());
      for (std::size_t i = 0; i < rows.names().size(); ++i)
        put(form_.names, rows.names()[i], rows.row()[i],
            [&](std::size_t at, const LogCell& cell) { cells[at] = cell; });
      run_.add(std::move(cells), rows.row().front());
      run_.end({});
    }
  }

 private:
  template <class Put>
  void put(const LogForm::Names& names, std::string_view key, LogCell cell, const Put& put_in) {
    std::string name(key);
    std::ranges::replace(name, '.', '_');
    const auto column = names.find(name);
    if (column == names.end()) return;
    cell.text = run_.owned(std::string(cell.text));
    put_in(*index_of(form_.columns, column->second), cell);
  }

  void take(const JsonRecord& record) {
    const LogForm::Json& json = *form_.json;
    const auto has = [&record](const std::string& key) { return record.has(key); };
    if (record.is_whole && std::ranges::any_of(json.rows, has)) return take_row(record);
    const bool is_root = record.path.empty();
    if (!is_root && (!record.is_whole || !record.has(json.beside))) return;
    const auto of_run = [this](std::size_t at, const LogCell& cell) { run_.put(at, cell, log_); };
    for (const JsonValue& value : record.values)
      put(is_root ? json.settings : json.columns_beside, value.key, value.cell(), of_run);
    for (const std::string& key : is_root ? json.lines : std::vector<std::string>()) {
      std::string words;
      for (const JsonValue& value : record.values) words += value.key == key ? value.text + " " : "";
      run_.take(form_.says, {run_.owned(words), record.at.line, record.at.column}, log_);
    }
  }

  void take_row(const JsonRecord& record) {
    LogCells cells(form_.columns.size());
    for (const JsonValue& value : record.values) {
      put(form_.names, value.key, value.cell(), [&cells](std::size_t at, const LogCell& cell) {
        if (cells[at].text.empty()) cells[at] = cell;
      });
    }
    run_.add(std::move(cells), record.at);
  }

  const LogForm& form_;
  LogReading& log_;
  RunTable& run_;
};

}  // namespace

LogForm LogForm::read(sim::Section section) { return FormReader(section).read(); }

bool LogForm::recognises(std::string_view text) const {
  if (is_json(text)) {
    return json &&
           std::ranges::any_of(json->recognised, [text](const std::string& word) { return has_text(text, word); });
  }
  constexpr int first_lines = 200;  // tell the tools of which no row is read
  return has_csv_columns(text) || has_line(text, [this](const LogCell& line) {
           return (!tables.empty() || line.line <= first_lines) && is_in_any(recognised, line);
         });
}

bool LogForm::has_csv_columns(std::string_view text) const {
  LogReading log("");
  const CsvTable table(text, log);
  return !csv.empty() &&
         std::ranges::all_of(csv, [&table](const std::string& one) { return table.find(one).has_value(); });
}

LogTool LogTool::read(sim::Section section, const std::string& name) {
  LogTool tool;
  for (const sim::Section& log : section.list("logs")) tool.logs.push_back(LogForm::read(log));
  if (section.has("rows")) tool.table = TableFormat::read(section, name);
  return tool;
}

Reading read_log(const LogForm& form, const TableFormat& table, std::string_view text, const std::string& name) {
  LogReading log(name, text);
  RunTable run(form, name);
  if (form.json && is_json(text)) {
    RecordReader(form, log, run).read_json(text);
  } else if (form.has_csv_columns(text)) {
    RecordReader(form, log, run).read_csv(text);
  } else {
    LineReader(form, log, run).read();
  }
  Reading read = read_table(run.table(), table);
  Reading reading = std::move(log).take();
  if (reading.gpu.empty()) reading.gpu = read.gpu;
  reading.remarks = std::move(read.remarks);
  reading.measurements = std::move(read.measurements);
  reading.left_out = std::move(read.left_out);
  reading.faults.insert(reading.faults.end(), read.faults.begin(), read.faults.end());
  if (reading.measurements.empty() && reading.left_out.empty() && reading.faults.empty())
    reading.faults.push_back({fmt::format("{}:1:1", name), "", form.nothing});
  return reading;
}

}  // namespace c3sim::calibrate
