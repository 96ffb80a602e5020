// The events of a trace of PyTorch's profiler as they stand in its text (kineto's JSON, Trace Event Format), one by
// one: of each what counts, as it was written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace c3sim::calibrate {

enum class EventField {
  phase,
  category,
  name,
  begin,
  duration,
  device,
  stream,
  correlation,
  external,
  wait_stream,
  recorded_by,
  collective,
  in_elements,
  out_elements,
  group,
  type,
  grid,           // the first of its numbers
  operand_dims,   // "64,32,;32,16,;": a semicolon behind each operand
  operand_types,  // "c10::BFloat16,c10::BFloat16,"
  count
};

class KinetoEvent {
 public:
  int line = 1;  // on which it begins

  void clear();
  std::string& operator[](EventField field) { return texts_[static_cast<std::size_t>(field)]; }
  const std::string& operator[](EventField field) const { return texts_[static_cast<std::size_t>(field)]; }
  bool has(EventField field) const { return !(*this)[field].empty(); }
  std::optional<std::int64_t> integer(EventField field) const;

 private:
  std::array<std::string, static_cast<std::size_t>(EventField::count)> texts_;
};

// What stands beside the events.
struct KinetoHead {
  std::string gpu, rank, ranks;
  std::string cut_off;  // why the text could not be read to its end; empty: it could
};

KinetoHead read_kineto_events(std::string_view text, const std::function<void(const KinetoEvent&)>& take);

}  // namespace c3sim::calibrate
