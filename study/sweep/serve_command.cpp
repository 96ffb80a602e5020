#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "sim/config/config.h"
#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/ask/words.h"
#include "study/report/table_of.h"
#include "study/serve/serve.h"
#include "study/sweep/point_question.h"

namespace c3sim::study {

namespace {

constexpr auto serve_examples =
    "Examples:\n"
    "  c3sim serve configs/serve/llama_70b_prefixes.yaml --out out/serve     # out/serve/page.html has the curves\n"
    "  c3sim serve mine.yaml --rate 1,2,4,8 --fetch back_to_back\n"
    "  c3sim serve mine.yaml --trace requests.csv --format json\n"
    "The file sets options by their names (store_size for --store-size), each to a value or to a list of values. Its\n"
    "key cases lists named groups of options. Every combination of cases and values is served. An option on the\n"
    "command line replaces that of the file.\n"
    "The times of the first token and of the whole request count from the arrival of the request. The time per token\n"
    "is that of each token behind the first, in the mean. Energy is that of all GPUs.";

constexpr double most_rate = 1e6;

// Parses and writes limits such as "ttft=500ms,tpot=50ms".
Value limits_of(ServiceLimits& limits) {
  using Part = std::pair<std::string_view, std::optional<sim::Time> ServiceLimits::*>;
  static constexpr std::array<Part, 3> parts{
      {{"ttft", &ServiceLimits::first_token}, {"tpot", &ServiceLimits::per_token}, {"e2e", &ServiceLimits::whole}}};
  const auto read = [&limits](const Reading& in) {
    limits = {};
    if (in.text.empty()) return;
    for (const std::string_view part : split(in.text, ',')) {
      const std::size_t equals = std::min(part.find('='), part.size());
      const auto known = std::ranges::find(parts, part.substr(0, equals), &Part::first);
      if (known == parts.end() || equals == part.size()) {
        in.arguments.fault(in.option, in_quotes(part) + " is no limit: ttft=TIME, tpot=TIME and e2e=TIME are accepted");
      } else if (limits.*known->second) {
        in.arguments.fault(in.option, in_quotes(known->first) + " is there twice: one limit of each kind is accepted");
      } else {
        limits.*known->second = in.arguments.time(in.option, part.substr(equals + 1));
      }
    }
  };
  const auto text = [&limits] {
    std::string all;
    for (const auto& [name, place] : parts) {
      if (const std::optional<sim::Time> time = limits.*place)
        all += fmt::format("{}{}={}", all.empty() ? "" : ",", name, time_text(*time));
    }
    return all;
  };
  return {"ttft=TIME,tpot=TIME,e2e=TIME", read, text};
}

// Parses and writes stages of load such as "8x600s+20x600s".
Value stages_of(std::vector<LoadStage>& stages) {
  const auto read = [&stages](const Reading& in) {
    stages.clear();
    for (const std::string_view part : split(in.text, '+')) {
      const std::size_t times = std::min(part.find('x'), part.size());
      if (times == part.size()) {
        in.arguments.fault(in.option, in_quotes(part) + " is no stage: RATExTIME is accepted, such as 8x600s");
        continue;
      }
      stages.push_back({in.arguments.number(in.option, part.substr(0, times), 1e-6, most_rate),
                        in.arguments.time(in.option, part.substr(times + 1))});
    }
  };
  const auto text = [&stages] {
    std::string all;
    for (const LoadStage& stage : stages) {
      all += fmt::format("{}{}x{}", all.empty() ? "" : "+", stage.rate, time_text(stage.time));
    }
    return all;
  };
  return {"RATExTIME+...", read, text};
}

// Parses and writes the tokens of the largest batch that has a graph, or "all".
Value captured_of(std::int64_t& tokens) {
  constexpr std::string_view all = "all";
  Value value = whole_of(tokens, 0, static_cast<int>(every_batch));
  value.read = [&tokens, all, read_count = std::move(value.read)](const Reading& in) {
    if (in.text == all) {
      tokens = every_batch;
    } else {
      read_count(in);
    }
  };
  value.text = [&tokens, all] { return tokens == every_batch ? std::string(all) : fmt::format("{}", tokens); };
  return value;
}

// Writes what a store keeps as its users say it: "1TB".
Value store_size_of(sim::Bytes& size) {
  Value value = value_of(size);
  value.text = [&size] {
    const double gigabytes = size.value() / 1e9;
    if (gigabytes != std::floor(gigabytes)) return sim::to_string(size);
    return std::fmod(gigabytes, 1e3) == 0.0 ? fmt::format("{}TB", gigabytes / 1e3) : fmt::format("{}GB", gigabytes);
  };
  return value;
}

// Returns a word of `c3sim step` that means the same for the step of every batch.
Word<ServeQuestion> of_step(std::string_view name) {
  const Word<StepWords>& word = *std::ranges::find(words_of(StepWords{}), name, &Word<StepWords>::name);
  return {word.name, [of = word.of](ServeQuestion& question) { return of(question.step); }, word.help};
}

}  // namespace

const Words<ServeQuestion>& words_of(const ServeQuestion&) {
  using enum Needed;
  constexpr int most = 1 << 30;
  constexpr int most_gpus = 64;
  static const Words<ServeQuestion> words{
      {"model", [](auto& q) { return word_of(q.step.model_name, "NAME|FILE"); },
       "Name in configs/models, a file like those, or a config.json of Hugging Face", at_points},
      of_step("ignore"),
      of_step("like"),
      of_step("dtype"),
      of_step("routing"),
      of_step("tp"),
      of_step("ep"),
      {"dp", [](auto& q) { return whole_of(q.step.dp, 1, most_gpus); },
       "Replicas of attention that share out the sequences of a batch and wait for each other at its end (unless "
       "given, as many as --ep needs beside --tp)"},
      {"collectives", [](auto& q) { return value_of(q.step.collectives, plain_carriers()); },
       "What moves data between GPUs in a batch (rccl unless given)"},
      of_step("dispatch"),
      {"kernels", [](auto& q) { return value_of(q.step.kernels); },
       "Which kernels run between products: those to which a compiler fuses a framework's (compiled, unless given), or "
       "the framework's own, one for each operation (eager)"},
      {"replicas", [](auto& q) { return whole_of(q.replicas, 1, most_gpus); },
       "Copies of the whole deployment, each on GPUs of its own and with requests of its own (1 unless given)"},
      {"router", [](auto& q) { return value_of(q.router); },
       "Which replica gets a request: the next in turn (round_robin, unless given); the one with the fewest requests "
       "under way (least_loaded); or the one that got earlier requests whose prompts begin alike (prefix)"},
      {"apart", [](auto& q) { return whole_of(q.apart, 0, most_gpus); },
       "Additional GPUs that only compute prompts and hand over what they cache (unless given 0: the same GPUs compute "
       "prompts and decode)"},
      {"trace", [](auto& q) { return word_of(q.trace, "FILE"); },
       "Requests to serve: a CSV with the columns arrival_s, prompt_tokens, output_tokens and, for prompts that begin "
       "alike, prefix and prefix_tokens; or a trace of Azure, BurstGPT or Mooncake (unless given, requests are drawn)"},
      {"arrivals", [](auto& q) { return value_of(q.arrivals); },
       "How the arrivals of drawn requests follow each other (poisson unless given)"},
      {"requests", [](auto& q) { return whole_of(q.requests, 1, most_requests); },
       "How many requests are drawn, 10 million at most, as each is simulated (1000 unless given)"},
      {"seed", [](auto& q) { return whole_of(q.seed, 0, most); },
       "Seed of the generator that draws requests (1 unless given)"},
      {"burst", [](auto& q) { return whole_of(q.burst, 1, most); },
       "How many requests arrive together each time (1 unless given)"},
      {"prompt", [](auto& q) { return whole_of(q.prompt, 1, most); },
       "Tokens of a prompt in the mean (1024 unless given)"},
      {"output", [](auto& q) { return whole_of(q.output, 1, most); },
       "Tokens of an output in the mean (128 unless given)"},
      {"spread", [](auto& q) { return number_of(q.spread, 0.0, 10.0); },
       "Standard deviation of the lengths of prompts and of outputs, as a share of their means; lengths are log-normal "
       "(0 unless given)"},
      {"least", [](auto& q) { return number_of(q.least, 0.0, 1.0); },
       "If this is below 1, the lengths of prompts are spread evenly between this share of --prompt and all of it, and "
       "those of outputs between the same share of --output and all of it (1 unless given)"},
      {"reuse", [](auto& q) { return number_of(q.reuse, 0.0, 1.0); },
       "Share of requests whose prompt begins with tokens that other prompts begin with, too (0 unless given)"},
      {"prefix", [](auto& q) { return whole_of(q.prefix, 0, most); }, "How many tokens such a shared beginning has"},
      {"prefixes", [](auto& q) { return whole_of(q.prefixes, 1, most); },
       "How many different shared beginnings there are, each as likely (1 unless given)"},
      {"budget", [](auto& q) { return whole_of(q.budget, 1, 1 << 20); },
       "The most tokens that a batch has on each replica of attention (8192 unless given)"},
      {"sequences", [](auto& q) { return whole_of(q.sequences, 1, 1 << 20); },
       "The most sequences that each replica of attention serves at once (256 unless given)"},
      {"block", [](auto& q) { return whole_of(q.block, 1, 1 << 20); },
       "Tokens that a block of the cache holds (16 unless given)"},
      {"memory", [](auto& q) { return number_of(q.memory, 0.01, 1.0); },
       "Share of a GPU's memory that weights, activations and cache may take (0.9 unless given)"},
      {"pause", [](auto& q) { return value_of(q.pause); },
       "How long the GPUs stand still between two batches, while the host schedules (0s unless given)"},
      {"frontend", [](auto& q) { return value_of(q.frontend); },
       "How long each request takes before it can be scheduled, to come in and to be made into tokens (0s unless "
       "given)"},
      {"ahead", [](auto& q) { return value_of(q.ahead); },
       "Each batch is put together while the one before it is computed, from the requests that had arrived when that "
       "one began"},
      {"captured", [](auto& q) { return captured_of(q.captured); },
       "Tokens of the largest batch that is launched from a graph; larger batches are launched op by op (unless given "
       "all: every batch is launched from a graph)"},
      {"draft", [](auto& q) { return word_of(q.draft, "NAME|FILE|tokens"); },
       "A model that drafts tokens, which the model of --model verifies; or the word tokens, for drafts that cost "
       "nothing, as those of n-grams do (unless given, nothing is drafted)"},
      {"draft_tokens", [](auto& q) { return whole_of(q.draft_tokens, 1, 64); },
       "How many tokens a draft has (4 unless given)"},
      {"acceptance", [](auto& q) { return number_of(q.acceptance, 0.0, 1.0); },
       "Probability that a token of a draft is accepted if all tokens before it are; --draft needs it, and it has no "
       "default"},
      {"by_op", [](auto& q) { return value_of(q.by_op); },
       "The host launches batches op by op, not from a captured graph"},
      {"keep", [](auto& q) { return value_of(q.keep); },
       "Shared beginnings of prompts stay in the GPUs' cache until their room is needed"},
      {"fetch", [](auto& q) { return value_of(q.fetch); },
       "How cached blocks come to the GPUs: not at all, so that they are computed again (none, unless given); by a "
       "call for each copy (each), by one call for all (batch) or by a graph of them (graph); by a kernel that gathers "
       "them (kernel); by commands for engines that are written in a row (back_to_back) or lie ready beforehand "
       "(prelaunched); or as one copy of a single piece (single)"},
      {"store", [](auto& q) { return value_of(q.store); },
       "Whose memory keeps shared beginnings; those of drawn requests are there from the start (host unless given)"},
      {"store_size", [](auto& q) { return store_size_of(q.store_size); },
       "How much this memory keeps (1 TB unless given)"},
      {"waits", [](auto& q) { return value_of(q.waits); },
       "Who waits for a fetch: the request alone, or the whole next batch (request unless given)"},
      {"concurrency", [](auto& q) { return whole_of(q.concurrency, 0, most); },
       "How many requests are under way at any time: one arrives when another ends, whatever --rate says (unless given "
       "0: requests arrive at --rate)"},
      {"slo", [](auto& q) { return limits_of(q.limits); },
       "How long a request may take if goodput is to count it: to its first token (ttft), for each token behind it in "
       "the mean (tpot) and as a whole (e2e). All or some are given: ttft=500ms,tpot=50ms,e2e=10s (no limits unless "
       "given)"},
      {"stages", [](auto& q) { return stages_of(q.stages); },
       "Rates of arrival that follow each other, each with its time: 8x600s+20x600s has 8 requests a second for 600 s, "
       "then 20 (unless given, --rate holds for all requests)"},
      {"rate", [](auto& q) { return number_of(q.rate, 1e-6, most_rate); },
       "Requests that arrive in a second (1 unless given)"},
  };
  return words;
}

namespace {

// The words that say how requests are drawn, which a trace of requests makes needless.
const std::vector<std::string_view> words_of_drawing{"rate",     "requests", "prompt", "output", "stages",
                                                     "arrivals", "reuse",    "burst",  "spread", "least"};

// What is said to questions of one kind alone, and in vain to others.
struct OfSome {
  std::vector<std::string_view> words;
  bool (*has)(const ServeQuestion& question);
  const char* why;
  bool (*asks)(const ServeQuestion& question) = [](const ServeQuestion&) { return true; };
};

// Returns whether prompts may begin with a block that those of other requests begin with, too.
bool shares_blocks(const ServeQuestion& question) {
  return !question.trace.empty() || (question.reuse > 0.0 && question.prefix >= question.block);
}

}  // namespace

std::vector<sim::Fault> said_in_vain(std::span<const Given> said) {
  static const std::array<OfSome, 9> all{
      {{words_of_drawing, [](const auto& q) { return q.trace.empty(); },
        "says how requests are drawn, and none are: they come from a trace"},
       {{"rate"}, [](const auto& q) { return q.stages.empty(); }, "is not used: stages say the rates"},
       {{"prefix", "prefixes"},
        [](const auto& q) { return q.trace.empty() && q.reuse > 0.0; },
        "is not used without reuse, the share of prompts that begin as others do"},
       {{"draft_tokens"},
        [](const auto& q) { return !q.draft.empty(); },
        "is not used without draft, which names a model, or tokens"},
       {{"router"},
        [](const auto& q) { return q.replicas > 1; },
        "has nothing to choose from: replicas of at least 2 are needed"},
       {{"fetch"},
        [](const auto& q) { return q.fetch != Fetch::none && (q.apart > 0 || shares_blocks(q)); },
        "has nothing to fetch: prompts that begin alike are needed (reuse with a prefix of at least a block, or a "
        "trace), or GPUs apart, which hand over what they cache",
        [](const auto& q) { return q.fetch != Fetch::none; }},
       {{"keep"},
        [](const auto& q) { return q.keep && shares_blocks(q); },
        "has nothing to keep: prompts that begin alike are needed (reuse with a prefix of at least a block, or a "
        "trace)",
        [](const auto& q) { return q.keep; }},
       {{"store", "store_size", "waits"},
        [](const auto& q) { return q.fetch != Fetch::none; },
        "is not used unless fetch says how cached blocks are fetched (any way but none)"},
       {{"captured"},
        [](const auto& q) { return !q.by_op; },
        "is not used: by_op launches each operation by itself, and no batch from a graph"}}};
  std::vector<ServeQuestion> questions;
  for (const Given& words : said) {
    Arguments faults;  // each point tells its own
    read_words(questions.emplace_back(), words, faults, nullptr);
  }
  std::vector<sim::Fault> vain;
  for (const OfSome& some : all) {
    if (std::ranges::none_of(questions, some.asks) || std::ranges::any_of(questions, some.has)) continue;
    for (const std::string_view word : some.words) {
      const auto says_it = [word](const Given& words) { return words.contains(word); };
      if (std::ranges::any_of(said, says_it)) vain.push_back({std::string(word), "", some.why});
    }
  }
  return vain;
}

namespace {

// A ServeSource is where the words of a study are said: a file, and options of the command line, `given`, which
// override it.
struct ServeSource {
  sim::Section root;
  const std::filesystem::path& file;
  const Given& given;
  Arguments& arguments;

