// A model that serves requests on one node: how long they wait for their tokens, how many the node serves, what it
// draws.
#pragma once

#include <array>
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
#include "study/serve/serving.h"

namespace c3sim::study {

struct ServeResult {
  ServeQuestion question;  // with its model
  Served served;
  sim::Joules energy;        // of all GPUs, while they wait, too
  double cache_use = 0.0;    // share of the blocks of the groups that end requests, mean over time
  double most_in_use = 0.0;  // of one of them at its most
  std::int64_t cache_tokens = 0;
  RequestCounts requests;            // that were not served as they were asked
  std::vector<std::string> remarks;  // on the file of the model
  // Of batches drawn from all that were computed, simulated themselves: how far off interpolating is, as a share.
  std::vector<double> errors;

  double busy() const;    // share of the time that GPUs computed
  double reused() const;  // share of the tokens of prompts that were not computed
  double mean_error() const;
  double largest_error() const;
};

// The machine that questions are asked of: models, and what a batch and a fetch take, are kept from one to the next.
class ServeMachine {
 public:
  explicit ServeMachine(const models::PlatformSpec& platform, BatchGrid grid = BatchGrid::fine);

  // What contradicts itself or has no room, each with the word that says it. Reads the model: throws sim::ConfigError
  // where there is none.
  std::vector<sim::Fault> faults_of(ServeQuestion question);
  // So many of the batches are simulated themselves, to tell how far off others are. Throws sim::ConfigError with the
  // question's faults, or those of the file of requests that it names.
  ServeResult ask(ServeQuestion question, std::size_t simulated = 8);

 private:
  const ReadModel& model_of(const StepWords& words);
  // The same step of the model that drafts; nothing where none does.
  std::optional<StepQuestion> draft_of(const ServeQuestion& question, StepQuestion step);
  std::int64_t cache_blocks(const ServeQuestion& question, const StepQuestion& step);
  std::int64_t longest_request(const ServeQuestion& question);
  void check_lengths(const ServeQuestion& question, FaultList& faults);
  BatchCosts costs_of(const ServeQuestion& question, const StepQuestion& step);
  ServingGroup group_of(const ServeQuestion& question, const StepQuestion& step, bool is_first);
  BatchTimes& batch_times(const StepQuestion& step, const ServeQuestion& question);
  FetchTimes& fetch_times(Fetch fetch, Store store, const BlockCopies& copies);

  const models::PlatformSpec& platform_;
  BatchGrid grid_;
  std::vector<ElementwiseOperator> operators_;
  std::map<std::array<std::string, 3>, ReadModel> models_;  // by name, ignored keys and what it is read as
  std::map<std::tuple<StepQuestion, std::int64_t, std::int64_t>, std::unique_ptr<BatchTimes>> batch_times_;
  std::map<std::tuple<Fetch, Store, std::int64_t, sim::Bytes>, std::unique_ptr<FetchTimes>> fetch_times_;
};

// The same of one question, on a machine of its own.
ServeResult ask(const Testbed& testbed, const ServeQuestion& question);
Results to_tables(const ServeResult& result, const models::PlatformSpec& platform);

// The columns of an answer, and what each shows of it.
std::vector<Shown<ServeResult>> shown_of_serving();
// What a reader should know of these answers.
std::vector<std::string> serve_notes(std::span<const ServeResult> results);

}  // namespace c3sim::study
