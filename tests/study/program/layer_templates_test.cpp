#include "study/program/layer_templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "study/step/step_graph.h"
#include "tests/config_fault.h"
#include "tests/folder.h"
#include "tests/study/step/step_questions.h"
#include "tests/text_file.h"

namespace c3sim::study {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LayerFiles : public InFolder {
 protected:
  std::vector<std::filesystem::path> with_own() const { return {folder_, C3SIM_SOURCE_DIR "/configs"}; }
  // Writes a file with these lines and, unless they have some, no tensors.
  void write_mine(std::string lines) {
    for (const char* const list : {"weights", "kept"}) {
      if (lines.find(std::string(list) + ": [") == std::string::npos) lines += std::string(list) + ": []\n";
    }
    write("layers/mine.yaml", lines);
  }
  // Returns the message about a file that has these lines beside the shipped ones.
  std::string fault_of(const std::string& lines) {
    write_mine(lines);
    return fault_of_layer("mine");
  }
  std::string fault_of_layer(const std::string& layer) const {
    return config_fault([&] {
      StepQuestion question = step_of("--model llama3-8b --phase decode");
      question.model.attention = layer;
      memory_of(question, LayerTemplates(with_own()));
    });
  }
};

std::vector<std::string> names_of(const std::vector<StepBlock>& blocks) {
  std::vector<std::string> names;
  for (const StepBlock& block : blocks) {
    for (const StepOperation& one : block.operations) names.push_back(one.name);
  }
  return names;
}

// A file beside the shipped ones is a layer that a model can name.
TEST_F(LayerFiles, FileIsALayer) {
  write("layers/linear.yaml", R"(
let: {state: 128}
weights:
  - {name: out, tensor: hidden * results, gradient: out}
  - times: 2
    rows: [{name: half, tensor: 1.5 * hidden * results, gradient: qkv}]
  - {name: decay, tensor: heads, alike: decay, gpus: replicas * tp}
kept: []
cache: [{name: states, tensor: sequences * own_heads * head_dim * state}]
parts:
  gated:
    takes: {factor: none, size: 4B}
    rows: [{name: $_gates, operate: scale, elements: factor * tokens, element: size}]
forward:
  - {part: half_norm, name: attention_norm}
  - {part: column_product, name: qkv, out: 3 * results, in: hidden}
  - {part: gated, name: key, factor: 2}
  - {name: update, gemm: [state, head_dim, tokens], products: own_heads, when: not decode}
  - {name: step, operate: triad, elements: own_heads * head_dim * state, when: decode}
  - {part: row_product, name: out, out: hidden, in: results}
  - {part: half_end, name: out}
backward:
  - {part: product_gradients, name: out, out: hidden, in: results}
  - {part: product_gradients, name: qkv, out: 3 * results, in: hidden}
)");
  const std::string file = write("mine.yaml", R"(
name: mine
source: this test
layers: 2
hidden: 4096
heads: 32
ffn: 14336
vocabulary: 32000
attention: linear
)");
  const LayerTemplates templates(with_own());
  StepQuestion question = step_of("--model llama3-8b --phase prefill --layers 2 --tokens 512 --tp 2 --half attention");
  question.model = read_model(file, folders);
  const StepMachine machine{mi300x_spec(), templates};
  const std::vector<StepBlock> blocks = step_blocks(question, most_layers, machine);
  EXPECT_THAT(names_of(blocks),
              ElementsAre("attention_norm", "qkv", "key_gates", "update", "out", "out_all_reduce", "out_residual"));
  const std::vector<StepOperation>& operations = blocks.front().operations;
  // Of 32 heads of 128 features two GPUs have 16 each.
  EXPECT_EQ(std::get<models::GemmShape>(operations[1].work), (models::GemmShape{.m = 3 * 2048, .n = 512, .k = 4096}));
  EXPECT_EQ(std::get<models::ElementwiseSpec>(operations[2].work).read, sim::Bytes(2.0 * 512 * 4));
  EXPECT_EQ(std::get<models::GemmShape>(operations[3].work),
            (models::GemmShape{.m = 128, .n = 128, .k = 512, .products = 16}));
  // Of 8 sequences each of two GPUs caches the states of 16 heads, of 128 x 128 numbers in two bytes.
  question = changed(std::move(question), "--phase decode --batch 8 --half both");
  EXPECT_EQ(memory_of(question, templates).cache, sim::Bytes(2.0 * 8 * 16 * 128 * 128 * 2));
  EXPECT_EQ(memory_of(changed(question, "--context 4096"), templates).cache, memory_of(question, templates).cache);
  // Sizes are rows of 4096 weights of four bytes. The three tensors of the feed-forward half have 14336 rows over two
  // GPUs, and `out` and both halves of `qkv` follow. Each tensor fills a bucket, and the last bucket has the norm, too.
  // All four GPUs hold 32 weights.
  std::string reduced;
  question = changed(std::move(question), "--phase train --tokens 64 --dp 2 --context 0");
  for (const StepBlock& block : step_blocks(question, 1, machine)) {
    for (const StepOperation& one : block.operations) {
      const auto* const collective = std::get_if<models::CollectiveSpec>(&one.work);
      if (one.name.starts_with("reduce_"))
        reduced += fmt::format("{} {}, ", one.name.substr(7), collective->bytes.value() / 16384);
    }
  }
  EXPECT_EQ(
      reduced,
      "bucket0 7168, bucket1 7168, bucket2 7168, bucket3 2048, bucket4 3072, bucket5 3073, decay_bucket0 0.0078125, ");
  question.model.attention = "other";
  EXPECT_THAT(config_fault([&] { memory_of(question, templates); }), HasSubstr("other.weights: is in no file"));
}

// Serving counts blocks by these: a state, keys of the last 96 tokens, and a sum of each 64 tokens.
TEST_F(LayerFiles, CachedTensorsGrowAsTheirRowsSay) {
  write_mine(
      "forward: [{part: half_end, name: a}]\ncache: [{name: state, tensor: 1000 * sequences}, "
      "{name: keys, tensor: '7 * min(cached_tokens, 96)'}, {name: sums, tensor: ceil(cached_tokens / 64) * 128}]\n");
  StepQuestion question = step_of("--model llama3-8b --phase prefill --batch 8 --tokens 512");
  question.model.attention = "mine";
  std::vector<std::string> grown;
  for (const auto& [layers, of_sequence, of_token, window] : cached_tensors(question, LayerTemplates(with_own()))) {
    grown.push_back(fmt::format("{} {} {} {}", layers, of_sequence.value(), of_token.value(), window));
  }
  EXPECT_THAT(grown, ElementsAre("32 2000 0 0", "32 0 14 96", "32 0 4 0"));
}

// Models of shipped layers need no other file, and one that has a fault in `kept` alone is refused as a whole. Faults
// of a file may come of another's, so that both are told; all come of those of common.yaml, which are told alone.
TEST_F(LayerFiles, FaultyFileStopsWhatAsksForIt) {
  write("layers/broken.yaml", "forward: [\n");
  EXPECT_THAT(fault_of("forward: [{part: half_norm, name: a}]\nkept: [{name: b}]\n"),
              AllOf(HasSubstr("broken.yaml:2"), HasSubstr("mine.yaml:2:9: kept[0].name: a row is one of these")));
  EXPECT_THAT(fault_of_layer("broken"), HasSubstr("broken.yaml:2"));
  EXPECT_THAT(fault_of_layer("other"), HasSubstr("broken.yaml:2"));
  EXPECT_THAT(fault_of_layer("attention"), IsEmpty());
  write("layers/common.yaml", "parts: {half_norm: {rows: []}}\nlet: 1\n");
  EXPECT_THAT(fault_of_layer("attention"), AllOf(HasSubstr("common.yaml:2"), Not(HasSubstr("attention.yaml"))));
}

// A damaged file of layers is refused, or it gives steps or refuses them: nothing else comes of it.
RC_GTEST_FIXTURE_PROP(LayerFiles, DamagedFilesAreRefusedOrWritten, ()) {
  const auto file = *rc::gen::element<std::string>("attention", "feed_forward", "ends", "common");
  std::string text = content(C3SIM_SOURCE_DIR "/configs/layers/" + file + ".yaml");
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto length = *rc::gen::inRange<std::size_t>(0, 40);
  text.replace(
      at, length,
      *rc::gen::element<std::string>("", " ", "0", "tokens", "*", "(", "-", "$", "4B", "name", ": ", "[", "}", "\n"));
  write("layers/" + file + ".yaml", text);
  config_fault([this] {
    const LayerTemplates templates(with_own());
    for (const char* const phase : {"decode", "train", "train --shard full", "train --batch 2 --micro 2"}) {
      const StepQuestion question = step_of(fmt::format("--model llama3-8b --phase {} --tp 2 --dp 2", phase));
      memory_of(question, templates);
      step_blocks(question, 1, {mi300x_spec(), templates});
    }
  });
}

}  // namespace
}  // namespace c3sim::study
