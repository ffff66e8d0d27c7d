// Pooling.
//
// Inputs are [batch, axes of space, channels], or [batch, channels, axes of space] with data_format "channels_first";
// so are results. Floating dtypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/layers/sizes.h"

namespace capstan {
namespace layers {

/// Options of maximum and average pooling over N axes.
template <std::size_t N>
struct PoolingOptions {
  std::optional<SizeOf<N>> strides = {};  ///< the pool's size unless given
  std::string padding = "valid";          ///< or "same"
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};
using Pooling1DOptions = PoolingOptions<1>;
using Pooling2DOptions = PoolingOptions<2>;
using Pooling3DOptions = PoolingOptions<3>;

/// Options of pooling over all of an image.
struct GlobalPoolingOptions {
  std::string data_format = "channels_last";
  bool keepdims = false;  ///< the axes of space stay, with length 1
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Options of adaptive pooling.
struct AdaptivePoolingOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// The largest element of each window of a signal. Errors: as MaxPooling2D.
class CAPSTAN_EXPORT MaxPooling1D final : public Layer {
 public:
  explicit MaxPooling1D(Size1D pool_size = 2, const Pooling1DOptions& options = {});
};

/// The mean of each window of a signal; cells that padding added do not count. Errors: as MaxPooling2D.
class CAPSTAN_EXPORT AveragePooling1D final : public Layer {
 public:
  explicit AveragePooling1D(Size1D pool_size, const Pooling1DOptions& options = {});
};

/// The largest element of each window of an image. Of equal ones the first gets the gradient. Errors: ValueError for
/// lengths below 1 or an unknown padding, ShapeError for an input of another rank or a window larger than the image.
class CAPSTAN_EXPORT MaxPooling2D final : public Layer {
 public:
  explicit MaxPooling2D(Size2D pool_size = 2, const Pooling2DOptions& options = {});
};

/// The mean of each window of an image; cells that padding added do not count. Errors: as MaxPooling2D.
class CAPSTAN_EXPORT AveragePooling2D final : public Layer {
 public:
  explicit AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options = {});
};

/// The largest element of each window of a volume. Errors: as MaxPooling2D.
class CAPSTAN_EXPORT MaxPooling3D final : public Layer {
 public:
  explicit MaxPooling3D(Size3D pool_size = 2, const Pooling3DOptions& options = {});
};

/// The mean of each window of a volume; cells that padding added do not count. Errors: as MaxPooling2D.
class CAPSTAN_EXPORT AveragePooling3D final : public Layer {
 public:
  explicit AveragePooling3D(Size3D pool_size, const Pooling3DOptions& options = {});
};

/// The largest element of each channel of a signal: [batch, channels]. Errors: ShapeError for an input of another rank.
class CAPSTAN_EXPORT GlobalMaxPooling1D final : public Layer {
 public:
  explicit GlobalMaxPooling1D(const GlobalPoolingOptions& options = {});
};

/// The mean of each channel of a signal: [batch, channels]. Steps that the mask [batch, steps] leaves out do not count;
/// the result has no mask. Errors: ShapeError for an input of another rank.
class CAPSTAN_EXPORT GlobalAveragePooling1D final : public Layer {
 public:
  explicit GlobalAveragePooling1D(const GlobalPoolingOptions& options = {});
};

/// The largest element of each channel of an image: [batch, channels]. Errors: ShapeError for an input of another rank.
class CAPSTAN_EXPORT GlobalMaxPooling2D final : public Layer {
 public:
  explicit GlobalMaxPooling2D(const GlobalPoolingOptions& options = {});
};

/// The mean of each channel of an image: [batch, channels]. Errors: ShapeError for an input of another rank.
class CAPSTAN_EXPORT GlobalAveragePooling2D final : public Layer {
 public:
  explicit GlobalAveragePooling2D(const GlobalPoolingOptions& options = {});
};

/// The largest element of each channel of a volume: [batch, channels]. Errors: ShapeError for an input of another rank.
class CAPSTAN_EXPORT GlobalMaxPooling3D final : public Layer {
 public:
  explicit GlobalMaxPooling3D(const GlobalPoolingOptions& options = {});
};

/// The mean of each channel of a volume: [batch, channels]. Errors: ShapeError for an input of another rank.
class CAPSTAN_EXPORT GlobalAveragePooling3D final : public Layer {
 public:
  explicit GlobalAveragePooling3D(const GlobalPoolingOptions& options = {});
};

/// The largest element of each of output_size regions per axis of a signal of any size. Errors: ValueError for lengths
/// below 1, ShapeError for an input of another rank.
class CAPSTAN_EXPORT AdaptiveMaxPooling1D final : public Layer {
 public:
  explicit AdaptiveMaxPooling1D(Size1D output_size, const AdaptivePoolingOptions& options = {});
};

/// The mean of each of output_size regions per axis of a signal of any size. Errors: ValueError for lengths below 1,
/// ShapeError for an input of another rank.
class CAPSTAN_EXPORT AdaptiveAveragePooling1D final : public Layer {
 public:
  explicit AdaptiveAveragePooling1D(Size1D output_size, const AdaptivePoolingOptions& options = {});
};

/// The largest element of each of output_size regions per axis of an image of any size. Errors: ValueError for lengths
/// below 1, ShapeError for an input of another rank.
class CAPSTAN_EXPORT AdaptiveMaxPooling2D final : public Layer {
 public:
  explicit AdaptiveMaxPooling2D(Size2D output_size, const AdaptivePoolingOptions& options = {});
};

/// The mean of each of output_size regions per axis of an image of any size. Errors: ValueError for lengths below 1,
/// ShapeError for an input of another rank.
class CAPSTAN_EXPORT AdaptiveAveragePooling2D final : public Layer {
 public:
  explicit AdaptiveAveragePooling2D(Size2D output_size, const AdaptivePoolingOptions& options = {});
};

/// The largest element of each of output_size regions per axis of a volume of any size. Errors: ValueError for lengths
/// below 1, ShapeError for an input of another rank.
class CAPSTAN_EXPORT AdaptiveMaxPooling3D final : public Layer {
 public:
  explicit AdaptiveMaxPooling3D(Size3D output_size, const AdaptivePoolingOptions& options = {});
};

/// The mean of each of output_size regions per axis of a volume of any size. Errors: ValueError for lengths below 1,
/// ShapeError for an input of another rank.
class CAPSTAN_EXPORT AdaptiveAveragePooling3D final : public Layer {
 public:
  explicit AdaptiveAveragePooling3D(Size3D output_size, const AdaptivePoolingOptions& options = {});
};

static_assert(detail::kAddNothing<MaxPooling1D, AveragePooling1D, MaxPooling2D, AveragePooling2D, MaxPooling3D,
                                  AveragePooling3D, GlobalMaxPooling1D, GlobalAveragePooling1D, GlobalMaxPooling2D,
                                  GlobalAveragePooling2D, GlobalMaxPooling3D, GlobalAveragePooling3D,
                                  AdaptiveMaxPooling1D, AdaptiveAveragePooling1D, AdaptiveMaxPooling2D,
                                  AdaptiveAveragePooling2D, AdaptiveMaxPooling3D, AdaptiveAveragePooling3D>);

}  // namespace layers
}  // namespace capstan