  // Records a fault where the word was said.
  void fault(const std::string& word, const std::string& what) {
    given.contains(word) ? arguments.fault(typed_name(word), what) : root.fault(word, what);
  }
  // Returns a word's text in the file. A path is relative to the file that names it.
  std::string placed(const std::string& word, const std::string& text) const {
    return word == "trace" ? (file.parent_path() / text).string() : text;
  }
};

// Returns the question that the words ask. Throws sim::ConfigError.
ServeQuestion question_of(const Given& words) {
  ServeQuestion question;
  Arguments arguments;
  read_words(question, words, arguments, nullptr);
  arguments.check();
  return question;
}

// Returns what is wrong with a value of a word, or else adds the question that it asks by itself to `meanings`.
std::string why_not(const std::string& word, const std::string& text, std::vector<ServeQuestion>& meanings) {
  if (text.empty()) return "is empty: a value is accepted";
  try {
    meanings.push_back(question_of({{word, {text}}}));
    return {};
  } catch (const sim::ConfigError& error) {
    return error.faults().front().what;
  }
}

constexpr auto case_axis = "case";

SweepAxis read_cases(ServeSource& source, const std::vector<std::string>& words) {
  SweepAxis axis;
  axis.name = case_axis;
  for (sim::Section& section : source.root.list("cases")) {
    AxisValue one{section.text("name"), {}};
    if (axis.place_of(one.label) < axis.values.size()) {
      section.fault("name", fmt::format("{} is another case, too: each has a name of its own", in_quotes(one.label)));
    }
    for (const std::string& word : words) {
      if (!section.has(word)) continue;
      const std::string text = source.placed(word, section.text(word));
      std::vector<ServeQuestion> meaning;
      if (const std::string why = why_not(word, text, meaning); !why.empty()) section.fault(word, why);
      if (!source.given.contains(word)) one.assignments.push_back({word, text});
    }
    axis.values.push_back(std::move(one));
  }
  if (axis.values.empty() && source.root.is_sound("cases")) source.root.fault("cases", "at least one case is needed");
  return axis;
}

// Reads the values of a word, each once; none where neither the file nor the command line gives it.
SweepAxis read_word(ServeSource& source, const std::string& word) {
  std::vector<std::string> texts;
  if (source.root.has(word)) {
    for (const std::string& text : source.root.texts(word)) texts.push_back(source.placed(word, text));
    if (texts.empty()) source.root.fault(word, "at least one value is needed");
  }
  if (const auto said = source.given.find(word); said != source.given.end()) {
    texts.clear();
    for (const std::string_view text : split(said->second.back(), ',')) {
      // A part with an equals sign continues the value before it: "ttft=500ms,tpot=50ms" is one value.
      const bool goes_on = !texts.empty() && text.find('=') != text.npos;
      goes_on ? texts.back().append(",").append(text) : texts.emplace_back(text);
    }
  }
  SweepAxis axis;
  axis.name = word;
  std::vector<ServeQuestion> meanings;  // "2" and "2.0" mean the same
  for (const std::string& text : texts) {
    if (const std::string why = why_not(word, text, meanings); !why.empty()) {
      source.fault(word, why);
    } else if (std::ranges::count(meanings, meanings.back()) > 1) {
      continue;
    }
    axis.values.push_back({text, {{word, text}}});
  }
  return axis;
}

// Removes the axes of the file that the command line overrides: with a trace those of how requests are drawn, with
// stages the rate, and either rate or concurrency, of which both given in the same place is a fault.
void choose_how_requests_arrive(ServeSource& source, std::vector<SweepAxis>& axes) {
  const Given& given = source.given;
  const bool by_stages = given.contains("stages") || source.root.has("stages");
  std::erase_if(axes, [&](const SweepAxis& axis) {
    if (given.contains(axis.name)) return false;
    const bool by_trace = given.contains("trace") && std::ranges::count(words_of_drawing, axis.name) > 0;
    return by_trace || (by_stages && axis.name == "rate");
  });
  const auto axis_of = [&axes](std::string_view word) { return std::ranges::find(axes, word, &SweepAxis::name); };
  for (const std::string by_rate : {"rate", "stages"}) {
    const auto concurrency = axis_of("concurrency");
    const auto rate = axis_of(by_rate);
    if (concurrency == axes.end() || rate == axes.end()) continue;
    // A concurrency of 0 means that requests arrive by rate.
    if (concurrency->place_of("0") < concurrency->values.size()) continue;
    if (given.contains("concurrency") != given.contains(by_rate)) {
      axes.erase(given.contains(by_rate) ? concurrency : rate);
    } else {
      source.fault(by_rate,
                   "is how often requests arrive, and with a concurrency each arrives when another ends: one of both "
                   "is accepted");
    }
  }
}

// A ServedPoint has its question and, once that is asked, its answer.
struct ServedPoint : ServeResult {
  Given said;
  std::vector<Cell> values;  // on the axes that vary: numbers, truth values, or texts as they were said

