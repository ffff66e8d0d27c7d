// Layers that are most used: Dense and Activation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  DTypePolicy dtype = floatx();
};

/// activation(x . kernel + bias) over the last axis: [..., in] to [..., units].
/// Weights: kernel [in, units], bias [units]. Errors: ValueError for units < 1; ShapeError for an input of rank below 2
/// or with another last axis than that of the first call.
class CAPSTAN_EXPORT Dense final : public Layer {
 public:
  explicit Dense(std::int64_t units, const DenseOptions& options = {});
};

/// Options of layers that have none of their own.
using ActivationOptions = LayerOptions;

/// Applies a function, given by name or as such.
class CAPSTAN_EXPORT Activation final : public Layer {
 public:
  explicit Activation(ActivationFunction function, const ActivationOptions& options = {});
};

static_assert(detail::kAddNothing<Dense, Activation>);

}  // namespace layers
}  // namespace capstan
