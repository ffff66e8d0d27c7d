// The projections of attention layers: a product that sums over the last axes of its input and makes new ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/layer.h"

namespace capstan::detail {

struct ProjectionOptions {
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

// The part of an attention layer's options that its projections take. Each draws for itself.
template <class Options>
ProjectionOptions projection_options(const Options& o, bool trainable) {
  return {.use_bias = o.use_bias,
          .kernel_initializer = o.kernel_initializer,
          .bias_initializer = o.bias_initializer,
          .kernel_regularizer = o.kernel_regularizer,
          .bias_regularizer = o.bias_regularizer,
          .activity_regularizer = o.activity_regularizer,
          .kernel_constraint = o.kernel_constraint,
          .bias_constraint = o.bias_constraint,
          .trainable = trainable,
          .dtype = o.dtype};
}

// A layer with the weights kernel [summed axes, made axes] and bias [made axes].
Layer make_projection(const std::string& name, int summed_axes, std::vector<std::int64_t> made_axes,
                      const ProjectionOptions& options);

}  // namespace capstan::detail
