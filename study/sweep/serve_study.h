// What `c3sim serve` is asked of: words of a ServeQuestion in a file, each with a value or a list of them, and cases,
// which say several words at once. All that they span is a point each.
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
#include "study/ask/option.h"
#include "study/serve/serve_question.h"
#include "study/sweep/sweep_axis.h"

namespace c3sim::study {

class ServeStudy {
 public:
  // `given`, what the command line says, stands instead of what the file does. What is wrong is recorded with `root`,
  // or with `arguments`, of the command line. All of these outlive it.
  ServeStudy(sim::Section root, const Given& given, const std::filesystem::path& file, Arguments& arguments);

  // Each is of a word, or "case": cases first, the rate last, which changes fastest.
  const std::vector<SweepAxis>& axes() const { return points_.axes(); }
  std::size_t size() const { return points_.size(); }
  Point point(std::size_t index) const { return points_.point(index); }
  // Its question, in which a case stands over what the file says of all, and the command line over both.
  ServeQuestion question(const Point& point) const;
  // Records a fault of a word where it was said.
  void fault(const std::string& word, const std::string& what);

 private:
  SweepAxis read_cases();
  // Requests arrive by rate or by concurrency: of both, what the command line says stands, and two in one place are a
  // fault.
  void choose_how_requests_arrive(std::vector<SweepAxis>& axes);
  // Returns nothing where nobody says the word.
  std::optional<SweepAxis> read_axis(const std::string& word);
  // A word as whoever said it wrote it: "--rate", or "rate" of the file.
  std::string typed(const std::string& word) const;
  // Files lie beside the one that names them.
  std::string placed(const std::string& word, const std::string& text) const;

  sim::Section root_;
  const Given& given_;
  std::filesystem::path folder_;
  Arguments& arguments_;
  PointSequence points_{{}, {}};
};

}  // namespace c3sim::study