  void answer(ServeMachine& machine, std::size_t simulated) {
    static_cast<ServeResult&>(*this) = machine.ask(question, simulated);
  }
};

struct ServeStudy {
  std::vector<std::string> axes;    // those that vary: cases, then words, the rate last
  std::vector<ServedPoint> points;  // the last axis varies fastest
};

// Returns the axes of a study: cases, which set several words at once, and the words of the question.
std::vector<SweepAxis> read_serve_axes(ServeSource& source) {
  std::vector<std::string> words;
  for (const Word<ServeQuestion>& word : words_of(ServeQuestion{})) words.emplace_back(word.name);
  std::vector<SweepAxis> axes;
  if (source.root.has("cases")) axes.push_back(read_cases(source, words));
  for (const std::string& word : words) axes.push_back(read_word(source, word));
  std::erase_if(axes, [](const SweepAxis& axis) { return axis.values.empty(); });
  choose_how_requests_arrive(source, axes);
  return axes;
}

// Returns every combination of values. A case overrides what the file says for all, and options override both.
ServeStudy study_of(const std::vector<SweepAxis>& axes) {
  ServeStudy study;
  for (const SweepAxis& axis : axes) {
    if (axis.varies()) study.axes.push_back(axis.name);
  }
  const PointSequence sequence(axes, {});
  for (std::uint64_t index = 0; index < sequence.size(); ++index) {
    const Point point = sequence.point(index);
    ServedPoint& served = study.points.emplace_back();
    for (const AxisValue& value : point.values) {
      for (const Assignment& word : value.assignments) served.said.try_emplace(word.name, 1, word.value);
    }
    served.question = question_of(served.said);
    const std::vector<AskedWord> asked = asked_words(served.question);
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!axes[a].varies()) continue;
      const auto word = std::ranges::find(asked, axes[a].name, &AskedWord::name);
      const bool is_text = word == asked.end() || std::holds_alternative<std::string>(word->cell);
      served.values.push_back(is_text ? Cell(point.values[a].label) : word->cell);
    }
  }
  return study;
}

