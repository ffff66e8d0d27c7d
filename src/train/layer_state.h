// What the library remembers of a layer, in its body.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/layer.h"

namespace capstan {
class ModelPart;
}

namespace capstan::detail {

struct Weight {
  Variable variable;
  bool trainable;  // as it was made; the variable's own flag also follows Layer::set_trainable
  Regularizer regularizer;
};

struct LayerState {
  std::uint64_t id = 0;                   // grows in the order of construction; never used twice, unlike an address
  std::uint64_t seeds = 0;                // the stream that `build` draws from
  std::string name;                       // unless given, empty until the first handle is made
  const char* type_name = "";             // of the library's classes
  std::string path;                       // set when the weights are made
  std::weak_ptr<LayerBase> self;          // the body that this belongs to, once it has a handle
  DType dtype = DType::kFloat32;          // of weights
  DType compute_dtype = DType::kFloat32;  // of inputs and results
  bool converts_input = true;             // to `compute_dtype`; a model leaves that to its layers
  bool converts_integers = false;         // as well
  bool trainable = true;
  bool is_built = false;
  bool accepts_weights = true;     // in the constructor and in `build`
  bool has_build = true;           // false once the class is known to leave `build` as it is
  bool takes_each_tensor = false;  // in configurations
  bool passes_masks = false;
  bool computes_masks = true;  // false once the class is known to leave `compute_mask` as it is
  bool takes_lookups = false;  // the class looks for remembered_lookup(), and shows its input to no program
  InputShape input_shape;
  std::vector<Shape> built_for;      // the inputs that the weights were made for
  std::vector<Shape> output_shapes;  // of the first call
  ModelPart* model = nullptr;        // of a model
  // Of a functional model that is no chain: what its layers are called on, as text, by their ids.
  std::map<std::uint64_t, std::string> connections;
  int symbolic_calls = 0;  // on values of functional models
  Regularizer activity_regularizer;
  // Of a layer that draws: what changes with every draw. Functions that it was traced in share them.
  std::vector<std::shared_ptr<std::uint64_t>> keys;

  std::vector<Weight> weights;
  std::vector<Layer> sublayers;                  // first those that were put there, then those that calls found, by id
  std::map<std::uint64_t, std::string> members;  // what files call sublayers whose name there is known, by id
  std::size_t placed = 0;                        // how many were put there
  std::vector<Tensor> call_losses;               // of the latest call of the outermost layer
  std::uint64_t latest_parent = 0;               // the id of the layer that called this one last

  // Lists made from the weights of this layer and its sublayers; `lists_version` says of which structure.
  std::uint64_t lists_version = 0;
  std::vector<Variable> all, trainable_list, non_trainable_list;

  const std::vector<Variable>& list(const std::vector<Variable> LayerState::*which);
  static LayerState& of(const Layer& layer) { return *layer.body().state_; }
  static LayerBase& body_of(const Layer& layer) { return layer.body(); }
  static LayerState& of(const LayerBase& layer) { return *layer.state_; }
};

// The shapes of what the layer gave first, as Keras writes them: "(None, 4)", or "?" before that.
std::string output_shape_text(const LayerState& state);

// Adds a weight of one int64, 0, that is not trained: a count. As LayerBase::add_weight.
Variable add_integer_weight(LayerBase& layer, const std::string& name);

// Counts up whenever any layer gets a weight or sublayer or changes `trainable`; lists made before are out of date.
std::uint64_t structure_version();
void structure_changed();

// The layer call that the thread is in, innermost first.
struct CallScope {
  CallScope(LayerState& layer, Training training);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  LayerState& layer;
  Training training;  // not given if no call around has it
  CallScope* outer;
  bool gives_to_one_layer = false;  // what the sublayer that is called gives; see remembered_lookup.h
  static CallScope* current();
};

// While it lives the layers of this thread are called on zeros that stand for data which nobody has given yet: shapes
// are right, values are not to be checked.
struct ExampleScope {
  ExampleScope();
  ~ExampleScope();
  ExampleScope(const ExampleScope&) = delete;
  ExampleScope& operator=(const ExampleScope&) = delete;

  static bool is_open();
};

// "max_pooling2d" for "MaxPooling2D": Keras's rule.
CAPSTAN_EXPORT std::string snake_case(std::string_view class_name);

}  // namespace capstan::detail
