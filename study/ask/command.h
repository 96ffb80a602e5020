// A command of c3sim: what it can be told, and the function that answers it. The command line (cli/) and Python
// (python/) offer each of them; neither knows more of them than this.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "study/ask/option.h"
#include "study/ask/request.h"
#include "study/step/step.h"

namespace c3sim::study {

struct Command {
  std::string name;
  std::string about;  // a line
  std::string notes;  // examples first of all
  std::vector<Option> options;
  std::function<Results(Request& request)> answer;  // throws sim::ConfigError
  std::size_t text_width = 0;                       // of its tables, where no terminal says how wide it is

  // All that it cannot do without and that was not said, with the example that has it; empty where nothing is missing.
  std::string missing(const Given& given) const;
  // Throws sim::ConfigError where an option was given nothing, as --out "": no option takes that for a value.
  void check(const Given& given) const;
  // The option as it was typed is none; `known` are options beside those of the command.
  std::string unknown(const std::string& typed, std::vector<std::string> known = {"--help"}) const;
};

// The step that the options of c3sim step ask for, with its model. What is missing or no value `arguments` gathers.
StepQuestion read_step(const Request& request, Arguments& arguments, std::vector<std::string>* remarks = nullptr);
// The step as an experiment that c3sim run takes, and that takes as long. `machine_lines` say which platform it is for;
// that of the platform's name where there are none. Throws sim::ConfigError where it is more than run takes.
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
