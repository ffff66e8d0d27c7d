// Concatenate and Dot.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/attributes.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/merging.h"

namespace capstan::layers {

namespace {

using Tensors = std::vector<Tensor>;

struct ConcatenateConfig : ConcatenateOptions {
  static std::span<const OptionField> fields() {
    using O = ConcatenateConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::axis, O>("axis")});
    return all;
  }
};

class ConcatenateBody final : public ConfiguredLayer<ConcatenateBody, ConcatenateConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "Concatenate", kText[] = "Joins tensors along an axis.";
  using ConfiguredLayer::ConfiguredLayer;

 protected:
  Nest call(const Nest& inputs, const CallOptions&) override {
    CAPSTAN_CHECK(inputs.is_list() && inputs.size() > 0, ValueError, name(),
                  ": the input must be a list of tensors, not ", inputs.form(), help("write layer({a, b})"));
    const Tensors x = detail::with_one_dtype(inputs.tensors());
    for (const Tensor& other : x) {
      const int axis = detail::positive_axis(name(), options.axis, other.shape());
      bool fits = other.rank() == x[0].rank();
      for (int i = 0; fits && i < other.rank(); ++i) fits = i == axis || other.dim(i) == x[0].dim(i);
      CAPSTAN_CHECK(fits, ShapeError, name(), ": inputs must have the same shape but along axis ", options.axis,
                    arguments({{"first", x[0]}, {"other", other}}));
    }
    return x.size() == 1 ? x[0] : concat(x, options.axis);
  }

  Nest compute_mask(const Nest& inputs, const Nest& mask) override {
    if (!mask.has_value()) return {};
    const Tensors x = inputs.tensors();
    Tensors masks = detail::merge_masks(name(), mask, x.size());
    bool has_any = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      has_any = has_any || masks[i].has_value();
      if (!masks[i].has_value()) {
        masks[i] = cast(ones_like(x[i]), bool_);
      } else if (masks[i].rank() < x[i].rank()) {
        while (masks[i].rank() < x[i].rank()) masks[i] = expand_dims(masks[i], -1);
        masks[i] = broadcast_like(masks[i], x[i]);
      }
    }
    if (!has_any) return {};
    return reduce_any(masks.size() == 1 ? masks[0] : concat(masks, options.axis), -1);
  }
};

struct DotConfig : DotOptions {
  Axes axes;
  static std::span<const OptionField> fields();
};

std::span<const OptionField> DotConfig::fields() {
  using O = DotConfig;
  static constexpr auto all = with_layer_options<O>(
      {option<&O::axes>("axes", true).with_type(kOneAxisOrList), option<&O::normalize, O>("normalize")});
  return all;
}

class DotBody final : public ConfiguredLayer<DotBody, DotConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "Dot", kText[] = "Sums products over one axis of each of two tensors.";
  explicit DotBody(const DotConfig& given) : ConfiguredLayer(given) {
    CAPSTAN_CHECK(!given.axes.all() && (given.axes.size() == 1 || given.axes.size() == 2), ValueError,
                  "dot: axes must be one axis or two, not ", given.axes.all() ? 0 : given.axes.size());
  }

 protected:
  Nest call(const Nest& inputs, const CallOptions&) override {
    const Tensors given = detail::merge_inputs(name(), inputs);
    CAPSTAN_CHECK(given.size() == 2, ValueError, name(), ": it takes two tensors, not ", given.size());
    int axes[2];
    Tensors x;
    for (int i = 0; i < 2; ++i) {
      const Tensor& one = given[static_cast<std::size_t>(i)];
      axes[i] = detail::positive_axis(name(), options.axes[i < options.axes.size() ? i : 0], one.shape());
      CAPSTAN_CHECK(axes[i] > 0, IndexError, name(), ": axis 0 is that of the batch", arguments({{"x", one}}));
      x.push_back(options.normalize ? l2_normalize(one, axes[i]) : one);
    }
    CAPSTAN_CHECK(x[0].dim(axes[0]) == x[1].dim(axes[1]), ShapeError, name(), ": the axes ", axes[0], " and ", axes[1],
                  " have lengths ", x[0].dim(axes[0]), " and ", x[1].dim(axes[1]),
                  arguments({{"first", x[0]}, {"second", x[1]}}));
    // 'a' is the batch, 'z' the axis that is summed.
    std::string terms[2], result = "a";
    char next = 'b';
    for (int i = 0; i < 2; ++i) {
      terms[i] = "a";
      for (int axis = 1; axis < x[static_cast<std::size_t>(i)].rank(); ++axis) {
        terms[i] += axis == axes[i] ? 'z' : next;
        if (axis != axes[i]) result += next++;
      }
    }
    const Tensor y = einsum(terms[0] + "," + terms[1] + "->" + result, {x[0], x[1]});
    return y.rank() == 1 ? expand_dims(y, 1) : y;
  }
};

}  // namespace

Concatenate::Concatenate(const ConcatenateOptions& options)
    : MergingLayer(make_configurable<ConcatenateBody>(ConcatenateConfig{options})) {}
Dot::Dot(Axes axes, const DotOptions& options) : MergingLayer(make_configurable<DotBody>(DotConfig{options, axes})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::concatenate_class() { return layers::ConcatenateBody::info(); }
const capstan::ClassInfo& capstan::detail::dot_class() { return layers::DotBody::info(); }
