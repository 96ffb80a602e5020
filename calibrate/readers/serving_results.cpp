// Reads what clients that benchmark served models write: the results of `vllm bench serve --save-result`, and records
// of such runs by InferenceMAX. What they do not say of the server is assumed to be vLLM's default (engine arguments of
// 0.15), and a remark says so. Records of other servers, which have schedulers of their own, are left out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_reading.h"
#include "study/ask/words.h"
#include "study/config_folders.h"
#include "study/network/model_spec.h"
#include "study/network/step_question.h"

namespace c3sim::calibrate {

namespace {

using sim::operator""_us;
using study::Figure;

constexpr double most_tokens = 1e12;
constexpr double most_rate = 1e6;
constexpr int most_requests = 1 << 30;

// Figures with their keys in plain names.
constexpr std::array<std::pair<std::string_view, Figure>, 11> times{{{"meanttft", Figure::first_token},
                                                                     {"medianttft", Figure::first_token_median},
                                                                     {"p90ttft", Figure::first_token_p90},
                                                                     {"p99ttft", Figure::first_token_p99},
                                                                     {"meantpot", Figure::per_token},
                                                                     {"mediantpot", Figure::per_token_median},
                                                                     {"p99tpot", Figure::per_token_p99},
                                                                     {"meane2el", Figure::end_to_end},
                                                                     {"mediane2el", Figure::end_to_end_median},
                                                                     {"p90e2el", Figure::end_to_end_p90},
                                                                     {"p99e2el", Figure::end_to_end_p99}}};

// A FormatWord is a word of a precision or of a repository's name, and the formats that it means, as --dtype spells
// them. Serving systems multiply in fp8 if weights are fp8, and quantise before each product; weights of four bits are
// unpacked to bf16. Words for int8, packed files and mixtures have no formats, since these have no model.
struct FormatWord {
  std::string_view word;
  std::string_view formats;
};
constexpr std::string_view in_fp8 = "fp8,activations=bf16";
constexpr std::string_view in_fp4 = "bf16,weights=mxfp4";
constexpr std::string_view in_int4 = "bf16,weights=int4";
constexpr auto format_words = std::to_array<FormatWord>(
    {{"bf16", "bf16"},  {"bfloat16", "bf16"}, {"fp16", "fp16"},  {"float16", "fp16"}, {"fp8", in_fp8},
     {"fp4", in_fp4},   {"mxfp4", in_fp4},    {"nvfp4", in_fp4}, {"int4", in_int4},   {"awq", in_int4},
     {"gptq", in_int4}, {"w4a16", in_int4},   {"4bit", in_int4}, {"4bits", in_int4},  {"int8", ""},
     {"int3", ""},      {"int2", ""},         {"8bit", ""},      {"8bits", ""},       {"3bit", ""},
     {"2bit", ""},      {"w8a8", ""},         {"w8a16", ""},     {"w4a8", ""},        {"w4a4", ""},
     {"w4afp8", ""},    {"w4a8fp8", ""},      {"int8mix", ""},   {"mxfp8", ""},       {"mxfp6", ""},
     {"fp6", ""},       {"gguf", ""},         {"bnb", ""},       {"nf4", ""},         {"hqq", ""},
     {"exl2", ""},      {"exl3", ""}});

struct SaidFormats {
  std::string_view formats;  // empty: not said
  std::string unknown{};     // words for formats without a model
};

// Reads texts such as "Qwen3-8B-FP8-dynamic", "fp8" or "quantized.w4a16". Eight bits of weights and activations, w8a8,
// mean fp8 in a text that contains fp8, and int8 elsewhere.
SaidFormats formats_said_in(std::string_view text) {
  SaidFormats said;
  std::string_view first;
  const std::string lower = lower_case(text);
  const bool has_fp8 = lower.find("fp8") != std::string::npos;
  for (const LogCell& word : words_of(LogCell{.text = lower}, "-._/")) {
    const auto* const known = std::ranges::find(format_words, word.text, &FormatWord::word);
    if (known == format_words.end() || (has_fp8 && word.text == "w8a8")) continue;
    if (known->formats.empty()) {
      said.unknown = known->word;
    } else if (said.formats.empty()) {
      first = known->word;
      said.formats = known->formats;
    } else if (said.formats != known->formats && said.unknown.empty()) {
      said.unknown = fmt::format("{} and {}", first, known->word);
    }
  }
  return said;
}

// Returns why a server cannot be compared with anything; empty for vLLM and for an unnamed server.
std::string why_other_server(const JsonRecord& record) {
  for (const std::string_view key : {"framework", "backend", "endpointtype", "image"}) {
    const std::string server = lower_case(record.text(key));
    const auto has = [&server](std::string_view part) { return server.find(part) != std::string::npos; };
    if (has("sglang") || has("trt") || has("tensorrt"))
      return "servers of SGLang and TensorRT-LLM have schedulers of their own, which have no model";
    const bool may_be_vllm = server.empty() || server.starts_with("vllm") || server.starts_with("openai");
    if (may_be_vllm || key == "image") continue;  // image names are arbitrary
    return fmt::format("{} is {}: servers that are not vLLM's have schedulers of their own, which have no model", key,
                       shown(server));
  }
  return {};
}

class ServingReader {
 public:
  explicit ServingReader(const std::string& name) : log_(name) {}

