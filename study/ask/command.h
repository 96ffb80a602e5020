// A Command describes a command of c3sim by its options and the function that answers it. The command line (cli/) and
// Python (python/) offer every command from this description alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "study/ask/arguments.h"
#include "study/ask/request.h"
#include "study/step/step.h"

namespace c3sim::study {

struct Command {
  std::string name;
  std::string about;  // one line of help
  std::string notes;  // further help, with examples
  std::vector<Option> options;
  std::function<Results(Request& request)> answer;  // throws sim::ConfigError
  std::size_t text_width = 0;                       // width of text tables if there is no terminal; 0: unlimited

  // Returns a message with all required options that are missing and an example; empty if no option is missing.
  std::string missing(const Given& given) const;
  // Throws sim::ConfigError if an option was given an empty text, as in --out "", since no option accepts one.
  void check(const Given& given) const;
  // Returns a message that no option is named `typed`, and which is nearest; `known` adds names to the command's own.
  std::string unknown(const std::string& typed, std::vector<std::string> known = {"--help"}) const;
};

// Throws sim::ConfigError if the file is one of another command or option, known by a key that only its files have.
void refuse_file_of_another(sim::Config& config, std::string_view command);
// Reads the options of c3sim step and their model. `arguments` collects faults, and `remarks` what a model ignores.
StepQuestion read_step(const Request& request, Arguments& arguments, std::vector<std::string>* remarks = nullptr);
// Returns the step as an experiment that c3sim run takes and that lasts as long. `machine_lines` describe its machine;
// without them, the experiment names the platform. Throws sim::ConfigError if the step exceeds the limits of run.
std::string experiment_text(const StepQuestion& question, const StepMachine& machine,
                            const std::string& machine_lines = {});

Command c3_command();
Command gemm_command();
Command collective_command();
Command copy_command();
Command kernel_command();
Command step_command();
Command serve_command();
Command run_command();
Command schema_command();
Command sweep_command();
Command platform_command();

}  // namespace c3sim::study
