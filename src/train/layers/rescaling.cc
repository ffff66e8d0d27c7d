// Scale and offset.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"

namespace capstan::layers {

namespace {

struct RescalingConfig : RescalingOptions {
  Numbers scale;
  static std::span<const OptionField> fields() {
    using O = RescalingConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::scale>("scale", true), option<&O::offset, O>("offset")});
    return all;
  }
};

class RescalingBody final : public ConfiguredLayer<RescalingBody, RescalingConfig> {
 public:
  static constexpr char kName[] = "Rescaling", kText[] = "Multiplies by a scale and adds an offset.";
  explicit RescalingBody(const RescalingConfig& given) : ConfiguredLayer(given) {
    CAPSTAN_CHECK(given.scale.is_given(), ValueError, "Rescaling: option \"scale\" must be given");
    CAPSTAN_CHECK(given.offset.is_given(), ValueError, "Rescaling: option \"offset\" must be given");
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    const auto of = [&](const Numbers& numbers) {
      return cast(constant(numbers.values(), numbers.shape()), compute_dtype());
    };
    return (x.dtype() == compute_dtype() ? x : cast(x, compute_dtype())) * of(options.scale) + of(options.offset);
  }
};

}  // namespace

Rescaling::Rescaling(const Numbers& scale, const RescalingOptions& options)
    : Layer(make_configurable<RescalingBody>(RescalingConfig{options, scale})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::rescaling_class() { return layers::RescalingBody::info(); }