// Returns a column for each axis, for rows that have values.
template <class Row>
std::vector<Shown<Row>> shown_of_axes(const ServeStudy& study) {
  std::vector<Shown<Row>> shown;
  for (std::size_t axis = 0; axis < study.axes.size(); ++axis) {
    const bool has_fractions = std::ranges::any_of(study.points, [axis](const ServedPoint& point) {
      const double value = number_of(point.values[axis]).value_or(0.0);
      return value != std::floor(value);
    });
    const std::string& name = study.axes[axis];
    shown.push_back({{name, name, "", has_fractions ? 3 : 0}, [axis](const Row& row) { return row.values[axis]; }});
  }
  return shown;
}

constexpr auto load_axis = "rate";  // the x axis of curves

// Returns the values of a point except that on the axis `but`.
std::string name_of(const ServeStudy& study, const std::vector<Cell>& values, std::string_view but = {}) {
  std::string name;
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (study.axes[a] != but) name += (name.empty() ? "" : ", ") + word_of(values[a]);
  }
  return name;
}

// Returns a row for each point: the varying axes, the other words of the question, and the answer.
ResultTable table_of(const ServeStudy& study) {
  std::vector<Shown<ServedPoint>> shown = shown_of_axes<ServedPoint>(study);
  const bool has_limits =
      std::ranges::any_of(study.points, [](const ServedPoint& point) { return point.question.limits.are_any(); });
  for (const Shown<ServeResult>& one : shown_of_serving(has_limits)) shown.emplace_back(one.column, one.cell);
  std::vector<std::vector<AskedWord>> asked;
  for (const ServedPoint& point : study.points) asked.push_back(asked_words(point.question));
  return with_question(study::table_of(study.points, shown), asked, study.axes.empty() ? "" : study.axes.back());
}

