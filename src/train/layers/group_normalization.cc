// Group normalisation.
#include "capstan/layers.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

using detail::in_dtype;

struct GroupNormalizationConfig : GroupNormalizationOptions {
  std::int64_t groups = 32;
  static std::span<const OptionField> fields() {
    using O = GroupNormalizationConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::groups>("groups").at_least(-1), option<&O::axis, O>("axis"),
         option<&O::epsilon, O>("epsilon").at_least(0), option<&O::center, O>("center"), option<&O::scale, O>("scale"),
         option<&O::beta_initializer, O>("beta_initializer"), option<&O::gamma_initializer, O>("gamma_initializer"),
         option<&O::beta_regularizer, O>("beta_regularizer"), option<&O::gamma_regularizer, O>("gamma_regularizer"),
         option<&O::beta_constraint, O>("beta_constraint"), option<&O::gamma_constraint, O>("gamma_constraint")});
    return all;
  }
};

class GroupNormalizationBody final : public ConfiguredLayer<GroupNormalizationBody, GroupNormalizationConfig> {
 public:
  static constexpr char kName[] = "GroupNormalization", kText[] = "Normalises groups of channels of each example.";
  explicit GroupNormalizationBody(const GroupNormalizationConfig& given) : ConfiguredLayer(given) {
    CAPSTAN_CHECK(given.groups != 0, ValueError, "group_normalization: groups must be positive or -1, not 0");
    passes_masks();
    converts_integers();
  }

 protected:
  void build(const Shape& input_shape) override {
    const auto& o = options;
    const int axis = detail::positive_axis(name(), o.axis, input_shape);
    CAPSTAN_CHECK(axis > 0, IndexError, name(), ": axis ", o.axis, " is that of the batch");
    channels_ = input_shape[axis];
    groups_ = o.groups == -1 ? channels_ : o.groups;
    CAPSTAN_CHECK(channels_ > 0 && channels_ % groups_ == 0, ShapeError, name(), ": ", channels_,
                  " channels do not divide into ", groups_, " groups, for an input of shape ", input_shape);
    if (o.scale) {
      gamma_ = add_weight({.name = "gamma",
                           .shape = {channels_},
                           .initializer = o.gamma_initializer,
                           .regularizer = o.gamma_regularizer,
                           .constraint = o.gamma_constraint});
    }
    if (o.center) {
      beta_ = add_weight({.name = "beta",
                          .shape = {channels_},
                          .initializer = o.beta_initializer,
                          .regularizer = o.beta_regularizer,
                          .constraint = o.beta_constraint});
    }
  }

  Tensor call(const Tensor& input, const CallOptions&) override {
    const int axis = detail::positive_axis(name(), options.axis, input.shape());
    CAPSTAN_CHECK(input.dim(axis) == channels_, ShapeError, name(), ": axis ", options.axis,
                  " of the input must have length ", channels_, arguments({{"x", input}}));
    const std::vector<int> order = detail::order_with_last(input.rank(), {axis});
    const bool moves = axis != input.rank() - 1;
    const DType working = detail::working_dtype(input.dtype());
    const Tensor x = in_dtype(moves ? transpose(input, Axes(order)) : input, working);
    const Tensor scale = options.scale ? in_dtype(gamma_.value(), working) : ones({channels_}, working);
    const Tensor offset = options.center ? in_dtype(beta_.value(), working) : zeros({channels_}, working);
    const Tensor y = in_dtype(group_normalization(x, scale, offset, groups_, options.epsilon), input.dtype());
    return moves ? transpose(y, Axes(detail::inverse_order(order))) : y;
  }

 private:
  std::int64_t channels_ = 0, groups_ = 0;
  Variable gamma_, beta_;
};

}  // namespace

GroupNormalization::GroupNormalization(std::int64_t groups, const GroupNormalizationOptions& options)
    : Layer(make_configurable<GroupNormalizationBody>(GroupNormalizationConfig{options, groups})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::group_normalization_class() {
  return layers::GroupNormalizationBody::info();
}
