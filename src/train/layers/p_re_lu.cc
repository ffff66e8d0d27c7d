// PReLU.
#include "capstan/layers.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

struct PReLUConfig : PReLUOptions {
  static std::span<const OptionField> fields() {
    using O = PReLUConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::alpha_initializer, O>("alpha_initializer"), option<&O::alpha_regularizer, O>("alpha_regularizer"),
         option<&O::alpha_constraint, O>("alpha_constraint"), option<&O::shared_axes, O>("shared_axes")});
    return all;
  }
};

class PReLUBody final : public ConfiguredLayer<PReLUBody, PReLUConfig> {
 public:
  static constexpr char kName[] = "PReLU", kText[] = "x where it is positive, a multiple that is learnt elsewhere.";
  explicit PReLUBody(const PReLUConfig& given) : ConfiguredLayer(given) { passes_masks(); }

 protected:
  void build(const Shape& input_shape) override {
    CAPSTAN_CHECK(input_shape.rank() >= 1, ShapeError, name(), ": the input must have a batch axis, not be a scalar");
    Shape shape;
    for (int i = 1; i < input_shape.rank(); ++i) shape.push_back(input_shape[i]);
    for (const int axis : options.shared_axes.value_or(std::vector<int>())) {
      CAPSTAN_CHECK(axis >= 1 && axis < input_shape.rank(), IndexError, name(), ": the shared axis ", axis,
                    " is out of range for an input of shape ", input_shape,
                    help("the first axis after the batch is 1"));
      shape.set(axis - 1, 1);
    }
    alpha_ = add_weight({.name = "alpha",
                         .shape = shape,
                         .initializer = options.alpha_initializer,
                         .regularizer = options.alpha_regularizer,
                         .constraint = options.alpha_constraint});
  }

  Tensor call(const Tensor& x, const CallOptions&) override {
    const Tensor alpha = value_of(alpha_);
    bool fits = x.rank() == alpha.rank() + 1;
    for (int i = 0; fits && i < alpha.rank(); ++i) fits = alpha.dim(i) == 1 || alpha.dim(i) == x.dim(i + 1);
    CAPSTAN_CHECK(fits, ShapeError, name(), ": the slopes have shape ", alpha.shape(),
                  ", which an example of the input", " does not have", arguments({{"x", x}}));
    return relu(x) - alpha * relu(-x);
  }

 private:
  Variable alpha_;
};

}  // namespace

PReLU::PReLU(const PReLUOptions& options) : Layer(make_configurable<PReLUBody>(PReLUConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::p_re_lu_class() { return layers::PReLUBody::info(); }
