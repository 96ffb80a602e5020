#include "study/sweep/rank_messages.h"

#include <nlohmann/json.hpp>

#include "sim/overloaded.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

Json cell_json(const Cell& cell) {
  return std::visit(sim::Overloaded{[](std::monostate) { return Json(); }, [](const NoNumber&) { return Json(); },
                                    [](const auto& value) { return Json(value); }},
                    cell);
}

Cell cell_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

std::string bytes_of(const Json& json) {
  std::string bytes;
  Json::to_msgpack(json, bytes);
  return bytes;
}

}  // namespace

std::string packed(const Orders& orders) {
  return bytes_of(
      {{"points", orders.points}, {"leave", orders.leave}, {"go", orders.go}, {"everyone", orders.everyone}});
}

std::string packed(const Report& report) {
  Json answers = Json::array();
  for (const PointAnswer& answer : report.answers) {
    Json cells = Json::array();
    for (const Cell& cell : answer.cells) cells.push_back(cell_json(cell));
    answers.push_back(
        {{"index", answer.index}, {"fault", answer.fault}, {"failed", answer.failed}, {"cells", std::move(cells)}});
  }
  return bytes_of({{"digest", report.digest},
                   {"answers", std::move(answers)},
                   {"seconds", report.seconds},
                   {"failure", report.failure},
                   {"users_fault", report.users_fault},
                   {"farewell", report.farewell},
                   {"asks_for_life", report.asks_for_life}});
}

Orders unpacked_orders(const std::string& bytes) {
  const Json json = Json::from_msgpack(bytes);
  return {json.at("points").get<std::vector<std::uint64_t>>(), json.at("leave").get<bool>(), json.at("go").get<bool>(),
          json.at("everyone").get<bool>()};
}

Report unpacked_report(const std::string& bytes) {
  const Json json = Json::from_msgpack(bytes);
  Report report{
      json.at("digest"),       {}, json.at("seconds"), json.at("failure"), json.at("users_fault"), json.at("farewell"),
      json.at("asks_for_life")};
  for (const Json& entry : json.at("answers")) {
    PointAnswer& answer = report.answers.emplace_back();
    answer.index = entry.at("index");
    answer.fault = entry.at("fault");
    answer.failed = entry.at("failed");
    for (const Json& cell : entry.at("cells")) answer.cells.push_back(cell_of(cell));
  }
  return report;
}

}  // namespace c3sim::study
