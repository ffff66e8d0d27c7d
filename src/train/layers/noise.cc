#include "src/train/layers/noise.h"

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"
#include "src/core/key_log.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

NoiseKeys::NoiseKeys(LayerBase& layer, Seed seed)
    : seed_(seed), key_(std::make_shared<std::uint64_t>(seed ? 0 : key_of_object())) {
  LayerState::of(layer).keys.push_back(key_);
}

std::uint64_t NoiseKeys::next() const {
  // The golden ratio's bits visit every 64-bit key once.
  return logged_key(context.keys, [&] { return seed_ ? (*key_)++ : *key_ += 0x9e3779b97f4a7c15u; });
}

std::function<std::array<std::int64_t, 2>()> NoiseKeys::pairs() const {
  return [keys = *this]() -> std::array<std::int64_t, 2> {
    const auto key = static_cast<std::int64_t>(keys.next());
    if (!keys.seed_) return {key, 0};
    return {static_cast<std::int64_t>(*keys.seed_), key};
  };
}

Tensor dropout_mask(const Tensor& x, double rate, const std::optional<Shape>& noise_shape, const NoiseKeys& keys) {
  return host_dropout_mask(x, keys.pairs(), {.rate = rate, .noise_shape = noise_shape, .stateless = keys.has_seed()});
}

Tensor dropped(const Tensor& x, double rate, const std::optional<Shape>& noise_shape, const NoiseKeys& keys) {
  if (rate == 0) return x;
  if (rate == 1) return zeros_like(x);
  if (!keys.has_seed() && !noise_shape && !inside_function()) return dropout(x, rate, keys.next());
  return x * dropout_mask(x, rate, noise_shape, keys);
}

Tensor normal_noise(const Tensor& x, const NoiseKeys& keys) {
  return host_normal(x, keys.pairs(), {.stateless = keys.has_seed()});
}

void check_noise_shape(const std::string& layer, const std::optional<Shape>& noise_shape, const Tensor& x) {
  CAPSTAN_CHECK(!noise_shape || noise_shape->rank() == x.rank(), ShapeError, layer, ": noise_shape ", *noise_shape,
                " does not have the rank of the input", arguments({{"x", x}}));
}

constinit const FieldType kNoiseShape = {
    [](void* member, const AttributeValue& value, std::string_view owner, std::string_view name) {
      InputShape shape;
      set_field(shape, value, owner, name);
      *static_cast<std::optional<Shape>*>(member) = shape.is_given() ? std::optional(shape.shape()) : std::nullopt;
    },
    [](const void* member) {
      const auto& shape = *static_cast<const std::optional<Shape>*>(member);
      return shape ? get_field(InputShape(*shape)) : AttributeValue();
    }};

}  // namespace capstan::detail
