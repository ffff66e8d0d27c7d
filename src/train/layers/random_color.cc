// Contrast and brightness of images, changed at random.
#include <cmath>

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layers/augmentation.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

void check_range(const char* layer, const ValueRange& range) {
  CAPSTAN_CHECK(std::isfinite(range.lowest) && std::isfinite(range.highest) && range.lowest < range.highest, ValueError,
                layer, ": value_range must be two different finite numbers, not ", range.lowest, " and ",
                range.highest);
}

Tensor limited(const Tensor& x, const ValueRange& range) { return clip_by_value(x, range.lowest, range.highest); }

// --- RandomContrast ---

struct RandomContrastConfig : RandomColorOptions {
  FactorAroundOne factor = 0;
  static std::span<const OptionField> fields() {
    using O = RandomContrastConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::factor>("factor", true).at_least(0).at_most(1),
                                                       option<&O::value_range, O>("value_range"),
                                                       option<&O::seed, O>("seed"), detail::data_format_option<O>()});
    return all;
  }
};

class RandomContrastBody final : public ConfiguredLayer<RandomContrastBody, RandomContrastConfig> {
 public:
  static constexpr char kName[] = "RandomContrast", kText[] = "Another contrast, at random, while training.";
  explicit RandomContrastBody(const RandomContrastConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {
    check_range(kName, given.value_range);
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    return detail::with_images(name(), x, options.data_format, [&](const Tensor& given) {
      const Tensor images = detail::as_floating(given, compute_dtype());
      if (!call_options.training) return images;
      const Tensor working = detail::in_dtype(images, detail::working_dtype(images.dtype()));
      const Tensor factor =
          detail::drawn_for_each(images, 1 - options.factor.below, 1 + options.factor.above, keys_, working.dtype());
      const Tensor mean = reduce_mean(working, {1, 2}, {.keepdims = true});
      const Tensor y = (working - mean) * reshape(factor, {-1, 1, 1, 1}) + mean;
      return detail::in_dtype(limited(y, options.value_range), images.dtype());
    });
  }

 private:
  detail::NoiseKeys keys_;
};

// --- RandomBrightness ---

struct RandomBrightnessConfig : RandomColorOptions {
  FactorRange factor = 0;
  static std::span<const OptionField> fields() {
    using O = RandomBrightnessConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::factor>("factor", true).at_least(-1).at_most(1),
                                                       option<&O::value_range, O>("value_range"),
                                                       option<&O::seed, O>("seed"), detail::data_format_option<O>()});
    return all;
  }
};

class RandomBrightnessBody final : public ConfiguredLayer<RandomBrightnessBody, RandomBrightnessConfig> {
 public:
  static constexpr char kName[] = "RandomBrightness", kText[] = "Another brightness, at random, while training.";
  explicit RandomBrightnessBody(const RandomBrightnessConfig& given)
      : ConfiguredLayer(given), keys_(*this, given.seed) {
    check_range(kName, given.value_range);
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    return detail::with_images(name(), x, options.data_format, [&](const Tensor& given) {
      const Tensor images = detail::as_floating(given, compute_dtype());
      if (!call_options.training) return images;
      const ValueRange& range = options.value_range;
      const Tensor drawn = detail::drawn_for_each(images, options.factor.lower, options.factor.upper, keys_, floatx());
      const Tensor delta = detail::in_dtype(drawn * (range.highest - range.lowest), images.dtype());
      return limited(images + reshape(delta, {-1, 1, 1, 1}), range);
    });
  }

 private:
  detail::NoiseKeys keys_;
};

}  // namespace

RandomContrast::RandomContrast(FactorAroundOne factor, const RandomColorOptions& options)
    : Layer(make_configurable<RandomContrastBody>(RandomContrastConfig{options, factor})) {}
RandomBrightness::RandomBrightness(FactorRange factor, const RandomColorOptions& options)
    : Layer(make_configurable<RandomBrightnessBody>(RandomBrightnessConfig{options, factor})) {}

}  // namespace capstan::layers

namespace capstan {
const ClassInfo& detail::random_contrast_class() { return layers::RandomContrastBody::info(); }
const ClassInfo& detail::random_brightness_class() { return layers::RandomBrightnessBody::info(); }
}  // namespace capstan
