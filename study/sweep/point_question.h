// A PointQuestion is what a sweep asks of every point; Platforms and MachineCache provide the machines that answer it.
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

// Platforms holds the platforms that a study starts from, by name; the empty name is that of the study's own platform.
class Platforms {
 public:
  explicit Platforms(Platform base) { keep("", std::move(base)); }
  // Reads another platform, unless it is known, with the assignments of the base. Throws sim::ConfigError.
  void add(const std::string& name);
  const Platform& base() const { return platforms_.at(""); }
  // Returns the platform that an assignment to `platform` names, or the base where there is no such assignment.
  const Platform& named(std::span<const Assignment> assignments) const;
  // Returns the other assignments as reassign() takes them, with scales replaced by the scaled values of this platform.
  // Throws sim::ConfigError where a scale names no parameter whose value is a number.
  static std::vector<std::string> texts(const Platform& platform, std::span<const Assignment> assignments);
  // Returns the named platform with the other assignments made. Throws sim::ConfigError.
  models::PlatformSpec with(std::span<const Assignment> assignments) const;
  // Returns a text of everything in the platforms that answers depend on.
  std::string text() const;
  // Returns the first file that points read and that cannot be read now; empty where all can be.
  std::string missing_file() const;

 private:
  void keep(const std::string& name, Platform platform);

  std::map<std::string, Platform> platforms_;
  std::vector<std::filesystem::path> files_;  // files that points read and that existed when the platforms were read
};

// Returns whether an assignment changes the machine rather than the question.
bool is_of_platform(const Assignment& assignment);
// Returns whether an assignment says that the machine lacks no mechanism, which changes nothing.
bool lacks_nothing(const Assignment& assignment);
// Returns the parameter of a platform that an assignment names, or a null pointer where there is none.
const sim::Parameter* parameter_of(const Platform& platform, const Assignment& assignment);
// Returns whether the assignment sets a parameter to the value that the platform has today.
bool is_as_today(const Platform& platform, const Assignment& assignment);

// A MachineCache makes the machine of a point: a platform with the point's assignments. It keeps the last machine, as
// neighbouring points often share it. One thread uses it.
class MachineCache {
 public:
  explicit MachineCache(const Platforms& platforms) : platforms_(platforms) {}
  // Has `own` answer points that do not change the machine.
  MachineCache(const Platforms& platforms, Testbed& own) : platforms_(platforms), own_(&own) {}

  // Returns a machine that is valid until the next call.
  Testbed& machine(std::span<const Assignment> assignments);
  // Returns the machines that this one may be; assigned values are certain. Valid until the next call.
  const Ensemble& ensemble(std::span<const Assignment> assignments, const Sampling& sampling);
  const Platforms& platforms() const { return platforms_; }

 private:
  const Platforms& platforms_;
  Testbed* own_ = nullptr;
  std::vector<Assignment> assignments_;  // of the machine that is kept
  std::unique_ptr<Testbed> testbed_;
  std::size_t asked_ = 0;
  std::vector<Assignment> assignments_of_ensemble_;
  std::unique_ptr<Ensemble> ensemble_;
};

// The question asked of every point. Its words are the options of the command line without dashes ("gemm", "bytes"). A
// question takes words and a machine and answers with named quantities; sweeps know nothing else about it.
enum class Ask { c3, gemm, collective, copy, kernel, step, serve, run };
constexpr auto all_names(Ask) {
  return sim::names("c3", "gemm", "collective", "copy", "kernel", "step", "serve", "run");
}
using sim::to_string;

// Returns the words of questions about served models that none of these makes use of, although some say them, each with
// the reason (study/sweep/serve_command.cpp).
std::vector<sim::Fault> said_in_vain(std::span<const Given> said);

class PointQuestion {
 public:
  // `experiment` is the file that `run` plays, not yet read.
  explicit PointQuestion(Ask ask, std::optional<sim::Config> experiment = {});

  Ask ask() const { return ask_; }
  // Returns the words that the question takes and needs at least as much as `least`; none for an experiment,
  // whose words are its parameters.
  std::vector<std::string> words(Needed least = Needed::never) const;
  // Returns what is wrong with a word or its text on any machine, or nothing. For an experiment it checks that the
  // parameter exists and that all parameters can be evaluated with it on `platform`.
  std::string why_not(const Assignment& word, const models::PlatformSpec& platform) const;
  // Returns the text of the model or request file that the word names; empty where it names none.
  std::string text_of_file(const Assignment& word) const;

  // Returns the answer on this machine; `batches` of those that serve requests are simulated. Throws sim::ConfigError
  // where the machine cannot do what is asked.
  Results answer(Testbed& testbed, std::span<const Assignment> words, std::size_t batches = 8) const;
  // Extracts the quantities of an answer: its numbers and its fidelity. Columns that only repeat a word are left out.
  // In a table of several rows, the first column becomes part of a quantity's name: "up_projection.end_us".
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
