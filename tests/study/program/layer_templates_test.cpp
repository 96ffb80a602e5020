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

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LayerFiles : public InFolder {
 protected:
  std::vector<std::filesystem::path> with_own() const { return {folder_, C3SIM_SOURCE_DIR "/configs"}; }
  // Returns the message about a file that has these lines beside the shipped ones.
  std::string fault_of(const std::string& lines) {
    write("layers/mine.yaml", lines);
    return config_fault([this] { LayerTemplates{with_own()}; });
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
  question.phase = Phase::train;
  EXPECT_THAT(config_fault([&] { step_blocks(question, most_layers, machine); }),
              HasSubstr("linear.backward: is in no file"));
}

TEST_F(LayerFiles, FaultsHaveTheirPlaces) {
  EXPECT_THAT(fault_of("forward: [{part: half_norm, name: norm}]\n"), IsEmpty());
  for (const auto& [lines, message] : std::vector<std::pair<std::string, std::string>>{
           {"forward: [{name: a, operate: scal, elements: 1}]\n",
            "mine.yaml:1:21: forward[0].operate: 'scal' is no operator"},
           {"forward: [{name: a, operate: scale, elements: tokns}]\n", "'tokns' is not known; did you mean 'tokens'?"},
           {"forward: [{name: a, operate: scale, elements: 2 *}]\n", "at character 4: the expression ends"},
           {"forward: [{name: a, operate: scale}]\n", "elements: is missing"},
           {"forward: [{name: a, gemm: [1, 2]}]\n", "three extents are accepted"},
           {"forward: [{name: a, gemm: [1, 2, 3], operate: scale, elements: 1}]\n", "a row is one of these"},
           {"forward: [{part: half_nrm, name: a}]\n", "no file has the part 'half_nrm'; did you mean 'half_norm'?"},
           {"forward: [{part: activation, name: a}]\n", "'elements' is missing, which the part takes"},
           {"forward: [{part: half_norm, name: a, sise: 1}]\n", "sise: unknown key"},
           {"parts: {half_norm: {rows: []}}\n", "the part 'half_norm' is in another file, too"},
           {"let: {a: b, b: 1}\n", "'b' is not known"},
           {"let: {tokens: 1}\n", "this name has a value already"}}) {
    EXPECT_THAT(fault_of(lines), HasSubstr(message)) << lines;
  }
}

// These files can be read, and no step can be written from them.
TEST_F(LayerFiles, FaultsOfValuesNameTheirOperation) {
  for (const auto& [lines, message] : std::vector<std::pair<std::string, std::string>>{
           {"parts: {a: {rows: [{part: b, name: x}]}, b: {rows: [{part: a, name: x}]}}\n"
            "forward: [{part: a, name: x}]\n",
            "is a part that uses itself"},
           {"forward: [{name: x, operate: scale, elements: tokens / window}]\n", "x: a division by zero"},
           {"forward: [{name: x, operate: scale, elements: tokens, element: 4}]\n", "x: an element has bytes"},
           {"forward: [{name: x, operate: scale, elements: 4B}]\n", "x: a number without a unit is due"},
           {"forward: [{name: x, gemm: [0, 1, 1]}]\n", "x: 0 is no extent of a product"},
           {"forward: [{name: x, operate: scale, elements: 1, when: train}]\n", "the layer writes no operation"}}) {
    write("layers/mine.yaml", lines);
    const LayerTemplates templates(with_own());
    StepQuestion question = step_of("--model llama3-8b --phase decode --layers 1 --half attention");
    question.model.attention = "mine";
    EXPECT_THAT(config_fault([&] {
                  step_blocks(question, 1, {mi300x_spec(), templates});
                }),
                HasSubstr(message))
        << lines;
  }
}

// A damaged file of layers is refused, or it gives steps or refuses them: nothing else comes of it.
RC_GTEST_FIXTURE_PROP(LayerFiles, DamagedFilesAreRefusedOrWritten, ()) {
  std::string text = content(C3SIM_SOURCE_DIR "/configs/layers/attention.yaml");
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto length = *rc::gen::inRange<std::size_t>(0, 40);
  text.replace(
      at, length,
      *rc::gen::element<std::string>("", " ", "0", "tokens", "*", "(", "-", "$", "4B", "name", ": ", "[", "}", "\n"));
  write("layers/attention.yaml", text);
  config_fault([this] {
    const LayerTemplates templates(with_own());
    for (const char* const phase : {"decode", "train"}) {
      const StepQuestion question = step_of(fmt::format("--model llama3-8b --phase {} --layers 1 --tp 2", phase));
      step_blocks(question, 1, {mi300x_spec(), templates});
    }
  });
}

}  // namespace
}  // namespace c3sim::study
