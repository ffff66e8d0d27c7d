// Layers that only move elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of Flatten.
struct FlattenOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// [batch, ...] to [batch, everything else]; [batch] to [batch, 1].
class CAPSTAN_EXPORT Flatten final : public Layer {
 public:
  explicit Flatten(const FlattenOptions& options = {});
};

/// [batch, ...] to [batch, target_shape...]; one length may be -1, for what is left. Errors: ValueError for other
/// negative lengths or two of -1, ShapeError for another number of elements.
///
///     layers::Reshape({2, -1})(x);   // [batch, 6, 4] to [batch, 2, 12]
class CAPSTAN_EXPORT Reshape final : public Layer {
 public:
  explicit Reshape(const Shape& target_shape, const LayerOptions& options = {});
};

/// Exchanges axes: axis i of the result is axis dims[i - 1] of the input, where the batch has number 0 and stays.
/// Errors: ValueError unless `dims` has each number from 1 on once, ShapeError for an input of another rank.
///
///     layers::Permute({2, 1})(x);   // [batch, 6, 4] to [batch, 4, 6]
class CAPSTAN_EXPORT Permute final : public Layer {
 public:
  explicit Permute(std::vector<std::int64_t> dims, const LayerOptions& options = {});
};

/// [batch, features] to [batch, n, features]. Errors: ValueError for n < 1, ShapeError for another rank.
class CAPSTAN_EXPORT RepeatVector final : public Layer {
 public:
  explicit RepeatVector(std::int64_t n, const LayerOptions& options = {});
};

static_assert(detail::kAddNothing<Flatten, Reshape, Permute, RepeatVector>);

}  // namespace layers
}  // namespace capstan
