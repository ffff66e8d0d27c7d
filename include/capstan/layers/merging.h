// Layers that make one tensor of several.
//
// They are called with a list, as a Nest, and their inputs have the same batch. Those that work element by element
// broadcast; an input of lower rank gets axes of length 1 after its batch. A list of one gives that one.
// Inputs of several dtypes are cast to the widest, in the order bool, uint8, int32, int64, floating, complex: int64 and
// bool are valid beside float32.
//
// The result of an elementwise layer carries a mask if all inputs do: true where any of theirs is.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// What these layers share: a call gives one tensor.
///
///     Tensor both = layers::Add()({a, b});
class CAPSTAN_EXPORT MergingLayer : public Layer {
 public:
  /// Errors: ValueError for anything but a list of tensors, or for batches of different lengths.
  Tensor operator()(const Nest& inputs, const CallOptions& options = {}) const {
    return Layer::operator()(inputs, options).tensor();
  }

 protected:
  using Layer::Layer;
};

/// The sum. Errors: as MergingLayer; ShapeError for inputs that do not broadcast.
class CAPSTAN_EXPORT Add final : public MergingLayer {
 public:
  explicit Add(const LayerOptions& options = {});
};

/// The first minus the second. Errors: as Add; ValueError unless there are two.
class CAPSTAN_EXPORT Subtract final : public MergingLayer {
 public:
  explicit Subtract(const LayerOptions& options = {});
};

/// The product. Where the mask of an input is false it counts as 1; where those of all are, the result is 0. Errors: as
/// Add.
class CAPSTAN_EXPORT Multiply final : public MergingLayer {
 public:
  explicit Multiply(const LayerOptions& options = {});
};

/// The mean. Errors: as Add.
class CAPSTAN_EXPORT Average final : public MergingLayer {
 public:
  explicit Average(const LayerOptions& options = {});
};

/// The largest. Where the mask of an input is false the others win. Errors: as Add.
class CAPSTAN_EXPORT Maximum final : public MergingLayer {
 public:
  explicit Maximum(const LayerOptions& options = {});
};

/// The smallest. Where the mask of an input is false the others win. Errors: as Add.
class CAPSTAN_EXPORT Minimum final : public MergingLayer {
 public:
  explicit Minimum(const LayerOptions& options = {});
};

/// Options of Concatenate.
struct ConcatenateOptions {
  int axis = -1;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Joins tensors along an axis. If any input carries a mask the result does: those of the inputs joined, true where
/// there is none, and true of a step if it is of any of its features. Errors: as MergingLayer; ShapeError for lengths
/// that differ along another axis, IndexError for an axis out of range.
class CAPSTAN_EXPORT Concatenate final : public MergingLayer {
 public:
  explicit Concatenate(const ConcatenateOptions& options = {});
};

/// Options of Dot.
struct DotOptions {
  bool normalize = false;  ///< divides both by their Euclidean norms along the axes first
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Sums products over one axis of each of two inputs, example by example: [batch, a..., n], [batch, n, b...] to [batch,
/// a..., b...], or [batch, 1] if nothing is left.
///
///     layers::Dot(1)({x, y});           // [batch, n], [batch, n] to [batch, 1]
///     layers::Dot({2, 1})({x, y});      // [batch, q, n], [batch, n, k] to [batch, q, k]
///
/// The result carries no mask. Errors: ValueError for other than one or two axes or inputs, ShapeError for lengths that
/// differ, IndexError for an axis out of range or that of the batch.
class CAPSTAN_EXPORT Dot final : public MergingLayer {
 public:
  explicit Dot(Axes axes, const DotOptions& options = {});
};

static_assert(detail::kAddNothing<MergingLayer, Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, Dot>);

}  // namespace layers
}  // namespace capstan
