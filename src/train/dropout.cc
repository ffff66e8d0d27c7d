// Dropout.
//
// A layer gives another mask every time, and the same sequence of masks in every run. With a seed of its own the mask
// is that of Keras's layer on TensorFlow, a stateless draw from the seed and the number of the call; without one the
// key of the draw is moved on once per call.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "src/train/common.h"

namespace capstan::layers {

Dropout::Dropout(double rate, const DropoutOptions& options)
    : Layer("dropout", detail::common_options(options)),
      rate_(rate),
      noise_shape_(options.noise_shape),
      seed_(options.seed),
      key_(std::make_shared<std::uint64_t>(options.seed ? 0 : next_seed())) {
  CAPSTAN_CHECK(rate >= 0 && rate <= 1, ValueError, "dropout: rate must be between 0 and 1, not ", rate);
  keep_class(std::make_shared<Dropout>(*this));
}

Shape Dropout::lengths_of_noise(const Tensor& x) const {
  Shape shape = noise_shape_.value_or(x.shape());
  CAPSTAN_CHECK(shape.rank() == x.rank(), ShapeError, name(), ": noise_shape ", shape,
                " does not have the rank of the input", arguments({{"x", x}}));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) shape.set(i, x.dim(i));
  }
  return shape;
}

// Draws are ops there, from the stream of the process: a counter of C++ would stand still.
Tensor Dropout::drop_in_function(const Tensor& x) const {
  if (!noise_shape_) return dropout(x, rate_);
  return x * dropout(ones(lengths_of_noise(x), x.dtype()), rate_);
}

Tensor Dropout::call(const Tensor& x, const CallOptions& options) {
  if (!options.training || rate_ == 0) return x;
  if (rate_ == 1) return zeros_like(x);
  if (inside_function()) return drop_in_function(x);
  // The golden ratio's bits visit every 64-bit key once.
  const std::uint64_t key = seed_ ? (*key_)++ : * key_ += 0x9e3779b97f4a7c15u;
  if (!seed_ && !noise_shape_) return dropout(x, rate_, key);
  const Shape shape = lengths_of_noise(x);
  const Tensor draw =
      seed_ ? random::stateless_uniform(shape, {static_cast<std::int64_t>(*seed_), static_cast<std::int64_t>(key)}, 0,
                                        1, x.dtype())
            : random::uniform(shape, 0, 1, float32, key);
  return x * (cast(greater_equal(draw, rate_), x.dtype()) * (1 / (1 - rate_)));
}

}  // namespace capstan::layers
