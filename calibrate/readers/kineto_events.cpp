#include "calibrate/readers/kineto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/rccl_test.h"
#include "sim/config/config_text.h"
#include "sim/interruption.h"
#include "study/ask/arguments.h"
#include "study/work/operation.h"

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
  // Before each piece whoever waits is asked whether the answer is still wanted.
  constexpr std::size_t longest_piece = std::size_t{1} << 18;
  std::string_view rest = sim::without_byte_order_mark(text);
  const MoreText next = [&rest, &more] {
    sim::ask_interruption();
    if (rest.empty()) return more ? more() : std::string_view();
    const std::string_view piece = rest.substr(0, longest_piece);
    rest.remove_prefix(piece.size());
    return piece;
  };
  JsonPlace place{next(), next};
  EventHandler handler(take, place);
  Json::sax_parse(JsonIterator(&place), JsonIterator(nullptr), &handler);
  return std::move(handler.head);
}

namespace {

using models::Dtype;
using models::GemmShape;

// Operators with two matrices among their operands, each perhaps behind the number of products.
struct ProductOperator {
  std::string_view name;
  std::size_t dimensions;  // of each matrix
  std::size_t first;       // operand that is one
};
constexpr std::array products{ProductOperator{"aten::mm", 2, 0}, ProductOperator{"aten::addmm", 2, 1},
                              ProductOperator{"aten::bmm", 3, 0}, ProductOperator{"aten::baddbmm", 3, 1},
                              ProductOperator{"aten::_scaled_mm", 2, 0}};

// c10/core/ScalarType.h, as torch/csrc/distributed spells them; operators put "c10::" before some. A format of GEMMs
// stands where the name tells how operands are multiplied: of floats it does not, which may be of fp32 or tf32.
struct ScalarType {
  std::array<std::string_view, 4> names;
  int bytes;
  std::optional<Dtype> dtype{};
};
constexpr std::array scalar_types{
    ScalarType{{"BFloat16"}, 2, Dtype::bf16},
    ScalarType{{"Half"}, 2, Dtype::fp16},
    ScalarType{{"Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz"}, 1, Dtype::fp8},
    ScalarType{{"Byte", "Char", "Bool"}, 1},
    ScalarType{{"Short"}, 2},
    ScalarType{{"Int", "Float"}, 4},
    ScalarType{{"Long", "Double"}, 8}};

const ScalarType* scalar_type(std::string_view name) {
  const auto* const found = std::ranges::find_if(scalar_types, [name](const ScalarType& type) {
    return !name.empty() && std::ranges::find(type.names, name) != type.names.end();
  });
  return found == scalar_types.end() ? nullptr : found;
}

// Of "c10::Half"; nothing of types that no GEMM with a model has.
std::optional<Dtype> dtype_of(std::string_view operand) {
  constexpr std::string_view space = "c10::";
  const ScalarType* const type = operand.starts_with(space) ? scalar_type(operand.substr(space.size())) : nullptr;
  return type == nullptr ? std::nullopt : type->dtype;
}

KnownWork no_trial(std::string why) { return {{}, std::move(why)}; }

// What stands before each separator.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts = study::split(text, separator);
  parts.pop_back();  // what follows the last one
  return parts;
}

std::optional<std::int64_t> count_of(const std::string& text) {
  const std::optional<std::int64_t> count = integer_of(text);
  return count && *count >= 0 ? count : std::nullopt;
}

// "_allgather_base" is the operation "allgather" on one buffer.
std::string operation_of(std::string_view name) {
  std::string plain = plain_name(name);
  constexpr std::string_view suffix = "base";
  if (plain.ends_with(suffix)) plain.resize(plain.size() - suffix.size());
  return plain;
}

}  // namespace

// Rows of PyTorch are columns of BLAS: (M x K) (K x N) is asked for as the product of size N x M x K.
std::optional<KnownWork> matrix_product_of(const KinetoEvent& event) {
  const auto* const product = std::ranges::find(products, event.name, &ProductOperator::name);
  if (product == products.end()) return {};
  const std::vector<std::string_view> operands = parts_of(event.operand_dims, ';');
  const std::vector<std::string_view> types = parts_of(event.operand_types, ',');
  if (operands.size() < product->first + 2 || types.size() < product->first + 2) {
    return no_trial(fmt::format("{} without the shapes of its operands: record_shapes=True of the profiler is accepted",
                                product->name));
  }
  std::vector<std::int64_t> sides;  // of both
  for (std::size_t operand = product->first; operand < product->first + 2; ++operand) {
    if (!dtype_of(types[operand]) || types[operand] != types[product->first]) {
      return no_trial(
          fmt::format("{} of {}: GEMMs of bf16, fp16 and fp8 have a model", product->name, printable(types[operand])));
    }
    const std::vector<std::string_view> dims = parts_of(operands[operand], ',');
    if (dims.size() != product->dimensions)
      return no_trial(fmt::format("{} of operands of {} dimensions", product->name, dims.size()));
    for (const std::string_view dim : dims) {
      const sim::Parsed<std::int64_t> side = parse_printed_integer(dim);
      if (!side.error.empty() || side.value < 1 || side.value > GemmShape::largest_extent)
        return no_trial(fmt::format("{} of a side of {}", product->name, printable(dim)));
      sides.push_back(side.value);
    }
  }
  const std::size_t dimensions = product->dimensions;
  const bool is_batched = dimensions == 3;
  const std::int64_t m = sides[dimensions - 2];
  const std::int64_t k = sides[dimensions - 1];
  if (k != sides[2 * dimensions - 2] || (is_batched && sides[0] != sides[3]))
    return no_trial(fmt::format("{} of sides that do not fit", product->name));
  GemmShape shape{sides[2 * dimensions - 1], m, k};
  shape.dtype = *dtype_of(types[product->first]);
  if (is_batched) shape.products = sides[0];
  return KnownWork{study::GemmTrial{shape}, {}};
}

// The array of one GPU is the larger of what goes in and what comes out, as rccl-tests has it (rccl_test.h).
std::optional<KnownWork> collective_of(const KinetoEvent& event) {
  const std::string& name = event.collective;
  if (name.empty()) return {};
  const TestedCollective* const collective = collective_called(operation_of(name));
  if (collective == nullptr || !collective->kind) return no_trial(printable(name) + " has no model");
  const auto in = count_of(event.in_elements);
  const auto out = count_of(event.out_elements);
  const auto ranks = count_of(event.group);
  const std::string& type = event.type;
  if (!in || !out || !ranks || type.empty()) {
    return no_trial(
        fmt::format("{} without its size: 'In msg nelems', 'Out msg nelems', 'dtype' and 'Group size' are "
                    "accepted",
                    printable(name)));
  }
  const ScalarType* const element = scalar_type(type);
  if (element == nullptr) return no_trial(printable(type) + " is no known type");
  if (*ranks < 2 || *ranks > most_units) return no_trial(fmt::format("a group of {}", *ranks));
  const sim::Bytes size(static_cast<double>(std::max(*in, *out)) * element->bytes);
  if (size.value() < 1.0 || size > study::largest_array) return no_trial("nothing, or too much, is moved");
  models::CollectiveSpec spec;
  spec.kind = *collective->kind;
  spec.bytes = size;
  spec.gpus = static_cast<int>(*ranks);
  return KnownWork{study::CollectiveTrial{spec}, {}};
}

}  // namespace c3sim::calibrate
