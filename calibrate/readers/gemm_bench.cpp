// Reads what rocblas-bench and hipblaslt-bench print of GEMMs: a line of column names that starts with transA, and
// below it the values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "calibrate/readers/log_reading.h"

namespace c3sim::calibrate {

namespace {

// A GemmBench is what distinguishes one program from the other.
struct GemmBench {
  std::string_view program;  // "rocblas-bench"
  std::string_view rate;     // its column of Gflop/s: "rocblas-Gflops"
  std::string_view library;  // name for people
};
constexpr GemmBench hipblaslt{"hipblaslt-bench", "hipblaslt-Gflops", "hipBLASLt"};
constexpr GemmBench rocblas{"rocblas-bench", "rocblas-Gflops", "rocBLAS"};

// Returns the assignment that makes a platform use the kernels of a layout ("TN") and a format; empty if it has none.
// The names are those of configs/platforms/mi300x.yaml. One table of tiles stands for all layouts of hipBLASLt, whose
// efficiencies are those of TN and of what PyTorch calls; those of rocBLAS are from tables for which Tensile was tuned.
std::string_view kernels_of(const GemmBench& bench, std::string_view layout, models::Dtype dtype) {
  if (bench.library == hipblaslt.library) return "gpu.gemm.library=hipblaslt";
  if (dtype != models::Dtype::bf16) return {};
  if (layout == "NN") return "gpu.gemm.library=rocblas";
  if (layout == "NT") return "gpu.gemm.library=rocblas_nt";
  return layout == "TT" ? "gpu.gemm.library=rocblas_tt" : "";
}

// A FormatOfTypes is a format of products with the names of its operands' types.
struct FormatOfTypes {
  std::string_view type;
  models::Dtype dtype;
};
constexpr std::array formats_of_types{
    FormatOfTypes{"bf16_r", models::Dtype::bf16}, FormatOfTypes{"f16_r", models::Dtype::fp16},
    FormatOfTypes{"f8_r", models::Dtype::fp8}, FormatOfTypes{"f8_fnuz_r", models::Dtype::fp8}};

// Removes the device number that hipblaslt-bench puts before its columns: "[0]:".
LogCell without_device(const LogCell& line) {
  const std::size_t end = line.text.starts_with('[') ? line.text.find("]:") : std::string_view::npos;
  return end == std::string_view::npos ? line : line.from(end + 2);
}

bool are_gemm_heads(const LogCell& line) { return line.text.starts_with("transA,transB,"); }

class BenchReader {
 public:
  BenchReader(const GemmBench& bench, std::string_view text, const std::string& name)
      : bench_(bench), log_(name, text) {}

  Reading read() && {
    while (log_.next()) read_line(trimmed(log_.line()));
    keep_winner();
    return std::move(log_).take("no GEMM: rows of values are accepted below a line of columns");
  }

 private:
  void read_line(const LogCell& line) {
    static const LogPattern device(R"(^Device ID 0 : (.*?)(?::|$))");
    static const LogPattern row("^[NTC],[NTC],");
    const LogCell columns = without_device(line);
    if (const LogCells named = device.groups(line); !named.empty()) {
      log_.set_gpu(named[1].text);
    } else if (line.holds(bench_.program) && line.holds(" -")) {
      read_command(line);
    } else if (line.text.starts_with("Winner")) {
      is_winner_ = true;
    } else if (are_gemm_heads(columns)) {
      table_.take_heads(fields_of(columns, ","));
      for (const std::string_view head : {"M", "N", "K", "us"}) table_.require(head);
    } else if (table_.is_readable() && row.is_in(line.text)) {
      read_row(line);
      is_winner_ = false;
    }
  }

  // Reads the types in a command: -r TYPE, --precision TYPE, --a_type TYPE and the like.
  void read_command(const LogCell& line) {
    static const LogPattern option("^(?:-r|--precision|--[abcd]_type)$");
    const LogCells words = words_of(line);
    types_.clear();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (option.is_in(words[i].text)) types_.emplace(words[i + 1].text);
    }
  }

  void read_row(const LogCell& line) {
    if (!table_.take_row(fields_of(line, ","), !log_.is_cut())) return;
    const std::set<std::string, std::less<>> types = types_of({"a_type", "b_type", "c_type", "d_type"});
    if (types.empty()) {
      return log_.fault(line.from(0, 0), "a_type",
                        fmt::format("the type of the matrices is not said: a line above it with the command that ran "
                                    "({} ... -r {}) is accepted",
                                    bench_.program, formats_of_types.front().type));
    }
    const std::optional<models::Dtype> dtype = format_of(types);
    if (std::string why = why_not(types, dtype); !why.empty()) return log_.leave_out(line.line, std::move(why));
    constexpr int longest_side = 1 << 24;
    const auto m = log_.integer(table_.cell("M"), 1, longest_side, "M");
    const auto n = log_.integer(table_.cell("N"), 1, longest_side, "N");
    const auto k = log_.integer(table_.cell("K"), 1, longest_side, "K");
    const auto time = log_.figure(table_.cell("us"), study::Figure::kernel_time, "us");
    if (m && n && k && time) record(line.line, {.m = *m, .n = *n, .k = *k, .dtype = *dtype}, *time);
  }

