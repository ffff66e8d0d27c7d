// Layers that are most used, and those that stand for small things: Dense, EinsumDense, Embedding, Masking, Activation,
// Identity, Lambda.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of Dense.
struct DenseOptions {
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// activation(x . kernel + bias) over the last axis: [..., in] to [..., units].
/// Weights: kernel [in, units], bias [units]. Errors: ValueError for units < 1; ShapeError for an input of rank below 2
/// or with another last axis than that of the first call.
class CAPSTAN_EXPORT Dense final : public Layer {
 public:
  explicit Dense(std::int64_t units, const DenseOptions& options = {});
};

/// Options of EinsumDense.
struct EinsumDenseOptions {
  ActivationFunction activation = {};
  std::optional<std::string> bias_axes = {};  ///< letters of the result along which a bias runs; none: no bias
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// activation(einsum(equation, x, kernel) + bias): a Dense over any axes. `output_shape` is the result's without the
/// batch and without what "..." stands for; -1 is a length that the input has.
///
///     layers::EinsumDense("abc,cde->abde", {-1, 4, 16}, {.bias_axes = "de"});   // [b, time, in] to [b, time, 4, 16]
///     layers::EinsumDense("...x,xy->...y", {3}, {.bias_axes = "y"});            // Dense(3)
///
/// Weights: kernel, with the lengths of its letters, and bias. Errors: ValueError for an equation that makes no sense
/// or whose letters have no length, ShapeError for an input that does not fit it.
class CAPSTAN_EXPORT EinsumDense final : public Layer {
 public:
  EinsumDense(std::string_view equation, const Shape& output_shape, const EinsumDenseOptions& options = {});
};

/// Options of Embedding.
struct EmbeddingOptions {
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;  ///< the id 0 stands for no word: the result carries a mask that is false there
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Rows of a table by ids: [...] to [..., output_dim]. Ids of a dtype other than int32 and int64 are cast to int32;
/// those from -input_dim to -1 count from the end. The gradient for the table is row-sparse; in training it is dense if
/// a Sequential or functional model hands the rows to a recurrent layer and to nothing else, and the table has at most
/// 256 rows: the layer then multiplies the table instead of the rows.
///
///     Tensor h = layers::Embedding(1000, 16, {.mask_zero = true})(words);   // [batch, time] to [batch, time, 16]
///
/// Weights: embeddings [input_dim, output_dim]. Errors: ValueError for lengths below 1, IndexError for an id that is
/// out of range.
class CAPSTAN_EXPORT Embedding final : public Layer {
 public:
  Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& options = {});
};

/// Options of Masking.
struct MaskingOptions {
  double mask_value = 0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Steps of which all features are `mask_value` do not count: they become zeros, and the result carries a mask that is
/// false there. [batch, time, features] to the same. Errors: ShapeError for a scalar.
class CAPSTAN_EXPORT Masking final : public Layer {
 public:
  explicit Masking(const MaskingOptions& options = {});
};

/// Options of layers that have none of their own.
using ActivationOptions = LayerOptions;

/// Applies a function, given by name or as such.
class CAPSTAN_EXPORT Activation final : public Layer {
 public:
  explicit Activation(ActivationFunction function, const ActivationOptions& options = {});
};

/// Gives what it is given: a tensor or any structure of tensors.
class CAPSTAN_EXPORT Identity final : public Layer {
 public:
  explicit Identity(const LayerOptions& options = {});
};

/// Options of Lambda.
struct LambdaOptions {
  /// The mask of the result, from the inputs and their masks; without it the result has none.
  std::function<Nest(const Nest& inputs, const Nest& mask)> mask = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// A function of the program as a layer: of a tensor or of a Nest, with the options of the call if it takes them.
///
///     layers::Lambda scale([](const Tensor& x) { return x * 2.0; });
///     layers::Lambda pick([](const Nest& inputs) { return inputs[0]; });
///
/// It has no configuration: a program that reads a model makes the layer itself. Errors: ValueError for an empty
/// function.
class CAPSTAN_EXPORT Lambda final : public Layer {
 public:
  using Function = std::function<Nest(const Nest& inputs, const CallOptions& options)>;

  template <class F>
  requires(!std::is_base_of_v<Layer, F>) explicit Lambda(F function, const LambdaOptions& options = {})
      : Lambda(of_function(std::move(function)), options, 0) {}

 private:
  Lambda(Function function, const LambdaOptions& options, int);

  template <class F>
  static Function of_function(F function) {
    // A std::function or a pointer may be empty.
    if constexpr (std::is_pointer_v<F> || requires { typename F::result_type; }) {
      if (!function) return {};
    }
    // A Tensor is a Nest, too, so what takes a Nest comes first.
    if constexpr (std::is_invocable_v<const F&, const Nest&, const CallOptions&>) {
      return [f = std::move(function)](const Nest& in, const CallOptions& o) { return Nest(f(in, o)); };
    } else if constexpr (std::is_invocable_v<const F&, const Tensor&, const CallOptions&>) {
      return [f = std::move(function)](const Nest& in, const CallOptions& o) { return Nest(f(in.tensor(), o)); };
    } else if constexpr (std::is_invocable_v<const F&, const Nest&>) {
      return [f = std::move(function)](const Nest& in, const CallOptions&) { return Nest(f(in)); };
    } else {
      static_assert(std::is_invocable_v<const F&, const Tensor&>,
                    "the function of a Lambda takes a const Tensor& or a const Nest&, and may take the CallOptions");
      return [f = std::move(function)](const Nest& in, const CallOptions&) { return Nest(f(in.tensor())); };
    }
  }
};

static_assert(detail::kAddNothing<Dense, EinsumDense, Embedding, Masking, Activation, Identity, Lambda>);

}  // namespace layers
}  // namespace capstan
