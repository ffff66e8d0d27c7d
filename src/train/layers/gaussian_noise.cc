// Normal noise, added or multiplied.
#include <cmath>

#include "capstan/layers.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/noise.h"

namespace capstan::layers {

namespace {

struct AddedConfig : NoiseOptions {
  double stddev = 0;
  static std::span<const OptionField> fields() {
    using O = AddedConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::stddev>("stddev", true).at_least(0).at_most(1).changeable(), option<&O::seed, O>("seed")});
    return all;
  }
};

class GaussianNoiseBody final : public ConfiguredLayer<GaussianNoiseBody, AddedConfig> {
 public:
  static constexpr char kName[] = "GaussianNoise", kText[] = "Adds normal noise while training.";
  explicit GaussianNoiseBody(const AddedConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    if (!call_options.training || options.stddev == 0) return x;
    return x + options.stddev * detail::normal_noise(x, keys_);
  }

 private:
  detail::NoiseKeys keys_;
};

struct MultipliedConfig : NoiseOptions {
  double rate = 0;
  static std::span<const OptionField> fields() {
    using O = MultipliedConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::rate>("rate", true).at_least(0).at_most(1).changeable(), option<&O::seed, O>("seed")});
    return all;
  }
};

class GaussianDropoutBody final : public ConfiguredLayer<GaussianDropoutBody, MultipliedConfig> {
 public:
  static constexpr char kName[] = "GaussianDropout", kText[] = "Multiplies with normal noise while training.";
  explicit GaussianDropoutBody(const MultipliedConfig& given) : ConfiguredLayer(given), keys_(*this, given.seed) {
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    if (!call_options.training || options.rate == 0) return x;
    CAPSTAN_CHECK(options.rate < 1, ValueError, name(), ": a rate of 1 is noise of infinite variance",
                  help("give it a rate below 1"));
    return x * (1.0 + std::sqrt(options.rate / (1 - options.rate)) * detail::normal_noise(x, keys_));
  }

 private:
  detail::NoiseKeys keys_;
};

}  // namespace

GaussianNoise::GaussianNoise(double stddev, const NoiseOptions& options)
    : Layer(make_configurable<GaussianNoiseBody>(AddedConfig{options, stddev})) {}
GaussianDropout::GaussianDropout(double rate, const NoiseOptions& options)
    : Layer(make_configurable<GaussianDropoutBody>(MultipliedConfig{options, rate})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::gaussian_noise_class() { return layers::GaussianNoiseBody::info(); }
const capstan::ClassInfo& capstan::detail::gaussian_dropout_class() { return layers::GaussianDropoutBody::info(); }
