// Images mirrored at random.
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/augmentation.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

constexpr std::string_view kDirections[] = {"horizontal", "vertical", "horizontal_and_vertical"};

struct RandomFlipConfig : RandomPlaceOptions {
  std::string mode = "horizontal_and_vertical";
  static std::span<const OptionField> fields() {
    using O = RandomFlipConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::mode>("mode").one_of(kDirections), option<&O::seed, O>("seed"), detail::data_format_option<O>()});
    return all;
  }
};

class RandomFlipBody final : public ConfiguredLayer<RandomFlipBody, RandomFlipConfig> {
 public:
  static constexpr char kName[] = "RandomFlip", kText[] = "Images mirrored at random while training.";
  explicit RandomFlipBody(const RandomFlipConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {}

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    return detail::with_images(name(), x, options.data_format, [&](const Tensor& given) {
      const Tensor images = detail::as_floating(given, compute_dtype());
      if (!call_options.training) return images;
      const Tensor drawn = detail::drawn_for_each(images, 0, 1, keys_, floatx());
      const Axes axes = options.mode == "horizontal" ? Axes(2) : options.mode == "vertical" ? Axes(1) : Axes({1, 2});
      return where(less_equal(reshape(drawn, {-1, 1, 1, 1}), 0.5), reverse(images, axes), images);
    });
  }

 private:
  detail::NoiseKeys keys_;
};

}  // namespace

RandomFlip::RandomFlip(const std::string& mode, const RandomPlaceOptions& options)
    : Layer(make_configurable<RandomFlipBody>(RandomFlipConfig{options, mode})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::random_flip_class() { return layers::RandomFlipBody::info(); }
