// Convolutions.
//
// Inputs are [batch, axes of space, channels], or [batch, channels, axes of space] with data_format "channels_first";
// so are results. Signals have one axis of space, images two (height, width), volumes three (depth, height, width).
// Floating dtypes. Lengths that are one number hold for all axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layers/sizes.h"

namespace capstan {
namespace layers {

/// Options of convolutions over N axes.
template <std::size_t N>
struct ConvOptions {
  SizeOf<N> strides = 1;
  std::string padding = "valid";  ///< or "same"; of Conv1D also "causal": a step sees none after it
  std::string data_format = "channels_last";
  SizeOf<N> dilation_rate = 1;  ///< how far apart the elements of the kernel lie; with strides of 1 only
  std::int64_t groups = 1;      ///< runs of channels that are convolved apart
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};
using Conv1DOptions = ConvOptions<1>;
using Conv2DOptions = ConvOptions<2>;
using Conv3DOptions = ConvOptions<3>;

/// Options of transposed convolutions over N axes.
template <std::size_t N>
struct ConvTransposeOptions {
  SizeOf<N> strides = 1;
  std::string padding = "valid";  ///< or "same"
  /// How much longer the result is than the shortest that gives such an input; below the strides. Not given: with
  /// padding "same" the result is `strides` times as long as the input.
  std::optional<SizeOf<N>> output_padding = {};
  std::string data_format = "channels_last";
  SizeOf<N> dilation_rate = 1;  ///< with strides of 1 only
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};
using Conv1DTransposeOptions = ConvTransposeOptions<1>;
using Conv2DTransposeOptions = ConvTransposeOptions<2>;
using Conv3DTransposeOptions = ConvTransposeOptions<3>;

/// Options of depthwise convolutions over N axes.
template <std::size_t N>
struct DepthwiseConvOptions {
  SizeOf<N> strides = 1;
  std::string padding = "valid";      ///< or "same"
  std::int64_t depth_multiplier = 1;  ///< how many results each channel gives
  std::string data_format = "channels_last";
  SizeOf<N> dilation_rate = 1;  ///< with strides of 1 only
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};
using DepthwiseConv1DOptions = DepthwiseConvOptions<1>;
using DepthwiseConv2DOptions = DepthwiseConvOptions<2>;

/// Options of separable convolutions over N axes.
template <std::size_t N>
struct SeparableConvOptions {
  SizeOf<N> strides = 1;
  std::string padding = "valid";      ///< or "same"
  std::int64_t depth_multiplier = 1;  ///< how many results each channel gives before they are mixed
  std::string data_format = "channels_last";
  SizeOf<N> dilation_rate = 1;  ///< with strides of 1 only
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint pointwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};
using SeparableConv1DOptions = SeparableConvOptions<1>;
using SeparableConv2DOptions = SeparableConvOptions<2>;

/// Convolution of signals [batch, steps, channels]. Weights: kernel [size, channels / groups, filters], bias [filters].
/// Errors: as Conv2D.
class CAPSTAN_EXPORT Conv1D final : public Layer {
 public:
  Conv1D(std::int64_t filters, Size1D kernel_size, const Conv1DOptions& options = {});
};

/// Convolution of images [batch, height, width, channels].
/// Weights: kernel [height, width, channels / groups, filters], bias [filters]. Errors: ValueError for lengths below 1,
/// an unknown padding, filters that do not divide into groups, or strides and dilations above 1 together; ShapeError
/// for an input of another rank, channels that do not divide into groups, or a kernel larger than the image.
///
///     layers::Conv2D conv(32, 3, {.padding = "same", .activation = "relu"});
///     Tensor y = conv(images);   // [8, 28, 28, 1] to [8, 28, 28, 32]
class CAPSTAN_EXPORT Conv2D final : public Layer {
 public:
  Conv2D(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options = {});
};

/// Convolution of volumes [batch, depth, height, width, channels].
/// Weights: kernel [depth, height, width, channels / groups, filters], bias [filters]. Errors: as Conv2D.
class CAPSTAN_EXPORT Conv3D final : public Layer {
 public:
  Conv3D(std::int64_t filters, Size3D kernel_size, const Conv3DOptions& options = {});
};

/// The transpose of Conv2D, also called deconvolution: each element of the input adds the kernel, times itself, to the
/// result, `strides` apart. With k the kernel's length, (k - 1) * dilation + 1, an axis of length n becomes
/// (n - 1) * strides + max(k, strides), or n * strides with padding "same".
/// Weights: kernel [height, width, filters, channels], bias [filters]. Errors: as Conv2D; ValueError for an
/// output_padding that is not below the strides.
///
///     layers::Conv2DTranspose up(16, 3, {.strides = 2, .padding = "same"});
///     Tensor y = up(images);   // [8, 14, 14, 32] to [8, 28, 28, 16]
class CAPSTAN_EXPORT Conv2DTranspose final : public Layer {
 public:
  Conv2DTranspose(std::int64_t filters, Size2D kernel_size, const Conv2DTransposeOptions& options = {});
};

/// The same for signals. Weights: kernel [size, filters, channels], bias [filters]. Errors: as Conv2DTranspose.
class CAPSTAN_EXPORT Conv1DTranspose final : public Layer {
 public:
  Conv1DTranspose(std::int64_t filters, Size1D kernel_size, const Conv1DTransposeOptions& options = {});
};

/// The same for volumes. Weights: kernel [depth, height, width, filters, channels], bias [filters]. Errors: as
/// Conv2DTranspose.
class CAPSTAN_EXPORT Conv3DTranspose final : public Layer {
 public:
  Conv3DTranspose(std::int64_t filters, Size3D kernel_size, const Conv3DTransposeOptions& options = {});
};

/// Convolves each channel by itself: channel c gives results c * depth_multiplier up to (c + 1) * depth_multiplier.
/// Weights: kernel [height, width, channels, depth_multiplier], bias [channels * depth_multiplier]. Errors: as Conv2D.
class CAPSTAN_EXPORT DepthwiseConv2D final : public Layer {
 public:
  explicit DepthwiseConv2D(Size2D kernel_size, const DepthwiseConv2DOptions& options = {});
};

/// The same for signals. Weights: kernel [size, channels, depth_multiplier], bias [channels * depth_multiplier].
/// Errors: as Conv2D.
class CAPSTAN_EXPORT DepthwiseConv1D final : public Layer {
 public:
  explicit DepthwiseConv1D(Size1D kernel_size, const DepthwiseConv1DOptions& options = {});
};

/// A depthwise convolution, then one with a kernel of one pixel that mixes the channels.
/// Weights: depthwise_kernel [height, width, channels, depth_multiplier], pointwise_kernel [1, 1, channels *
/// depth_multiplier, filters], bias [filters]. Errors: as Conv2D.
class CAPSTAN_EXPORT SeparableConv2D final : public Layer {
 public:
  SeparableConv2D(std::int64_t filters, Size2D kernel_size, const SeparableConv2DOptions& options = {});
};

/// The same for signals. Weights: depthwise_kernel [size, channels, depth_multiplier], pointwise_kernel [1, channels *
/// depth_multiplier, filters], bias [filters]. Errors: as Conv2D.
class CAPSTAN_EXPORT SeparableConv1D final : public Layer {
 public:
  SeparableConv1D(std::int64_t filters, Size1D kernel_size, const SeparableConv1DOptions& options = {});
};

static_assert(detail::kAddNothing<Conv1D, Conv2D, Conv3D, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose,
                                  DepthwiseConv1D, DepthwiseConv2D, SeparableConv1D, SeparableConv2D>);

}  // namespace layers
}  // namespace capstan
