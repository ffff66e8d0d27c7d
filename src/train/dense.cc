// The fully connected layer.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"

namespace capstan::layers {

Dense::Dense(std::int64_t units, const DenseOptions& options)
    : Layer("dense", detail::common_options(options)),
      units_(units),
      options_(std::make_shared<const DenseOptions>(options)) {
  detail::check_positive("dense", "units", units);
  detail::LayerState::of(*this).activity_regularizer = options.activity_regularizer;
  keep_class(std::make_shared<Dense>(*this));
}

void Dense::build(const Shape& input_shape) {
  CAPSTAN_CHECK(input_shape.rank() >= 2, ShapeError, name(), ": the input must have rank 2 or more, not ",
                input_shape.rank(), ": ", input_shape);
  add_weight({.name = "kernel",
              .shape = {input_shape[-1], units_},
              .initializer = options_->kernel_initializer,
              .regularizer = options_->kernel_regularizer,
              .constraint = options_->kernel_constraint});
  if (options_->use_bias) {
    add_weight({.name = "bias",
                .shape = {units_},
                .initializer = options_->bias_initializer,
                .regularizer = options_->bias_regularizer,
                .constraint = options_->bias_constraint});
  }
}

Tensor Dense::call(const Tensor& x, const CallOptions&) {
  const Tensor kernel = own_value(0);
  CAPSTAN_CHECK(x.rank() >= 2, ShapeError, name(), ": the input must have rank 2 or more, not ", x.rank(), ": ",
                x.shape());
  CAPSTAN_CHECK(x.dim(-1) == kernel.dim(0), ShapeError, name(), ": the last axis of the input must have length ",
                kernel.dim(0), ", not ", x.dim(-1), arguments({{"x", x}}));
  Tensor y;
  if (x.rank() == 2) {
    y = matmul(x, kernel);
  } else {
    // One product of [everything, in] is faster than a batch of small ones.
    Shape shape = x.shape();
    shape.set(-1, units_);
    // Left open, for functions that serve batches of several lengths.
    if (shape.size() > 0) shape.set(0, -1);
    y = reshape(matmul(reshape(x, {-1, x.dim(-1)}), kernel), shape);
  }
  if (options_->use_bias) y = bias_add(std::move(y), own_value(1));
  return options_->activation.has_value() ? options_->activation(std::move(y)) : y;
}

}  // namespace capstan::layers
