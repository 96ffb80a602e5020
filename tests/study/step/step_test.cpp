// These tests check whole steps: what they take, compute and hold.
#include <map>
#include <numeric>

#include "study/step/step_graph.h"
#include "tests/study/step/step_questions.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

const std::string decode_8b = "--model llama3-8b --phase decode --context 1024 ";
const std::string prefill_8b = "--model llama3-8b --phase prefill ";
const std::string train_8b = "--model llama3-8b --phase train ";

// A step reads the weights of a layer on one GPU and the keys and values of 8 sequences once, at no more than the peak
// rate of HBM. No GPU takes ten times as long.
TEST(Step, OfDecodingReadsWeightsAndCache) {
  const double weights = 4.0 * 218.1e6 * 2.0;
  const double cache = 4.0 * 8 * 1025 * 2 * 1024 * 2.0;
  const double least = (weights + cache) / mi300x_spec().gpu.memory.hbm_rate.value() * 1e6;
  const double time = us_on_mi300x(step_of(decode_8b + "--batch 8 --layers 4"));
  EXPECT_GT(time, least);
  EXPECT_LT(time, 10.0 * least);
}

// A prompt of 512 tokens and 32 decoding sequences have products of 544 tokens. Attention takes the sum of its times
// for the prompt alone and for the sequences alone.
TEST(Step, DecodesBesideAPrefill) {
  const StepQuestion decode = step_of(decode_8b + "--batch 32 --layers 4");
  const StepQuestion prefill = step_of(prefill_8b + "--tokens 512 --layers 4");
  const StepResult both = ask_mi300x(changed(prefill, "--decoding 32 --decoding-context 1024"));
  const StepResult prompt = ask_mi300x(prefill);
  const double attention = us_of(both, Kind::attention);
  EXPECT_NEAR(attention, us_of(prompt, Kind::attention) + us_of(ask_mi300x(decode), Kind::attention), 0.02 * attention);
  EXPECT_EQ(both.question.new_tokens(), 544);
  EXPECT_LT(in_us(both.time), in_us(prompt.time) + us_on_mi300x(decode));
}

// Every layer is like the one before: the time of the fifth after four layers is that of the twentieth.
TEST(Step, OfManyLayersFollowsFromTheirPeriod) {
  for (const char* const tp : {"--tp 1", "--tp 8"}) {
    const StepQuestion question = changed(step_of(decode_8b + "--batch 4 --layers 20"), tp);
    const double all = in_us(ask_mi300x(question, 20).time);
    EXPECT_NEAR(us_on_mi300x(question), all, 5e-3 * all) << tp;
  }
}

// The layers would draw more than the cap, and the rest of the step less: the cap holds one of two short runs.
TEST(Step, OfManyLayersDrawsNoMoreThanItsCap) {
  const models::PlatformSpec h100 = read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h100.yaml", {}).spec;
  const StepResult few =
      ask({h100, layer_templates()}, step_of("--model llama3-8b --phase prefill --tokens 128 --graph"));
  EXPECT_LE(few.power.value(), 1.005 * h100.gpu.power.cap.value());
}

// Skewed routing gives one rank more copies of tokens, but the FLOPs of a token stay those of the model.
TEST(Step, OfSkewedRoutingHasTheFlopsOfItsModel) {
  const StepQuestion even = step_of("--model mixtral-8x7b --layers 2 --phase decode --ep 8 --batch 16 --graph");
  const StepResult skewed = ask_mi300x(changed(even, "--routing power:1"));
  EXPECT_GT(skewed.time, ask_mi300x(even).time);
  EXPECT_NEAR(skewed.flops / ask_mi300x(even).flops, 1.0, 1e-9);
}

// The head's gradient is reduced before the first layer's, and the optimizer waits for both. The simulation therefore
// runs layers without the head to see whether they repeat.
TEST(Step, OfReplicasThatUpdateTheirHeadFollowsFromItsPeriod) {
  const StepQuestion question = step_of("--model llama3-8b --phase train --tokens 256 --dp 2 --optimizer adam --graph");
  EXPECT_GT(ask_mi300x(question).time, ask_mi300x(changed(question, "--optimizer none")).time);
}

