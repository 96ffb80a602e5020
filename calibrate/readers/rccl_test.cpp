#include "calibrate/readers/rccl_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

namespace c3sim::calibrate {

namespace {

using models::CollectiveKind;

// Names that hold others stand before them.
constexpr std::array tested_collectives{TestedCollective{"allreducebias", {}},
                                        TestedCollective{"allreduce", CollectiveKind::all_reduce},
                                        TestedCollective{"allgatherv", {}},
                                        TestedCollective{"allgather", CollectiveKind::all_gather},
                                        TestedCollective{"reducescatter", CollectiveKind::reduce_scatter},
                                        TestedCollective{"alltoallv", {}},
                                        TestedCollective{"alltoall", CollectiveKind::all_to_all},
                                        TestedCollective{"broadcast", CollectiveKind::broadcast},
                                        TestedCollective{"sendrecv", {}},
                                        TestedCollective{"hypercube", {}},
                                        TestedCollective{"gather", {}},
                                        TestedCollective{"scatter", {}},
                                        TestedCollective{"reduce", {}}};

// The number behind the first of these options; nothing where none of them is there.
std::optional<int> option(std::span<const std::string_view> words, std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (std::ranges::find(names, words[i]) == names.end()) continue;
    const sim::Parsed<std::int64_t> parsed = parse_printed_integer(words[i + 1]);
    if (parsed.error.empty() && parsed.value >= 0 && parsed.value <= most_units) return static_cast<int>(parsed.value);
  }
  return {};
}

// The only modelled one that the name of a file names ("all_reduce_8gpus.log"); null where that is none or several.
const TestedCollective* collective_of_file(std::string_view file) {
  const std::filesystem::path path(file);
  if (const TestedCollective* const named = collective_called(path.stem().string())) return named;
  std::string name = plain_name(path.filename().string());
  const TestedCollective* only = nullptr;
  for (const TestedCollective& collective : tested_collectives) {
    constexpr std::size_t longest_plain_word = 7;  // gather, scatter, reduce
    const std::size_t at = name.find(collective.name);
    if (at == std::string::npos || collective.name.size() <= longest_plain_word) continue;
    if (only != nullptr) return nullptr;
    only = &collective;
    name.replace(at, collective.name.size(), " ");
  }
  return only;
}

}  // namespace

const TestedCollective* collective_called(std::string_view word) {
  std::string name = plain_name(word);
  constexpr std::string_view suffix = "perf";
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  const auto* const found = std::ranges::find(tested_collectives, name, &TestedCollective::name);
  return found == tested_collectives.end() ? nullptr : found;
}

int RcclTest::gpus() const {
  if (!ranks.empty()) return std::min(*ranks.rbegin() + 1, most_units);
  if (gpus_each == 0) return 0;
  const std::int64_t here = std::int64_t{gpus_each} * std::max(threads, 1);
  // Each GPU may have a process of its own.
  if (processes == 0 && here == 1) return 0;
  return static_cast<int>(std::min(here * std::max(processes, 1), std::int64_t{most_units}));
}

std::string RcclTest::why_not() const {
  const int nodes = std::max(static_cast<int>(hosts.size()), hosts_said);
  if (!collective->kind) return fmt::format("{} has no model", collective->name);
  if (nodes > 1) return fmt::format("it ran on {} hosts: only one node has a model", nodes);
  if (has_groups) return "several groups of GPUs at once have no model";
  if (aggregated > 1) return fmt::format("{} operations launched as one have no model", aggregated);
  if (gpus() == 1) return "a collective of one GPU moves nothing (processes that know of no other: MPI=1 builds them)";
  return {};
}

