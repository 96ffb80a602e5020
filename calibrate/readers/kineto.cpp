#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "calibrate/readers/profile_events.h"
#include "calibrate/readers/rccl_tests.h"
#include "sim/config/config_text.h"
#include "study/program/operation.h"

namespace c3sim::calibrate {

namespace {

// Reads a number of microseconds as nanoseconds; returns nothing for other texts.
std::optional<std::int64_t> moment_of(std::string_view text) {
  constexpr std::size_t digits = 3;
  constexpr std::int64_t of_microsecond = 1000;
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max() / of_microsecond - 1;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::optional<std::int64_t> whole = integer_of(text.substr(0, point));
  std::string fraction(point < text.size() ? text.substr(point + 1) : "0");
  const bool is_whole = whole && *whole >= 0 && *whole <= latest;
  if (!is_whole || fraction.empty() || !std::ranges::all_of(fraction, sim::is_digit)) return {};
  fraction.resize(digits, '0');
  return *whole * of_microsecond + *integer_of(fraction);
}

// Returns the elements of each array within the array of that key, and last the elements outside of inner arrays.
std::vector<std::vector<std::string_view>> lists_of(const JsonRecord& event, std::string_view key) {
  std::vector<std::vector<std::string_view>> lists(1);
  for (const JsonValue& value : event.values) {
    if (value.key != key) continue;
    if (value.ends_list) {
      lists.emplace_back();
    } else {
      lists.back().push_back(value.text);
    }
  }
  return lists;
}

using models::Dtype;
using models::GemmShape;

// A ProductOperator has two matrices among its operands, which may have the number of products as first dimension.
struct ProductOperator {
  std::string_view name;
  std::size_t dimensions;  // of each matrix
  std::size_t first;       // first operand that is a matrix
};
constexpr std::array products{ProductOperator{"aten::mm", 2, 0}, ProductOperator{"aten::addmm", 2, 1},
                              ProductOperator{"aten::bmm", 3, 0}, ProductOperator{"aten::baddbmm", 3, 1},
                              ProductOperator{"aten::_scaled_mm", 2, 0}};

// ScalarType names the types of c10/core/ScalarType.h as torch/csrc/distributed spells them; operators prefix some with
// "c10::". `dtype` is set if the name tells how operands are multiplied: "Float" does not, as it may mean fp32 or tf32.
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

// Returns the format of "c10::Half" and the like; nothing for types that no GEMM model has.
std::optional<Dtype> dtype_of(std::string_view operand) {
  constexpr std::string_view space = "c10::";
  const ScalarType* const type = operand.starts_with(space) ? scalar_type(operand.substr(space.size())) : nullptr;
  return type == nullptr ? std::nullopt : type->dtype;
}

KnownWork no_trial(std::string why) { return {{}, std::move(why)}; }

// "_allgather_base" is the operation "allgather" on one buffer.
std::string operation_of(std::string_view name) {
  std::string plain = plain_name(name);
  constexpr std::string_view suffix = "base";
  if (plain.ends_with(suffix)) plain.resize(plain.size() - suffix.size());
  return plain;
}

// PyTorch stores rows, BLAS columns: the product (M x K) (K x N) is a GEMM of size N x M x K. Other events have none.
std::optional<KnownWork> matrix_product_of(const JsonRecord& event) {
  const auto* const product = std::ranges::find(products, event.text("name"), &ProductOperator::name);
  if (product == products.end()) return {};
  const std::vector<std::vector<std::string_view>> operands = lists_of(event, "args.Input Dims");
  const std::vector<std::string_view> types = lists_of(event, "args.Input type").back();
  if (operands.size() - 1 < product->first + 2 || types.size() < product->first + 2) {
    return no_trial(fmt::format("{} without the shapes of its operands: record_shapes=True of the profiler is accepted",
                                product->name));
  }
  std::vector<std::int64_t> sides;  // of both matrices
  for (std::size_t operand = product->first; operand < product->first + 2; ++operand) {
    if (!dtype_of(types[operand]) || types[operand] != types[product->first]) {
      return no_trial(
          fmt::format("{} of {}: GEMMs of bf16, fp16 and fp8 have a model", product->name, printable(types[operand])));
    }
    const std::vector<std::string_view>& dims = operands[operand];
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

// The array of one GPU is the larger of input and output, as in rccl-tests (rccl_tests.cpp).
std::optional<KnownWork> collective_of(const JsonRecord& event) {
  const std::string_view name = event.text("args.Collective name");
  if (name.empty()) return {};
  const TestedCollective* const collective = collective_called(operation_of(name));
  if (collective == nullptr || !collective->kind) return no_trial(printable(name) + " has no model");
  const std::optional<std::int64_t> in = integer_of(event.text("args.In msg nelems"));
  const std::optional<std::int64_t> out = integer_of(event.text("args.Out msg nelems"));
  const std::optional<std::int64_t> ranks = integer_of(event.text("args.Group size"));
  const std::string_view type = event.text("args.dtype");
  if (in.value_or(-1) < 0 || out.value_or(-1) < 0 || ranks.value_or(-1) < 0 || type.empty()) {
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
  models::CollectiveSpec spec{.kind = *collective->kind, .bytes = size, .gpus = static_cast<int>(*ranks)};
  return KnownWork{study::CollectiveTrial{spec}, {}};
}

constexpr std::array<std::pair<std::string_view, EventKind>, 9> categories{
    {{"kernel", EventKind::kernel},
     {"gpu_memcpy", EventKind::copy},
     {"gpu_memset", EventKind::fill},
     {"cuda_runtime", EventKind::call},
     {"cuda_driver", EventKind::call},
     {"cuda_sync", EventKind::stream_wait},
     {"cpu_op", EventKind::program_operator},
     {"user_annotation", EventKind::step},
     {"gpu_user_annotation", EventKind::marked_step}}};

// Returns nothing for events that say nothing about a run.
std::optional<TraceEvent> event_of(const JsonRecord& record) {
  const auto* const category =
      std::ranges::find(categories, record.text("cat"), &std::pair<std::string_view, EventKind>::first);
  if (record.text("ph") != "X" || category == categories.end()) return {};
  const EventKind kind = category->second;
  const std::string_view name = record.text("name");
  const bool is_step = kind == EventKind::step || kind == EventKind::marked_step;
  if (is_step && !name.starts_with("ProfilerStep")) return {};
  if (kind == EventKind::stream_wait && name != "Stream Wait Event") return {};
  const auto integer = [&record](std::string_view key) { return integer_of(record.text(key)); };
  TraceEvent event{.kind = kind,
                   .line = record.at.line,
                   .name = std::string(name),
                   .begin = moment_of(record.text("ts")),
                   .duration = moment_of(record.text("dur")),
                   .device = integer("args.device"),
                   .stream = integer("args.stream"),
                   .correlation = integer("args.correlation"),
                   .external = integer(record.has("args.External id") ? "args.External id" : "args.external id"),
                   .wait_stream = integer("args.wait_on_stream"),
                   .recorded_by = integer("args.wait_on_cuda_event_record_corr_id"),
                   .grid = integer("args.grid"),
                   .collective = collective_of(record)};
  if (kind == EventKind::program_operator) event.product = matrix_product_of(record);
  // In a marked step without a device, the process id is that of the GPU.
  if (kind == EventKind::marked_step && !record.has("args.device")) event.device = integer("pid");
  return event;
}

}  // namespace

bool is_kineto(std::string_view text) {
  if (!is_json(text)) return false;
  const std::size_t begin = text.find_first_of("{[");
  const std::string_view first = text.substr(begin, text.find('}'));  // of a list of events
  return text[begin] == '{' ? has_text(text, "\"traceEvents\"") : first.find("\"ph\"") != std::string_view::npos;
}

Profile read_kineto(std::string_view first, const std::string& name, const Labels& labels, const MoreText& more) {
  return profile_of(name, labels, [&](const TakeEvent& take) {
    TraceHead head;
    const auto count = [](std::string_view text, std::int64_t low) {
      const sim::Parsed<std::int64_t> parsed = parse_printed_integer(text);
      const bool is_one = parsed.error.empty() && parsed.value >= low && parsed.value < low + most_units;
      return is_one ? std::optional(static_cast<int>(parsed.value)) : std::nullopt;
    };
    const std::optional<JsonFault> fault = read_json_trace(first, more, [&](const JsonRecord& record) {
      const std::string_view list = std::string_view(record.path).substr(0, record.path.find('['));
      const bool is_element = record.path.find(']') + 1 == record.path.size();  // and not in a nested list
      if (record.path.empty()) {
        head.ranks = count(record.text("distributedInfo.world_size"), 1);
        head.rank = count(record.text("distributedInfo.rank"), 0);
      } else if (list == "deviceProperties" && is_element && head.gpu.empty()) {
        head.gpu = record.text("name");
      } else if ((list == "traceEvents" || list.empty()) && is_element && record.is_whole) {
        if (const std::optional<TraceEvent> event = event_of(record)) take(*event);
      }
    });
    // A list of events may lack its end (Chrome's "JSON Array Format").
    if (fault && !fault->lacks_end_of_list)
      head.cut_off = fmt::format("it is no JSON from byte {} on: it was cut off, or damaged", fault->byte);
    return head;
  });
}

}  // namespace c3sim::calibrate
