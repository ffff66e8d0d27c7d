// Normalisations of each example by itself, over some of its axes: layer, root mean square, unit length.
#include <algorithm>

#include "capstan/layers.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/attributes.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

using detail::in_dtype;

// What is normalised lies in the last axes, in ascending order. The weights have the order of the list; Keras lays them
// over the axes by a reshape.
struct Layout {
  std::vector<int> order;
  Shape last;  // the lengths of the last axes

  Layout(const std::string& layer, const Axes& axes, const Shape& shape) {
    std::vector<int> ascending = detail::positive_axes(layer, axes, shape);
    std::sort(ascending.begin(), ascending.end());
    order = detail::order_with_last(shape.rank(), ascending);
    for (const int axis : ascending) last.push_back(shape[axis]);
  }
  bool moves() const { return !std::is_sorted(order.begin(), order.end()); }
  Tensor to_last(const Tensor& x) const { return moves() ? transpose(x, Axes(order)) : x; }
  Tensor back(const Tensor& y) const { return moves() ? transpose(y, Axes(detail::inverse_order(order))) : y; }
};

Shape weight_shape(const std::string& layer, const Axes& axes, const Shape& input) {
  Shape shape;
  for (const int axis : detail::positive_axes(layer, axes, input)) {
    CAPSTAN_CHECK(input[axis] >= 0, ShapeError, layer, ": the length of axis ", axis,
                  " must be known, but the shape is ", input);
    shape.push_back(input[axis]);
  }
  return shape;
}

void check_lengths(const std::string& layer, const Variable& weight, const Shape& last, const Tensor& x) {
  CAPSTAN_CHECK(!weight.has_value() || weight.size() == last.size(), ShapeError, layer,
                ": the normalised axes of the input must have ", weight.size(), " elements, not ", last.size(),
                arguments({{"x", x}}));
}

struct LayerNormalizationConfig : LayerNormalizationOptions {
  static std::span<const OptionField> fields() {
    using O = LayerNormalizationConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::axis, O>("axis"), option<&O::epsilon, O>("epsilon").at_least(0), option<&O::center, O>("center"),
         option<&O::scale, O>("scale"), option<&O::beta_initializer, O>("beta_initializer"),
         option<&O::gamma_initializer, O>("gamma_initializer"), option<&O::beta_regularizer, O>("beta_regularizer"),
         option<&O::gamma_regularizer, O>("gamma_regularizer"), option<&O::beta_constraint, O>("beta_constraint"),
         option<&O::gamma_constraint, O>("gamma_constraint")});
    return all;
  }
};

class LayerNormalizationBody final : public ConfiguredLayer<LayerNormalizationBody, LayerNormalizationConfig> {
 public:
  static constexpr char kName[] = "LayerNormalization", kText[] = "Normalises the features of each example.";
  explicit LayerNormalizationBody(const LayerNormalizationConfig& given) : ConfiguredLayer(given) {
    detail::check_axes("layer_normalization", given.axis);
    passes_masks();
    converts_integers();
  }

 protected:
  void build(const Shape& input_shape) override {
    const auto& o = options;
    const Shape shape = weight_shape(name(), o.axis, input_shape);
    if (o.scale) {
      gamma_ = add_weight({.name = "gamma",
                           .shape = shape,
                           .initializer = o.gamma_initializer,
                           .regularizer = o.gamma_regularizer,
                           .constraint = o.gamma_constraint});
    }
    if (o.center) {
      beta_ = add_weight({.name = "beta",
                          .shape = shape,
                          .initializer = o.beta_initializer,
                          .regularizer = o.beta_regularizer,
                          .constraint = o.beta_constraint});
    }
  }