// The host of the second case gets ahead in the forward pass and falls behind in the backward pass. Four layers with
// what precedes and follows them do not show the period; layers alone do.
TEST(Step, FullOfShardedTrainingFollowsFromItsPeriodOrIsSimulatedWhole) {
  struct Case {
    const char* options;
    double time, exposed;  // The accepted errors are relative to the times of all layers.
  };
  for (const auto& [options, time, exposed] :
       {Case{"--model llama3-8b --layers 10 --graph", 0.02, 0.05}, Case{"--model qwen2-7b --graph no", 0.01, 0.01}}) {
    SCOPED_TRACE(options);
    const StepQuestion question =
        changed(step_of("--phase train --tokens 1024 --dp 8 --shard full"), std::string(options));
    const StepResult all = ask_mi300x(question, question.layer_count());
    const StepResult few = ask_mi300x(question);
    EXPECT_NEAR(in_us(few.time), in_us(all.time), time * in_us(all.time));
    EXPECT_NEAR(in_us(few.exposed), in_us(all.exposed), exposed * in_us(question.graph ? all.exposed : all.time));
    if (question.graph) continue;
    EXPECT_NEAR(few.energy().value(), all.energy().value(), 0.01 * all.energy().value());
  }
}

// Kernels run one after another, so that their times add up to the step's.
TEST(Step, OfOneGpuIsTheSumOfItsKernels) {
  const StepResult result = ask_mi300x(step_of(decode_8b));
  const sim::Time sum = std::accumulate(result.by_kind.begin(), result.by_kind.end(), sim::Time(0));
  EXPECT_NEAR(in_us(sum), in_us(result.time), 1e-3 * in_us(result.time));
  EXPECT_EQ(result.communication, sim::Time(0));
}

// All-reduces wait for products, and products wait for all-reduces.
TEST(Step, OfTensorParallelismHidesNothing) {
  const StepResult result = ask_mi300x(step_of(decode_8b + "--tp 8 --batch 8"));
  EXPECT_GT(result.communication, sim::Time(0));
  EXPECT_EQ(result.exposed, result.communication);
  EXPECT_EQ(result.overlapped(), sim::Time(0));
}

// The weights of the next layer arrive while the current layer is computed.
TEST(Step, OfShardedTrainingOverlapsItsGathers) {
  const StepResult result = ask_mi300x(step_of(train_8b + "--layers 4 --tokens 8192 --dp 8 --shard full"));
  EXPECT_GT(result.overlapped(), result.communication / 4);
  EXPECT_GT(result.time_of(Kind::reduce_scatter), sim::Time(0));
}

// The gradients of a product have twice the FLOPs of its forward pass, to which they add.
TEST(Step, OfTrainingDoesThreeTimesTheOperations) {
  const StepQuestion both = step_of("--model bert-large --phase train --layers 4 --tokens 512");
  const double products = ask_mi300x(changed(both, "--forward")).flops.value();
  // Attention has 3.5 times its forward FLOPs: its gradients take five products and its forward pass two.
  const double attention = 4.0 * 16 * 512 * 512 * 64 * 4;
  EXPECT_NEAR(ask_mi300x(both).flops.value(), 3.0 * products + 0.5 * attention, 1e-6 * products);
  // Products of experts have both gradients, as other products have.
  const StepQuestion experts = step_of("--model mixtral-8x7b --phase train --layers 2 --tokens 1024");
  EXPECT_NEAR(ask_mi300x(experts).flops / ask_mi300x(changed(experts, "--forward")).flops, 3.0, 0.1);
}

TEST(Step, LaunchedOpByOpWaitsForItsHost) {
  const StepQuestion question = step_of(decode_8b + "--layers 4 --graph no");
  const models::HostSpec& launches = mi300x_spec().host;
  const StepResult result = ask_mi300x(question);
  // A layer has thirteen kernels: two norms, four products, two copies, attention, two of the activation, two sums.
  const double host = 4 * 13 * in_us(launches.framework_call);
  EXPECT_GE(in_us(result.time), host);
  EXPECT_LT(in_us(result.time), host + 100.0);
  EXPECT_LT(result.compute, result.time);
  // Whenever the GPU computes nothing, it waits for the host or lies in the gap before a kernel that was launched
  // before its turn.
  EXPECT_EQ(result.compute + result.host + result.idle(), result.time);
  EXPECT_LT(result.idle(), 4 * 13 * launches.framework_gap);
  EXPECT_GE(in_us(result.host), host - in_us(result.compute) - 4 * 13 * in_us(launches.framework_gap));
  // Compute time does not depend on how kernels are launched.
  const StepResult from_graph = ask_mi300x(changed(question, "--graph"));
  EXPECT_NEAR(in_us(result.compute), in_us(from_graph.compute), 1e-2 * in_us(from_graph.compute));
  EXPECT_EQ(from_graph.host, sim::Time(0));
}

