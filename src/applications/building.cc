#include "src/applications/building.h"

#include "src/core/check.h"

namespace capstan::applications::detail {

namespace {

std::string text_of(const Shape& shape) { return shape.to_string(); }

void check(const NetworkInfo& network, const ApplicationOptions& options) {
  CAPSTAN_CHECK(options.pooling.empty() || options.pooling == "avg" || options.pooling == "max", ValueError,
                network.name, ": pooling must be \"avg\" or \"max\", not \"", options.pooling, "\"");
  CAPSTAN_CHECK(options.classes >= 1, ValueError, network.name, ": classes must be at least 1, not ", options.classes);
  CAPSTAN_CHECK(options.weights != "imagenet", ValueError, network.name,
                ": weights is the path of a file; nothing is downloaded");
  if (!options.input_shape.is_given()) return;
  const Shape shape = options.input_shape.shape();
  CAPSTAN_CHECK(shape.rank() == 3, ValueError, network.name, ": input_shape must be height, width and channels, not ",
                text_of(shape));
  for (const int axis : {0, 1}) {
    const std::int64_t length = shape[axis];
    CAPSTAN_CHECK(length != -1 || !options.include_top, ValueError, network.name, ": input_shape ", text_of(shape),
                  " has an open length, which the layer of classes does not take");
    CAPSTAN_CHECK(length == -1 || length >= network.least_size, ValueError, network.name, ": images must be at least ",
                  network.least_size, " x ", network.least_size, ", but input_shape is ", text_of(shape));
  }
}

Shape shape_of(const NetworkInfo& network, const ApplicationOptions& options) {
  if (options.input_shape.is_given()) return options.input_shape.shape();
  const std::int64_t size = options.include_top ? network.default_size : -1;
  return {size, size, 3};
}

}  // namespace

Tensor input_of(const NetworkInfo& network, const ApplicationOptions& options) {
  check(network, options);
  return Input(shape_of(network, options));
}

Tensor predictions(const Tensor& features, const ApplicationOptions& options, const Initializer& kernel) {
  return layers::Dense(
      options.classes,
      {.activation = options.classifier_activation, .kernel_initializer = kernel, .name = "predictions"})(features);
}

Tensor with_top(const Tensor& features, const ApplicationOptions& options, const PoolingNames& names,
                const Initializer& kernel) {
  if (!options.include_top && options.pooling.empty()) return features;
  if (!options.include_top && options.pooling == "max") {
    return layers::GlobalMaxPooling2D({.name = names.maximum})(features);
  }
  const Tensor mean = layers::GlobalAveragePooling2D({.name = names.average})(features);
  return options.include_top ? predictions(mean, options, kernel) : mean;
}

Model finished(const Tensor& input, const Tensor& output, const NetworkInfo& network,
               const ApplicationOptions& options) {
  const Model model(input, output, options.name.empty() ? network.default_name : options.name);
  if (!options.weights.empty()) model.load_weights(options.weights);
  return model;
}

Tensor padded_for(const Tensor& x, std::int64_t kernel_size, const std::string& name) {
  const std::int64_t after = kernel_size / 2;
  const auto before = [&](int axis) { return after - 1 + x.dim(axis) % 2; };
  return layers::ZeroPadding2D({{before(1), after}, {before(2), after}}, {.name = name})(x);
}

}  // namespace capstan::applications::detail
