#include "cli/commands.h"
#include "cli/completion.h"

namespace c3sim::cli {

namespace {

constexpr auto description = "Print a script by which a shell completes command lines of c3sim";
constexpr auto examples =
    "Examples:\n"
    "  source <(c3sim completion bash)\n"
    "  c3sim completion zsh > \"${fpath[1]}/_c3sim\"";

}  // namespace

CompletionCommand::CompletionCommand(CLI::App& app, Session& session) : app_(app), session_(session) {
  CLI::App& command = *app.add_subcommand("completion", description);
  command.footer(examples);
  command.add_option("SHELL", shell_, "Shell that the script is for")->type_name("bash|zsh")->required();
  command.callback([this] { run(); });
}

void CompletionCommand::run() {
  Arguments arguments;
  const std::vector<study::Choice<bool>> shells{{"bash", false}, {"zsh", true}};
  const bool zsh = arguments.choice("SHELL", shell_, shells);
  arguments.check();
  session_.out() << (zsh ? zsh_completion(app_) : bash_completion(app_));
}

}  // namespace c3sim::cli
