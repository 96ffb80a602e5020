#include "calibrate/prediction.h"

#include "models/node.h"
#include "sim/config_error.h"
#include "study/cu_partition.h"

namespace calibrate {

namespace {

// Board power and clock of a node's first GPU, over the time for which its resources held their rates.
class PowerMeter {
 public:
  void attach(models::Node& node) {
    models::PowerGovernor& governor = node.gpu(0).governor();
    idle_power_ = governor.power();
    idle_clock_ = governor.clock();
    node.network().add_observer([this, &governor](sim::Time since, sim::Time until) {
      const sim::Seconds held = sim::to_seconds(until - since);
      metered_ += held;
      energy_ += governor.power() * held;
      cycles_ += governor.clock() * held;
    });
  }

  // Whatever was not metered of so long a run was idle.
  Prediction mean_over(sim::Seconds time) const {
    if (time <= sim::Seconds(0.0)) return {time, idle_power_, idle_clock_};
    const sim::Seconds idle = time - metered_;
    return {time, (energy_ + idle_power_ * idle) / time, sim::Hertz((cycles_ + idle_clock_ * idle) / time.value())};
  }

 private:
  sim::Watts idle_power_;
  sim::Hertz idle_clock_;
  sim::Seconds metered_;
  sim::Joules energy_;
  double cycles_ = 0.0;
};

sim::Task<> launch_stream(models::Node& node, sim::Bytes bytes) {
  co_await node.host().launch_kernel(0, false);
  models::Memory& memory = node.gpu(0).memory();
  models::UsageList usages;
  models::Traffic traffic;
  traffic.reads = 2.0 / 3.0;
  traffic.writes = 1.0 / 3.0;
  memory.add_from_xcds(usages, memory.evenly_spread(), 1.0, traffic);
  sim::ActivitySpec stream;
  stream.amount = bytes.value();
  stream.usages = std::move(usages).take();
  co_await node.network().run(std::move(stream));
  co_await node.host().notice_kernel_end(0);
}

// A kernel that streams through memory on all CUs. bytes == 0: nothing runs.
Prediction predict_stream(const models::PlatformSpec& platform, sim::Bytes bytes) {
  sim::Simulator simulator;
  models::Node node(simulator, platform, models::Symmetry::all_alike);
  PowerMeter meter;
  meter.attach(node);
  if (bytes > sim::Bytes(0.0)) simulator.spawn("stream", launch_stream(node, bytes));
  simulator.run();
  return meter.mean_over(sim::to_seconds(simulator.now()));
}

study::Schedule schedule_of(const models::PlatformSpec& platform, const Measurement& measurement) {
  study::Schedule schedule;
  const auto add = [&schedule](study::Work work, models::CuMask mask = {}) {
    schedule.push_back({.name = study::to_string(work), .work = work, .mask = mask, .stream = {}, .after = {}});
  };
  models::CollectiveSpec collective;
  collective.kind = measurement.collective;
  collective.bytes = measurement.bytes;
  collective.gpus = platform.gpus;
  switch (measurement.subject) {
    case Subject::empty_kernel:
      add(models::GemmShape{1, 1, 1});  // one workgroup with next to nothing to do
      break;
    case Subject::gemm:
      add(measurement.gemm, measurement.limit > 0 ? study::first_cus(platform, measurement.limit) : models::CuMask{});
      break;
    case Subject::kernel_collective:
      add(collective);
      break;
    case Subject::engine_collective:
      collective.backend = models::Backend::sdma;
      collective.host_threads = models::HostThreads::per_gpu;
      add(collective);
      break;
    case Subject::copy:
    case Subject::fan_out:
      for (int peer = 1; peer <= measurement.limit; ++peer) add(models::SdmaCopySpec{0, peer, measurement.bytes, {}});
      break;
    case Subject::idle:
    case Subject::stream:
      break;
  }
  return schedule;
}

// In the words of whoever finds it so; empty if the platform can run the measurement.
std::string why_impossible(const study::Testbed& testbed, const Measurement& measurement) {
  if (measurement.subject == Subject::gemm && measurement.limit > 0) {
    std::string reason = study::why_no_mask(testbed.platform(), measurement.limit);
    if (!reason.empty()) return reason;
  }
  for (const study::Operation& operation : schedule_of(testbed.platform(), measurement)) {
    std::string reason = testbed.why_impossible(operation.work);
    if (!reason.empty()) return reason;
  }
  return {};
}

// The library with so many channels and no more.
models::PlatformSpec with_channels(models::PlatformSpec platform, models::CollectiveKind kind, int channels) {
  platform.rccl.collectives[static_cast<std::size_t>(kind)].workgroups = channels;
  return platform;
}

}  // namespace

Prediction predict(study::Testbed& testbed, const Measurement& measurement) {
  if (measurement.subject == Subject::idle) return predict_stream(testbed.platform(), sim::Bytes(0.0));
  if (measurement.subject == Subject::stream) return predict_stream(testbed.platform(), measurement.bytes);
  if (measurement.subject == Subject::kernel_collective && measurement.limit > 0) {
    study::Testbed limited(with_channels(testbed.platform(), measurement.collective, measurement.limit));
    Measurement unlimited = measurement;
    unlimited.limit = 0;
    return predict(limited, unlimited);
  }
  if (std::string reason = why_impossible(testbed, measurement); !reason.empty()) {
    throw sim::ConfigError({{measurement.where, "", std::move(reason)}});
  }
  const study::Schedule schedule = schedule_of(testbed.platform(), measurement);
  if (!measurement.power) return {sim::to_seconds(testbed.run(schedule).makespan()), {}, {}};
  PowerMeter meter;
  const study::Timeline timeline =
      testbed.watch(schedule, [&meter](models::Node& node, sim::Time) { meter.attach(node); });
  return meter.mean_over(sim::to_seconds(timeline.makespan()));
}

}  // namespace calibrate
