// Layers are written from templates, the files of configs/layers: lists of operations whose sizes and conditions are
// expressions over the extents of a model and its split. docs/layers.md describes these files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/config.h"
#include "sim/config/expression.h"
#include "study/program/operators.h"
#include "study/program/step_writer.h"

namespace c3sim::study {

inline constexpr sim::Powers powers_of_bytes{1, 0, 0, 0};

// These are the names that expressions of all files may use (docs/layers.md), with their values for a step: the extents
// of a model as its file has them, and those of a step as its options have them. common.yaml has more.
using LayerNames = std::map<std::string, std::function<sim::Amount(const StepQuestion&)>, std::less<>>;
const LayerNames& layer_names();

// ProductGradients are the gradients of product `of`; `weights` is the one that is added up over GPUs.
struct ProductGradients {
  std::string of;
  Written input;
  Written weights;
};

// A LayerRow is one row of a template: an operation, a part of rows, rows that share a condition, or a tensor of a
// layer's weights, of what it keeps for its gradient or of its cache. Which it is follows from what it has.
struct LayerRow {
  enum class What { rows, part, operate, gemm, collective, attention, tensor };

  What what = What::rows;
  std::string name{};  // "$" stands for the name of the call of its part
  // Expressions by key (docs/layers.md), of a part also its arguments. Without them a row is there, `products`, `times`
  // and `of_model` are 1, an `element` has the bytes of activations, a `row` has usual_row elements, and all else is 0.
  std::map<std::string, sim::Expression, std::less<>> formulas{};
  std::vector<LayerRow> rows{};  // of a collective: what is computed meanwhile
  bool with_attention = false;   // rows: see StepOperation
  std::string part{};
  ElementwiseOperator operation{};
  Kind kind = Kind::elementwise;
  std::vector<sim::Expression> gemm{};  // m, n, k
  models::Layout layout = models::GemmShape{}.layout;
  bool awaits_pieces = false;  // it waits for what was scattered since the last such row
  enum class Gives { nothing, input, weights } gives = Gives::nothing;  // of the product that its part is named after
  std::string stream{};                                                 // of an operator or a collective; compute
  enum class Attention { forward, backward, decoding } attention = Attention::forward;
  bool absorbed = false;
  std::string gradient{};  // the product with whose gradient that of the tensor is complete; empty: none
  std::string alike{};     // name of the GPUs that hold the rows or the tensor alike; empty: the replicas
};

// A Tensor is held alike by `gpus` GPUs, which `alike` names unless they are the replicas.
struct Tensor {
  double elements = 0.0;
  std::string gradient{};  // see LayerRow
  std::string alike{};     // "", or a prefix of names such as "expert_"
  int gpus = 1;
};

// AlikeWeights are weights that `holders` GPUs hold alike: these GPUs add up the gradients, and each keeps a share of
// the weights if they are sharded.
struct AlikeWeights {
  std::string of;  // Tensor::alike
  int holders = 1;
  double count = 0.0;
  std::vector<Tensor> tensors{};  // in the order in which their gradients are complete

  bool are_shared() const { return holders > 1 && count > 0.0; }
};

// A WrittenPart is what later operations wait for in a part.
struct WrittenPart {
  Written first;                            // its first row
  Written collective;                       // its last collective
  std::vector<ProductGradients> gradients;  // of the products that it gives
};

// A LayerPart is a list of rows or tensors of one file.
struct LayerPart {
  std::size_t file = 0;
  std::vector<std::pair<std::string, std::optional<sim::Expression>>> takes{};  // arguments with their defaults
  std::vector<LayerRow> rows{};
};

// Returns the files that LayerTemplates reads.
std::vector<std::filesystem::path> template_files(std::span<const std::filesystem::path> config_folders);

class LayerTemplates {
 public:
  // Reads operators.yaml and layers/*.yaml of these folders; of files with one name the first folder's counts. A layer
  // with faults is one all the same, until something of it is asked for. Throws sim::ConfigError with all that is wrong
  // in operators.yaml.
  explicit LayerTemplates(std::span<const std::filesystem::path> config_folders);

  std::span<const ElementwiseOperator> operators() const { return operators_; }
  // Writes a part, of which "attention.forward" is the list of that name in attention.yaml; `name` is that of the call.
  // Throws sim::ConfigError where no file has the part or its file has faults, parts use each other in a circle, or an
  // expression has no value that fits.
  using Arguments = std::vector<std::pair<std::string_view, sim::Amount>>;
  WrittenPart write(StepWriter& writer, std::string_view part, const Arguments& arguments = {},
                    const std::string& name = "") const;
  // Returns the tensors of a list such as "attention.weights". Throws as write() does.
  std::vector<Tensor> tensors(const StepQuestion& question, std::string_view list) const;

 private:
  friend class LayerValues;
  friend class LayerPlay;
  // Names are the values that a file declares, in expressions of one another.
  using Names = std::map<std::string, sim::Expression, std::less<>>;
  // A File is one that is being read: its name, and the names that its expressions may use.
  struct File {
    std::string name;
    sim::Config config;
    std::set<std::string, std::less<>> known;
  };
  void declare(File& file);  // its names, and its parts without their rows, which may use those of all files
  void read_rows(File& file, std::size_t index);
  // Returns the part or list of this name. Throws sim::ConfigError where no file has it, or its file has faults.
  const LayerPart& found(const std::map<std::string, LayerPart, std::less<>>& parts, std::string_view name) const;

  std::vector<ElementwiseOperator> operators_;
  std::vector<Names> names_;  // by file; the first is common.yaml, whose names all files have
  std::map<std::string, LayerPart, std::less<>> parts_;    // rows that others call by name, and passes of layers
  std::map<std::string, LayerPart, std::less<>> tensors_;  // by file and list
  std::set<std::size_t> faulty_;                           // files with faults
  std::vector<sim::Fault> faults_;  // of all files; of common.yaml alone if it has some, as others lack names for that
};

// Writes the forward pass of a layer and returns its last operation. `again`: the pass is a recomputation, because its
// results were not kept.
Written write_forward(StepWriter& writer, bool again = false);
// Writes the gradient of a layer, the last operations first.
std::vector<ProductGradients> write_backward(StepWriter& writer);

double elements_of(const std::vector<Tensor>& tensors);
// Return the tensors of both halves of a layer on one GPU, the last half first: of "weights", of what a token leaves
// for the gradient ("kept"), or of what all tokens leave in the "cache"; and the weights by their holders, those of the
// replicas, of which there may be none, first.
std::vector<Tensor> tensors_of_layer(const StepQuestion& question, const LayerTemplates& templates,
                                     std::string_view list);
std::vector<AlikeWeights> alike_weights(const StepQuestion& question, const LayerTemplates& templates);
// Returns the weights of embedding and head on one GPU; none if the step has only layers.
std::vector<Tensor> end_weights(const StepQuestion& question, const LayerTemplates& templates);

}  // namespace c3sim::study