  // Returns the types in these columns or, if there are none, in the command.
  std::set<std::string, std::less<>> types_of(std::initializer_list<std::string_view> heads) const {
    std::set<std::string, std::less<>> types;
    for (const std::string_view head : heads) {
      if (const auto column = table_.find(head)) types.emplace(table_.text(column));
    }
    return types.empty() ? types_ : types;
  }

  // Returns the format of a product, whose operands and result have one type; results of fp8 may have two bytes.
  std::optional<models::Dtype> format_of(std::set<std::string, std::less<>> types) const {
    std::set<std::string, std::less<>> operands = types_of({"a_type", "b_type"});
    if (operands.empty()) operands = types;
    if (operands.size() != 1) return {};
    const auto* const found = std::ranges::find(formats_of_types, *operands.begin(), &FormatOfTypes::type);
    if (found == formats_of_types.end()) return {};
    types.erase(*operands.begin());
    if (found->dtype == models::Dtype::fp8) {
      for (const char* const of_result : {"bf16_r", "f16_r"}) types.erase(of_result);
    }
    return types.empty() ? std::optional(found->dtype) : std::nullopt;
  }

  std::string why_not(const std::set<std::string, std::less<>>& types, std::optional<models::Dtype> dtype) const {
    const auto says = [&](std::string_view head, std::string_view other_than) {
      return table_.text(table_.find(head), other_than) != other_than;
    };
    if (!dtype) {
      return fmt::format("its type is {}: GEMMs of bf16, fp16 and fp8 have a model",
                         printable(fmt::format("{}", fmt::join(types, " and "))));
    }
    if (says("batch_count", "1")) return "batched";
    if (says("grouped_gemm", "0")) return "several GEMMs in one kernel";
    if (!kernels_of(bench_, layout(), *dtype).empty()) return {};
    return fmt::format("{}'s kernels for {} of {} are not known: no table of them was measured", bench_.library,
                       layout(), models::to_string(*dtype));
  }

  // Returns the layout, such as "TN": the letters with which a row begins.
  std::string layout() const { return {table_.cell("transA").text.front(), table_.cell("transB").text.front()}; }

  // Rate and time of a row must agree: cells that slipped into other columns do not.
  void record(int line, const models::GemmShape& shape, double time) {
    constexpr double tolerance = 0.02;
    if (const auto column = table_.find(bench_.rate)) {
      constexpr double giga = 1e9;
      const LogCell& rate = table_.cell(column);
      const auto said = log_.number(rate, 0.0, 1e9, bench_.rate);
      if (!said) return;
      const double follows = shape.flops().value() / time;
      if (std::abs(*said * giga - follows) > tolerance * follows) {
        return log_.fault(rate, bench_.rate,
                          fmt::format("{} Gflop/s, where sizes and time make {:.1f}: columns that were mixed up?",
                                      rate.text.substr(0, 40), follows / giga));
      }
    }
    study::GemmTrial trial{shape};
    if (table_.text(table_.find("rotating_buffer"), "0") != "0") trial.operands = study::Operands::rotating;
    found_.emplace_back(measurement_of(line, fmt::format("GEMM of {}, {}", bench_.library, layout()), trial,
                                       {.figure = study::Figure::kernel_time, .value = time},
                                       {std::string(kernels_of(bench_, layout(), shape.dtype))}),
                        is_winner_);
  }

  // The winner is printed again after all solutions that were tried. Only the winner is what the library would run.
  void keep_winner() {
    std::set<study::Trial> won;
    for (const auto& [measurement, is_winner] : found_) {
      if (is_winner) won.insert(measurement.trial);
    }
    for (auto& [measurement, is_winner] : found_) {
      if (!is_winner && won.contains(measurement.trial)) {
        log_.leave_out(measurement.line, "a solution that was tried: the winner is read");
      } else {
        log_.add(std::move(measurement));
      }
    }
  }

  const GemmBench& bench_;
  LogReading log_;
  LogTable table_{log_};
  std::set<std::string, std::less<>> types_;  // in the command
  bool is_winner_ = false;
  std::vector<std::pair<Measurement, bool>> found_;  // true: the measurement is of a winner
};

bool is_of(const GemmBench& bench, std::string_view text) {
  return has_line(text, [&bench](const LogCell& any) {
    const LogCell line = without_device(trimmed(any));
    return are_gemm_heads(line) && line.holds(bench.rate);
  });
}

}  // namespace

const LogFormat hipblaslt_bench{
    "hipblaslt-bench", "times of GEMMs, as hipblaslt-bench prints them",
    [](std::string_view text) { return is_of(hipblaslt, text); },
    [](std::string_view text, const std::string& name) { return BenchReader(hipblaslt, text, name).read(); }};

const LogFormat rocblas_bench{
    "rocblas-bench", "times of GEMMs, as rocblas-bench prints them",
    [](std::string_view text) { return is_of(rocblas, text); },
    [](std::string_view text, const std::string& name) { return BenchReader(rocblas, text, name).read(); }};

}  // namespace c3sim::calibrate
