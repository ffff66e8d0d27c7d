// Images turned, moved and zoomed at random.
//
// A layer draws the numbers of an affine map for each image; the pixel (x, y) of the result is the image at (a0 x +
// a1 y + a2, b0 x + b1 y + b2).
#include <numbers>

#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/augmentation.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

// The part of a table that these layers share, after their own.
template <class O, std::size_t N>
constexpr auto with_warp_options(const OptionField (&own)[N]) {
  OptionField all[N + 5] = {};
  for (std::size_t i = 0; i < N; ++i) all[i] = own[i];
  all[N] = option<&O::fill_mode, O>("fill_mode").one_of(detail::kFillModes);
  all[N + 1] = option<&O::interpolation, O>("interpolation").one_of(detail::kWarpInterpolations);
  all[N + 2] = option<&O::seed, O>("seed");
  all[N + 3] = option<&O::fill_value, O>("fill_value");
  all[N + 4] = detail::data_format_option<O>();
  return with_layer_options<O>(all);
}

// Of a map without a projective part, as [batch, 8].
struct Map {
  Tensor a0, a1, a2, b0, b1, b2;
  Tensor numbers() const {
    const Tensor zero = zeros_like(a0);
    return stack({a0, a1, a2, b0, b1, b2, zero, zero}, 1);
  }
};

template <class Derived, class Config>
class WarpBody : public ConfiguredLayer<Derived, Config> {
 public:
  explicit WarpBody(const Config& given) : ConfiguredLayer<Derived, Config>(given), keys_(*this, given.seed) {}

 protected:
  // The map of each image.
  virtual Map drawn_map(const Tensor& images) const = 0;

  Tensor call(const Tensor& x, const CallOptions& call_options) final {
    const Config& o = this->options;
    return detail::with_images(this->name(), x, o.data_format, [&](const Tensor& given) {
      const Tensor images = detail::as_floating(given, this->compute_dtype());
      if (!call_options.training) return images;
      // In bfloat16 there are no places between the pixels of large images.
      const Tensor y = image::affine_transform(
          detail::in_dtype(images, detail::working_dtype(images.dtype())), drawn_map(images).numbers(),
          {.interpolation = o.interpolation, .fill_mode = o.fill_mode, .fill_value = o.fill_value});
      return detail::in_dtype(y, images.dtype());
    });
  }

  Tensor drawn(const Tensor& images, double lower, double upper) const {
    return detail::drawn_for_each(images, lower, upper, keys_, detail::working_dtype(floatx()));
  }

 private:
  detail::NoiseKeys keys_;
};

double middle_of(std::int64_t length) { return static_cast<double>(length - 1) / 2; }

// --- RandomRotation ---

struct RandomRotationConfig : RandomWarpOptions {
  FactorRange factor = 0;
  static std::span<const OptionField> fields() {
    using O = RandomRotationConfig;
    static constexpr auto all = with_warp_options<O>({option<&O::factor>("factor", true).at_least(-1).at_most(1)});
    return all;
  }
};

class RandomRotationBody final : public WarpBody<RandomRotationBody, RandomRotationConfig> {
 public:
  static constexpr char kName[] = "RandomRotation", kText[] = "Images turned at random while training.";
  using WarpBody::WarpBody;

 protected:
  Map drawn_map(const Tensor& images) const override {
    const double x = middle_of(images.dim(2)), y = middle_of(images.dim(1));
    const Tensor degrees = drawn(images, options.factor.lower * 360, options.factor.upper * 360);
    const Tensor angle = degrees * (std::numbers::pi / 180);
    const Tensor c = cos(angle), s = sin(angle);
    return {c, -s, x - x * c + y * s, s, c, y - x * s - y * c};
  }
};

// --- RandomTranslation ---

struct RandomTranslationConfig : RandomWarpOptions {
  FactorRange height_factor = 0, width_factor = 0;
  static std::span<const OptionField> fields() {
    using O = RandomTranslationConfig;
    static constexpr auto all =
        with_warp_options<O>({option<&O::height_factor>("height_factor", true).at_least(-1).at_most(1),
                              option<&O::width_factor>("width_factor", true).at_least(-1).at_most(1)});
    return all;
  }
};

class RandomTranslationBody final : public WarpBody<RandomTranslationBody, RandomTranslationConfig> {
 public:
  static constexpr char kName[] = "RandomTranslation", kText[] = "Images moved at random while training.";
  using WarpBody::WarpBody;

 protected:
  Map drawn_map(const Tensor& images) const override {
    const Tensor down = drawn(images, options.height_factor.lower, options.height_factor.upper);
    const Tensor right = drawn(images, options.width_factor.lower, options.width_factor.upper);
    const Tensor one = ones_like(down), zero = zeros_like(down);
    return {one,  zero, -(right * static_cast<double>(images.dim(2))),
            zero, one,  -(down * static_cast<double>(images.dim(1)))};
  }
};

// --- RandomZoom ---

struct RandomZoomConfig : RandomZoomOptions {
  FactorRange height_factor = 0;
  static std::span<const OptionField> fields() {
    using O = RandomZoomConfig;
    static constexpr auto all =
        with_warp_options<O>({option<&O::height_factor>("height_factor", true).at_least(-1).at_most(1),
                              option<&O::width_factor, O>("width_factor").at_least(-1).at_most(1)});
    return all;
  }
};

class RandomZoomBody final : public WarpBody<RandomZoomBody, RandomZoomConfig> {
 public:
  static constexpr char kName[] = "RandomZoom", kText[] = "Images made larger or smaller at random while training.";
  using WarpBody::WarpBody;

 protected:
  Map drawn_map(const Tensor& images) const override {
    const auto draw = [&](const FactorRange& factor) { return drawn(images, 1 + factor.lower, 1 + factor.upper); };
    const Tensor vertical = draw(options.height_factor);
    const Tensor horizontal = options.width_factor ? draw(*options.width_factor) : vertical;
    const Tensor zero = zeros_like(vertical);
    return {horizontal, zero,     (1.0 - horizontal) * middle_of(images.dim(2)),
            zero,       vertical, (1.0 - vertical) * middle_of(images.dim(1))};
  }
};

}  // namespace

RandomRotation::RandomRotation(FactorRange factor, const RandomWarpOptions& options)
    : Layer(make_configurable<RandomRotationBody>(RandomRotationConfig{options, factor})) {}
RandomTranslation::RandomTranslation(FactorRange height_factor, FactorRange width_factor,
                                     const RandomWarpOptions& options)
    : Layer(make_configurable<RandomTranslationBody>(RandomTranslationConfig{options, height_factor, width_factor})) {}
RandomZoom::RandomZoom(FactorRange height_factor, const RandomZoomOptions& options)
    : Layer(make_configurable<RandomZoomBody>(RandomZoomConfig{options, height_factor})) {}

}  // namespace capstan::layers

namespace capstan {
const ClassInfo& detail::random_rotation_class() { return layers::RandomRotationBody::info(); }
const ClassInfo& detail::random_translation_class() { return layers::RandomTranslationBody::info(); }
const ClassInfo& detail::random_zoom_class() { return layers::RandomZoomBody::info(); }
}  // namespace capstan
