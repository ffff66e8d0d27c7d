// Images in another size: resized, or a part of them.
#include <cmath>

#include "capstan/ops/host.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/augmentation.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

constexpr std::string_view kInterpolations[] = {"bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5"};
constexpr std::string_view kConstant[] = {"constant"};

// --- Resizing ---

struct ResizingConfig : ResizingOptions {
  std::int64_t height = 1, width = 1;
  static std::span<const OptionField> fields() {
    using O = ResizingConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::height>("height", true).at_least(1), option<&O::width>("width", true).at_least(1),
         option<&O::interpolation, O>("interpolation").one_of(kInterpolations),
         option<&O::crop_to_aspect_ratio, O>("crop_to_aspect_ratio"),
         option<&O::pad_to_aspect_ratio, O>("pad_to_aspect_ratio"),
         option<&O::fill_mode, O>("fill_mode").one_of(kConstant), option<&O::fill_value, O>("fill_value"),
         option<&O::antialias, O>("antialias"), detail::data_format_option<O>()});
    return all;
  }
};

class ResizingBody final : public ConfiguredLayer<ResizingBody, ResizingConfig> {
 public:
  static constexpr char kName[] = "Resizing", kText[] = "Images in another size.";
  explicit ResizingBody(const ResizingConfig& given) : ConfiguredLayer(given) {
    CAPSTAN_CHECK(!given.crop_to_aspect_ratio || !given.pad_to_aspect_ratio, ValueError,
                  "Resizing: crop_to_aspect_ratio and pad_to_aspect_ratio exclude each other, and both are true");
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    return detail::with_images(name(), x, options.data_format, [&](const Tensor& images) {
      const Tensor whole = options.crop_to_aspect_ratio  ? detail::middle_like(images, options.height, options.width)
                           : options.pad_to_aspect_ratio ? padded(images)
                                                         : images;
      const Tensor y =
          image::resize(detail::in_dtype(whole, arithmetic_dtype(x.dtype())), {options.height, options.width},
                        {.method = options.interpolation, .antialias = options.antialias});
      if (y.dtype() == x.dtype()) return y;
      return is_floating(x.dtype()) ? cast(y, x.dtype()) : saturate_cast(round(y), x.dtype());
    });
  }

 private:
  // Nearest takes any dtype; the others take numbers.
  DType arithmetic_dtype(DType dtype) const {
    return options.interpolation == "nearest" || dtype != DType::kBool ? dtype : DType::kFloat32;
  }

  // Both sides of an axis get as much; what is left over by halving is distorted.
  Tensor padded(const Tensor& images) const {
    const auto side = [](std::int64_t own, std::int64_t other, std::int64_t wanted, std::int64_t per) {
      const double needed =
          std::floor(static_cast<double>(other) * static_cast<double>(wanted) / static_cast<double>(per));
      return needed <= static_cast<double>(own) ? 0.0 : std::floor((needed - static_cast<double>(own)) / 2);
    };
    const double above = side(images.dim(1), images.dim(2), options.height, options.width);
    const double left = side(images.dim(2), images.dim(1), options.width, options.height);
    if (above == 0 && left == 0) return images;
    CAPSTAN_CHECK(above < 0x1p31 && left < 0x1p31, ShapeError, name(), ": images of ", images.dim(1), " x ",
                  images.dim(2), " cannot be padded to the aspect ratio of ", options.height, " x ", options.width);
    const auto rows = static_cast<std::int64_t>(above), columns = static_cast<std::int64_t>(left);
    return pad(images, {{0, 0}, {rows, rows}, {columns, columns}, {0, 0}}, PadMode::kConstant, options.fill_value);
  }
};

// --- CenterCrop ---

struct CenterCropConfig : CenterCropOptions {
  std::int64_t height = 1, width = 1;
  static std::span<const OptionField> fields() {
    using O = CenterCropConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::height>("height", true).at_least(1),
                               option<&O::width>("width", true).at_least(1), detail::data_format_option<O>()});
    return all;
  }
};

class CenterCropBody final : public ConfiguredLayer<CenterCropBody, CenterCropConfig> {
 public:
  static constexpr char kName[] = "CenterCrop", kText[] = "The middle of images.";
  using ConfiguredLayer::ConfiguredLayer;

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    return detail::with_images(name(), x, options.data_format, [&](const Tensor& given) {
      const Tensor images = detail::as_floating(given, compute_dtype());
      const bool fits = images.dim(1) >= options.height && images.dim(2) >= options.width;
      return fits ? detail::middle(images, options.height, options.width)
                  : detail::resized_middle(images, options.height, options.width);
    });
  }
};

// --- RandomCrop ---

struct RandomCropConfig : RandomPlaceOptions {
  std::int64_t height = 1, width = 1;
  static std::span<const OptionField> fields() {
    using O = RandomCropConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::height>("height", true).at_least(1),
                                                       option<&O::width>("width", true).at_least(1),
                                                       option<&O::seed, O>("seed"), detail::data_format_option<O>()});
    return all;
  }
};

class RandomCropBody final : public ConfiguredLayer<RandomCropBody, RandomCropConfig> {
 public:
  static constexpr char kName[] = "RandomCrop", kText[] = "A part of images at a random place while training.";
  explicit RandomCropBody(const RandomCropConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {}

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    return detail::with_images(name(), x, options.data_format, [&](const Tensor& given) {
      const Tensor images = detail::as_floating(given, compute_dtype());
      const bool fits = images.dim(1) >= options.height && images.dim(2) >= options.width;
      if (!call_options.training || !fits) return detail::resized_middle(images, options.height, options.width);
      const Tensor rows = places(images.dim(1), options.height);
      return gather(gather(images, rows, 1), places(images.dim(2), options.width), 2);
    });
  }

 private:
  // `wanted` neighbouring places of an axis of this length.
  Tensor places(std::int64_t length, std::int64_t wanted) const {
    const std::int64_t last = length - wanted;
    const Tensor drawn = host_uniform(zeros({}, DType::kFloat32), keys_.pairs(), {.stateless = keys_.has_seed()});
    const Tensor first = minimum(cast(drawn * static_cast<double>(last + 1), DType::kInt64), last);
    return first + cast(range(static_cast<long>(wanted)), DType::kInt64);
  }

  detail::NoiseKeys keys_;
};

}  // namespace

Resizing::Resizing(std::int64_t height, std::int64_t width, const ResizingOptions& options)
    : Layer(make_configurable<ResizingBody>(ResizingConfig{options, height, width})) {}
CenterCrop::CenterCrop(std::int64_t height, std::int64_t width, const CenterCropOptions& options)
    : Layer(make_configurable<CenterCropBody>(CenterCropConfig{options, height, width})) {}
RandomCrop::RandomCrop(std::int64_t height, std::int64_t width, const RandomPlaceOptions& options)
    : Layer(make_configurable<RandomCropBody>(RandomCropConfig{options, height, width})) {}

}  // namespace capstan::layers

namespace capstan {
const ClassInfo& detail::resizing_class() { return layers::ResizingBody::info(); }
const ClassInfo& detail::center_crop_class() { return layers::CenterCropBody::info(); }
const ClassInfo& detail::random_crop_class() { return layers::RandomCropBody::info(); }
}  // namespace capstan