// Ten thousand tokens keep the GPU busy, so that the host is ahead. Gaps separate the kernels, 11 a layer without a
// cache.
TEST(Step, LaunchedOpByOpHasGapsBetweenItsKernels) {
  const auto time = [](sim::Time gap) {
    models::PlatformSpec platform = mi300x_spec();
    platform.host.framework_gap = gap;
    return in_us(ask_on(platform, step_of(prefill_8b + "--layers 4 --tokens 10000 --graph no")).time);
  };
  EXPECT_NEAR(time(sim::to_time(sim::Seconds(10e-6))) - time({}), 10.0 * (4 * 11 - 1), 0.2 * 10.0 * 4 * 11);
}

TEST(Step, IsFasterOnMoreGpusAndDrawsNoMoreThanItsCap) {
  const StepResult one = ask_mi300x(step_of(decode_8b + "--batch 32"));
  EXPECT_LT(ask_mi300x(step_of(decode_8b + "--batch 32 --tp 8")).time, one.time);
  EXPECT_LE(one.power, mi300x_spec().gpu.power.limit());
  EXPECT_NEAR(one.energy().value(), one.power.value() * in_us(one.time) * 1e-6, 1e-9);
}

// Eight GPUs share out the operations of a sequence. Those that each repeats do not count, as the keys that latent
// attention makes of all tokens.
TEST(Step, OfASharedOutSequenceSharesOutItsOperations) {
  for (const std::string model : {"llama3-8b", "deepseek-v2"}) {
    const StepQuestion question = step_of("--phase prefill --layers 4 --tokens 8192 --model " + model);
    const StepResult one = ask_mi300x(question);
    const StepResult eight = ask_mi300x(changed(question, "--cp 8"));
    EXPECT_NEAR(eight.flops.value(), one.flops.value() / 8.0, 1e-9 * one.flops.value());
    EXPECT_GT(eight.time_of(Kind::all_gather), sim::Time(0));
  }
}

// A compiler fuses what lies between products and leaves the products alone. No kernels of gradients were measured.
TEST(Step, OfCompiledKernelsHasTheSameProductsAndFewerKernels) {
  for (const std::string model : {"llama3-8b", "qwen3-30b-a3b", "gemma2-27b", "deepseek-v3"}) {
    SCOPED_TRACE(model);
    const StepQuestion eager = step_of("--phase decode --context 1024 --tp 8 --batch 16 --model " + model);
    const StepQuestion compiled = changed(eager, "--kernels compiled");
    const StepResult fewer = ask_mi300x(compiled);
    const StepResult more = ask_mi300x(eager);
    EXPECT_LT(fewer.operations.size(), more.operations.size());
    EXPECT_LT(fewer.time, more.time);
    EXPECT_EQ(fewer.time_of(Kind::attention), more.time_of(Kind::attention));
    EXPECT_NEAR(us_of(fewer, Kind::all_reduce), us_of(more, Kind::all_reduce), 0.02 * us_of(more, Kind::all_reduce));
  }
}

// One token uses two of eight experts, 64 tokens use all. Each expert in use reads its weights once.
TEST(Step, ReadsTheWeightsOfBusyExpertsAlone) {
  const StepQuestion one = step_of("--model mixtral-8x7b --phase decode --context 1024 --layers 1 --half feed_forward");
  EXPECT_NEAR(us_on_mi300x(changed(one, "--batch 64")) / us_on_mi300x(one), 4.0, 1.2);
}

// In addition to two products, their activation (two kernels) and two exchanges, a layer has a norm, the router, 20
// kernels that choose experts and collect copies of tokens, two that prepare the second product, six that distribute
// the copies again, and a sum.
TEST(Step, OfExpertsAloneHasWhatTheyDo) {
  const auto operations = [](const std::string& half) {
    const std::string options = "--model mixtral-8x7b --phase decode --context 1024 --batch 64 --layers 1 --ep 8";
    return ask_mi300x(step_of(options + " --half " + half)).operations.size();
  };
  EXPECT_EQ(operations("experts"), 6U);
  EXPECT_EQ(operations("feed_forward"), 37U);
}

