#include "study/sweep/serve_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "study/ask/words.h"

namespace c3sim::study {

namespace {

constexpr auto cases = "case";

std::vector<std::string> word_names() {
  std::vector<std::string> names;
  for (const Word<ServeQuestion>& word : words_of(ServeQuestion{})) names.emplace_back(word.name);
  return names;
}

// The text of a word, read without any other word.
struct ReadText {
  std::string text;
  std::string why_not{};  // what is wrong with the text; empty where nothing is
  std::string meaning{};  // the canonical text, equal for "2" and "2.0"; `text` where it is wrong

  bool operator==(const ReadText& other) const { return meaning == other.meaning; }
};

ReadText read_text_of(const std::string& word, const std::string& text) {
  if (text.empty()) return {text, "is empty: a value is accepted", text};
  ServeQuestion question;
  Arguments arguments;
  read_words(question, Given{{word, {text}}}, arguments, nullptr);
  if (!arguments.faults().empty()) return {text, arguments.faults().front().what, text};
  const Words<ServeQuestion>& known = words_of(question);
  const auto found = std::ranges::find(known, word, &Word<ServeQuestion>::name);
  return {text, "", found == known.end() ? text : found->of(question).text()};
}

}  // namespace

ServeStudy::ServeStudy(sim::Section root, const Given& given, const std::filesystem::path& file, Arguments& arguments)
    : root_(root), given_(given), folder_(file.parent_path()), arguments_(arguments) {
  std::vector<SweepAxis> axes;
  if (root_.has("cases")) axes.push_back(read_cases());
  for (const std::string& word : word_names()) {
    if (std::optional<SweepAxis> axis = read_axis(word)) axes.push_back(std::move(*axis));
  }
  choose_how_requests_arrive(axes);
  points_ = PointSequence(std::move(axes), {});
}

void ServeStudy::choose_how_requests_arrive(std::vector<SweepAxis>& axes) {
  const bool by_stages = given_.contains("stages") || root_.has("stages");
  std::erase_if(axes, [this, by_stages](const SweepAxis& axis) {
    if (given_.contains(axis.name)) return false;
    const bool by_trace = given_.contains("trace") && std::ranges::count(words_of_drawing, axis.name) > 0;
    return by_trace || (by_stages && axis.name == "rate");
  });
  const auto axis_of = [&axes](std::string_view word) { return std::ranges::find(axes, word, &SweepAxis::name); };
  for (const std::string by_rate : {"rate", "stages"}) {
    const auto concurrency = axis_of("concurrency");
    const auto rate = axis_of(by_rate);
    if (concurrency == axes.end() || rate == axes.end()) continue;
    // A concurrency of 0 means that requests arrive by rate.
    if (concurrency->place_of("0") < concurrency->values.size()) continue;
    if (given_.contains("concurrency") != given_.contains(by_rate)) {
      axes.erase(given_.contains(by_rate) ? concurrency : rate);
    } else {
      fault(by_rate,
            "is how often requests arrive, and with a concurrency each arrives when another ends: one of both "
            "is accepted");
    }
  }
}

SweepAxis ServeStudy::read_cases() {
  SweepAxis axis;
  axis.name = cases;
  for (sim::Section& section : root_.list("cases")) {
    AxisValue one{section.text("name"), {}};
    if (std::ranges::count(axis.values, one.label, &AxisValue::label) > 0) {
      section.fault("name", fmt::format("{} is another case, too: each has a name of its own", in_quotes(one.label)));
    }
    for (const std::string& word : word_names()) {
      if (!section.has(word)) continue;
      one.assignments.push_back({word, placed(word, section.text(word))});
      const std::string why = read_text_of(word, one.assignments.back().value).why_not;
      if (!why.empty()) section.fault(word, why);
    }
    axis.values.push_back(std::move(one));
  }
  if (axis.values.empty() && root_.is_sound("cases")) root_.fault("cases", "at least one case is needed");
  return axis;
}

std::optional<SweepAxis> ServeStudy::read_axis(const std::string& word) {
  std::vector<std::string> texts;
  if (root_.has(word)) {
    for (const std::string& text : root_.texts(word)) texts.push_back(placed(word, text));
    if (texts.empty()) root_.fault(word, "at least one value is needed");
  }
  const auto said = given_.find(word);
  if (said != given_.end()) {
    texts.clear();
    // A part with an equals sign continues the value before it: "ttft=500ms,tpot=50ms" is one value.
    for (const std::string_view text : split(said->second.back(), ',')) {
      if (!texts.empty() && text.find('=') != std::string_view::npos) {
        texts.back().append(",").append(text);
      } else {
        texts.emplace_back(text);
      }
    }
  }
  std::vector<ReadText> all;
  for (const std::string& text : texts) {
    all.push_back(read_text_of(word, text));
    if (!all.back().why_not.empty()) fault(word, all.back().why_not);
  }
  if (texts.empty()) return {};
  SweepAxis axis;
  axis.name = word;
  for (const ReadText& one : each_once(std::move(all))) axis.values.push_back({one.text, {{word, one.text}}});
  return axis;
}

std::string ServeStudy::placed(const std::string& word, const std::string& text) const {
  return word == "trace" ? (folder_ / text).string() : text;
}

void ServeStudy::fault(const std::string& word, const std::string& what) {
  if (!given_.contains(word)) return root_.fault(word, what);
  arguments_.fault(typed_name(word), what);
}

ServeQuestion ServeStudy::question(const Point& point) const {
  Given words;
  for (std::size_t axis = axes().size(); axis-- > 0;) {  // cases come first, so that they are set last and override
    for (const Assignment& word : point.values[axis].assignments) {
      if (axes()[axis].name != cases || !given_.contains(word.name)) words[word.name] = {word.value};
    }
  }
  ServeQuestion question;
  Arguments arguments;
  read_words(question, words, arguments, nullptr);
  arguments.check();
  return question;
}

}  // namespace c3sim::study