// Adds a curve to the chart for each combination of values except that on the axis `but`.
template <class Row, class X, class Y>
ScatterChart with_curves(ScatterChart chart, const ServeStudy& study, const std::vector<Row>& rows,
                         std::string_view but, const X& x, const Y& y) {
  chart.joined = true;
  for (const Row& row : rows) {
    const std::string name = name_of(study, row.values, but);
    auto series = std::ranges::find(chart.series, name, &ScatterSeries::name);
    if (series == chart.series.end()) series = chart.series.insert(series, {name, {}});
    if (const std::optional<double> value = number_of(y(row))) series->points.push_back({x(row), *value, name});
  }
  return chart;
}

std::vector<Chart> curves_of(const ServeStudy& study) {
  std::vector<Chart> charts;
  if (std::ranges::count(study.axes, load_axis) == 0) return charts;
  std::vector<std::string> others = study.axes;
  std::erase(others, load_axis);
  const std::vector<Shown<ServeResult>> shown = shown_of_serving(false);
  struct Curve {
    const char* key;
    const char* name;
    bool logarithmic;
  };
  for (const auto& [key, quantity, logarithmic] : {Curve{"ttft_mean_ms", "Time to the first token, mean", true},
                                                   {"ttft_p99_ms", "Time to the first token, 99th percentile", true},
                                                   {"tpot_mean_ms", "Time per further token, mean", false},
                                                   {"tokens_per_s", "Output", false}}) {
    const auto answer = std::ranges::find(shown, key, [](const auto& one) { return one.column.key; });
    ScatterChart chart = with_curves(
        {.id = std::string(key) + "_by_load",
         .title = fmt::format("{} over load", quantity),
         .x = {"requests that arrive", "1/s"},
         .y = {quantity, answer->column.unit, logarithmic}},
        study, study.points, load_axis, [](const ServedPoint& point) { return point.question.rate; }, answer->cell);
    if (chart.series.size() > 1) chart.legend = fmt::format("{}", fmt::join(others, ", "));
    charts.emplace_back(std::move(chart));
  }
  return charts;
}

