// Spectral normalisation of another layer's kernel.
//
// The kernel becomes a weight of this layer, too, in front of vector_u: that is Keras's order.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

struct SpectralNormalizationConfig : SpectralNormalizationOptions {
  Layer layer;
  static std::span<const OptionField> fields();
};

std::span<const OptionField> SpectralNormalizationConfig::fields() {
  using O = SpectralNormalizationConfig;
  static constexpr auto all = with_layer_options<O>(
      {option<&O::layer, O>("layer", true), option<&O::power_iterations, O>("power_iterations").at_least(1)});
  return all;
}

class SpectralNormalizationBody final : public ConfiguredLayer<SpectralNormalizationBody, SpectralNormalizationConfig> {
 public:
  static constexpr char kName[] = "SpectralNormalization", kText[] = "Keeps the spectral norm of a kernel near 1.";
  explicit SpectralNormalizationBody(const SpectralNormalizationConfig& given) : ConfiguredLayer(given) {
    CAPSTAN_CHECK(given.layer.has_value(), ValueError, "spectral_normalization: the layer is an empty handle");
    // The layer inside converts the input, or leaves it: ids must not be rounded.
    detail::LayerState::of(*this).converts_input = false;
    track({given.layer});
  }

 protected:
  void build(const Shape& input_shape) override {
    options.layer.build(input_shape);
    for (const Variable& weight : options.layer.weights()) {
      if (!kernel_.has_value() && (weight.name() == "kernel" || weight.name() == "embeddings")) kernel_ = weight;
    }
    CAPSTAN_CHECK(kernel_.has_value(), ValueError, name(), ": ", options.layer.name(),
                  " has no kernel and no embeddings");
    detail::LayerState::of(*this).weights.push_back({kernel_, kernel_.trainable(), {}});
    vector_u_ = add_weight({.name = "vector_u",
                            .shape = {1, kernel_.shape()[-1]},
                            .initializer = initializers::TruncatedNormal(0, 0.02),
                            .trainable = false});
  }

  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    if (call_options.training) normalize_kernel();
    return options.layer(x, {.mask = call_options.mask});
  }

 private:
  void normalize_kernel() {
    const Tensor kernel = stop_gradient(kernel_.value());
    const Tensor matrix = reshape(kernel, {-1, kernel.dim(-1)});
    const Tensor before = stop_gradient(vector_u_.value());
    Tensor u = before, v;
    for (std::int64_t i = 0; i < options.power_iterations; ++i) {
      v = l2_normalize(matmul(u, matrix, {.transpose_b = true}));
      u = l2_normalize(matmul(v, matrix));
    }
    const Tensor sigma = reshape(matmul(matmul(v, matrix), u, {.transpose_b = true}), {});
    // Zeros have no direction, and stay.
    const Tensor is_zero = reduce_all(equal(kernel, 0.0));
    vector_u_.assign(where(is_zero, before, u));
    kernel_.assign(where(is_zero, kernel, kernel / where(is_zero, ones_like(sigma), sigma)));
  }

  Variable kernel_, vector_u_;
};

}  // namespace

SpectralNormalization::SpectralNormalization(const Layer& layer, const SpectralNormalizationOptions& options)
    : Layer(make_configurable<SpectralNormalizationBody>(SpectralNormalizationConfig{options, layer})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::spectral_normalization_class() {
  return layers::SpectralNormalizationBody::info();
}
