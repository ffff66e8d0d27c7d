// Layers that are noise while training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of Dropout.
struct DropoutOptions {
  /// The lengths of the mask that is drawn: -1 means the input's, 1 is broadcast.
  std::optional<Shape> noise_shape = {};
  /// With a seed the layer drops what Keras's layer with this seed drops on TensorFlow, call for call. Without one it
  /// takes the next of the process's stream, see set_seed, and is faster.
  std::optional<std::uint64_t> seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// When training, zeroes a fraction `rate` of the elements and scales the others by 1 / (1 - rate); otherwise the
/// identity. Every call draws anew. Errors: ValueError for a rate outside [0, 1].
class CAPSTAN_EXPORT Dropout final : public Layer {
 public:
  explicit Dropout(double rate, const DropoutOptions& options = {});
};

static_assert(detail::kAddNothing<Dropout>);

}  // namespace layers
}  // namespace capstan
