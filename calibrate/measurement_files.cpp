#include "calibrate/measurement_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile_reading.h"

namespace c3sim::calibrate {

namespace {

// Returns the architecture in a GPU's name, as compilers call it ("AMD Radeon Graphics gfx950"); may be empty.
std::string architecture_in(std::string_view gpu) {
  static const LogPattern gfx("(?i)\\bgfx[0-9a-f]+");
  const LogCells found = gfx.groups({gpu});
  return found.empty() ? std::string() : lower_case(found.front().text);
}

// Returns whether a GPU's name contains a model: any word other than its architecture and the words that drivers use if
// they know no model, as in "AMD Radeon Graphics".
bool names_model(std::string_view gpu) {
  static const LogPattern words(
      "(?i)\\b(?:amd|ati|nvidia|radeon|instinct|tesla|graphics|device|gpu|accelerator|unknown|none|corporation|"
      "advanced micro devices|inc|tm|r|cuda|hip|rocm|gfx[0-9a-f]+)\\b|[^a-z0-9]+");
  return !words.erased_from(std::string(gpu)).empty();
}

// These architectures have only one platform. Their other models (MI300A, MI325X and MI350X) are told by their names.
struct Architecture {
  std::string_view gfx, model;
};
constexpr std::array architectures{Architecture{"gfx942", "mi300x"}, Architecture{"gfx950", "mi355x"}};

bool is_platform(const std::string& named, const ScreenedFor& target) {
  const auto is = [&named](const std::string& other) {
    return !other.empty() && lower_case(named) == lower_case(other);
  };
  return is(target.platform) || is(std::filesystem::path(target.platform).stem().string()) || is(target.machine);
}

// Returns whether a word of the GPU's name begins with the model: a GH200 is no H200, an "H200NVL" is one.
bool is_called(std::string_view gpu, std::string_view model) {
  const auto is_of_word = [](char c) { return sim::is_letter(c) || sim::is_digit(c); };
  const std::string name = lower_case(gpu);
  for (std::size_t at = name.find(model); !model.empty() && at != std::string::npos; at = name.find(model, at + 1)) {
    if (at == 0 || !is_of_word(name[at - 1])) return true;
  }
  return false;
}

// Platforms are named after their GPU, perhaps with a suffix: mi300x_conccl.
std::string model_of(const std::string& platform) { return plain_name(platform.substr(0, platform.find('_'))); }

// Returns whether a GPU is of that model: by its name or, if the name contains no model, by its architecture.
bool is_of_model(std::string_view gpu, std::string_view model) {
  if (names_model(gpu)) return is_called(gpu, model);
  const auto* const known = std::ranges::find(architectures, architecture_in(gpu), &Architecture::gfx);
  return known != architectures.end() && known->model == model;
}

// Returns whether the name identifies a GPU at all.
bool names_gpu(std::string_view gpu) { return names_model(gpu) || !architecture_in(gpu).empty(); }

std::string refusal(std::string_view named, const ScreenedFor& target) {
  return fmt::format("measured on '{}', compared with {}: --platform names another", named.substr(0, 40),
                     target.platform);
}

bool has_a_rate_of_its_own(const Measurement& measurement) {
  const auto* const gemm = std::get_if<study::GemmTrial>(&measurement.trial);
  return !measurement.names_library() && gemm != nullptr && gemm->shape.dtype != models::Dtype::bf16 &&
         gemm->shape.dtype != models::Dtype::fp16;
}

// A Ratio turns the times of one figure of a probe into another figure, if what they are divided by is known.
struct Ratio {
  study::Figure of;
  std::optional<double> over;  // seconds
  study::Figure figure;
};

std::optional<Ratio> ratio_of(study::Figure figure, const Alone& alone) {
  using study::Figure;
  const auto longer = [](std::optional<double> first, std::optional<double> second) {
    return first && second ? std::optional(std::max(*first, *second)) : std::nullopt;
  };
  const std::array ratios{
      Ratio{Figure::time, longer(alone.gemm_in_turn, alone.collective_in_turn), Figure::over_longer_in_turn},
      Ratio{Figure::time, longer(alone.gemm, alone.collective), Figure::over_longer},
      Ratio{Figure::gemm_time, alone.gemm_in_turn, Figure::gemm_stretch_in_turn},
      Ratio{Figure::gemm_time, alone.gemm, Figure::gemm_stretch},
      Ratio{Figure::collective_time, alone.collective_in_turn, Figure::collective_stretch_in_turn},
      Ratio{Figure::collective_time, alone.collective, Figure::collective_stretch}};
  const auto* const found =
      std::ranges::find_if(ratios, [figure](const Ratio& one) { return one.of == figure && one.over; });
  return found == ratios.end() ? std::nullopt : std::optional(*found);
}

// Returns the times of a probe as ratios. Ratios that the file states itself would count twice: they are dropped.
std::vector<Seen> over_alone(const Measurement& probe) {
  std::vector<Seen> ratios;
  for (Seen seen : probe.seen) {
    const std::optional<Ratio> ratio = ratio_of(seen.figure, probe.alone);
    if (!ratio) continue;
    seen.figure = ratio->figure;
    seen.value /= *ratio->over;
    if (seen.low) *seen.low /= *ratio->over;
    if (seen.high) *seen.high /= *ratio->over;
    ratios.push_back(seen);
  }
  return ratios;
}

constexpr double in_microseconds = 1e6;

study::Cell cell(std::size_t value) { return static_cast<std::int64_t>(value); }
study::Cell cell(const std::string& text) { return text.empty() ? study::Cell() : study::Cell(text); }
study::Cell time_cell(double seconds) { return seconds > 0.0 ? study::Cell(seconds * in_microseconds) : study::Cell(); }

// A Summary describes the measurements of one kind in one file.
struct Summary {
  const Measurement* first;
  std::size_t measurements = 0;
  std::optional<study::TrialSize> smallest{}, largest{};
  std::map<Role, std::size_t> roles{};

