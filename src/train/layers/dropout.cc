// Dropout.
//
// A layer gives another mask every time, and the same sequence of masks in every run. With a seed of its own the mask
// is that of Keras's layer on TensorFlow, a stateless draw from the seed and the number of the call; without one the
// key of the draw is moved on once per call. In a function the keys come from the same place, at every call.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "src/core/key_log.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

class DropoutBody final : public LayerBody {
 public:
  DropoutBody(double rate, const DropoutOptions& options);

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  double rate_;
  std::optional<Shape> noise_shape_;
  std::optional<std::uint64_t> seed_;
  // Changes with every draw: counts them if there is a seed. Functions share it, and may live longer than the layer.
  std::shared_ptr<std::uint64_t> key_;
};

DropoutBody::DropoutBody(double rate, const DropoutOptions& options)
    : LayerBody("Dropout", detail::common_options(options)),
      rate_(rate),
      noise_shape_(options.noise_shape),
      seed_(options.seed),
      key_(std::make_shared<std::uint64_t>(options.seed ? 0 : next_seed())) {
  CAPSTAN_CHECK(rate >= 0 && rate <= 1, ValueError, "dropout: rate must be between 0 and 1, not ", rate);
}

Tensor DropoutBody::call(const Tensor& x, const CallOptions& options) {
  if (!options.training || rate_ == 0) return x;
  if (rate_ == 1) return zeros_like(x);
  CAPSTAN_CHECK(!noise_shape_ || noise_shape_->rank() == x.rank(), ShapeError, name(), ": noise_shape ", *noise_shape_,
                " does not have the rank of the input", arguments({{"x", x}}));
  // The golden ratio's bits visit every 64-bit key once.
  const auto next_key = [key = key_, counts = seed_.has_value()] {
    return logged_key(context.keys, [&] { return counts ? (*key)++ : *key += 0x9e3779b97f4a7c15u; });
  };
  if (!seed_ && !noise_shape_ && !inside_function()) return dropout(x, rate_, next_key());
  const auto seeds = [next_key, seed = seed_]() -> std::array<std::int64_t, 2> {
    const auto key = static_cast<std::int64_t>(next_key());
    if (!seed) return {key, 0};
    return {static_cast<std::int64_t>(*seed), key};
  };
  return x * host_dropout_mask(x, seeds, {.rate = rate_, .noise_shape = noise_shape_, .stateless = seed_.has_value()});
}

}  // namespace

Dropout::Dropout(double rate, const DropoutOptions& options) : Layer(std::make_shared<DropoutBody>(rate, options)) {}

}  // namespace capstan::layers
