// Activations as layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of ReLU.
struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;
  double threshold = 0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// max(x, 0); with options x from `threshold` up to `max_value`, which is not exceeded, and
/// negative_slope * (x - threshold) below. Errors: ValueError for options that are negative.
class CAPSTAN_EXPORT ReLU final : public Layer {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};

static_assert(detail::kAddNothing<ReLU>);

}  // namespace layers
}  // namespace capstan
