#include "study/run_trace.h"

#include <algorithm>
#include <map>
#include <string>

#include "models/node.h"

namespace study {

namespace {

// Writes the utilisations of a node whenever they have changed.
class UtilisationCounters {
 public:
  UtilisationCounters(models::Node& node, sim::Time origin, sim::TraceSink& sink, sim::TraceSink::Track track)
      : node_(node), origin_(origin), sink_(sink), track_(track) {}

  void operator()(sim::Time since, sim::Time) {
    const sim::Time at = std::max(since, origin_) - origin_;
    for (int gpu = 0; gpu < node_.simulated(); ++gpu) {
      const std::string name = "gpu" + std::to_string(gpu);
      const models::Memory& memory = node_.gpu(gpu).memory();
      show(name + " HBM [%]", at, node_.network().utilisation(memory.hbm()));
      show(name + " Infinity Cache [%]", at, node_.network().utilisation(memory.cache()));
      show(name + " busiest link out [%]", at, busiest_link(gpu));
    }
  }

 private:
  double busiest_link(int from) const {
    double busiest = 0.0;
    for (int to = 0; to < node_.gpus(); ++to) {
      if (to != from) busiest = std::max(busiest, node_.network().utilisation(node_.fabric().link(from, to)));
    }
    return busiest;
  }

  void show(const std::string& name, sim::Time at, double utilisation) {
    const auto [shown, is_new] = shown_.emplace(name, utilisation);
    if (!is_new && shown->second == utilisation) return;
    shown->second = utilisation;
    sink_.counter(track_, name, at, 100.0 * utilisation);
  }

  models::Node& node_;
  sim::Time origin_;
  sim::TraceSink& sink_;
  sim::TraceSink::Track track_;
  std::map<std::string, double> shown_;
};

}  // namespace

void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::TraceSink& sink) {
  for (const NamedRun& run : runs) {
    std::map<std::string, sim::TraceSink::Track> streams;
    for (const Operation& operation : run.schedule) {
      if (!streams.contains(operation.stream)) {
        streams.emplace(operation.stream, sink.add_track(run.name, operation.stream));
      }
    }
    const Timeline timeline = testbed.watch(run.schedule, [&](models::Node& node, sim::Time origin) {
      node.network().add_observer(UtilisationCounters(node, origin, sink, streams.begin()->second));
    });
    for (std::size_t i = 0; i < run.schedule.size(); ++i) {
      const Operation& operation = run.schedule[i];
      const Span& span = timeline.operations[i];
      sink.slice(streams.at(operation.stream), to_string(operation.work), span.start, span.end);
    }
  }
}

}  // namespace study