  Reading read(std::string_view text, void (ServingReader::*read_record)(const JsonRecord&), std::string_view due) {
    const auto fault = read_json_records(text, [&](const JsonRecord& record) {
      if (record.has("meanttftms") || record.has("meanttft")) (this->*read_record)(record);
    });
    if (fault) log_.fault(fault->at, "", fault->what);
    return std::move(log_).take(due);
  }

  // Times are in milliseconds. Requests come at a rate, at a concurrency or all at once.
  void read_client(const JsonRecord& record) {
    std::optional<study::ServeQuestion> question = server_of(record, "modelid");
    const std::optional<int> requests = count(record, "completed", 1, most_requests);
    const std::optional<double> prompts = number(record, "totalinputtokens");
    const std::optional<double> outputs = number(record, "totaloutputtokens");
    if (!question || !requests || !prompts || !outputs || !read_load(record, *question)) return;
    question->requests = *requests;
    question->prompt = std::max<std::int64_t>(1, std::llround(*prompts / *requests));
    question->output = std::max<std::int64_t>(1, std::llround(*outputs / *requests));
    add(record, std::move(*question), "ms", 1.0,
        {{"requestthroughput", Figure::request_rate, 1.0}, {"outputthroughput", Figure::token_rate, 1.0}});
  }

  // Times are in seconds. `conc` requests run at a time, ten times as many in all, of 0.8 to 1 times the given lengths.
  void read_inference_max(const JsonRecord& record) {
    constexpr double in_ms = 1e3;
    for (const auto& [key, none] : {std::pair{"specdecoding", "none"}, {"disagg", "false"}, {"ismultinode", "false"}}) {
      const std::string_view said = record.text(key);
      if (said.empty() || said == none) continue;
      return log_.leave_out(record.at.line, fmt::format("{} is {}: how that is done is not told", key, said));
    }
    std::optional<study::ServeQuestion> question = server_of(record, "model");
    const std::optional<int> concurrency = count(record, "conc", 1, most_requests);
    const std::optional<int> prompt = count(record, "isl", 1, most_requests);
    const std::optional<int> output = count(record, "osl", 1, most_requests);
    if (!question || !concurrency || !prompt || !output) return;
    question->concurrency = *concurrency;
    question->requests = std::int64_t{10} * *concurrency;
    question->prompt = *prompt;
    question->output = *output;
    question->least = 0.8;
    const double gpus = question->step.gpus();
    add(record, std::move(*question), "", in_ms, {{"outputtputpergpu", Figure::token_rate, gpus}});
  }

 private:
  // Returns the value of a key, or records a fault that says what is accepted and returns null.
  const JsonValue* need(const JsonRecord& record, std::string_view key, std::string_view accepted) {
    const JsonValue* const said = record.find(key);
    if (said == nullptr)
      log_.fault(record.at, record.path_of(key), fmt::format("is missing: {} is accepted", accepted));
    return said;
  }
  std::optional<int> count(const JsonRecord& record, std::string_view key, int low, int high) {
    const JsonValue* const said = need(record, key, "a whole number");
    return said == nullptr ? std::nullopt : log_.integer(said->cell(), low, high, record.path_of(key));
  }
  std::optional<double> number(const JsonRecord& record, std::string_view key) {
    const JsonValue* const said = need(record, key, "a number");
    return said == nullptr ? std::nullopt : log_.number(said->cell(), 0.0, most_tokens, record.path_of(key));
  }

