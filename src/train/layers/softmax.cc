// Softmax.
#include "capstan/layers.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/attributes.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

struct SoftmaxConfig : SoftmaxOptions {
  static std::span<const OptionField> fields() {
    using O = SoftmaxConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::axis, O>("axis")});
    return all;
  }
};

// Its exponential is 0 beside that of any number.
constexpr double kFarBelow = -1e9;

class SoftmaxBody final : public ConfiguredLayer<SoftmaxBody, SoftmaxConfig> {
 public:
  static constexpr char kName[] = "Softmax", kText[] = "Probabilities along axes.";
  explicit SoftmaxBody(const SoftmaxConfig& given) : ConfiguredLayer(given) {
    detail::check_axes("softmax", given.axis);
    passes_masks();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    const std::vector<int> axes = detail::positive_axes(name(), options.axis, x.shape());
    const Tensor& given = call_options.mask.tensor_or_empty();
    // One of a lower rank says which steps count, not which elements.
    const Tensor mask = given.has_value() && given.rank() == x.rank() ? given : Tensor();
    const Tensor logits = mask.has_value() ? where(mask, x, kFarBelow) : x;
    const Tensor y = axes.size() == 1 ? activations::softmax(logits, axes[0])
                                      : exp(logits - reduce_logsumexp(logits, Axes(axes), {.keepdims = true}));
    return mask.has_value() ? y * cast(mask, y.dtype()) : y;
  }
};

}  // namespace

Softmax::Softmax(const SoftmaxOptions& options) : Layer(make_configurable<SoftmaxBody>(SoftmaxConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::softmax_class() { return layers::SoftmaxBody::info(); }
