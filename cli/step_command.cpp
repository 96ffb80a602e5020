#include <fmt/format.h>

#include "cli/commands.h"
#include "sim/config/output_file.h"
#include "study/choices.h"
#include "study/config_folders.h"
#include "study/operators.h"
#include "study/step/step.h"
#include "study/step/step_faults.h"
#include "study/testbed.h"

namespace c3sim::cli {

namespace {

constexpr auto step_examples =
    "Examples:\n"
    "  c3sim step --model llama3-70b --phase decode --tp 8 --batch 64 --context 4096 --graph\n"
    "  c3sim step --model llama3-8b --layers 4 --phase prefill --tokens 2048 --tp 8\n"
    "  c3sim step --model bert-large --phase train --batch 32 --tokens 128 --optimizer lamb --dtype fp32\n"
    "  c3sim step --model llama3-70b --layers 8 --phase train --dp 8 --shard full --tokens 4096\n"
    "  c3sim step --model path/to/config.json --phase decode --context 1024 --write step.yaml\n"
    "Kernels are those that PyTorch launches; --batch is of each replica (--dp). With --layers there is no embedding "
    "and "
    "no head.";

}  // namespace

StepCommand::StepCommand(CLI::App& app, Session& session) : session_(session) {
  CLI::App& command = *app.add_subcommand("step", "Predict a whole step of a model: decode, prefill or training");
  command.footer(step_examples);
  command.add_option("--model", model_, "Name in configs/models, a file like those, or a config.json of Hugging Face")
      ->type_name("NAME|FILE")
      ->required();
  command.add_option("--phase", phase_, "What the step is")->type_name(names_of(study::phase_choices()))->required();
  command.add_option("--layers", layers_, "So many layers and nothing else (all, embedding and head unless given)")
      ->type_name("COUNT");
  command.add_option("--batch", batch_, "Sequences of each replica")->capture_default_str()->type_name("COUNT");
  command.add_option("--tokens", tokens_, "New tokens of each sequence (1 in decode)")->type_name("COUNT");
  command.add_option("--context", context_, "Cached tokens of each sequence")->type_name("COUNT");
  command.add_option("--tp", tp_, "GPUs that share out each product")->capture_default_str()->type_name("COUNT");
  command.add_option("--ep", ep_, "GPUs that share out the experts")->capture_default_str()->type_name("COUNT");
  command.add_option("--cp", cp_, "GPUs that share out a sequence: 1")->capture_default_str()->type_name("COUNT");
  command.add_option("--pp", pp_, "Groups that share out layers: 1")->capture_default_str()->type_name("COUNT");
  command.add_option("--dp", dp_, "Replicas with sequences of their own")->capture_default_str()->type_name("COUNT");
  command.add_option("--shard", shard_, "What replicas share out: none, or weights, gradients and states")
      ->type_name(names_of(study::shard_choices()));
  command.add_option("--dtype", dtype_, "Format of products (bf16 unless given)")
      ->type_name(names_of(study::dtype_choices()));
  command.add_flag("--graph", graph_, "Launched from a captured graph; else op by op by the host");
  command.add_option("--optimizer", optimizer_, "What updates the weights (none unless given)")
      ->type_name(names_of(study::optimizer_choices()));
  command.add_flag("--forward", forward_, "Training without gradients");
  command.add_flag("--recompute", recompute_, "Training computes a layer again before its gradient");
  command.add_option("--collectives", collectives_, "What moves data between GPUs (rccl unless given)")
      ->type_name(names_of(study::backend_choices()));
  command.add_option("--write", write_, "Write the step as an experiment that c3sim run takes")->type_name("FILE");
  session.add_run_options(command);
  command.callback([this] { run(); });
}

study::StepQuestion StepCommand::question(Arguments& arguments) const {
  constexpr int most = 1 << 24;
  study::StepQuestion question;
  question.phase = arguments.choice("--phase", phase_, study::phase_choices());
  if (!layers_.empty()) question.layers = arguments.integer("--layers", layers_, 1, 10'000);
  question.batch = arguments.integer("--batch", batch_, 1, most);
  if (!tokens_.empty()) question.tokens = arguments.integer("--tokens", tokens_, 1, most);
  if (tokens_.empty() && question.phase != study::Phase::decode) {
    arguments.fault("--tokens", "is missing: how many new tokens a sequence has");
  }
  if (!context_.empty()) question.context = arguments.integer("--context", context_, 0, most);
  question.tp = arguments.integer("--tp", tp_, 1, 64);
  question.ep = arguments.integer("--ep", ep_, 1, 64);
  question.cp = arguments.integer("--cp", cp_, 1, 64);
  question.pp = arguments.integer("--pp", pp_, 1, 64);
  question.dp = arguments.integer("--dp", dp_, 1, 64);
  if (!shard_.empty()) question.shard = arguments.choice("--shard", shard_, study::shard_choices());
  if (!dtype_.empty()) question.dtype = arguments.choice("--dtype", dtype_, study::dtype_choices());
  question.graph = graph_;
  if (!optimizer_.empty()) question.optimizer = arguments.choice("--optimizer", optimizer_, study::optimizer_choices());
  question.forward = forward_;
  question.recompute = recompute_;
  if (!collectives_.empty()) {
    question.collectives = arguments.choice("--collectives", collectives_, study::backend_choices());
  }
  return question;
}

void StepCommand::run() {
  Arguments arguments;
  study::StepQuestion asked = question(arguments);
  const study::Platform platform = session_.platform(arguments);
  asked.model = study::read_model(model_, study::config_folders());
  arguments.check_with(study::faults_of(asked, platform.spec));
  const std::vector<study::ElementwiseOperator> operators = study::read_operators(study::config_folders());
  if (!write_.empty()) sim::write_file(write_, study::experiment_text(asked, platform.spec, operators));
  study::Testbed testbed(study::launching(platform.spec, asked.graph));
  session_.answer(testbed, platform, study::to_tables(study::ask(platform.spec, asked, operators), platform.spec));
}

}  // namespace c3sim::cli
