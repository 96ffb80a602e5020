// Simulates a model that serves requests on one node: latencies, throughput and energy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "study/fault_list.h"
#include "study/network/model_spec.h"
#include "study/report/results.h"
#include "study/report/table_of.h"
#include "study/serve/batch_times.h"
#include "study/serve/fetch.h"
#include "study/serve/serve_question.h"
#include "study/serve/server.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

struct ServeResult {
  ServeQuestion question;  // with its model
  Served served;
  sim::Joules energy;        // of all GPUs, including idle time
  double cache_use = 0.0;    // share of the cache blocks in use in groups that end requests, mean over time
  double most_in_use = 0.0;  // the largest share in use in one of these groups
  // Tokens for which these groups have room, in sequences as long as one can be.
  std::int64_t cache_tokens = 0;
  RequestCounts requests;  // of requests that were not served as asked
  Fidelity fidelity = Fidelity::assumed;
  std::vector<std::string> remarks;  // on the file of the model
  // These are absolute relative errors of interpolated times of randomly chosen batches against their simulations.
  std::vector<double> errors;

  double busy() const;    // share of the time that GPUs computed
  double reused() const;  // share of the tokens of prompts that were not computed
};

// A ServeMachine answers questions; it keeps models and the times of batches and fetches from one to the next. A
// testbed keeps one.
class ServeMachine : public Testbed::Kept {
 public:
  // The testbed must outlive the machine.
  explicit ServeMachine(const Testbed& testbed) : testbed_(testbed), platform_(testbed.platform()) {}

  BatchGrid grid = BatchGrid::fine;  // of batches that no question has had yet

  // Returns contradictions and lack of room, each with the key to blame. Reads the model: throws sim::ConfigError if
  // there is none.
  std::vector<sim::Fault> faults_of(ServeQuestion question);
  // Simulates serving; `simulated` randomly chosen batches are also simulated in full, for the errors of interpolation.
  // Throws sim::ConfigError with faults of the question or of its file of requests.
  ServeResult ask(ServeQuestion question, std::size_t simulated = 8);

 private:
  const ReadModel& model_of(const StepWords& words);
  // Returns the same step of the model that drafts; nothing if none does.
  std::optional<StepQuestion> draft_of(const ServeQuestion& question, StepQuestion step);
  ServerSpec cache_of(const ServeQuestion& question, const StepQuestion& step);
  std::int64_t longest_request(const ServeQuestion& question);
  void check_lengths(const ServeQuestion& question, FaultList& faults);
  BatchCosts costs_of(const ServeQuestion& question, const StepQuestion& step);
  ServingGroup group_of(const ServeQuestion& question, const StepQuestion& step, bool is_first);
  BatchTimes& batch_times(const StepQuestion& step, const ServeQuestion& question);
  FetchTimes& fetch_times(Fetch fetch, Store store, const BlockCopies& copies);

  const Testbed& testbed_;
  const models::PlatformSpec& platform_;
  std::map<std::array<std::string, 3>, ReadModel> models_;  // by name, ignored keys and `like`
  // By step, the most tokens of a batch, and those of the largest batch with a captured graph.
  std::map<std::tuple<StepQuestion, std::int64_t, std::int64_t>, std::unique_ptr<BatchTimes>> batch_times_;
  std::map<std::tuple<Fetch, Store, std::int64_t, sim::Bytes>, std::unique_ptr<FetchTimes>> fetch_times_;
};

// Returns how many batches of each point a study simulates: about 200 in all, 1 to 8 for each point.
constexpr std::size_t batches_simulated(std::uint64_t points) {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(200 / points, 1, 8));
}

Results to_tables(const ServeResult& result, const models::PlatformSpec& platform);

// Returns the columns of an answer; people are shown what keeps to limits only where there are some.
std::vector<Shown<ServeResult>> shown_of_serving(bool has_limits);
// Returns notes on the accuracy of these answers and on requests not served as asked.
std::vector<std::string> serve_notes(std::span<const ServeResult> results);

}  // namespace c3sim::study
