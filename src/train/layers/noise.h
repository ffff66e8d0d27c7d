// What layers that are noise while training share.
//
// A layer gives other noise every time, and the same sequence in every run. With a seed of its own the noise is that of
// Keras's layer on TensorFlow, a stateless draw from the seed and the number of the call; without one the key of the
// draw is moved on once per call. In a function the keys come from the same place, at every call.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "capstan/layer.h"
#include "capstan/seed.h"

namespace capstan::detail {

class NoiseKeys {
 public:
  // Those of a layer, with whose state they are saved.
  NoiseKeys(LayerBase& layer, Seed seed);
  // Whether draws are those of Keras.
  bool has_seed() const { return seed_.has_value(); }
  // The next key.
  std::uint64_t next() const;
  // The next pair of seeds, at every call of what this returns, which may outlive the layer.
  std::function<std::array<std::int64_t, 2>()> pairs() const;

 private:
  Seed seed_;
  // Changes with every draw: counts them if there is a seed. Functions share it.
  std::shared_ptr<std::uint64_t> key_;
};

// What Dropout multiplies with; `rate` is below 1.
Tensor dropout_mask(const Tensor& x, double rate, const std::optional<Shape>& noise_shape, const NoiseKeys& keys);
// What Dropout gives for a rate from 0 to 1.
Tensor dropped(const Tensor& x, double rate, const std::optional<Shape>& noise_shape, const NoiseKeys& keys);
// Standard normal numbers in the shape of x.
Tensor normal_noise(const Tensor& x, const NoiseKeys& keys);

// Throws ShapeError, in the name of a layer, for a noise shape of another rank.
void check_noise_shape(const std::string& layer, const std::optional<Shape>& noise_shape, const Tensor& x);

// A noise shape in a table of options: a list in which null stands for a length that is open.
extern const FieldType kNoiseShape;

template <class O>
constexpr OptionField noise_shape_option() {
  return option<&O::noise_shape, O>("noise_shape").with_type(kNoiseShape);
}

}  // namespace capstan::detail
