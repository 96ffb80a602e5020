// Layers are written from templates, the files of configs/layers: lists of operations whose sizes and conditions are
// expressions over the extents of a model and its split. docs/layers.md describes these files.
#pragma once

#include <filesystem>
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

// ProductGradients are the gradients of product `of`; `weights` is the one that is added up over GPUs.
struct ProductGradients {
  std::string of;
  Written input;
  Written weights;
};

// A LayerRow is one row of a template: an operation, a part of rows, or rows that share a condition. Which it is
// follows from what it has; expressions that it lacks have the value that their comment gives.
struct LayerRow {
  enum class What { rows, part, operate, gemm, collective, attention };
  using Formula = std::optional<sim::Expression>;

  What what = What::rows;
  std::string name{};  // "$" stands for the name of the call of its part
  Formula when{};      // always
  std::vector<LayerRow> rows{};
  bool with_attention = false;  // rows: see StepOperation
  Formula of_model{};           // rows: see StepOperation; 1
  std::string part{};
  std::vector<std::pair<std::string, sim::Expression>> arguments{};
  ElementwiseOperator operation{};
  Kind kind = Kind::elementwise;
  Formula elements{};                   // of an operator or a collective
  Formula element{};                    // bytes of an element; those of the activations
  Formula row{};                        // elements of a row that an operator reduces; usual_row
  std::vector<sim::Expression> gemm{};  // m, n, k
  Formula products{};                   // 1
  models::Layout layout = models::GemmShape{}.layout;
  Formula plain{};       // in the format of the stream; no
  Formula of_experts{};  // the library's kernels for experts; no
  Formula fused{};       // a carrier that fuses products with their reduction may do so; no
  Formula gathered{};    // pieces in which its input is gathered over the GPUs of tensor parallelism; 0: it is there
  Formula scattered{};   // pieces in which its result is reduced and scattered over them; 0: it is not
  bool awaits_pieces = false;  // it waits for what was scattered since the last such row
  enum class Gives { nothing, input, weights } gives = Gives::nothing;  // of the product that its part is named after
  Formula gpus{};                                                       // of a collective
  std::string stream{};                                                 // of an operator or a collective; compute
  std::vector<LayerRow> beside{};                                       // of a collective: what is computed meanwhile
  enum class Attention { forward, backward, decoding } attention = Attention::forward;
  bool absorbed = false;
};

// A TensorRow is a tensor of a layer's weights, of what it keeps for its gradient or of its cache, or rows that have
// some of this in common.
struct TensorRow {
  std::string name{};
  LayerRow::Formula when{};      // always
  LayerRow::Formula elements{};  // of a tensor
  std::string gradient{};        // the product with whose gradient that of the tensor is complete; empty: none
  std::vector<TensorRow> rows{};
  LayerRow::Formula times{};  // rows: how often they follow each other; 1
  std::string alike{};        // name of the GPUs that hold the rows or the tensor alike; empty: the replicas
  LayerRow::Formula gpus{};   // their number
};

// A Tensor is held alike by `gpus` GPUs, which `alike` names unless they are the replicas.
struct Tensor {
  double elements = 0.0;
  std::string gradient{};  // see TensorRow
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

// A LayerPart is a list of rows that others call by name.
struct LayerPart {
  std::size_t file = 0;
  std::vector<std::pair<std::string, std::optional<sim::Expression>>> takes{};  // arguments with their defaults
  std::vector<LayerRow> rows{};
};

// Returns the files that LayerTemplates reads.
std::vector<std::filesystem::path> template_files(std::span<const std::filesystem::path> config_folders);

class LayerTemplates {
 public:
  // Reads operators.yaml and layers/*.yaml of these folders; of files with one name the first folder's counts. Throws
  // sim::ConfigError with all that is wrong in a file.
  explicit LayerTemplates(std::span<const std::filesystem::path> config_folders);

  std::span<const ElementwiseOperator> operators() const { return operators_; }
  // Writes a part, of which "attention.forward" is the list of that name in attention.yaml; `name` is that of the call.
  // Throws sim::ConfigError where no file has the part, parts use each other in a circle, or an expression has no value
  // that fits.
  using Arguments = std::vector<std::pair<std::string_view, double>>;
  WrittenPart write(StepWriter& writer, std::string_view part, const Arguments& arguments = {},
                    const std::string& name = "") const;
  // Returns the tensors of a list such as "attention.weights". Throws as write() does.
  std::vector<Tensor> tensors(const StepQuestion& question, std::string_view list) const;

 private:
  friend class LayerValues;
  friend class LayerPlay;
  // A TensorList is a list of tensors of one file.
  struct TensorList {
    std::size_t file = 0;
    std::vector<TensorRow> rows{};
  };
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

  std::vector<ElementwiseOperator> operators_;
  std::vector<Names> names_;  // by file; the first is common.yaml, whose names all files have
  std::map<std::string, LayerPart, std::less<>> parts_;
  std::map<std::string, TensorList, std::less<>> tensors_;
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
