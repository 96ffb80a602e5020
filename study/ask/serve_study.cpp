#include "study/ask/serve_study.h"

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

// A text for a word, by itself.
struct ReadText {
  std::string text;
  std::string why_not{};  // what is wrong with it; empty where nothing is
  std::string meaning{};  // what is read of it, which is the same of "2" and "2.0"; the text where nothing can be

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
  if (root_.has("cases")) read_cases();
  for (const std::string& word : word_names()) read_axis(word);
  choose_how_requests_arrive();
}

void ServeStudy::choose_how_requests_arrive() {
  const auto axis_of = [&](std::string_view word) { return std::ranges::find(axes_, word, &ServeAxis::name); };
  for (const std::string by_rate : {"rate", "stages"}) {
    const auto concurrency = axis_of("concurrency");
    const auto rate = axis_of(by_rate);
    if (concurrency == axes_.end() || rate == axes_.end()) continue;
    // No concurrency, 0, is by rate.
    if (std::ranges::count(concurrency->alternatives, "0", &ServeAlternative::label) > 0) continue;
    if (given_.contains("concurrency") != given_.contains(by_rate)) {
      axes_.erase(given_.contains(by_rate) ? concurrency : rate);
    } else {
      fault(by_rate,
            "is how often requests arrive, and with a concurrency each arrives when another ends: one of both "
            "is accepted");
    }
  }
}

void ServeStudy::read_cases() {
  ServeAxis axis{cases, {}};
  for (sim::Section& section : root_.list("cases")) {
    ServeAlternative one{section.text("name"), {}};
    for (const std::string& word : word_names()) {
      if (!section.has(word)) continue;
      one.words.emplace_back(word, placed(word, section.text(word)));
      const std::string why = read_text_of(word, one.words.back().second).why_not;
      if (!why.empty()) section.fault(word, why);
    }
    axis.alternatives.push_back(std::move(one));
  }
  if (axis.alternatives.empty()) root_.fault("cases", "at least one case is needed");
  axes_.push_back(std::move(axis));
}

void ServeStudy::read_axis(const std::string& word) {
  std::vector<std::string> texts;
  if (root_.has(word)) {
    for (const std::string& text : root_.texts(word)) texts.push_back(placed(word, text));
    if (texts.empty()) root_.fault(word, "at least one value is needed");
  }
  const auto said = given_.find(word);
  if (said != given_.end()) {
    texts.clear();
    // What has an equals sign goes on with the value before it: "ttft=500ms,tpot=50ms" is one.
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
  ServeAxis axis{word, {}};
  for (const ReadText& one :
       arguments_.each_once(typed(word), std::move(all), [](const auto& read) { return read.text; })) {
    axis.alternatives.push_back({one.text, {{word, one.text}}});
  }
  if (!texts.empty()) axes_.push_back(std::move(axis));
}

std::string ServeStudy::placed(const std::string& word, const std::string& text) const {
  return word == "trace" ? (folder_ / text).string() : text;
}

void ServeStudy::fault(const std::string& word, const std::string& what) {
  if (!given_.contains(word)) return root_.fault(word, what);
  arguments_.fault(typed(word), what);
}

std::string ServeStudy::typed(const std::string& word) const {
  return given_.contains(word) ? Option{.name = word, .form = {}, .help = {}}.typed() : word;
}

std::size_t ServeStudy::size() const {
  std::size_t points = 1;
  for (const ServeAxis& axis : axes_) points *= axis.alternatives.size();
  return points;
}

const ServeAlternative& ServeStudy::alternative(std::size_t point, std::size_t axis) const {
  for (std::size_t after = axis + 1; after < axes_.size(); ++after) point /= axes_[after].alternatives.size();
  return axes_[axis].alternatives[point % axes_[axis].alternatives.size()];
}

std::vector<std::string> ServeStudy::labels(std::size_t point) const {
  std::vector<std::string> labels;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) labels.push_back(alternative(point, axis).label);
  return labels;
}

ServeQuestion ServeStudy::question(std::size_t point) const {
  Given words;
  for (std::size_t axis = axes_.size(); axis-- > 0;) {  // cases come first, and so last here
    for (const auto& [word, text] : alternative(point, axis).words) {
      if (axes_[axis].name != cases || !given_.contains(word)) words[word] = {text};
    }
  }
  ServeQuestion question;
  Arguments arguments;
  read_words(question, words, arguments, nullptr);
  arguments.check();
  return question;
}

}  // namespace c3sim::study
