// Reads the file of `c3sim serve`: words of a ServeQuestion, each with a value or a list of values, and cases, which
// set several words at once. Every combination of values and cases is a point.
//
//   name: prefixes
//   about: What do cached prefixes bring?
//   platform: mi300x
//   model: llama3-70b
//   tp: 8
//   rate: [1, 2, 4]
//   cases:
//     - {name: computed again}
//     - {name: fetched, fetch: batch}
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_section.h"
#include "study/ask/arguments.h"
#include "study/serve/serve_question.h"
#include "study/sweep/sweep_axis.h"

namespace c3sim::study {

// The words that say how requests are drawn, which a trace of requests makes needless.
inline const std::vector<std::string_view> words_of_drawing{"rate",     "requests", "prompt", "output", "stages",
                                                            "arrivals", "reuse",    "burst",  "spread", "least"};

class ServeStudy {
 public:
  // Options of the command line, `given`, override the file. Faults are recorded with `root`, or with `arguments` if
  // they are in an option. All arguments must outlive the study.
  ServeStudy(sim::Section root, const Given& given, const std::filesystem::path& file, Arguments& arguments);

  // Each axis has the name of a word, or "case". Cases come first; the rate comes last and changes fastest.
  const std::vector<SweepAxis>& axes() const { return points_.axes(); }
  std::size_t size() const { return points_.size(); }
  Point point(std::size_t index) const { return points_.point(index); }
  // Returns the question of a point, in which a case overrides what the file says for all, and options override both.
  ServeQuestion question(const Point& point) const;
  // Records a fault with the file or the command line, wherever the word was given.
  void fault(const std::string& word, const std::string& what);

 private:
  SweepAxis read_cases();
  // Removes the axes of the file that the command line overrides: with a trace those of how requests are drawn, with
  // stages the rate, and either rate or concurrency, of which both given in the same place is a fault.
  void choose_how_requests_arrive(std::vector<SweepAxis>& axes);
  // Returns none where neither the file nor the command line gives the word.
  std::optional<SweepAxis> read_axis(const std::string& word);
  // Returns a file's path, which is relative to the file that names it.
  std::string placed(const std::string& word, const std::string& text) const;

  sim::Section root_;
  const Given& given_;
  std::filesystem::path folder_;
  Arguments& arguments_;
  PointSequence points_{{}, {}};
};

}  // namespace c3sim::study
