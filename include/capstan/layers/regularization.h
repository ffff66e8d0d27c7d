// Layers that are noise while training, and ActivityRegularization.
//
// With a seed a layer draws what Keras's layer with this seed draws on TensorFlow, call for call. Without one it takes
// the next of the process's stream, see set_seed. Inference draws nothing and gives what it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/layer.h"
#include "capstan/seed.h"

namespace capstan {
namespace layers {

/// Options of Dropout.
struct DropoutOptions {
  /// The lengths of the mask that is drawn: -1 means the input's, 1 is broadcast.
  std::optional<Shape> noise_shape = {};
  /// With a seed the layer drops what Keras's layer with this seed drops on TensorFlow, call for call. Without one it
  /// takes the next of the process's stream, see set_seed, and is faster.
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// When training, zeroes a fraction `rate` of the elements and scales the others by 1 / (1 - rate); otherwise the
/// identity. Every call draws anew. Errors: ValueError for a rate outside [0, 1].
class CAPSTAN_EXPORT Dropout final : public Layer {
 public:
  explicit Dropout(double rate, const DropoutOptions& options = {});
};

/// Options of SpatialDropout1D.
struct SpatialDropout1DOptions {
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Dropout of whole channels of sequences [batch, time, channels]. Errors: ValueError for a rate outside [0, 1],
/// ShapeError for another rank.
class CAPSTAN_EXPORT SpatialDropout1D final : public Layer {
 public:
  explicit SpatialDropout1D(double rate, const SpatialDropout1DOptions& options = {});
};

/// Options of SpatialDropout2D and SpatialDropout3D.
struct SpatialDropoutOptions {
  std::string data_format = "channels_last";  ///< or "channels_first"
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Dropout of whole channels of images [batch, height, width, channels]. Errors: as SpatialDropout1D.
class CAPSTAN_EXPORT SpatialDropout2D final : public Layer {
 public:
  explicit SpatialDropout2D(double rate, const SpatialDropoutOptions& options = {});
};

/// Dropout of whole channels of volumes [batch, depth, height, width, channels]. Errors: as SpatialDropout1D.
class CAPSTAN_EXPORT SpatialDropout3D final : public Layer {
 public:
  explicit SpatialDropout3D(double rate, const SpatialDropoutOptions& options = {});
};

/// Options of GaussianNoise and GaussianDropout.
struct NoiseOptions {
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// When training, adds normal noise. Errors: ValueError for a stddev outside [0, 1].
class CAPSTAN_EXPORT GaussianNoise final : public Layer {
 public:
  explicit GaussianNoise(double stddev, const NoiseOptions& options = {});
};

/// When training, multiplies with normal noise of mean 1 and variance rate / (1 - rate), which is that of Dropout.
/// Errors: ValueError for a rate outside [0, 1], and in training for 1, whose variance is infinite.
class CAPSTAN_EXPORT GaussianDropout final : public Layer {
 public:
  explicit GaussianDropout(double rate, const NoiseOptions& options = {});
};

/// Options of AlphaDropout.
struct AlphaDropoutOptions {
  /// As that of Dropout.
  std::optional<Shape> noise_shape = {};
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Dropout for networks of selu: what is dropped gets the value that selu has far below 0, and the result is scaled and
/// shifted so that mean and variance stay. Errors: ValueError for a rate outside [0, 1], and in training for 1, of
/// which no scale keeps the variance.
class CAPSTAN_EXPORT AlphaDropout final : public Layer {
 public:
  explicit AlphaDropout(double rate, const AlphaDropoutOptions& options = {});
};

/// Options of ActivityRegularization.
struct ActivityRegularizationOptions {
  double l1 = 0;
  double l2 = 0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Gives what it is given, and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the length of the batch, to the losses.
/// Errors: ValueError for a negative factor.
class CAPSTAN_EXPORT ActivityRegularization final : public Layer {
 public:
  explicit ActivityRegularization(const ActivityRegularizationOptions& options = {});
};

static_assert(detail::kAddNothing<Dropout, SpatialDropout1D, SpatialDropout2D, SpatialDropout3D, GaussianNoise,
                                  GaussianDropout, AlphaDropout, ActivityRegularization>);

}  // namespace layers
}  // namespace capstan
