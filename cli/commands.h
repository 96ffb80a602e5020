// The commands of c3sim. Each registers its subcommand and options with the application and, when the command line
// names it, answers through the session. All must live until the command line has been parsed.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "sim/config/config.h"
#include "study/questions.h"
#include "study/step/step_question.h"
#include "study/sweep/distribution.h"
#include "study/sweep/sweep_study.h"
#include "study/tune/tuning.h"
#include "validate/validation.h"

namespace c3sim::cli {

// How a GEMM and a collective fare together.
class C3Command {
 public:
  C3Command(CLI::App& app, Session& session);

 private:
  void run();

  Session& session_;
  std::string gemm_;
  std::string collective_;
  std::string bytes_;
  std::string strategies_ = "all";
  std::string channels_;
  std::string reserved_;
  std::string splits_ = "paper";
  std::string delay_;
  std::string barrier_;
  std::string variant_;
  bool prelaunch_ = false;
};

// How long a GEMM takes alone.
class GemmCommand {
 public:
  GemmCommand(CLI::App& app, Session& session);

 private:
  void run();
  void read_before(Arguments& arguments, study::GemmQuestion& question) const;

  Session& session_;
  std::string gemm_;
  std::string cus_;
  std::string before_;
  std::string collective_;
  std::string bytes_;
  std::string backend_;
  std::string channels_;
};

// How long a collective takes alone.
class CollectiveCommand {
 public:
  CollectiveCommand(CLI::App& app, Session& session);

 private:
  void run();
  void read_counts(Arguments& arguments, const models::PlatformSpec& platform,
                   study::CollectiveQuestion& question) const;

  Session& session_;
  std::string collective_;
  std::string backend_ = "rccl";
  std::string bytes_;
  std::string gpus_;
  std::string variants_;
  std::string prelaunch_;
  std::string engines_;
  std::string host_threads_;
  std::string cus_;
  std::string channels_;
  bool graph_ = false;
};

// How long a kernel that streams, or that reaches into other GPUs, takes alone.
class KernelCommand {
 public:
  KernelCommand(CLI::App& app, Session& session);

 private:
  void run();
  models::ElementwiseSpec elementwise(Arguments& arguments) const;
  models::ElementwiseSpec named_operator(Arguments& arguments) const;
  models::RemoteKernelSpec remote_kernel(Arguments& arguments, const models::PlatformSpec& platform) const;

  Session& session_;
  std::string read_;
  std::string written_;
  std::string flops_;
  std::string operator_;
  std::string elements_;
  std::string element_;
  std::string gpu_;
  std::string peers_;
  std::string bytes_;
  std::string access_ = "store";
  std::string cus_;
};

// How long a whole step of a model takes.
class StepCommand {
 public:
  StepCommand(CLI::App& app, Session& session);

 private:
  void run();
  study::StepQuestion question(Arguments& arguments) const;

  Session& session_;
  std::string model_;
  std::string phase_;
  std::string layers_;
  std::string batch_ = "1";
  std::string tokens_;
  std::string context_;
  std::string tp_ = "1";
  std::string ep_ = "1";
  std::string cp_ = "1";
  std::string pp_ = "1";
  std::string dp_ = "1";
  std::string shard_;
  std::string dtype_;
  bool graph_ = false;
  std::string optimizer_;
  bool forward_ = false;
  bool recompute_ = false;
  std::string collectives_;
  std::string write_;
};

// How long one copy between two GPUs takes.
class CopyCommand {
 public:
  CopyCommand(CLI::App& app, Session& session);

 private:
  void run();

  Session& session_;
  std::string from_;
  std::string to_;
  std::string bytes_;
  std::string engine_;
  bool phases_ = false;
};

// An experiment file.
class RunCommand {
 public:
  RunCommand(CLI::App& app, Session& session);

 private:
  void run();

  void run_study(sim::Config& config, study::Testbed& testbed, const study::Platform& platform, int jobs);

