// Makes traces by hand as PyTorch's profiler writes them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibrate/readers/profile_reading.h"

namespace c3sim::calibrate {

struct Trace {
  std::vector<std::string> events;
  std::string gpu = "AMD Instinct MI300X";

  // Adds a call of the host; all times are in microseconds.
  Trace& call(const std::string& name, double begin, double duration, int correlation) {
    events.push_back(
        fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"{}","ts":{},"dur":{},"args":{{"correlation":{}}}}})",
                    name, begin, duration, correlation));
    return *this;
  }
  Trace& kernel(const std::string& name, int stream, double begin, double duration, int correlation = 0,
                const std::string& more = "", int device = 0) {
    events.push_back(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","ts":{},"dur":{},"args":{{"device":{},"stream":{},"correlation":{}{}}}}})",
        name, begin, duration, device, stream, correlation, more));
    return *this;
  }
  Trace& all_gather(int stream, double begin, double duration, int correlation, long elements) {
    return kernel("ncclDevKernel_AllGather", stream, begin, duration, correlation,
                  fmt::format(R"(,"Collective name":"_allgather_base","In msg nelems":{},"Out msg nelems":{},)"
                              R"("Group size":8,"dtype":"BFloat16")",
                              elements / 8, elements));
  }
  // Adds a step of the host.
  Trace& step(int number, double begin, double duration) {
    return other(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","ts":{},"dur":{}}})",
                             number, begin, duration));
  }
  Trace& other(const std::string& event) {
    events.push_back(event);
    return *this;
  }
  std::string text() const {
    return fmt::format(R"({{"deviceProperties":[{{"name":"{}"}}],"distributedInfo":{{"world_size":8}},)"
                       R"("traceEvents":[{}]}})",
                       gpu, fmt::join(events, ","));
  }
  Profile read() const { return read_kineto(text(), "folder/t.json"); }
};

}  // namespace c3sim::calibrate