// The first three layers of DeepSeek-V3 have no experts and take no time; each further layer takes as long as the next.
// Every other layer of LLaMA 4 Maverick has some, though its file says so of these layers alone.
TEST(Step, OfExpertsAloneLeavesOutLayersWithoutThem) {
  const StepQuestion experts = step_of("--model deepseek-v3 --phase decode --batch 64 --ep 8 --dp 8 --half experts");
  const double one = us_on_mi300x(changed(experts, "--layers 4"));
  EXPECT_NEAR(us_on_mi300x(changed(experts, "--layers 5")), 2.0 * one, 0.02 * one);
  const StepQuestion maverick = step_of("--model llama4-maverick --phase decode --ep 8 --dp 8 --half experts");
  EXPECT_GT(us_on_mi300x(changed(maverick, "--layers 2")), 0.0);
}

// The governor of the H200 holds the mean of board power, and the mean includes the pause.
TEST(Step, BehindAPauseHasAHigherClock) {
  StepQuestion question = step_of(train_8b + "--layers 4 --tokens 4096 --forward");
  const StepResult again = ask_on(h200_spec(), question);
  question.pause = again.time;
  const StepResult rested = ask_on(h200_spec(), question);
  EXPECT_LT(rested.time, again.time);
  EXPECT_GT(rested.time, again.time / 2);
  EXPECT_GT(rested.clock, again.clock);
  EXPECT_LE(rested.compute, rested.time);  // The pause counts as nobody's time.
}

TEST(Step, TellsWhatBoundsItsKinds) {
  const StepResult result = ask_mi300x(step_of(decode_8b + "--batch 8"));
  const StepShare& attention = result.operations.at("attention");
  EXPECT_EQ(bound_of(attention.limits, sim::Seconds(attention.time)), "HBM");
  EXPECT_NEAR(attention.count, 32.0, 1e-6);
  double sum = 0.0;
  for (const auto& [name, share] : result.operations) sum += share.time;
  EXPECT_NEAR(sum * 1e6, in_us(result.time), 1e-3 * in_us(result.time));
}

// The cache holds 64 sequences of 4097 tokens in 80 layers, with one key and one value head of 128 on each of 8 GPUs.
TEST(StepMemory, HoldsWeightsAndCache) {
  const StepMemory memory = memory_of(step_of("--model llama3-70b --phase decode --tp 8 --batch 64 --context 4096"));
  EXPECT_NEAR(memory.cache.value(), 64.0 * 4097 * 80 * 2 * 128 * 2, 1.0);
  EXPECT_NEAR(memory.weights.value(), 70.55e9 * 2 / 8, 0.01e9);
  EXPECT_EQ(memory.states.value(), 0.0);
}