bool read_command(std::span<const std::string_view> words, RcclTest& test) {
  const auto program_of = [](std::string_view word) { return word.substr(word.rfind('/') + 1); };  // npos + 1 is 0
  const auto program = std::ranges::find_if(words, [&](std::string_view word) {
    return word.ends_with("_perf") && collective_called(program_of(word)) != nullptr;
  });
  if (program == words.end()) return false;
  const auto before = words.first(static_cast<std::size_t>(program - words.begin()));
  const auto behind = words.subspan(before.size() + 1);
  test.collective = collective_called(program_of(*program));
  static const LogPattern launcher("(?:^|/)(?:mpirun|mpiexec|orterun|prterun|srun)$");
  if (std::ranges::any_of(before, [](std::string_view word) { return launcher.is_in(word); })) {
    test.processes = option(before, {"-np", "-n", "--np"}).value_or(test.processes);
  }
  test.threads = option(behind, {"-t", "--nthreads"}).value_or(test.threads);
  test.gpus_each = option(behind, {"-g", "--ngpus"}).value_or(test.gpus_each);
  test.aggregated = option(behind, {"-m", "--agg_iters"}).value_or(test.aggregated);
  test.graph = option(behind, {"-G", "--hipgraph", "--cudagraph"}).value_or(test.graph);
  test.blocking = option(behind, {"-z", "--blocking"}).value_or(test.blocking);
  return true;
}

void record(const RcclRow& row, const RcclTest& test, LogReading& log) {
  if (std::string why = test.why_not(); !why.empty()) return log.leave_out(row.line, std::move(why));
  if (!row.bytes) return log.leave_out(row.line, "nothing is moved: its size is 0");
  if (row.wrong > 0.0) return log.leave_out(row.line, "elements came out wrong");
  if (row.of_host_time) return log.leave_out(row.line, "the time of the host's calls is compared with nothing");
  const std::optional<double> time = row.out_of_place ? row.out_of_place : row.in_place;
  if (!time) return log.leave_out(row.line, "nothing was measured of what is compared");

  models::CollectiveSpec spec;
  spec.kind = *test.collective->kind;
  spec.bytes = *row.bytes;
  spec.gpus = test.gpus();
  spec.dtype = row.dtype;
  if (spec.kind == CollectiveKind::all_reduce) spec.algorithm = test.algorithm;
  Seen seen{.figure = study::Figure::time, .value = *time};
  if (row.out_of_place && row.in_place) {
    std::tie(seen.low, seen.high) = std::minmax(*row.out_of_place, *row.in_place);
  }
  std::vector<std::string> assignments;
  if (test.blocking > 0) {
    assignments.emplace_back("host.protocol=rounds");
  } else {
    assignments.emplace_back(test.graph > 0 ? "host.protocol=graph" : "host.protocol=stream");
  }
  log.add(row.line,
          fmt::format("{}, rccl-tests{}{}", models::to_string(spec.kind), test.graph > 0 ? ", graph" : "",
                      test.blocking > 0 ? ", one by one" : ""),
          study::CollectiveTrial{spec}, seen, std::move(assignments));
}

models::ElementType element_type_called(std::string_view type) {
  using enum models::ElementType;
  static const LogPattern byte("^(?:u?int8|char)");
  static const LogPattern integer("^(?:u?int|u?long)");
  static const LogPattern eight_bits("^(?:fp8|f8)");
  if (byte.is_in(type)) return int8;
  if (integer.is_in(type)) return int32;
  if (eight_bits.is_in(type)) return fp8;
  if (type.starts_with("bfloat")) return bf16;
  return type.starts_with("half") ? fp16 : fp32;
}

double wrong_elements(const LogCell& cell, std::string_view path, LogReading& log) {
  constexpr double unchecked = -1.0;
  return cell.text == "N/A" ? 0.0 : log.number(cell, unchecked, 1e18, path).value_or(0.0);
}

bool knows_collective(RcclTest& test, const LogCell& at, LogReading& log) {
  if (test.collective == nullptr) test.collective = collective_of_file(log.name());
  if (test.collective != nullptr) return true;
  log.fault(at, "collective",
            "the log does not say which one it measured; accepted are the command that ran it (all_reduce_perf), "
            "or a file named after it: all_reduce.txt, all_gather, reduce_scatter, alltoall, broadcast");
  return false;
}

}  // namespace c3sim::calibrate
