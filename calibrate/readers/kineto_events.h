// The events of a trace of PyTorch's profiler as they stand in its text (kineto's JSON, Trace Event Format), one by
// one: of each what counts, as it was written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "calibrate/readers/json_records.h"
#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// Texts, empty where the event has none of that name.
struct KinetoEvent {
  int line = 1;  // on which it begins
  std::string phase, category, name, begin, duration, process;
  std::string device, stream, correlation, external, wait_stream, recorded_by;
  std::string collective, in_elements, out_elements, group, type;
  std::string grid;           // the first of its numbers
  std::string operand_dims;   // "64,32,;32,16,;": a semicolon behind each operand
  std::string operand_types;  // "c10::BFloat16,c10::BFloat16,"
};
// The whole number that such a text is; nothing of others.
std::optional<std::int64_t> integer_of(const std::string& text);

// What stands beside the events.
struct KinetoHead {
  std::string gpu, rank, ranks;
  std::string cut_off;  // why the text could not be read to its end; empty: it could
};

// An object whose "traceEvents" are the events, or a list of them, which may lack its end (Chrome's "JSON Array
// Format"). Where `more` is given it hands over what follows behind the text.
KinetoHead read_kineto_events(std::string_view text, const std::function<void(const KinetoEvent&)>& take,
                              const MoreText& more = {});

// What an event of PyTorch's profiler says of the work behind it: which trial it is, or why it is none.

// Of an operator that multiplies matrices (aten::mm, addmm, bmm, baddbmm, _scaled_mm); nothing of others.
std::optional<KnownWork> matrix_product_of(const KinetoEvent& event);
// Of a kernel or operator that records a collective's arguments; nothing of others.
std::optional<KnownWork> collective_of(const KinetoEvent& event);

}  // namespace c3sim::calibrate
