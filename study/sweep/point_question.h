// What is asked of every point of a sweep, by words: those of the command line without dashes ("gemm", "bytes"). A
// question takes words and a machine, and answers with named quantities; sweeps know no more of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/config.h"
#include "study/ask/questions.h"
#include "study/ask/words.h"
#include "study/report/results.h"
#include "study/sweep/sweep_axis.h"

namespace c3sim::study {

enum class Ask { c3, gemm, collective, copy, kernel, step, serve, run };
constexpr auto all_names(Ask) {
  return sim::names("c3", "gemm", "collective", "copy", "kernel", "step", "serve", "run");
}
using sim::to_string;

class PointQuestion {
 public:
  // `experiment`: the file that `run` plays, not yet read.
  explicit PointQuestion(Ask ask, std::optional<sim::Config> experiment = {});

  Ask ask() const { return ask_; }
  // The words that it takes, and those of them that it must be told. A word of an experiment is the name of one of its
  // parameters.
  std::vector<std::string> words() const;
  std::vector<std::string> required_words() const;
  // What is wrong with a word or the text that it is given, on any machine, and what would be accepted; or empty. Of an
  // experiment, the name of the parameter, and whether all parameters can be evaluated with it on this platform.
  std::string why_not(const Assignment& word, const models::PlatformSpec& platform) const;
  // What stands in the file that the word names, of a model or of requests; empty where it names none.
  std::string text_of_file(const Assignment& word) const;

  // The answer on this machine. Throws sim::ConfigError where the machine cannot do what is asked.
  Results answer(Testbed& testbed, std::span<const Assignment> words) const;
  // The quantities of such an answer and their values: its numbers, and how far they can be trusted. What only repeats
  // a word is left out; of several rows, quantities are named after the first column: "up_projection.end_us".
  struct Quantities {
    std::vector<Column> columns;
    std::vector<Cell> cells;
  };
  Quantities quantities_of(const Results& results) const;

 private:
  std::vector<std::string> words(Needed least) const;

  Ask ask_;
  std::optional<sim::Config> experiment_;
};

}  // namespace c3sim::study
