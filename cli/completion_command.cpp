#include "cli/commands.h"
#include "cli/completion.h"

namespace c3sim::cli {

namespace {

constexpr auto completion_examples =
    "Examples:\n"
    "  source <(c3sim completion bash)\n"
    "  c3sim completion zsh > \"${fpath[1]}/_c3sim\"";

std::vector<study::Choice<bool>> shell_choices() { return {{"bash", false}, {"zsh", true}}; }

}  // namespace

CompletionCommand::CompletionCommand(CLI::App& app, Session& session) : app_(app), session_(session) {
  CLI::App& command =
      *app.add_subcommand("completion", "Print a script by which a shell completes command lines of c3sim");
  command.footer(completion_examples);
  command.add_option("SHELL", shell_, "Shell that the script is for")->type_name(names_of(shell_choices()))->required();
  command.callback([this] { run(); });
}

void CompletionCommand::run() {
  Arguments arguments;
  const bool zsh = arguments.choice("SHELL", shell_, shell_choices());
  arguments.check();
  session_.out() << (zsh ? zsh_completion(app_) : bash_completion(app_));
}

}  // namespace c3sim::cli