  void take(const Measurement& one) {
    ++measurements;
    ++roles[one.role];
    study::TrialSize size = study::extent_of(one.trial);
    if (size.words.empty()) return;
    if (!smallest || size.size < smallest->size) smallest = size;
    if (!largest || size.size > largest->size) largest = std::move(size);
  }
  std::string roles_in_words() const {
    if (roles.size() == 1) return std::string(to_string(roles.begin()->first));
    std::vector<std::string> words;
    for (const auto& [role, measured] : roles) words.push_back(fmt::format("{} {}", measured, to_string(role)));
    return fmt::format("{}", fmt::join(words, ", "));
  }
};

std::string figures_of(const Measurement& one) {
  std::vector<std::string_view> keys;
  for (const Seen& seen : one.seen) keys.push_back(study::form_of(seen.figure).key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

// Tables holds the tables of all files and is filled a file at a time.
struct Tables {
  study::ResultTable files{{{"file", "file", ""},
                            {"format", "read as", ""},
                            {"gpu", "GPU that it names", ""},
                            {"platform", "read for", ""},
                            {"measurements", "measurements", ""},
                            {"left_out", "left out", ""},
                            {"faults", "at fault", ""}}};
  study::ResultTable kinds{{{"file", "file", ""},
                            {"group", "group", ""},
                            {"kind", "kind of run", ""},
                            {"figures", "figures", ""},
                            {"measurements", "measurements", ""},
                            {"smallest", "from", ""},
                            {"largest", "to", ""},
                            {"roles", "roles", ""}}};
  study::ResultTable omissions{{{"first", "first at", ""},
                                {"rows", "rows", ""},
                                {"time_us", "which took", "us", 0},
                                {"why", "why they are left out", ""}}};
  study::ResultTable omitted_rows{{{"where", "where", ""},
                                   {"what", "what", ""},
                                   {"time_us", "which took", "us", 1},
                                   {"why", "why it is left out", ""}}};
  study::ResultTable headers{{{"file", "file", ""}, {"header", "what its header says", ""}}};
  study::ResultTable faults{{{"where", "where", ""}, {"path", "of", ""}, {"what", "what", ""}}};
  study::ResultTable rows{{{"where", "where", ""},
                           {"group", "group", "", 2, false},
                           {"trial", "run", ""},
                           {"figure", "figure", ""},
                           {"unit", "unit", ""},
                           {"measured", "measured", "", 3},
                           {"low", "low", "", 3},
                           {"high", "high", "", 3},
                           {"role", "role", ""},
                           {"platform", "platform", "", 2, false},
                           {"assignments", "of the platform", "", 2, false}}};

  void add(const Reading& reading) {
    files.add_row({reading.name, reading.format, cell(reading.gpu), cell(reading.platform),
                   cell(reading.measurements.size()), cell(reading.left_out.size()), cell(reading.faults.size())});
    add_kinds(reading);
    add_omissions(reading);
    for (const std::string& line : reading.header) headers.add_row({reading.name, line});
  }
  void add_rows(const Reading& reading) {
    for (const Measurement& one : reading.measurements) {
      for (const Seen& seen : one.seen) {
        const study::FigureForm& form = study::form_of(seen.figure);
        const auto in_unit = [&form](const std::optional<double>& value) {
          return value ? study::Cell(*value / form.per_unit) : study::Cell();
        };
        rows.add_row({one.where(), one.group, study::to_string(one.trial), std::string(form.key),
                      std::string(form.unit), in_unit(seen.value), in_unit(seen.low), in_unit(seen.high),
                      std::string(to_string(one.role)), one.platform,
                      fmt::format("{}", fmt::join(one.assignments, " "))});
      }
    }
  }

 private:
  void add_kinds(const Reading& reading) {
    // `known` maps group, kind and figures to a place in `summaries`, which keeps the order of the file.
    std::map<std::tuple<std::string, std::string_view, std::string>, std::size_t> known;
    std::vector<Summary> summaries;
    for (const Measurement& one : reading.measurements) {
      const auto [at, is_new] =
          known.try_emplace({one.group, study::kind_of(one.trial), figures_of(one)}, summaries.size());
      if (is_new) summaries.push_back({&one});
      summaries[at->second].take(one);
    }
    const auto words = [](const std::optional<study::TrialSize>& size) {
      return size ? study::Cell(size->words) : study::Cell();
    };
    for (const Summary& one : summaries) {
      kinds.add_row({reading.name, one.first->group, std::string(study::kind_of(one.first->trial)),
                     figures_of(*one.first), cell(one.measurements), words(one.smallest), words(one.largest),
                     one.roles_in_words()});
    }
  }
  // Lists omissions row by row and, since a trace has hundreds of kernels without a model, by reason.
  void add_omissions(const Reading& reading) {
    struct Reason {
      const Omission* first;
      std::size_t rows = 0;
      double seconds = 0.0;
    };
    std::map<std::string, std::size_t> known;
    std::vector<Reason> reasons;
    for (const Omission& omission : reading.left_out) {
      omitted_rows.add_row({omission.where, omission.what, time_cell(omission.seconds), omission.why});
      const auto [at, is_new] = known.try_emplace(omission.why, reasons.size());
      if (is_new) reasons.push_back({&omission});
      ++reasons[at->second].rows;
      reasons[at->second].seconds += omission.seconds;
    }
    for (const Reason& reason : reasons) {
      omissions.add_row({reason.first->where, cell(reason.rows), time_cell(reason.seconds), reason.first->why});
    }
  }
};

// Returns the outcome in words: "12 measurements of 2 files. Left out: 3 rows. 1 fault."
std::string verdict(const MeasurementFiles& files, std::size_t faults) {
  std::size_t measurements = 0;
  std::size_t left_out = 0;
  for (const Reading& reading : files.readings) {
    measurements += reading.measurements.size();
    left_out += reading.left_out.size();
  }
  const auto some = [](std::size_t number, std::string_view thing) {
    return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
  };
  return fmt::format("{} of {}. Left out: {}. {}.", some(measurements, "measurement"), some(files.files, "file"),
                     some(left_out, "row"), some(faults, "fault"));
}

}  // namespace

std::optional<std::string> platform_of_gpu(std::string_view gpu, std::span<const std::string> known) {
  if (!names_gpu(gpu)) return {};
  const std::string* best = nullptr;  // the shortest match: h200 rather than h200_nvl
  for (const std::string& platform : known) {
    if (!is_of_model(gpu, model_of(platform))) continue;
    if (best == nullptr || platform.size() < best->size()) best = &platform;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::optional<std::string> platform_of(const Reading& reading, std::span<const std::string> known) {
  if (names_gpu(reading.gpu)) return platform_of_gpu(reading.gpu, known);
  if (reading.measurements.empty()) return {};
  const ScreenedFor first{reading.measurements.front().platform, ""};
  const bool is_one = std::ranges::all_of(
      reading.measurements, [&first](const Measurement& one) { return is_platform(one.platform, first); });
  if (!is_one) return {};
  const auto named = std::ranges::find_if(known, [&first](const std::string& one) { return is_platform(one, first); });
  return named == known.end() ? std::nullopt : std::optional(*named);
}

bool refuse_other_gpus(Reading& reading, const std::string& path, const ScreenedFor& target) {
  std::vector<sim::Fault> faults;
  bool is_foreign = names_gpu(reading.gpu) && !is_of_model(reading.gpu, model_of(target.machine)) &&
                    !is_of_model(reading.gpu, model_of(std::filesystem::path(target.platform).stem().string()));
  const bool is_unknown = is_foreign && !target.known.empty() && !platform_of_gpu(reading.gpu, target.known);
  if (is_unknown && target.is_asked) {
    reading.remarks.push_back({path, "gpu",
                               fmt::format("measured on '{}', of which there is no platform: compared with {}, as "
                                           "--platform asks",
                                           reading.gpu, target.platform)});
    is_foreign = false;
  } else if (is_unknown) {
    faults.push_back(
        {path, "gpu",
         fmt::format("measured on '{}', of which there is no platform (there are {}): --platform names one "
                     "to compare with",
                     reading.gpu, fmt::join(target.known, ", "))});
  } else if (is_foreign && !reading.measurements.empty()) {
    faults.push_back({path, "gpu", refusal(reading.gpu, target)});
  }
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    if (is_foreign) return true;
    if (one.platform.empty() || is_platform(one.platform, target)) return false;
    sim::Fault fault{fmt::format("{}:{}", path, one.line), "platform", refusal(one.platform, target)};
    if (faults.empty() || faults.back() != fault) faults.push_back(std::move(fault));
    return true;
  });
  reading.faults.insert(reading.faults.end(), faults.begin(), faults.end());
  return is_foreign;
}

void keep_apart(Reading& reading, const std::filesystem::path& file, std::span<const std::filesystem::path> files) {
  if (std::ranges::count(files, file.filename(), &std::filesystem::path::filename) < 2) return;
  for (Measurement& measurement : reading.measurements) measurement.file = file.string();
}

void leave_out_other_nodes(Reading& reading, const ScreenedFor& target) {
  if (target.gpus == 0) return;
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    const auto* const collective = std::get_if<study::CollectiveTrial>(&one.trial);
    if (collective == nullptr || collective->spec.gpus <= target.gpus) return false;
    reading.left_out.push_back(
        {one.where(), fmt::format("of more GPUs than the {} of a node of {}", target.gpus, target.platform),
         fmt::format("{} of {} GPUs", models::to_string(collective->spec.kind), collective->spec.gpus)});
    return true;
  });
}

void refuse_disordered(Reading& reading, const std::string& path) {
  std::optional<study::GemmTrial> first;  // of the series
  int last = 0;
  std::erase_if(reading.measurements, [&](const Measurement& one) {
    const auto* const gemm = std::get_if<study::GemmTrial>(&one.trial);
    if (gemm == nullptr || !gemm->nth) return false;
    const bool begins = !first || first->shape != gemm->shape || *gemm->nth <= *first->nth;
    if (!begins && *gemm->nth <= last) {
      reading.faults.push_back(
          {fmt::format("{}:{}", path, one.line), "",
           fmt::format("run {} of a series stands behind run {}: runs in their order are accepted", *gemm->nth, last)});
      return true;
    }
    if (begins) first = *gemm;
    last = *gemm->nth;
    return false;
  });
}

Reading admit_to_fit(Reading reading) {
  std::erase_if(reading.measurements, [&reading](Measurement& one) {
    const bool is_probe = one.role == Role::probe;
    const bool is_concurrent = study::is_concurrent(one.trial);
    if (is_probe && is_concurrent) one.seen = over_alone(one);
    const std::string why =
        one.role == Role::predict      ? "is marked predict"
        : is_probe && !is_concurrent   ? "is a probe of a run alone: a fit reads those that are marked calibrate"
        : is_probe && one.seen.empty() ? "is a probe without the time of its operation alone"
        : !is_probe && has_a_rate_of_its_own(one) ? "its GEMM is of no type that is fitted: bf16 and fp16 are"
        : !is_probe && is_concurrent              ? "is a concurrent run: a fit reads those alone that are marked probe"
                                                  : "";
    if (!why.empty()) reading.left_out.push_back({one.where(), why});
    return !why.empty();
  });
  return reading;
}

std::string why_nothing_is_left(const Reading& reading) {
  std::map<std::string, int> reasons;
  for (const Omission& omission : reading.left_out) ++reasons[omission.why];
  std::vector<std::string> counted;
  for (const auto& [why, rows] : reasons) counted.push_back(fmt::format("{} ({} of its rows)", why, rows));
  return counted.empty() ? "it has no rows" : fmt::format("{}", fmt::join(counted, "; "));
}

void require_measurements(const std::vector<Reading>& files) {
  std::vector<sim::Fault> faults;
  for (const Reading& file : files) {
    if (!file.measurements.empty()) return;
    faults.insert(faults.end(), file.faults.begin(), file.faults.end());
    if (file.faults.empty())
      faults.push_back({file.name, "", "nothing in it can be fitted to: " + why_nothing_is_left(file)});
  }
  throw sim::ConfigError(std::move(faults));
}

bool MeasurementFiles::is_usable() const {
  return std::ranges::any_of(readings, [](const Reading& reading) { return !reading.measurements.empty(); });
}

void require_files(std::span<const std::filesystem::path> files) {
  std::vector<sim::Fault> faults;
  for (const std::filesystem::path& file : files) {
    if (::access(file.c_str(), R_OK) == 0) continue;
    const std::error_code why(errno, std::generic_category());
    faults.push_back({file.string(), "", why.message()});
  }
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
}

std::vector<std::filesystem::path> each_once(std::span<const std::filesystem::path> files,
                                             std::vector<sim::Fault>& twice) {
  std::set<std::filesystem::path> known;
  std::vector<std::filesystem::path> once;
  for (const std::filesystem::path& file : files) {
    std::error_code absent;
    if (known.insert(std::filesystem::weakly_canonical(file, absent)).second) {
      once.push_back(file);
    } else {
      twice.push_back({file.string(), "", "is given twice: it is read once"});
    }
  }
  return once;
}

MeasurementFiles read_measurement_files(const Reader& reader, std::span<const std::filesystem::path> files,
                                        const TargetOf& target_of, Repeats repeats) {
  MeasurementFiles read;
  const std::vector<std::filesystem::path> once = each_once(files, read.unreadable);
  for (const std::filesystem::path& file : once) {
    ++read.files;
    try {
      Reading reading = reader.read(file);
      const ScreenedFor target = target_of(reading);
      const bool is_refused = refuse_other_gpus(reading, file.string(), target);
      if (!is_refused) reading.platform = target.platform;
      leave_out_other_nodes(reading, target);
      keep_apart(reading, file, once);
      refuse_disordered(reading, file.string());
      read.readings.push_back(std::move(reading));
    } catch (const sim::ConfigError& error) {
      read.unreadable.insert(read.unreadable.end(), error.faults().begin(), error.faults().end());
    }
  }
  tell_waits_of_ranks(read.readings);
  if (repeats == Repeats::refused) refuse_repeated_files(read.readings);
  return read;
}

study::Results report(const MeasurementFiles& files, bool rows) {
  study::Results results;
  Tables tables;
  std::vector<sim::Fault> faults = files.unreadable;
  for (const Reading& reading : files.readings) {
    for (const sim::Fault& remark : reading.remarks) results.warnings.push_back(in_words(remark));
    if (reading.measurements.empty() && reading.left_out.empty() && reading.faults.empty())
      results.warnings.push_back(reading.name + ": it has no rows");
    tables.add(reading);
    if (rows) tables.add_rows(reading);
    faults.insert(faults.end(), reading.faults.begin(), reading.faults.end());
  }
  for (const sim::Fault& fault : faults) tables.faults.add_row({fault.where, fault.path, fault.what});
  if (rows) results.tables.push_back({"rows", "Measurements", std::move(tables.rows)});
  results.tables.push_back({"files", "Files", std::move(tables.files)});
  results.tables.push_back({"kinds", "What was understood", std::move(tables.kinds)});
  results.tables.push_back({"left_out", "What was left out", std::move(tables.omissions)});
  results.tables.push_back({"left_out_rows", "What was left out, row by row", std::move(tables.omitted_rows), rows});
  results.tables.push_back({"headers", "What headers say", std::move(tables.headers)});
  results.tables.push_back({"faults", "What is at fault", std::move(tables.faults), false});
  for (study::NamedTable& table : results.tables) table.in_text = table.in_text && !table.table.rows().empty();
  std::ranges::move(sim::by_cause(faults), std::back_inserter(results.warnings));
  results.notes.push_back(verdict(files, faults.size()));
  return results;
}

}  // namespace c3sim::calibrate
