// The layers that apply a function without weights: Activation, ReLU, LeakyReLU, ELU.
#include "capstan/layers.h"
#include "capstan/ops/activation.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

struct ActivationConfig : ActivationOptions {
  ActivationFunction activation;
  static std::span<const OptionField> fields() {
    using O = ActivationConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::activation>("activation", true).changeable()});
    return all;
  }
};

class ActivationBody final : public ConfiguredLayer<ActivationBody, ActivationConfig> {
 public:
  static constexpr char kName[] = "Activation", kText[] = "Applies an activation function.";
  explicit ActivationBody(const ActivationConfig& given) : ConfiguredLayer(given) { passes_masks(); }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return options.activation(x); }
};

struct ReLUConfig : ReLUOptions {
  static std::span<const OptionField> fields() {
    using O = ReLUConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::max_value, O>("max_value").at_least(0),
                                                       option<&O::negative_slope, O>("negative_slope").at_least(0),
                                                       option<&O::threshold, O>("threshold").at_least(0)});
    return all;
  }
};

class ReLUBody final : public ConfiguredLayer<ReLUBody, ReLUConfig> {
 public:
  static constexpr char kName[] = "ReLU", kText[] = "The larger of x and 0.";
  explicit ReLUBody(const ReLUConfig& given) : ConfiguredLayer(given) { passes_masks(); }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    if (!options.max_value && options.threshold == 0) {
      return options.negative_slope == 0 ? relu(x) : leaky_relu(x, options.negative_slope);
    }
    return activations::relu(x, {options.negative_slope, options.max_value, options.threshold});
  }
};

struct LeakyReLUConfig : LeakyReLUOptions {
  static std::span<const OptionField> fields() {
    using O = LeakyReLUConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::negative_slope, O>("negative_slope")});
    return all;
  }
};

class LeakyReLUBody final : public ConfiguredLayer<LeakyReLUBody, LeakyReLUConfig> {
 public:
  static constexpr char kName[] = "LeakyReLU", kText[] = "x where it is positive, a fraction of it elsewhere.";
  explicit LeakyReLUBody(const LeakyReLUConfig& given) : ConfiguredLayer(given) {
    passes_masks();
    converts_integers();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return leaky_relu(x, options.negative_slope); }
};

struct ELUConfig : ELUOptions {
  static std::span<const OptionField> fields() {
    using O = ELUConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::alpha, O>("alpha")});
    return all;
  }
};

class ELUBody final : public ConfiguredLayer<ELUBody, ELUConfig> {
 public:
  static constexpr char kName[] = "ELU", kText[] = "x where it is positive, alpha * (exp(x) - 1) elsewhere.";
  explicit ELUBody(const ELUConfig& given) : ConfiguredLayer(given) { passes_masks(); }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return elu(x, options.alpha); }
};

}  // namespace

Activation::Activation(ActivationFunction function, const ActivationOptions& options)
    : Layer(make_configurable<ActivationBody>(ActivationConfig{options, std::move(function)})) {}
ReLU::ReLU(const ReLUOptions& options) : Layer(make_configurable<ReLUBody>(ReLUConfig{options})) {}
LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(make_configurable<LeakyReLUBody>(LeakyReLUConfig{options})) {}
ELU::ELU(const ELUOptions& options) : Layer(make_configurable<ELUBody>(ELUConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::activation_class() { return layers::ActivationBody::info(); }
const capstan::ClassInfo& capstan::detail::re_lu_class() { return layers::ReLUBody::info(); }
const capstan::ClassInfo& capstan::detail::leaky_re_lu_class() { return layers::LeakyReLUBody::info(); }
const capstan::ClassInfo& capstan::detail::elu_class() { return layers::ELUBody::info(); }
