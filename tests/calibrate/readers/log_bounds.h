// Tells what no reader of logs may say, whatever it reads: for tests of readers and their fuzz target.
#pragma once

#include <string>
#include <variant>

#include "calibrate/readers/log_reading.h"
#include "study/program/operation.h"

namespace c3sim::calibrate {

inline bool is_size(sim::Bytes bytes) { return bytes.value() >= 1.0 && bytes <= study::largest_array; }
inline bool is_gpu(int gpu) { return gpu >= 0 && gpu <= most_units; }

// Returns an empty text for a run that someone may have made.
inline std::string why_absurd(const study::Trial& trial) {
  if (const auto* const collective = std::get_if<study::CollectiveTrial>(&trial)) {
    const int gpus = collective->spec.gpus;
    if (gpus != 0 && (gpus < 2 || gpus > most_units)) return "gpus";
    return is_size(collective->spec.bytes) ? "" : "bytes";
  }
  if (const auto* const remote = std::get_if<study::RemoteTrial>(&trial)) {
    if (!is_gpu(remote->gpu) || !is_gpu(remote->peer) || remote->gpu == remote->peer) return "pair";
    if (remote->cus && (*remote->cus < 1 || *remote->cus > most_units)) return "cus";
    return is_size(remote->bytes) ? "" : "bytes";
  }
  if (const auto* const copy = std::get_if<study::CopyTrial>(&trial)) {
    if (!is_gpu(copy->spec.from) || !is_gpu(copy->spec.to) || copy->spec.from == copy->spec.to) return "pair";
    if (copy->spec.engine && (*copy->spec.engine < 0 || *copy->spec.engine > most_units)) return "engine";
    return is_size(copy->spec.bytes) ? "" : "bytes";
  }
  if (const auto* const gemm = std::get_if<study::GemmTrial>(&trial)) {
    const models::GemmShape& shape = gemm->shape;
    return shape.m >= 1 && shape.n >= 1 && shape.k >= 1 ? "" : "shape";
  }
  if (const auto* const pair = std::get_if<study::C3Trial>(&trial)) {
    const study::Scenario& both = pair->scenario;
    if (both.gemm.m < 1 || both.gemm.n < 1 || both.gemm.k < 1) return "shape";
    if (both.delay < sim::Time(0)) return "delay";
    return is_size(both.bytes) ? "" : "bytes";
  }
  if (const auto* const replay = std::get_if<study::ReplayTrial>(&trial)) return replay->trace.empty() ? "trace" : "";
  if (const auto* const serve = std::get_if<study::ServeTrial>(&trial)) {
    const study::ServeQuestion& question = serve->question;
    if (question.requests < 1 || question.prompt < 1 || question.output < 1) return "requests";
    return question.concurrency > 0 || question.rate > 0.0 ? "" : "rate";
  }
  if (const auto* const stream = std::get_if<study::StreamTrial>(&trial)) return is_size(stream->bytes) ? "" : "bytes";
  return "kind";
}

inline std::string why_absurd(const Seen& seen) {
  const study::FigureForm& form = study::form_of(seen.figure);
  const bool in_bounds = seen.value >= form.low && seen.value <= form.high;
  const bool low_fits = !seen.low || (*seen.low >= form.low && *seen.low <= seen.value);
  const bool high_fits = !seen.high || (*seen.high <= form.high && *seen.high >= seen.value);
  return in_bounds && low_fits && high_fits ? "" : "figure";
}

inline std::string why_absurd(const Measurement& measurement) {
  if (measurement.seen.empty()) return "no figure is seen";
  const bool of_whole_file = std::holds_alternative<study::ReplayTrial>(measurement.trial);
  if (measurement.line < (of_whole_file ? 0 : 1) || measurement.group.empty() || measurement.file.empty())
    return "place";
  if (measurement.role == Role::calibrate) return "role";  // only a list of roles says so
  for (const Seen& seen : measurement.seen) {
    if (const std::string figure = why_absurd(seen); !figure.empty()) return figure;
  }
  return why_absurd(measurement.trial);
}

}  // namespace c3sim::calibrate