// Shows the requests that wait and run and the cache in use while each point is served.
NamedTable over_time(const ServeStudy& study) {
  struct Row {
    const std::vector<Cell>& values;
    double from = 0.0;
    ServerLoad load;
  };
  std::vector<Row> rows;
  for (const ServedPoint& point : study.points) {
    double from = 0.0;
    for (const ServerLoad& load : point.served.load.samples()) {
      rows.push_back({point.values, from, load});
      from += sim::to_seconds(point.served.load.interval()).value();
    }
  }
  std::vector<Shown<Row>> shown = shown_of_axes<Row>(study);
  shown.push_back({{"from_s", "from", "s", 3}, &Row::from});
  std::vector<Chart> charts;
  const auto show = [&](const Shown<Row>& load, const char* id, const char* title, const char* unit) {
    shown.push_back(load);
    charts.emplace_back(with_curves({.id = id, .title = title, .x = {"time", "s"}, .y = {title, unit}}, study, rows, "",
                                    std::mem_fn(&Row::from), load.cell));
  };
  show({{"waiting", "waiting", "requests", 1}, [](const Row& row) { return row.load.waiting; }}, "waiting_over_time",
       "Requests that wait", "");
  show({{"running", "running", "requests", 1}, [](const Row& row) { return row.load.running; }}, "running_over_time",
       "Requests that run", "");
  show({{"cache_percent", "cache", "%", 1}, [](const Row& row) { return 100.0 * row.load.cache; }}, "cache_over_time",
       "Blocks of the cache in use", "%");
  return {"over_time", "Over time, means of intervals", study::table_of(rows, shown), study.points.size() == 1,
          std::move(charts)};
}