// Training keeps what depends on tokens, and scores on the last stage alone, where fewer micro-batches are kept.
TEST(StepMemory, SharesOutWhatTokensKeep) {
  for (const char* const recompute : {"", "--recompute"}) {
    const StepQuestion question = changed(step_of(train_8b + "--tokens 1024 --batch 8"), recompute);
    EXPECT_DOUBLE_EQ(memory_of(changed(question, "--cp 8")).activations.value(),
                     memory_of(question).activations.value() / 8.0);
  }
  const StepQuestion stages = step_of(train_8b + "--tokens 1024 --batch 8 --pp 4 --micro 8");
  EXPECT_EQ(memory_of(stages).activations, memory_of(changed(stages, "--layers 32")).activations);
  // Of eight GPUs that share out products each has the 1536 + 512 + 64 features that a token of DeepSeek-V2 is
  // projected to in whole, queries, results, keys and values of 16 heads, 4 x 5120 features of the stream and an eighth
  // of what the feed-forward half has: gates, values, activated gates and their products.
  const StepMemory latent = memory_of(step_of("--model deepseek-v2 --phase train --layers 1 --tokens 1024 --tp 8"));
  EXPECT_EQ(latent.activations.value(), 2.0 * 1024 * (4 * 5120 + 2112 + 16 * 2 * 320 + 4 * 12'288 / 8));
  // A token of Mixtral has 16,384 features of its stream, 10,240 of attention, 57,344 of each of two experts, and 4096
  // that each of these takes and gives.
  const StepMemory experts = memory_of(step_of("--model mixtral-8x7b --phase train --layers 1 --tokens 1024"));
  EXPECT_EQ(experts.activations.value(), 2.0 * 1024 * (16'384 + 10'240 + 2 * (57'344 + 2 * 4096)));
}

// Weights are in single precision with and without gradients. Fully sharded, the 1.05 billion of embedding and head are
// gathered in bf16, have gradients in single precision, and an eighth of both is a GPU's own.
TEST(StepMemory, HoldsWeightsAsTheyAreRead) {
  const StepQuestion one = step_of(train_8b + "--layers 1 --tokens 1024");
  EXPECT_EQ(memory_of(changed(one, "--forward")).weights, memory_of(one).weights);
  const StepQuestion shared = step_of(train_8b + "--tokens 1024 --dp 8 --shard full");
  const StepMemory all = memory_of(shared);
  const StepMemory layers = memory_of(changed(shared, "--layers 32"));
  const double ends = 4096.0 * (2 * 128'256 + 1);
  EXPECT_NEAR((all.weights - layers.weights).value(), 1.125 * 2 * ends, 1.0);
  EXPECT_NEAR((all.gradients - layers.gradients).value(), 1.125 * 4 * ends, 1.0);
}

// Returns the operations of a step with one layer of each kind, by name.
std::map<std::string, Work> works_of(const StepQuestion& question) {
  std::map<std::string, Work> works;
  for (const StepBlock& block : step_blocks(question, 1, step_machine())) {
    for (const StepOperation& one : block.operations) works[one.name + block.suffix] = one.work;
  }
  return works;
}

// Each token that verifies a draft has scores.
TEST(Step, ScoresAllTokensThatDecode) {
  const auto works = works_of(step_of(decode_8b + "--batch 4 --tokens 3"));
  EXPECT_EQ(std::get<models::GemmShape>(works.at("head")).n, 12);
}

// Router and head multiply in the format of the stream, their gradients, too.
TEST(Step, MultipliesInTheFormatsOfItsProducts) {
  const std::string options = "--model mixtral-8x7b --phase train --tokens 1024 --dtype fp8,activations=bf16";
  for (const auto& [name, work] : works_of(step_of(options))) {
    const auto* const shape = std::get_if<models::GemmShape>(&work);
    if (shape == nullptr) continue;
    const bool is_plain = name.starts_with("router") || name.starts_with("head");
    EXPECT_EQ(shape->dtype, is_plain ? models::Dtype::bf16 : models::Dtype::fp8) << name;
  }
}

// The gradient of a bias sums up as many rows as its product has, whatever tokens use of experts.
TEST(Step, SumsGradientsOfBiasesOverTheRowsOfTheirProducts) {
  const auto works = works_of(step_of("--model gpt-oss-20b --phase train --tokens 1024 --layers 1"));
  const auto read_for_element = [&](const std::string& of) {
    const auto& shape = std::get<models::GemmShape>(works.at(of + "_input_gradient"));
    const auto& sums = std::get<models::ElementwiseSpec>(works.at(of + "_bias_gradient"));
    return sums.read.value() / static_cast<double>(shape.n * shape.k * shape.products);
  };
  for (const char* const of : {"up", "down", "router"}) EXPECT_DOUBLE_EQ(read_for_element(of), read_for_element("out"));
}

// 30,522 words are 7630.5 for each of four GPUs, so that the head has 7631.
TEST(Step, FillsAVocabularyUpThatDoesNotComeOutEven) {
  const StepQuestion question = step_of("--model bert-large --phase prefill --tp 4 --batch 2 --tokens 128");
  EXPECT_THAT(faults_on(mi300x_spec(), question), IsEmpty());
  EXPECT_EQ(std::get<models::GemmShape>(works_of(question).at("head")).m, 7631);
}

// A window of 4096 leaves 4096 of 5000 tokens to read and to keep.
TEST(Step, SeesItsWindowAlone) {
  const StepQuestion question = step_of(decode_8b + "--batch 8 --layers 4");
  const StepResult full = ask_mi300x(changed(question, "--context 4095"));
  StepQuestion longer = changed(question, "--context 4999");
  longer.model.window = 4096;
  const StepResult windowed = ask_mi300x(longer);
  EXPECT_EQ(windowed.time, full.time);
  EXPECT_EQ(windowed.memory.cache, full.memory.cache);
}

// 32 layers keep 2 x 1024 features of 2 bytes for each token. Of 206.2 GB, weights take 16.06 GB and activations 3e-5
// more: 190.1 GB over 131,072 bytes are 1.45 million tokens, which include the new one.
TEST(StepFaults, NameTheContextThatFits) {
  StepQuestion question = step_of(decode_8b + "--context 2000000");
  question.model.positions = 0;
  double fits = 0.0;
  for (const std::string& fault : faults_on(mi300x_spec(), question)) {
    const std::size_t at = fault.find("--context ");
    if (fault.starts_with("context: ") && at != std::string::npos) fits = std::stod(fault.substr(at + 10));
  }
  EXPECT_NEAR(fits, (206.158e9 - 16.06e9) / 131'072.0, 2e3);
  question.context = static_cast<std::int64_t>(fits);
  EXPECT_THAT(faults_on(mi300x_spec(), question), IsEmpty());
}

// The tests check on the MI300X what the abstract of "Demystifying BERT" (arXiv 2104.08335) says of BERT-large steps.

StepQuestion step_of_bert(const std::string& options) {
  return step_of("--model bert-large --phase train --tokens 128 --optimizer lamb " + options);
}

double share_of(const StepQuestion& question, std::initializer_list<Kind> kinds) {
  const StepResult result = ask_mi300x(question);
  double share = 0.0;
  for (const Kind kind : kinds) share += us_of(result, kind) / in_us(result.time);
  return share;
}

TEST(Bert, IsMostlyMatrixProducts) {
  const StepResult result = ask_mi300x(step_of_bert("--dtype fp32 --batch 32"));
  for (const Kind kind : all_kinds) {
    if (kind == Kind::gemm) continue;
    EXPECT_LT(us_of(result, kind), us_of(result, Kind::gemm) / 2.0);
  }
  EXPECT_GT(us_of(result, Kind::gemm), 0.5 * in_us(result.time));
}

// These kinds of operations stream through memory.
TEST(Bert, IsBoundByMemoryTheMoreTheLowerItsPrecision) {
  const auto share = [](const std::string& dtype) {
    return share_of(step_of_bert("--batch 32 --dtype " + dtype),
                    {Kind::norm, Kind::elementwise, Kind::optimizer, Kind::copy, Kind::softmax, Kind::embedding});
  };
  EXPECT_GT(share("bf16"), 1.5 * share("fp32"));
  EXPECT_GT(share("bf16"), 0.3);
}

// The head's gradients multiply 30522 words by 1024 features for 15 % of the tokens, the other products 1024 to 4096
// features for all tokens.
TEST(Bert, HasProductsOfVeryDifferentIntensity) {
  std::vector<double> intensities;
  const StepResult result = ask_mi300x(step_of_bert("--batch 1"));
  for (const auto& node : result.graph.nodes()) {
    const auto* shape = std::get_if<models::GemmShape>(&node.operation.work);
    if (shape != nullptr) intensities.push_back(shape->flops().value() / shape->compulsory_bytes().value());
  }
  EXPECT_GT(std::ranges::max(intensities), 3.0 * std::ranges::min(intensities));
}

// An optimizer takes the same time for a batch of one as for a batch of 32.
TEST(Bert, FullShowsItsOptimizerAtSmallBatches) {
  const StepQuestion small = step_of_bert("--batch 1");
  EXPECT_GT(share_of(small, {Kind::optimizer}), 2.0 * share_of(step_of_bert("--batch 32"), {Kind::optimizer}));
  EXPECT_GT(share_of(small, {Kind::optimizer}), 0.15);
  EXPECT_LT(us_of(ask_mi300x(changed(small, "--optimizer adam")), Kind::optimizer),
            us_of(ask_mi300x(small), Kind::optimizer));
}

// Products grow with the square of the features, operations that stream grow linearly.
TEST(Bert, SpendsMoreOfLargerLayersOnProducts) {
  const StepQuestion usual = step_of_bert("--batch 16 --optimizer none");
  StepQuestion large = usual;
  for (std::int64_t* const size : {&large.model.hidden, &large.model.heads, &large.model.kv_heads, &large.model.ffn}) {
    *size *= 2;
  }
  EXPECT_GT(share_of(large, {Kind::gemm}), share_of(usual, {Kind::gemm}));
}

// All sequences of a batch share one update.
TEST(Bert, TakesLessForATokenInLargerBatches) {
  EXPECT_GT(ask_mi300x(step_of_bert("--batch 32")).tokens_per_second(),
            1.5 * ask_mi300x(step_of_bert("--batch 4")).tokens_per_second());
}

}  // namespace
}  // namespace c3sim::study
