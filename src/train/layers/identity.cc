// Layers that give what they are given: Identity and ActivityRegularization.
#include <limits>

#include "capstan/layers.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

class IdentityBody final : public ConfiguredLayer<IdentityBody, detail::NoOptions, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "Identity", kText[] = "Gives what it is given.";
  explicit IdentityBody(const detail::NoOptions& given) : ConfiguredLayer(given) { passes_masks(); }

 protected:
  Nest call(const Nest& inputs, const CallOptions&) override { return inputs; }
};

struct PenaltyConfig : ActivityRegularizationOptions {
  static std::span<const OptionField> fields() {
    using O = PenaltyConfig;
    constexpr double kLargest = std::numeric_limits<double>::max();
    static constexpr auto all = with_layer_options<O>(
        {option<&O::l1, O>("l1").at_least(0).at_most(kLargest), option<&O::l2, O>("l2").at_least(0).at_most(kLargest)});
    return all;
  }
};

class ActivityRegularizationBody final : public ConfiguredLayer<ActivityRegularizationBody, PenaltyConfig> {
 public:
  static constexpr char kName[] = "ActivityRegularization", kText[] = "Adds a penalty of its input to the losses.";
  explicit ActivityRegularizationBody(const PenaltyConfig& given) : ConfiguredLayer(given) {
    passes_masks();
    set_activity_regularizer(regularizers::L1L2(given.l1, given.l2));
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};

}  // namespace

Identity::Identity(const LayerOptions& options) : Layer(make_configurable<IdentityBody>(detail::NoOptions{options})) {}
ActivityRegularization::ActivityRegularization(const ActivityRegularizationOptions& options)
    : Layer(make_configurable<ActivityRegularizationBody>(PenaltyConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::identity_class() { return layers::IdentityBody::info(); }
const capstan::ClassInfo& capstan::detail::activity_regularization_class() {
  return layers::ActivityRegularizationBody::info();
}
