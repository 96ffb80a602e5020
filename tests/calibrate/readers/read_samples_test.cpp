// Tests what is read of logs, of tables and their forms, of files in one folder and of the fields of a row, by the
// samples of tests/data/samples.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "calibrate/measurement_files.h"
#include "calibrate/readers/trial_fields.h"
#include "calibrate/replay/replay_report.h"
#include "study/play/platform_file.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/calibrate/readers/read_table.h"
#include "tests/calibrate/readers/reading_words.h"
#include "tests/calibrate/script.h"
#include "tests/calibrate/shipped_files.h"

namespace c3sim::calibrate {
namespace {

template <class Read>
std::string words_or_refusal(const Read& read) {
  try {
    return read();
  } catch (const sim::ConfigError& error) {
    return words_of(error.faults(), "refused");
  }
}

// The name of the input is the name of the format, then a blank and the name of the file.
TEST(ReadSamples, OfLogs) {
  expect_samples("logs.samples", [](const Sample& sample) {
    const auto& [name, text] = sample.inputs.at(0);
    const std::size_t end = name.rfind(' ');
    return full_words_of(read_as(name.substr(0, end), text, name.substr(end + 1)));
  });
}

// Each line is a transfer in words of TransferBench: from, by, to and the number of bytes, 64 MiB by default, at 48
// GB/s. They are a test each ("alone") or one test ("at once").
TEST(ReadSamples, OfTransfers) {
  expect_samples("transfers.samples", [](const Sample& sample) {
    const auto& [how, text] = sample.inputs.at(0);
    std::string log;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = words_of_line(line);
      log += fmt::format(" Transfer 00 | 48.000 GB/s | 1.0 ms | {} bytes | {} -> {} -> {}\n{}",
                         words.size() > 3 ? words[3] : "67108864", words.at(0), words.at(1), words.at(2),
                         how == "alone" ? " Aggregate\n" : "");
    }
    const std::string words = full_words_of(read_as("TransferBench", log + " Aggregate\n", "f.log"));
    return words.substr(words.find('\n') + 1);  // without its format
  });
}

// The first input is the form of a table, the second the table.
TEST(ReadSamples, OfTables) {
  expect_samples("tables.samples", [](const Sample& sample) {
    return words_or_refusal([&] {
      return full_words_of(read_table(sim::CsvFile::from_text(sample.inputs.at(1).second, "runs/f.csv"),
                                      format_from(sample.inputs.at(0).second)));
    });
  });
}

// The forms of these tables are those of configs/formats/.
TEST(ReadSamples, OfTablesByShippedForms) {
  expect_samples("shipped_forms.samples", [](const Sample& sample) {
    const auto& table = sample.inputs.at(0);  // its name and its text
    return words_or_refusal([&] { return full_words_of(shipped().read_text(table.second, table.first)); });
  });
}

TEST(ReadSamples, OfForms) {
  expect_samples("forms.samples", [](const Sample& sample) {
    return words_or_refusal([&] {
      const TableFormat format = format_from(sample.inputs.at(0).second);
      return fmt::format("needs {}, of runs to come {}{}\n", fmt::join(format.needed_columns(), " "),
                         fmt::join(format.needed_columns(Rows::all), " "),
                         format.is_of_one_machine() ? "; is of one machine" : "");
    });
  });
}

// Reads the first of several files that lie in one folder, and returns what was read.
std::string words_of_folder(const Sample& sample,
                            const std::function<std::string(const std::filesystem::path&)>& read) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "read_samples";
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : sample.inputs) std::ofstream(folder / name, std::ios::binary) << text;
  std::string words = words_or_refusal([&] { return read(folder / sample.inputs.at(0).first); });
  std::filesystem::remove_all(folder);
  return boost::replace_all_copy(words, folder.string() + "/", "");
}

TEST(ReadSamples, OfFilesBesideEachOther) {
  expect_samples("files.samples", [](const Sample& sample) {
    return words_of_folder(sample,
                           [](const std::filesystem::path& file) { return full_words_of(shipped().read(file)); });
  });
}

