// Dropout and AlphaDropout.
#include <cmath>

#include "capstan/layers.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/noise.h"

namespace capstan::layers {

namespace {

struct DropoutConfig : DropoutOptions {
  double rate = 0;
  static std::span<const OptionField> fields() {
    using O = DropoutConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::rate>("rate", true).at_least(0).at_most(1).changeable(),
                               option<&O::seed, O>("seed"), detail::noise_shape_option<O>()});
    return all;
  }
};

class DropoutBody final : public ConfiguredLayer<DropoutBody, DropoutConfig> {
 public:
  static constexpr char kName[] = "Dropout", kText[] = "Zeroes a fraction of the elements while training.";
  explicit DropoutBody(const DropoutConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    if (!call_options.training || options.rate == 0) return x;
    detail::check_noise_shape(name(), options.noise_shape, x);
    return detail::dropped(x, options.rate, options.noise_shape, keys_);
  }

 private:
  detail::NoiseKeys keys_;
};

struct AlphaDropoutConfig : AlphaDropoutOptions {
  double rate = 0;
  static std::span<const OptionField> fields() {
    using O = AlphaDropoutConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::rate>("rate", true).at_least(0).at_most(1).changeable(),
                               option<&O::seed, O>("seed"), detail::noise_shape_option<O>()});
    return all;
  }
};

// What selu approaches far below 0.
constexpr double kDropped = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;

class AlphaDropoutBody final : public ConfiguredLayer<AlphaDropoutBody, AlphaDropoutConfig> {
 public:
  static constexpr char kName[] = "AlphaDropout", kText[] = "Dropout that keeps mean and variance, for selu.";
  explicit AlphaDropoutBody(const AlphaDropoutConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    const double rate = options.rate;
    if (!call_options.training || rate == 0) return x;
    CAPSTAN_CHECK(rate < 1, ValueError, name(), ": a rate of 1 leaves nothing whose variance could be kept",
                  help("give it a rate below 1"));
    detail::check_noise_shape(name(), options.noise_shape, x);
    const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kDropped * kDropped));
    const Tensor is_kept = greater(detail::dropout_mask(x, rate, options.noise_shape, keys_), 0.0);
    return scale * where(is_kept, x, kDropped) - scale * kDropped * rate;
  }

 private:
  detail::NoiseKeys keys_;
};

}  // namespace

Dropout::Dropout(double rate, const DropoutOptions& options)
    : Layer(make_configurable<DropoutBody>(DropoutConfig{options, rate})) {}
AlphaDropout::AlphaDropout(double rate, const AlphaDropoutOptions& options)
    : Layer(make_configurable<AlphaDropoutBody>(AlphaDropoutConfig{options, rate})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::dropout_class() { return layers::DropoutBody::info(); }
const capstan::ClassInfo& capstan::detail::alpha_dropout_class() { return layers::AlphaDropoutBody::info(); }
