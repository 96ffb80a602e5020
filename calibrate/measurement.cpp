#include "calibrate/measurement.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "sim/config_text.h"
#include "study/choices.h"

namespace calibrate {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
constexpr double most_microseconds = 3600e6;  // an hour
constexpr double least_microseconds = 1e-3;
constexpr int most_units = 4096;  // CUs, workgroups, peers

// ConCCL (arXiv 2412.14335), Table I: m x n x k.
constexpr std::array<std::pair<std::string_view, models::GemmShape>, 7> table_i{{{"cb1", {8192, 8192, 8192}},
                                                                                 {"cb2", {16384, 8192, 16384}},
                                                                                 {"cb3", {16384, 16384, 8192}},
                                                                                 {"cb4", {18432, 8192, 16384}},
                                                                                 {"cb5", {106496, 8192, 16384}},
                                                                                 {"mb1", {8192, 57344, 8192}},
                                                                                 {"mb2", {16384, 106496, 8192}}}};

// A STREAM triad over arrays of 4 GiB each.
constexpr sim::Bytes triad_bytes = 12.0 * sim::Bytes(1073741824.0);

// The end of a fault about a word that is none of the known ones.
std::string not_known(const std::string& word, const std::vector<std::string>& known) {
  return fmt::format("'{}' is not known; known are: {}", word.substr(0, 40), fmt::join(known, ", "));
}

// Whether concurrent rows of the file may be passed over: what roles.csv beside it says. Throws where the whole file is
// a prediction.
bool listed_for_fits(const std::filesystem::path& path) {
  const std::filesystem::path list = path.parent_path() / "roles.csv";
  std::error_code absent;
  if (!std::filesystem::exists(list, absent)) return false;
  CsvFile roles = CsvFile::from_file(list);
  roles.require({"file", "role"});
  roles.check();
  for (std::size_t row = 0; row < roles.rows(); ++row) {
    const std::string& role = roles.text(row, "role");
    if (role != "calibrate" && role != "predict") roles.fault(row, "role", "calibrate or predict is accepted");
    roles.check();
    if (roles.text(row, "file") != path.filename().string()) continue;
    if (role == "calibrate") return true;
    throw sim::ConfigError(
        {{path.string(), "",
          fmt::format("a fit may not read this file: {}:{} marks it predict", list.string(), roles.line(row))}});
  }
  return false;
}

void refuse_predictions(CsvFile& file) {
  for (std::size_t row = 0; file.has("role") && row < file.rows(); ++row) {
    if (file.text(row, "role") == "predict") file.fault(row, "role", "a fit may not read a row marked predict");
  }
  file.check();
}

class RowReader {
 public:
  RowReader(CsvFile& file, std::size_t row, MeasurementFile& result, bool is_listed)
      : file_(file), row_(row), result_(result), is_listed_(is_listed) {
    measurement_.file = result.name;
    measurement_.where = fmt::format("{}:{}", file.name(), file.line(row));
  }

  void read_run() {
    const std::string& kind = text("kind");
    if (kind == "c3" || kind == "dependent") return file_.fault(row_, "kind", concurrent_run);
    if (text("gemm") != "-" && text("collective") != "-") return leave_out("collective");
    if (kind == "launch") return read_launch();
    if (kind == "gemm") return read_gemm();
    if (kind == "coll") return read_collective();
    if (kind == "p2p") return read_copies();
    if (kind == "stream") return read_stream();
    file_.fault(row_, "kind", not_known(kind, {"launch", "gemm", "coll", "p2p", "stream"}));
  }

  void read_phase();

 private:
  static constexpr auto concurrent_run = "a fit may not read a concurrent run";

  const std::string& text(std::string_view column) const { return file_.text(row_, column); }

  void read_launch() {
    measurement_.subject = Subject::empty_kernel;
    add_run();
  }

  void read_gemm() {
    measurement_.subject = Subject::gemm;
    measurement_.gemm = shape("gemm", text("gemm"));
    measurement_.limit = static_cast<int>(file_.integer(row_, "limit", 1, most_units));
    add_run();
  }

  void read_collective() {
    const std::string& how = text("how");
    if (how == "copy_engine_graph") {
      ++result_.unmodelled;
      return;
    }
    measurement_.collective = collective("collective", text("collective"));
    measurement_.bytes = bytes();
    if (how == "copy_engine") {
      measurement_.subject = Subject::engine_collective;
    } else if (how == "nccl" || how == "nccl_max_ctas") {
      measurement_.subject = Subject::kernel_collective;
      if (how != "nccl") measurement_.limit = static_cast<int>(file_.integer(row_, "limit", 1, most_units));
    } else {
      return file_.fault(row_, "how", not_known(how, {"nccl", "nccl_max_ctas", "copy_engine", "copy_engine_graph"}));
    }
    add_run();
  }

  void read_copies() {
    const std::string& pattern = text("collective");
    if (pattern != "one_peer" && pattern != "fan_out") {
      return file_.fault(row_, "collective", not_known(pattern, {"one_peer", "fan_out"}));
    }
    measurement_.subject = pattern == "one_peer" ? Subject::copy : Subject::fan_out;
    measurement_.bytes = bytes();
    measurement_.limit = static_cast<int>(file_.integer(row_, "limit", 1, most_units));
    add_run();
  }

