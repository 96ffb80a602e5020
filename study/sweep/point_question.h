// What is asked of every point of a sweep, and the machines that are asked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/config.h"
#include "study/ask/questions.h"
#include "study/ask/words.h"
#include "study/play/platform_file.h"
#include "study/play/testbed.h"
#include "study/report/results.h"
#include "study/sweep/sweep_axis.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

// The platforms by name that a study starts from; the empty name is that of the study itself.
class Platforms {
 public:
  explicit Platforms(Platform base) { keep("", std::move(base)); }

  // Reads a further one, unless it is there, with the assignments of the base. Throws sim::ConfigError.
  void add(const std::string& name);
  const Platform& base() const { return platforms_.at(""); }
  // The one that an assignment to `platform` names, or the base where there is none.
  const Platform& named(std::span<const Assignment> assignments) const;
  // What the other assignments are to reassign(), scales as what they come to on this platform. Throws
  // sim::ConfigError where something is scaled that is no number of it.
  static std::vector<std::string> texts(const Platform& platform, std::span<const Assignment> assignments);
  // The named platform with the others. Throws sim::ConfigError.
  models::PlatformSpec with(std::span<const Assignment> assignments) const;
  // All that answers depend on, in words.
  std::string text() const;
  // Of the files that this is in, the first that cannot be read now; empty where all can.
  std::string missing_file() const;

 private:
  void keep(const std::string& name, Platform platform);

  std::map<std::string, Platform> platforms_;
  std::vector<std::filesystem::path> files_;  // that points read, as they were there when the platforms were
};

// Whether an assignment changes the machine rather than what is asked of it.
bool is_of_platform(const Assignment& assignment);
// The parameter of a platform that an assignment names; none where there is none.
const sim::Parameter* parameter_of(const Platform& platform, const Assignment& assignment);
// Whether it gives the platform what it has today.
bool is_as_today(const Platform& platform, const Assignment& assignment);

// The machines that points ask: a platform with a point's assignments. The last one is kept, as neighbouring points
// often share it. Used by one thread.
class MachineCache {
 public:
  explicit MachineCache(const Platforms& platforms) : platforms_(platforms) {}

  // Valid until the next call.
  Testbed& machine(std::span<const Assignment> assignments);
  // The machines that one with these assignments may be: what is assigned is known. Valid until the next call.
  const Ensemble& ensemble(std::span<const Assignment> assignments, const Sampling& sampling);
  const Platforms& platforms() const { return platforms_; }

 private:
  const Platforms& platforms_;
  std::vector<Assignment> assignments_;  // of the machine that is kept
  std::unique_ptr<Testbed> testbed_;
  std::size_t asked_ = 0;
  std::vector<Assignment> assignments_of_ensemble_;
  std::unique_ptr<Ensemble> ensemble_;
};

// What is asked of every point of a sweep, by words: those of the command line without dashes ("gemm", "bytes"). A
// question takes words and a machine, and answers with named quantities; sweeps know no more of it.
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
  // The words that it takes, or those of them that it needs so much. A word of an experiment is the name of one of its
  // parameters.
  std::vector<std::string> words(Needed least = Needed::never) const;
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
  Ask ask_;
  std::optional<sim::Config> experiment_;
};

}  // namespace c3sim::study
