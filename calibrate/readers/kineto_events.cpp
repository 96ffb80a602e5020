#include "calibrate/readers/kineto_events.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

using Json = nlohmann::json;
using Event = KinetoEvent;
using Field = std::string Event::*;

struct FieldName {
  std::string_view key;
  Field field;
  bool in_args;
};
constexpr std::array field_names{FieldName{"ph", &Event::phase, false},
                                 FieldName{"cat", &Event::category, false},
                                 FieldName{"name", &Event::name, false},
                                 FieldName{"ts", &Event::begin, false},
                                 FieldName{"dur", &Event::duration, false},
                                 FieldName{"pid", &Event::process, false},
                                 FieldName{"device", &Event::device, true},
                                 FieldName{"stream", &Event::stream, true},
                                 FieldName{"correlation", &Event::correlation, true},
                                 FieldName{"External id", &Event::external, true},
                                 FieldName{"external id", &Event::external, true},
                                 FieldName{"wait_on_stream", &Event::wait_stream, true},
                                 FieldName{"wait_on_cuda_event_record_corr_id", &Event::recorded_by, true},
                                 FieldName{"Collective name", &Event::collective, true},
                                 FieldName{"In msg nelems", &Event::in_elements, true},
                                 FieldName{"Out msg nelems", &Event::out_elements, true},
                                 FieldName{"Group size", &Event::group, true},
                                 FieldName{"dtype", &Event::type, true},
                                 FieldName{"grid", &Event::grid, true},
                                 FieldName{"Input Dims", &Event::operand_dims, true},
                                 FieldName{"Input type", &Event::operand_types, true}};

bool is_list(Field field) { return field == &Event::operand_dims || field == &Event::operand_types; }

class EventHandler final : public Json::json_sax_t {
 public:
  EventHandler(const std::function<void(const KinetoEvent&)>& take, const JsonPlace& place)
      : take_(take), place_(place) {}

  KinetoHead head;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return is_wanted() ? add(fmt::to_string(value)) : true; }
  bool number_unsigned(number_unsigned_t value) override { return is_wanted() ? add(fmt::to_string(value)) : true; }
  bool number_float(number_float_t, const string_t& written) override { return add(written); }
  bool string(string_t& value) override { return add(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (++depth_ == event_depth_) {
      for (const FieldName& one : field_names) (event_.*one.field).clear();
      event_.line = place_.line;
    }
    field_ = nullptr;
    return true;
  }
  bool end_object() override {
    if (depth_-- == event_depth_ && part_ == "traceEvents") take_(event_);
    return true;
  }
  bool start_array(std::size_t) override {
    if (++depth_ == 1) {
      part_ = "traceEvents";
      event_depth_ = 2;
    }
    if (field_ != &Event::grid && !is_list(field_)) field_ = nullptr;
    return true;
  }
  bool end_array() override {
    --depth_;
    if (is_list(field_) && depth_ > event_depth_ + 1) {
      event_.*field_ += ';';
    } else {
      field_ = nullptr;
    }
    return true;
  }
  bool key(string_t& name) override {
    field_ = nullptr;
    if (depth_ == 1) part_ = name;
    if (depth_ == event_depth_) in_args_ = name == "args";
    inner_ = part_ != "traceEvents" && depth_ <= 3 ? name : std::string();
    if (part_ != "traceEvents" || depth_ < event_depth_ || depth_ > event_depth_ + 1) return true;
    const bool in_args = depth_ > event_depth_;
    if (in_args && !in_args_) return true;
    for (const FieldName& one : field_names) {
      if (one.in_args == in_args && one.key == name) field_ = one.field;
    }
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const Json::exception& error) override {
    const bool is_end = std::string_view(error.what()).find("unexpected end of input") != std::string_view::npos;
    if (is_end && depth_ == 1 && event_depth_ == 2) return false;
    head.cut_off = fmt::format("it is no JSON from byte {} on: it was cut off, or damaged", at);
    return false;
  }

 private:
  bool is_wanted() const { return field_ != nullptr || part_ == "distributedInfo"; }
  bool add(const std::string& text) {
    if (is_list(field_)) {
      event_.*field_ += text;
      event_.*field_ += ',';
    } else if (field_ != nullptr) {
      event_.*field_ = text;
      field_ = nullptr;
    } else if (part_ == "deviceProperties" && inner_ == "name" && head.gpu.empty()) {
      head.gpu = text;
    } else if (part_ == "distributedInfo" && depth_ == 2 && inner_ == "world_size") {
      head.ranks = text;
    } else if (part_ == "distributedInfo" && depth_ == 2 && inner_ == "rank") {
      head.rank = text;
    }
    return true;
  }

  const std::function<void(const KinetoEvent&)>& take_;
  const JsonPlace& place_;
  KinetoEvent event_;
  int event_depth_ = 3;  // {"traceEvents": [{
  int depth_ = 0;
  std::string part_, inner_;
  bool in_args_ = false;
  Field field_ = nullptr;
};

}  // namespace

std::optional<std::int64_t> integer_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

KinetoHead read_kineto_events(std::string_view text, const std::function<void(const KinetoEvent&)>& take,
                              const MoreText& more) {
  JsonPlace place{sim::without_byte_order_mark(text), more};
  EventHandler handler(take, place);
  Json::sax_parse(JsonIterator(&place), JsonIterator(nullptr), &handler);
  return std::move(handler.head);
}

}  // namespace c3sim::calibrate
