// What clients that benchmark served models write: `vllm bench serve --save-result` (SGLang's bench_serving has the
// same keys), and the records that InferenceMAX keeps of such runs. Of the server they say little: what they leave out
// is as vLLM has it unless told otherwise (engine arguments of 0.15), and is said as a remark.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/log_reading.h"
#include "study/ask/words.h"
#include "study/step/repositories.h"
#include "study/work/config_folders.h"

namespace c3sim::calibrate {

namespace {

using study::Figure;

constexpr double most_tokens = 1e12;
constexpr double most_rate = 1e6;
constexpr int most_requests = 1 << 30;

// A figure by its key in plain names, and what makes a number of it one in its unit for people.
struct KnownFigure {
  std::string_view key;
  Figure figure;
};
constexpr std::array<KnownFigure, 11> times{{{"meanttft", Figure::first_token},
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

// The formats that its precision stands for: weights and products alone, as serving systems have it.
std::optional<std::string> formats_of(std::string_view precision) {
  if (precision == "fp8") return "bf16,weights=fp8,activations=fp8";
  if (precision == "fp4" || precision == "mxfp4") return "bf16,weights=mxfp4";
  if (precision.empty() || precision == "bf16" || precision == "auto" || precision == "bfloat16") return "bf16";
  if (precision == "fp16" || precision == "float16") return "fp16";
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

  // Times in milliseconds; requests by rate, by concurrency, or all at once.
  void read_client(const JsonRecord& record) {
    std::optional<study::ServeQuestion> question = server_of(record, "modelid");
    const std::optional<int> requests = count(record, "completed", 1, most_requests);
    const std::optional<double> prompts = number(record, "totalinputtokens");
    const std::optional<double> outputs = number(record, "totaloutputtokens");
    if (!question || !requests || !prompts || !outputs || !read_load(record, *question)) return;
    question->requests = *requests;
    question->prompt = std::max<std::int64_t>(1, std::llround(*prompts / *requests));
    question->output = std::max<std::int64_t>(1, std::llround(*outputs / *requests));
    Measurement one = measurement(record, std::move(*question));
    add_times(record, "ms", 1.0, one);
    add(record, "requestthroughput", Figure::request_rate, 1.0, one);
    add(record, "outputthroughput", Figure::token_rate, 1.0, one);
    if (!one.seen.empty()) log_.add(std::move(one));
  }

  // Times in seconds; so many requests at a time, ten times as many in all, of 0.8 to 1 times the lengths that it says.
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
    Measurement one = measurement(record, std::move(*question));
    add_times(record, "", in_ms, one);
    add(record, "outputtputpergpu", Figure::token_rate, gpus, one);
    if (!one.seen.empty()) log_.add(std::move(one));
  }

 private:
  std::optional<int> count(const JsonRecord& record, std::string_view key, int low, int high) {
    const JsonValue* const said = record.find(key);
    if (said != nullptr) return log_.integer(said->cell(), low, high, record.path_of(key));
    log_.fault(record.at, record.path_of(key), "is missing: a whole number is accepted");
    return {};
  }
  std::optional<double> number(const JsonRecord& record, std::string_view key) {
    const JsonValue* const said = record.find(key);
    if (said != nullptr) return log_.number(said->cell(), 0.0, most_tokens, record.path_of(key));
    log_.fault(record.at, record.path_of(key), "is missing: a number is accepted");
    return {};
  }

  // The model and how it is shared out, on a server of vLLM.
  std::optional<study::ServeQuestion> server_of(const JsonRecord& record, std::string_view model_key) {
    study::ServeQuestion question;
    question.sequences = 1024;
    question.ahead = true;
    const JsonValue* const model = record.find(model_key);
    if (model == nullptr) {
      log_.fault(record.at, record.path_of(model_key),
                 "is missing: a repository such as meta-llama/Llama-3.1-70B is accepted");
      return {};
    }
    const std::optional<std::string> known = study::model_of_repository(model->text, study::config_folders());
    if (!known) {
      log_.leave_out(model->line, fmt::format("no model is known that the repository {} holds", shown(model->text)));
      return {};
    }
    question.model = *known;
    const std::optional<std::string> formats = formats_of(record.text("precision"));
    if (!formats) {
      const JsonValue& said = *record.find("precision");
      log_.fault(said.cell(), record.path_of("precision"),
                 shown(said.text) + " is not known: bf16, fp16, fp8 and fp4 are accepted");
      return {};
    }
    study::Arguments arguments;
    study::dtypes_of(question.step).read({.arguments = arguments, .option = "precision", .text = *formats});
    if (!read_split(record, question.step)) return {};
    for (const std::string_view key : {"hw", "gpu"}) log_.set_gpu(record.text(key));
    return question;
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

  // Whether it is a load that can be asked for.
  bool read_load(const JsonRecord& record, study::ServeQuestion& question) {
    const JsonValue* const rate = record.find("requestrate");
    const JsonValue* const most = record.find("maxconcurrency");
    const bool at_once = rate == nullptr || rate->text == "inf" || rate->text == "Infinity";
    if (most != nullptr && !at_once) {
      log_.leave_out(record.at.line,
                     "requests have a rate and may not be more than so many at a time: one of both is read");
      return false;
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

  static Measurement measurement(const JsonRecord& record, study::ServeQuestion question) {
    Measurement one;
    one.line = record.at.line;
    one.group = "served " + question.model;
    one.trial = study::ServeTrial{std::move(question)};
    return one;
  }

  void add_times(const JsonRecord& record, std::string_view unit, double scale, Measurement& one) {
    for (const auto& [key, figure] : times) add(record, std::string(key) + std::string(unit), figure, scale, one);
  }

  // What the client has not counted is 0.
  void add(const JsonRecord& record, const std::string& key, Figure figure, double scale, Measurement& one) {
    const JsonValue* const said = record.find(key);
    if (said == nullptr) return;
    const std::optional<double> value = log_.number(said->cell(), 0.0, most_tokens, record.path_of(key));
    if (!value || *value == 0.0) return;
    one.seen.push_back({.figure = figure, .value = *value * scale * study::form_of(figure).per_unit});
    one.asked.push_back(figure);
  }

  LogReading log_;
};

bool is_of_client(std::string_view text) {
  return is_json(text) && has_text(text, "\"mean_ttft_ms\"") && has_text(text, "\"total_input_tokens\"");
}

bool is_of_inference_max(std::string_view text) {
  return is_json(text) && has_text(text, "\"mean_ttft\"") && has_text(text, "\"conc\"");
}

}  // namespace

const LogFormat vllm_bench{
    "vllm bench serve", "times of requests to a served model, as vllm bench serve --save-result writes them",
    is_of_client, [](std::string_view text, const std::string& name) {
      return ServingReader(name).read(text, &ServingReader::read_client,
                                      "no run: completed, total_input_tokens and mean_ttft_ms are accepted");
    }};

const LogFormat inference_max{"InferenceMAX", "the same of many runs, as InferenceMAX keeps them", is_of_inference_max,
                              [](std::string_view text, const std::string& name) {
                                return ServingReader(name).read(text, &ServingReader::read_inference_max,
                                                                "no run: conc, isl, osl and mean_ttft are accepted");
                              }};

}  // namespace c3sim::calibrate
