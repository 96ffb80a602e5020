// What is read of logs, of tables, of the forms of tables and of the fields of a row, as tests/data/samples says.
#include <gtest/gtest.h>

#include "calibrate/readers/trial_fields.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/calibrate/readers/read_table.h"
#include "tests/calibrate/readers/reading_words.h"
#include "tests/calibrate/shipped_files.h"
#include "tests/samples.h"

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

// The name of the input is that of the format, and of the file behind a blank.
TEST(ReadSamples, OfLogs) {
  expect_samples("logs.samples", [](const Sample& sample) {
    const auto& [name, text] = sample.inputs.at(0);
    const std::size_t end = name.rfind(' ');
    return full_words_of(read_as(name.substr(0, end), text, name.substr(end + 1)));
  });
}

// The form of a table, and the table.
TEST(ReadSamples, OfTables) {
  expect_samples("tables.samples", [](const Sample& sample) {
    return words_or_refusal([&] {
      return full_words_of(read_table(sim::CsvFile::from_text(sample.inputs.at(1).second, "runs/f.csv"),
                                      format_from(sample.inputs.at(0).second)));
    });
  });
}

// Tables by the forms that configs/formats/ ships.
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

// The name of the input is the kind of the trial; a line for each field.
TEST(ReadSamples, OfFields) {
  expect_samples("fields.samples", [](const Sample& sample) {
    const auto& [kind, text] = sample.inputs.at(0);
    Fields fields;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equals = line.find('=');
      fields[line.substr(0, equals)] = line.substr(equals + 1);
    }
    std::vector<FieldFault> faults;
    const study::Trial trial = read_trial(kind, fields, faults);
    std::string words;
    for (const FieldFault& fault : faults) words += fault.field + ": " + fault.what + '\n';
    return faults.empty() ? study::to_string(trial) + '\n' : words;
  });
}

}  // namespace
}  // namespace c3sim::calibrate