TEST(ReadSamples, OfFilesForAFit) {
  expect_samples("fit_files.samples", [](const Sample& sample) {
    return words_of_folder(sample, [](const std::filesystem::path& file) {
      const Reading admitted = admit_to_fit(shipped().read(file));
      return full_words_of(admitted) + words_or_refusal([&] {
               require_measurements({admitted});
               return std::string();
             });
    });
  });
}

// The name of the input is the kind of the trial, and each line a field. The output tells in words what is read, the
// command that asks for it, if there is one, and why a node of eight MI300X cannot run it.
TEST(ReadSamples, OfFields) {
  expect_samples("fields.samples", [](const Sample& sample) {
    const auto& [kind, text] = sample.inputs.at(0);
    Fields fields;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equals = line.find('=');
      fields[line.substr(0, equals)] = line.substr(equals + 1);
    }
    std::vector<sim::Fault> faults;
    const study::Trial trial = read_trial(kind, fields, faults);
    std::string words;
    for (const sim::Fault& fault : faults) words += fault.where + ": " + fault.what + '\n';
    if (!faults.empty()) return words;
    static study::Testbed testbed(study::read_platform(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml", {}).spec);
    const std::string why_not = study::why_impossible(testbed, trial);
    const std::string command = study::command_of(trial);
    words = fmt::format("{}\n{}", study::to_string(trial), study::kind_of(trial));
    words += (command.empty() ? "" : ": " + command) + '\n';
    return words + (why_not.empty() ? "" : "impossible on an MI300X: " + why_not + '\n');
  });
}

// These tests read each sample of tests/data/cases and expect the text of the file with ".expected" after its name.
const std::vector<std::string> platforms{"h200", "mi300x", "mi355x"};

// Steps by microseconds, and what communicates, by class.
std::string words_of_profile(const Profile& profile) {
  std::string text;
  for (const study::NamedTable& table : profile_tables(profile)) {
    if (table.key != "steps" && table.key != "communication") continue;
    for (const std::vector<study::Cell>& row : table.table.rows()) {
      const bool is_step = table.key == "steps";
      text += fmt::format(
          "{} {}: {}\n", is_step ? "step" : "communicates", std::get<std::string>(row[1]),
          is_step ? fmt::format("{:.1f} us, communication {:.1f}", std::get<double>(row[3]), std::get<double>(row[6]))
                  : fmt::format("{} kernels, {:.1f} us", std::get<std::int64_t>(row[2]), std::get<double>(row[3])));
    }
  }
  return text;
}

std::string words_of_case(const Reading& reading) {
  std::string text = reading.format + "\n";
  if (!reading.gpu.empty())
    text += fmt::format("gpu: {}, {}\n", reading.gpu, platform_of(reading, platforms).value_or("of no platform"));
  for (const Measurement& one : reading.measurements) {
    const Seen& seen = one.seen.front();
    text += fmt::format("{}: {}: {:.6g} s or B/s{}{}\n", one.where(), study::to_string(one.trial), seen.value,
                        one.assignments.empty() ? "" : " with ", fmt::join(one.assignments, " "));
  }
  if (reading.profile) text += words_of_profile(*reading.profile);
  if (!reading.profile) text += left_out_of(reading);  // a trace lists every kernel by its name
  for (const sim::Fault& remark : reading.remarks) text += fmt::format("remark: {}: {}\n", remark.path, remark.what);
  for (const sim::Fault& fault : reading.faults) text += fmt::format("fault: {}: {}\n", fault.path, fault.what);
  return text;
}

TEST(ReadSamples, OfCases) {
  std::vector<std::filesystem::path> samples;
  const std::filesystem::path folder = C3SIM_SOURCE_DIR "/tests/data/cases";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    if (entry.is_regular_file() && path.extension() != ".expected" && path.filename() != "labels.csv")
      samples.push_back(path);
  }
  std::ranges::sort(samples);
  ASSERT_FALSE(samples.empty());
  for (const std::filesystem::path& sample : samples) {
    std::string read;
    try {
      read = words_of_case(shipped().read(sample));
    } catch (const sim::ConfigError& error) {
      for (const sim::Fault& fault : error.faults()) read += fmt::format("refused: {}\n", fault.what);
    }
    EXPECT_EQ(read, content(sample.string() + ".expected")) << sample;
  }
}

}  // namespace
}  // namespace c3sim::calibrate
