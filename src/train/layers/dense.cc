// The fully connected layer.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"

namespace capstan::layers {

namespace {

class DenseBody final : public LayerBody {
 public:
  DenseBody(std::int64_t units, const DenseOptions& options);

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  std::int64_t units_;
  DenseOptions options_;
  Variable kernel_, bias_;
};

DenseBody::DenseBody(std::int64_t units, const DenseOptions& options)
    : LayerBody("Dense", detail::common_options(options)), units_(units), options_(options) {
  detail::check_positive("dense", "units", units);
  detail::LayerState::of(*this).activity_regularizer = options.activity_regularizer;
}

void DenseBody::build(const Shape& input_shape) {
  CAPSTAN_CHECK(input_shape.rank() >= 2, ShapeError, name(), ": the input must have rank 2 or more, not ",
                input_shape.rank(), ": ", input_shape);
  kernel_ = add_weight({.name = "kernel",
                        .shape = {input_shape[-1], units_},
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  if (options_.use_bias) {
    bias_ = add_weight({.name = "bias",
                        .shape = {units_},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  }
}

Tensor DenseBody::call(const Tensor& x, const CallOptions&) {
  const Tensor kernel = value_of(kernel_);
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
  if (options_.use_bias) y = bias_add(std::move(y), value_of(bias_));
  return options_.activation.has_value() ? options_.activation(std::move(y)) : y;
}

}  // namespace

Dense::Dense(std::int64_t units, const DenseOptions& options) : Layer(std::make_shared<DenseBody>(units, options)) {}

}  // namespace capstan::layers