  // Returns the model and its parallelism on a vLLM server, or nothing.
  std::optional<study::ServeQuestion> server_of(const JsonRecord& record, std::string_view model_key) {
    if (std::string why = why_other_server(record); !why.empty()) {
      log_.leave_out(record.at.line, std::move(why));
      return {};
    }
    const JsonValue* const model = need(record, model_key, "a repository such as meta-llama/Llama-3.1-70B");
    if (model == nullptr) return {};
    const std::optional<study::HeldModel> known = study::held_by_repository(model->text, study::config_folders());
    if (!known) {
      log_.leave_out(model->line, fmt::format("no model is known that the repository {} holds: the name of a file of "
                                              "configs/models is accepted in its place, and a line of "
                                              "configs/models/repositories.csv makes a repository known",
                                              shown(model->text)));
      return {};
    }
    // The values are those of configs/formats/serving_points.yaml.
    study::ServeQuestion question{.sequences = 1024, .frontend = 3500_us, .ahead = true};
    question.step.collectives = study::carrier_by_size();
    question.step.model_name = known->model;
    const std::optional<std::string> formats = formats_of(record, *model, known->weights);
    if (!formats) return {};
    study::Arguments arguments;
    study::dtypes_of(question.step).read({.arguments = arguments, .option = "precision", .text = *formats});
    if (!read_split(record, question.step) || !is_of_one_gpu(record)) return {};
    return question;
  }

  // Returns the formats by the precision or, if it is not said, by the repository's weights. Leaves the record out for
  // a format without a model, or records a fault for an unknown format, and returns nothing.
  std::optional<std::string> formats_of(const JsonRecord& record, const JsonValue& model, std::string_view published) {
    const JsonValue* const precision = record.find("precision");
    const bool is_told = precision != nullptr && !precision->text.empty() && precision->text != "auto";
    const std::string_view repository = model.text;
    const std::string_view name = repository.substr(repository.rfind('/') + 1);
    const SaidFormats said = formats_said_in(is_told ? std::string_view(precision->text) : name);
    if (!said.unknown.empty()) {
      log_.leave_out(record.at.line, fmt::format("{} is in {}, which has no model",
                                                 is_told ? "what is served" : shown(model.text), said.unknown));
      return {};
    }
    if (is_told && said.formats.empty()) {
      log_.fault(precision->cell(), record.path_of("precision"),
                 shown(precision->text) + " is not known: bf16, fp16, fp8, fp4 and int4 are accepted");
      return {};
    }
    if (is_told) return std::string(said.formats);
    std::string_view formats = said.formats.empty() ? formats_said_in(published).formats : said.formats;
    if (formats.empty()) formats = "bf16";
    if (formats != "bf16") {
      log_.remark("precision", fmt::format("is not said, and taken for {} as {} is published: `--metadata "
                                           "precision=bf16` of the client writes it down",
                                           formats, shown(model.text)));
    }
    return std::string(formats);
  }

  // Returns whether the record is of the GPU of the first record, since a file is compared with one platform.
  bool is_of_one_gpu(const JsonRecord& record) {
    const std::string_view told = record.text("hw").empty() ? record.text("gpu") : record.text("hw");
    const std::string gpu = printable(sim::trimmed(told));
    if (!gpu_) {
      gpu_ = gpu;
      log_.set_gpu(gpu);
      return true;
    }
    if (plain_name(gpu) == plain_name(*gpu_)) return true;
    const auto named = [](const std::string& one) { return one.empty() ? "a GPU that is not told" : one; };
    log_.leave_out(record.at.line, fmt::format("measured on {}, and the first record that is read on {}: a file is "
                                               "compared with one platform",
                                               named(gpu), named(*gpu_)));
    return false;
  }

  bool read_split(const JsonRecord& record, study::StepQuestion& step) {
    const auto read = [&](std::string_view key, int& value) {
      const JsonValue* const said = record.find(key);
      if (said == nullptr) return true;
      const std::optional<int> units = log_.integer(said->cell(), 1, most_units, record.path_of(key));
      if (units) value = *units;
      return units.has_value();
    };
    if (!record.has("tp")) {
      log_.remark("tp", "is not said, and taken for 1: `--metadata tp=8` of the client writes it down");
    }
    if (!read("tp", step.tp) || !read("dp", step.dp) || !read("ep", step.ep)) return false;
    if (record.text("dpattention") == "true") std::swap(step.tp, step.dp);
    return true;
  }