  void read_stream() {
    measurement_.subject = Subject::stream;
    measurement_.bytes = bytes();
    add_run();
  }

  // A row of computation and communication at once.
  void leave_out(std::string_view column) {
    if (is_listed_) {
      ++result_.concurrent;
    } else {
      file_.fault(row_, column,
                  std::string(concurrent_run) + " (it passes over one where roles.csv lists the file as calibrate)");
    }
  }

  void add_run() {
    const double microseconds = file_.number(row_, "all_us", least_microseconds, most_microseconds);
    measurement_.time = sim::to_seconds(sim::Time(static_cast<std::int64_t>(microseconds * 1e6)));
    result_.measurements.push_back(std::move(measurement_));
  }

  sim::Bytes bytes() { return sim::Bytes(static_cast<double>(file_.integer(row_, "bytes", 1, most_bytes))); }

  models::GemmShape shape(std::string_view column, std::string_view name) {
    for (const auto& [known, shape] : table_i) {
      if (known == name) return shape;
    }
    const models::ParsedGemmShape parsed = models::parse_gemm_shape(name);
    if (!parsed.ok()) file_.fault(row_, column, parsed.error + ", or cb1 to cb5, mb1, mb2 of ConCCL's Table I");
    return parsed.shape;
  }

  models::CollectiveKind collective(std::string_view column, const std::string& name) {
    std::vector<std::string> known;
    for (const auto& [choice, kind] : study::collective_choices()) {
      if (choice == name) return kind;
      known.emplace_back(choice);
    }
    file_.fault(row_, column, not_known(name, known));
    return models::CollectiveKind::all_gather;
  }

  // Of all-gather, after the prefix of its phase.
  sim::Bytes array_of(std::string_view phase, std::string_view prefix) {
    const sim::Parsed<std::int64_t> size = sim::parse_integer(phase.substr(prefix.size()));
    if (!size.error.empty() || size.value < 1 || size.value > most_bytes) {
      file_.fault(row_, "phase",
                  fmt::format("a whole number of bytes from 1 to {} is due after {}", most_bytes, prefix));
    }
    return sim::Bytes(static_cast<double>(size.value));
  }

  CsvFile& file_;
  std::size_t row_;
  MeasurementFile& result_;
  bool is_listed_;
  Measurement measurement_;
};

// Phases are idle, triad, gemm_SHAPE, nccl_ag_BYTES, ce_ag_BYTES; and c3_... for concurrent ones.
void RowReader::read_phase() {
  const std::string& phase = text("phase");
  if (phase.starts_with("c3_")) return leave_out("phase");
  if (phase == "idle") {
    measurement_.subject = Subject::idle;
  } else if (phase == "triad") {
    measurement_.subject = Subject::stream;
    measurement_.bytes = triad_bytes;
  } else if (phase.starts_with("gemm_")) {
    measurement_.subject = Subject::gemm;
    measurement_.gemm = shape("phase", std::string_view(phase).substr(5));
  } else if (phase.starts_with("nccl_ag_")) {
    measurement_.subject = Subject::kernel_collective;
    measurement_.bytes = array_of(phase, "nccl_ag_");
  } else if (phase.starts_with("ce_ag_")) {
    measurement_.subject = Subject::engine_collective;
    measurement_.bytes = array_of(phase, "ce_ag_");
  } else {
    return file_.fault(row_, "phase",
                       not_known(phase, {"idle", "triad", "gemm_SHAPE", "nccl_ag_BYTES", "ce_ag_BYTES"}));
  }
  measurement_.power = sim::Watts(file_.number(row_, "mean_power_W", 1e-3, 1e5));
  const sim::Hertz clock(file_.number(row_, "mean_sm_clock_MHz", 1.0, 1e5) * 1e6);
  if (measurement_.subject == Subject::gemm) measurement_.clock = clock;  // nothing else holds it back
  result_.measurements.push_back(std::move(measurement_));
}

}  // namespace

MeasurementFile read_measurements(const std::filesystem::path& path) {
  const bool is_listed = listed_for_fits(path);
  return measurements_of(CsvFile::from_file(path), is_listed);
}

MeasurementFile measurements_of(CsvFile file, bool is_listed) {
  refuse_predictions(file);
  const bool phases = file.has("phase");
  file.require(phases ? std::vector<std::string>{"phase", "mean_power_W", "mean_sm_clock_MHz"}
                      : std::vector<std::string>{"kind", "gemm", "collective", "bytes", "how", "limit", "all_us"});
  file.check();
  MeasurementFile result;
  result.name = std::filesystem::path(file.name()).filename().string();
  for (std::size_t row = 0; row < file.rows(); ++row) {
    RowReader reader(file, row, result, is_listed);
    if (phases) {
      reader.read_phase();
    } else {
      reader.read_run();
    }
  }
  file.check();
  return result;
}

}  // namespace calibrate