  Tensor call(const Tensor& input, const CallOptions&) override {
    const Layout layout(name(), options.axis, input.shape());
    const DType working = detail::working_dtype(input.dtype());
    const Tensor x = in_dtype(layout.to_last(input), working);
    check_lengths(name(), options.scale ? gamma_ : beta_, layout.last, input);
    const Tensor scale = options.scale ? in_dtype(gamma_.value(), working) : ones(layout.last, working);
    const Tensor offset = options.center ? in_dtype(beta_.value(), working) : zeros(layout.last, working);
    const bool one = layout.last.rank() == 1;
    const Tensor y =
        layer_normalization(x, one ? scale : reshape(scale, layout.last), one ? offset : reshape(offset, layout.last),
                            layout.last.rank(), options.epsilon);
    return layout.back(in_dtype(y, input.dtype()));
  }

 private:
  Variable gamma_, beta_;
};

struct RMSNormalizationConfig : RMSNormalizationOptions {
  static std::span<const OptionField> fields() {
    using O = RMSNormalizationConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::axis, O>("axis"), option<&O::epsilon, O>("epsilon").at_least(0)});
    return all;
  }
};

class RMSNormalizationBody final : public ConfiguredLayer<RMSNormalizationBody, RMSNormalizationConfig> {
 public:
  static constexpr char kName[] = "RMSNormalization", kText[] = "Divides by the root mean square of the features.";
  explicit RMSNormalizationBody(const RMSNormalizationConfig& given) : ConfiguredLayer(given) {
    detail::check_axes("rms_normalization", given.axis);
    passes_masks();
  }

 protected:
  void build(const Shape& input_shape) override {
    scale_ =
        add_weight({.name = "scale", .shape = weight_shape(name(), options.axis, input_shape), .initializer = "ones"});
  }

  Tensor call(const Tensor& input, const CallOptions&) override {
    const Layout layout(name(), options.axis, input.shape());
    const DType working = detail::working_dtype(input.dtype());
    const Tensor x = in_dtype(layout.to_last(input), working);
    check_lengths(name(), scale_, layout.last, input);
    const Tensor scale = in_dtype(scale_.value(), working);
    Tensor y;
    if (layout.last.rank() == 1) {
      y = rms_normalization(x, scale, options.epsilon);
    } else {
      std::vector<int> axes;
      for (int i = 1; i <= layout.last.rank(); ++i) axes.push_back(-i);
      y = x * rsqrt(reduce_mean(square(x), Axes(axes), {.keepdims = true}) + options.epsilon) *
          reshape(scale, layout.last);
    }
    return layout.back(in_dtype(y, input.dtype()));
  }

 private:
  Variable scale_;
};

struct UnitNormalizationConfig : UnitNormalizationOptions {
  static std::span<const OptionField> fields() {
    using O = UnitNormalizationConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::axis, O>("axis")});
    return all;
  }
};

class UnitNormalizationBody final : public ConfiguredLayer<UnitNormalizationBody, UnitNormalizationConfig> {
 public:
  static constexpr char kName[] = "UnitNormalization", kText[] = "Divides by the norm of the features.";
  explicit UnitNormalizationBody(const UnitNormalizationConfig& given) : ConfiguredLayer(given) {
    detail::check_axes("unit_normalization", given.axis);
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    // Of the square of the norm, whose least is 1e-12.
    return l2_normalize(x, Axes(detail::positive_axes(name(), options.axis, x.shape())), 1e-24);
  }
};

}  // namespace

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(make_configurable<LayerNormalizationBody>(LayerNormalizationConfig{options})) {}
RMSNormalization::RMSNormalization(const RMSNormalizationOptions& options)
    : Layer(make_configurable<RMSNormalizationBody>(RMSNormalizationConfig{options})) {}
UnitNormalization::UnitNormalization(const UnitNormalizationOptions& options)
    : Layer(make_configurable<UnitNormalizationBody>(UnitNormalizationConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::layer_normalization_class() {
  return layers::LayerNormalizationBody::info();
}
const capstan::ClassInfo& capstan::detail::rms_normalization_class() { return layers::RMSNormalizationBody::info(); }
const capstan::ClassInfo& capstan::detail::unit_normalization_class() { return layers::UnitNormalizationBody::info(); }
