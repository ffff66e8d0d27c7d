// Dropout of whole channels.
#include "capstan/layers.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/noise.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

// Without "trainable", which Keras's classes do not take.
struct SequenceConfig : SpatialDropout1DOptions {
  double rate = 0;
  static std::span<const OptionField> fields() {
    using O = SequenceConfig;
    static constexpr OptionField all[] = {option<&O::name, O>("name"), option<&O::dtype, O>("dtype"),
                                          option<&O::rate>("rate", true).at_least(0).at_most(1).changeable(),
                                          option<&O::seed, O>("seed")};
    return all;
  }
};

struct ImageConfig : SpatialDropoutOptions {
  double rate = 0;
  static std::span<const OptionField> fields() {
    using O = ImageConfig;
    static constexpr OptionField all[] = {option<&O::name, O>("name"), option<&O::dtype, O>("dtype"),
                                          option<&O::rate>("rate", true).at_least(0).at_most(1).changeable(),
                                          option<&O::seed, O>("seed"), detail::data_format_option<O>()};
    return all;
  }
};

Tensor drop_channels(const std::string& layer, const Tensor& x, int rank, bool channels_first, double rate,
                     const detail::NoiseKeys& keys) {
  CAPSTAN_CHECK(x.rank() == rank, ShapeError, layer, ": the input must have rank ", rank, ", not ", x.rank(),
                arguments({{"x", x}}));
  Shape noise{-1};
  for (int i = 1; i < rank; ++i) noise.push_back(i == (channels_first ? 1 : rank - 1) ? -1 : 1);
  return detail::dropped(x, rate, noise, keys);
}

class SpatialDropout1DBody final : public ConfiguredLayer<SpatialDropout1DBody, SequenceConfig> {
 public:
  static constexpr char kName[] = "SpatialDropout1D", kText[] = "Dropout of whole channels of sequences.";
  explicit SpatialDropout1DBody(const SequenceConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    if (!call_options.training || options.rate == 0) return x;
    return drop_channels(name(), x, 3, false, options.rate, keys_);
  }

 private:
  detail::NoiseKeys keys_;
};

template <class Derived, int kRank>
class ImageBody : public ConfiguredLayer<Derived, ImageConfig> {
 public:
  explicit ImageBody(const ImageConfig& given)
      : ConfiguredLayer<Derived, ImageConfig>(given), keys_(*this, given.seed) {
    this->passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    const ImageConfig& o = this->options;
    if (!call_options.training || o.rate == 0) return x;
    return drop_channels(this->name(), x, kRank, o.data_format == "channels_first", o.rate, keys_);
  }

 private:
  detail::NoiseKeys keys_;
};

struct SpatialDropout2DBody final : ImageBody<SpatialDropout2DBody, 4> {
  static constexpr char kName[] = "SpatialDropout2D", kText[] = "Dropout of whole channels of images.";
  using ImageBody::ImageBody;
};
struct SpatialDropout3DBody final : ImageBody<SpatialDropout3DBody, 5> {
  static constexpr char kName[] = "SpatialDropout3D", kText[] = "Dropout of whole channels of volumes.";
  using ImageBody::ImageBody;
};

}  // namespace

SpatialDropout1D::SpatialDropout1D(double rate, const SpatialDropout1DOptions& options)
    : Layer(make_configurable<SpatialDropout1DBody>(SequenceConfig{options, rate})) {}
SpatialDropout2D::SpatialDropout2D(double rate, const SpatialDropoutOptions& options)
    : Layer(make_configurable<SpatialDropout2DBody>(ImageConfig{options, rate})) {}
SpatialDropout3D::SpatialDropout3D(double rate, const SpatialDropoutOptions& options)
    : Layer(make_configurable<SpatialDropout3DBody>(ImageConfig{options, rate})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::spatial_dropout1d_class() { return layers::SpatialDropout1DBody::info(); }
const capstan::ClassInfo& capstan::detail::spatial_dropout2d_class() { return layers::SpatialDropout2DBody::info(); }
const capstan::ClassInfo& capstan::detail::spatial_dropout3d_class() { return layers::SpatialDropout3DBody::info(); }