  Session& session_;
  std::filesystem::path file_;
  std::vector<std::string> parameters_;
  bool check_ = false;
};

// What editors check experiment files with.
class SchemaCommand {
 public:
  SchemaCommand(CLI::App& app, Session& session);

 private:
  void run();

  Session& session_;
};

// Every parameter of a platform.
class PlatformCommand {
 public:
  PlatformCommand(CLI::App& app, Session& session);

 private:
  void run();

  Session& session_;
  std::string name_;
  std::string filter_;
  bool sources_ = false;
};

// What files of measurements say.
class ReadCommand {
 public:
  ReadCommand(CLI::App& app, Session& session);

 private:
  void run();

  Session& session_;
  std::vector<std::filesystem::path> files_;
  bool rows_ = false;
};

// The fit of a platform to isolated measurements.
class CalibrateCommand {
 public:
  CalibrateCommand(CLI::App& app, Session& session);

 private:
  void run();
  std::vector<calibrate::Reading> read(const validate::Library& library, const std::filesystem::path& base) const;

  Session& session_;
  std::vector<std::string> names_;
  std::filesystem::path out_;
  std::filesystem::path report_folder_;
};

// Predictions beside measurements.
class ValidateCommand {
 public:
  ValidateCommand(CLI::App& app, Session& session);

 private:
  void run();

  validate::Options read_options(Arguments& arguments) const;
  void check_combinations(Arguments& arguments) const;
  void check_outputs(Arguments& arguments);
  static void add_warnings(const validate::Validation& validation, study::Results& results);
  void list(const validate::Library& library);
  validate::Validation compare(const validate::Library& library, Arguments& arguments);
  void predict(const validate::Library& library);
  bool add_moves(const validate::Library& library, const validate::Validation& validation, study::Results& results);
  void save(const validate::Validation& validation, study::Results& results);

  Session& session_;
  std::vector<std::string> names_;
  std::filesystem::path report_folder_;
  std::string tolerance_;
  std::string case_;
  std::filesystem::path plan_;
  std::filesystem::path out_;
  std::filesystem::path predictions_;
  std::filesystem::path against_;
  bool list_ = false;
  bool update_goldens_ = false;
  validate::Options options_;
};

// Thousands of points.
class SweepCommand {
 public:
  SweepCommand(CLI::App& app, Session& session);

 private:
  void run();

  study::StudyLimits limits(Arguments& arguments) const;
  std::chrono::milliseconds patience(Arguments& arguments) const;
  std::optional<sim::Config> experiment_of(sim::Section& root);
  void answer(study::Ranks* ranks);
  void keep(const study::SweepStudy& study, study::Distribution distribution, const study::Platform& platform,
            const std::string& study_text, study::Ranks* ranks);
  void ask(study::Distribution& distribution, study::SweepStore& store, study::Ranks* ranks);
  void write(const study::SweepStudy& study, const study::SweepStore& store, const study::Platform& platform,
             const std::string& study_text);
  std::string how_to_go_on(const study::SweepStore& store, const study::Distribution& distribution) const;

  Session& session_;
  std::filesystem::path file_;
  std::string most_points_;
  std::string patience_;
  bool resume_ = false;
  bool check_ = false;
  bool serves_ = false;  // answers points that rank 0 deals
};

// What to choose, as tables to carry away.
class TuneCommand {
 public:
  TuneCommand(CLI::App& app, Session& session);

 private:
  void run();
  void read_options(Arguments& arguments);
  void answer(Arguments& arguments, const study::Platform& platform, std::optional<sim::Config> config);

  Session& session_;
  std::filesystem::path file_;
  std::string gemms_;
  std::string collectives_;
  std::string sizes_;
  std::string error_;
  std::vector<std::filesystem::path> measured_;
  bool schedules_ = false;
  study::TuningQuestion question_;
};

// Scripts by which shells complete command lines of c3sim.
class CompletionCommand {
 public:
  CompletionCommand(CLI::App& app, Session& session);

 private:
  void run();

  const CLI::App& app_;
  Session& session_;
  std::string shell_;
};

}  // namespace c3sim::cli
