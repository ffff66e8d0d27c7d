// Layers that change the size of signals, images and volumes.
//
// Inputs are [batch, axes of space, channels], or [batch, channels, axes of space] with data_format "channels_first";
// so are results.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/layers/sizes.h"

namespace capstan {
namespace layers {

/// Options of layers that add, cut off or repeat elements along the axes of space.
struct SpatialOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Options of UpSampling2D.
struct UpSampling2DOptions {
  std::string data_format = "channels_last";
  std::string interpolation = "nearest";  ///< or "bilinear", "bicubic", "lanczos3", "lanczos5"
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Zeros around a signal. Errors: as ZeroPadding2D.
class CAPSTAN_EXPORT ZeroPadding1D final : public Layer {
 public:
  explicit ZeroPadding1D(Borders1D padding = 1, const SpatialOptions& options = {});
};

/// Zeros around an image. Errors: ValueError for negative numbers, ShapeError for an input of another rank.
///
///     layers::ZeroPadding2D({{1, 0}, {0, 2}})(images);   // one row above, two columns on the right
class CAPSTAN_EXPORT ZeroPadding2D final : public Layer {
 public:
  explicit ZeroPadding2D(Borders2D padding = 1, const SpatialOptions& options = {});
};

/// Zeros around a volume. Errors: as ZeroPadding2D.
class CAPSTAN_EXPORT ZeroPadding3D final : public Layer {
 public:
  explicit ZeroPadding3D(Borders3D padding = 1, const SpatialOptions& options = {});
};

/// Cuts off the ends of a signal. Errors: as Cropping2D.
class CAPSTAN_EXPORT Cropping1D final : public Layer {
 public:
  explicit Cropping1D(Borders1D cropping = 1, const SpatialOptions& options = {});
};

/// Cuts off the ends of an image. Errors: ValueError for negative numbers, ShapeError for an input of another rank or
/// one of which nothing is left.
class CAPSTAN_EXPORT Cropping2D final : public Layer {
 public:
  explicit Cropping2D(Borders2D cropping = 0, const SpatialOptions& options = {});
};

/// Cuts off the ends of a volume. Errors: as Cropping2D.
class CAPSTAN_EXPORT Cropping3D final : public Layer {
 public:
  explicit Cropping3D(Borders3D cropping = 1, const SpatialOptions& options = {});
};

/// Each step of a signal, `size` times. Errors: as UpSampling2D.
class CAPSTAN_EXPORT UpSampling1D final : public Layer {
 public:
  explicit UpSampling1D(Size1D size = 2, const SpatialOptions& options = {});
};

/// Images `size` times as high and wide: each pixel repeated, or interpolated with the pixels' centres at halves; then
/// the result is floating. Errors: ValueError for lengths below 1 or an unknown interpolation, ShapeError for an input
/// of another rank.
class CAPSTAN_EXPORT UpSampling2D final : public Layer {
 public:
  explicit UpSampling2D(Size2D size = 2, const UpSampling2DOptions& options = {});
};

/// Each element of a volume, `size` times along each axis. Errors: as UpSampling2D.
class CAPSTAN_EXPORT UpSampling3D final : public Layer {
 public:
  explicit UpSampling3D(Size3D size = 2, const SpatialOptions& options = {});
};

static_assert(detail::kAddNothing<ZeroPadding1D, ZeroPadding2D, ZeroPadding3D, Cropping1D, Cropping2D, Cropping3D,
                                  UpSampling1D, UpSampling2D, UpSampling3D>);

}  // namespace layers
}  // namespace capstan
