// Dropout.
//
// The key of a draw is the layer's seed moved on once per call, so a layer gives another mask every time, and the same
// sequence of masks in every run with the same seed.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "src/train/common.h"

namespace capstan::layers {

Dropout::Dropout(double rate, const DropoutOptions& options)
    : Layer("dropout", detail::common_options(options)),
      rate_(rate),
      noise_shape_(options.noise_shape),
      key_(std::make_shared<std::uint64_t>(options.seed ? *options.seed : next_seed())) {
  CAPSTAN_CHECK(rate >= 0 && rate <= 1, ValueError, "dropout: rate must be between 0 and 1, not ", rate);
  keep_class(std::make_shared<Dropout>(*this));
}

Tensor Dropout::call(const Tensor& x, const CallOptions& options) {
  if (!options.training || rate_ == 0) return x;
  if (rate_ == 1) return zeros_like(x);
  // The golden ratio's bits visit every 64-bit key once.
  const std::uint64_t key = *key_ += 0x9e3779b97f4a7c15u;
  if (!noise_shape_) return dropout(x, rate_, key);
  CAPSTAN_CHECK(noise_shape_->rank() == x.rank(), ShapeError, name(), ": noise_shape ", *noise_shape_,
                " does not have the rank of the input", arguments({{"x", x}}));
  Shape shape = *noise_shape_;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) shape.set(i, x.dim(i));
  }
  const Tensor keep = greater_equal(random::uniform(shape, 0, 1, float32, key), rate_);
  return x * (cast(keep, x.dtype()) * (1 / (1 - rate_)));
}

}  // namespace capstan::layers
