#include "study/sweep/rank_messages.h"

#include <nlohmann/json.hpp>

#include "sim/overloaded.h"

template <>
struct nlohmann::adl_serializer<c3sim::study::Cell> {
  static void to_json(json& to, const c3sim::study::Cell& cell) {
    std::visit(c3sim::sim::Overloaded{[&](std::monostate) { to = nullptr; },
                                      [&](const c3sim::study::NoNumber&) { to = nullptr; },
                                      [&](const auto& value) { to = value; }},
               cell);
  }
  static void from_json(const json& from, c3sim::study::Cell& cell) {
    if (from.is_boolean()) cell = from.get<bool>();
    if (from.is_number_integer()) cell = from.get<std::int64_t>();
    if (from.is_number_float()) cell = from.get<double>();
    if (from.is_string()) cell = from.get<std::string>();
  }
};

namespace c3sim::study {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PointAnswer, index, cells, fault, failed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Orders, points, leave, go, everyone)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, digest, answers, seconds, failure, users_fault, farewell, asks_for_life)

namespace {

std::string as_message_pack(const nlohmann::json& message) {
  std::string bytes;
  nlohmann::json::to_msgpack(message, bytes);
  return bytes;
}

}  // namespace

std::string packed(const Orders& orders) { return as_message_pack(orders); }
std::string packed(const Report& report) { return as_message_pack(report); }
Orders unpacked_orders(const std::string& bytes) { return nlohmann::json::from_msgpack(bytes).get<Orders>(); }
Report unpacked_report(const std::string& bytes) { return nlohmann::json::from_msgpack(bytes).get<Report>(); }

}  // namespace c3sim::study
