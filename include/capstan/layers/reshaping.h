// Layers that only move elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of Flatten.
struct FlattenOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// [batch, ...] to [batch, everything else]; [batch] to [batch, 1].
class CAPSTAN_EXPORT Flatten final : public Layer {
 public:
  explicit Flatten(const FlattenOptions& options = {});
};

static_assert(detail::kAddNothing<Flatten>);

}  // namespace layers
}  // namespace capstan