  // Returns whether the load can be simulated; leaves the record out or records a fault if not.
  bool read_load(const JsonRecord& record, study::ServeQuestion& question) {
    const JsonValue* const rate = record.find("requestrate");
    const JsonValue* const most = record.find("maxconcurrency");
    const bool at_once = rate == nullptr || rate->text == "inf" || rate->text == "Infinity";
    if (most != nullptr && !at_once) {
      log_.leave_out(record.at.line,
                     "requests have a rate and may not be more than so many at a time: one of both is read");
      return false;
    }
    if (std::string_view how = record.text("rampupstrategy"); !how.empty()) {
      log_.leave_out(record.at.line,
                     fmt::format("the rate of requests rises ({}): one rate has a model", printable(how)));
      return false;
    }
    if (const JsonValue* const said = record.find("burstiness"); said != nullptr && !at_once) {
      const std::optional<double> burstiness = log_.number(said->cell(), 0.0, 1e6, record.path_of("burstiness"));
      if (!burstiness) return false;
      if (*burstiness != 1.0) {
        log_.leave_out(record.at.line, fmt::format("requests arrive with a burstiness of {}: that of a Poisson "
                                                   "process, 1, has a model",
                                                   printable(said->text)));
        return false;
      }
    }
    if (most != nullptr) {
      const std::optional<int> places = count(record, "maxconcurrency", 1, most_requests);
      question.concurrency = places.value_or(0);
      return places.has_value();
    }
    if (at_once) {
      question.arrivals = study::Arrivals::at_once;
      return true;
    }
    const std::optional<double> per_second = log_.number(rate->cell(), 1e-6, most_rate, record.path_of("requestrate"));
    question.rate = per_second.value_or(1.0);
    return per_second.has_value();
  }

  // A SaidFigure is a figure with its key and the value of 1 there in the unit in which people read it.
  struct SaidFigure {
    std::string key;
    Figure figure;
    double unit;
  };

  // Adds the run with its figures: `rates`, and times, whose keys end in `suffix` and of which 1 is `unit`
  // milliseconds. A value of 0 means that the client did not measure it.
  void add(const JsonRecord& record, study::ServeQuestion question, const std::string& suffix, double unit,
           const std::vector<SaidFigure>& rates) {
    Measurement run{.line = record.at.line,
                    .group = "served " + question.step.model_name,
                    .trial = study::ServeTrial{std::move(question)}};
    std::vector<SaidFigure> figures;
    for (const auto& [key, figure] : times) figures.push_back({std::string(key) + suffix, figure, unit});
    figures.insert(figures.end(), rates.begin(), rates.end());
    for (const SaidFigure& one : figures) {
      const JsonValue* const said = record.find(one.key);
      if (said == nullptr) continue;
      const std::optional<double> value = log_.number(said->cell(), 0.0, most_tokens, record.path_of(one.key));
      if (!value || *value == 0.0) continue;
      run.seen.push_back({.figure = one.figure, .value = *value * one.unit * study::form_of(one.figure).per_unit});
      run.asked.push_back(one.figure);
    }
    if (!run.seen.empty()) log_.add(std::move(run));
  }

  LogReading log_;
  std::optional<std::string> gpu_{};  // of the first record that is read; empty: the record does not say
};

}  // namespace

const LogFormat vllm_bench{
    "vllm bench serve", "times of requests to a served model, as vllm bench serve --save-result writes them",
    [](std::string_view text) {
      return is_json(text) && has_text(text, "\"mean_ttft_ms\"") && has_text(text, "\"total_input_tokens\"");
    },
    [](std::string_view text, const std::string& name) {
      return ServingReader(name).read(text, &ServingReader::read_client,
                                      "no run: completed, total_input_tokens and mean_ttft_ms are accepted");
    }};

const LogFormat inference_max{"InferenceMAX", "the same of many runs, as InferenceMAX keeps them",
                              [](std::string_view text) {
                                return is_json(text) && has_text(text, "\"mean_ttft\"") && has_text(text, "\"conc\"");
                              },
                              [](std::string_view text, const std::string& name) {
                                return ServingReader(name).read(text, &ServingReader::read_inference_max,
                                                                "no run: conc, isl, osl and mean_ttft are accepted");
                              }};

}  // namespace c3sim::calibrate