double per_second_of(const Latencies& times) { return 1.0 / sim::to_seconds(times.mean()).value(); }

// Returns the largest gain of each case over the first one: in mean latencies and in output tokens a second.
NamedTable gains_of(const ServeStudy& study) {
  struct Gain {
    const char* key;
    const char* heading;
    double (*of)(const Served& served);  // more is better
  };
  constexpr std::array<Gain, 3> gains{
      {{"ttft_gain", "first token", [](const Served& served) { return per_second_of(served.first_token); }},
       {"e2e_gain", "whole", [](const Served& served) { return per_second_of(served.whole); }},
       {"throughput_gain", "throughput",
        [](const Served& served) { return served.per_second(served.output_tokens); }}}};
  std::vector<Column> columns{{case_axis, case_axis, ""}};
  for (const Gain& gain : gains) {
    columns.push_back({gain.key, gain.heading, ""});
    columns.push_back({std::string(gain.key) + "_at", "at", ""});
  }
  ResultTable table(std::move(columns));
  const std::vector<ServedPoint>& points = study.points;
  const Cell& baseline = points.front().values.front();
  const auto of_case = static_cast<std::size_t>(
      std::ranges::count(points, baseline, [](const ServedPoint& point) { return point.values.front(); }));
  for (std::size_t first = of_case; first < points.size(); first += of_case) {
    std::vector<Cell> cells{points[first].values.front()};
    for (const Gain& gain : gains) {
      const auto over_baseline = [&](std::size_t p) {
        return gain.of(points[first + p].served) / gain.of(points[p].served);
      };
      std::size_t best = 0;
      for (std::size_t p = 1; p < of_case; ++p) best = over_baseline(p) > over_baseline(best) ? p : best;
      cells.emplace_back(over_baseline(best));
      cells.emplace_back(name_of(study, points[best].values, case_axis));
    }
    table.add_row(std::move(cells));
  }
  return {"gains", "At its best, over " + word_of(baseline), std::move(table), true, {}, true};
}

// Records what no point makes use of: a fault of the command line, a warning about the file, which options may
// complete.
void check_said(const ServeStudy& study, ServeSource& source) {
  std::vector<Given> said;
  for (const ServedPoint& point : study.points) said.push_back(point.said);
  for (const sim::Fault& vain : said_in_vain(said)) {
    source.given.contains(vain.where) ? source.fault(vain.where, vain.what) : source.root.warn(vain.where, vain.what);
  }
}

// Records each fault of all points once, where the reader finds the word that is at fault.
void check(const ServeStudy& study, ServeMachine& machine, ServeSource& source) {
  std::set<std::string> told;
  for (const ServedPoint& point : study.points) {
    std::vector<sim::Fault> faults;
    try {
      faults = machine.faults_of(point.question);
    } catch (const sim::ConfigError& error) {
      faults = error.faults();
      if (faults.front().where == "--model") faults.front().where = "model";
    }
    for (const sim::Fault& fault : faults) {
      if (told.insert(fault.where).second) source.fault(fault.where, fault.what);
    }
  }
}

Results answer_serve(Request& request) {
  Arguments arguments;
  const std::filesystem::path file = request.text("file");
  request.reads(file);
  request.check_output_folder(arguments, "--out", request.out_folder(), {"study.yaml"});
  arguments.check();
  sim::Config config = sim::Config::from_file(file);
  refuse_file_of_another(config, "serve");
  sim::Section root = config.root();
  const std::string name = root.text("name");
  const std::string about = root.text("about", name);
  const Given asked = request.given();
  request.take("trace");  // as an option of other commands it is an output file, here a file of requests
  const Platform platform = request.platform(arguments, root.text("platform", "mi300x"));
  ServeSource source{root, file, asked, arguments};
  const std::vector<SweepAxis> axes = read_serve_axes(source);
  arguments.check();
  config.check();
  ServeStudy study = study_of(axes);
  check_said(study, source);
  const Testbed testbed(platform.spec);
  auto& machine = testbed.kept<ServeMachine>();
  check(study, machine, source);
  arguments.check();
  config.finish();

  const std::size_t count = study.points.size();
  for (std::size_t index = 0; index < count; ++index) {
    study.points[index].answer(machine, batches_simulated(count));
    if (request.progress()) request.progress()(index + 1, count);
  }
  Results answer{platform.spec.name, {}, {}, {}};
  answer.title = about;
  answer.tables.push_back({"results", "", table_of(study), true, curves_of(study)});
  if (!study.axes.empty() && study.axes.front() == case_axis) answer.tables.push_back(gains_of(study));
  if (request.says("over_time")) answer.tables.push_back(over_time(study));
  for (const sim::Fault& vain : config.warnings()) answer.warnings.push_back(vain.where + ": " + vain.what);
  answer.notes = serve_notes(std::vector<ServeResult>(study.points.begin(), study.points.end()));
  if (const std::string& quantity = request.text("sensitivity"); !quantity.empty()) {
    const auto again = [&](Testbed& other) {
      ServeStudy served = study;
      for (ServedPoint& point : served.points) point.answer(other.kept<ServeMachine>(), 0);
      return Results{other.platform().name, {{"results", "", table_of(served)}}};
    };
    answer.tables.push_back(sensitivity_of(quantity, platform, again, request.progress()));
  }
  answer.files.push_back({"study.yaml", config.resolved()});
  return request.finish(platform, std::move(answer));
}

}  // namespace

Command serve_command() {
  return {"serve", "Serve requests over time by a model: latencies, throughput, energy", serve_examples,
          std::vector<Option>{
              {"file", "FILE", "File of the study, in YAML", Said::in_place, true},
              {"over_time", "", "Also show over time how many requests wait and run, and how full the cache is",
               Said::alone}} +
              options_of<ServeQuestion>() + platform_options() + sensitivity_option("tokens_per_s"),
          answer_serve};
}

}  // namespace c3sim::study
