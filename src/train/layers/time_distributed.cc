// A layer for each step of a sequence.
//
// Steps are calls of their own, as in Keras: of what depends on the batch, such as batch normalisation, each step has
// its own statistics, and moves the averages.
#include "capstan/control_flow.h"
#include "capstan/ops/array.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

struct TimeDistributedConfig : LayerOptions {
  Layer layer = {};
  static std::span<const OptionField> fields() {
    using O = TimeDistributedConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::layer>("layer", true)});
    return all;
  }
};

Tensor swap_axes(const Tensor& x) {
  std::vector<int> order = {1, 0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  return transpose(x, order);
}

class TimeDistributedBody final : public ConfiguredLayer<TimeDistributedBody, TimeDistributedConfig> {
 public:
  static constexpr char kName[] = "TimeDistributed", kText[] = "A layer for each step of a sequence.";
  explicit TimeDistributedBody(const TimeDistributedConfig& o) : ConfiguredLayer(o) {
    CAPSTAN_CHECK(o.layer.has_value(), ValueError, kName, ": the layer is an empty handle");
    track({o.layer});
    passes_masks();
  }

 protected:
  void build(const Shape& shape) override {
    check_input(shape);
    Shape step = {shape[0]};
    for (int i = 2; i < shape.rank(); ++i) step.push_back(shape[i]);
    options.layer.build(step);
  }

  Tensor call(const Tensor& x, const CallOptions& given) override {
    check_input(x.shape());
    CAPSTAN_CHECK(x.dim(1) > 0, ShapeError, name(), ": there must be at least one step", arguments({{"x", x}}));
    std::vector<Tensor> rows = {swap_axes(x)};
    const Tensor mask = given.mask.tensor_or_empty();
    if (mask.has_value()) {
      CAPSTAN_CHECK(mask.rank() >= 2 && mask.dim(0) == x.dim(0) && mask.dim(1) == x.dim(1), ShapeError, name(),
                    ": the mask must be [batch, time], here [", x.dim(0), ", ", x.dim(1), "], not ", mask.shape());
      rows.push_back(swap_axes(mask));
    }
    const Tensor y = map_fn(
        [&](const std::vector<Tensor>& row) {
          CallOptions of_step{.training = given.training};
          if (row.size() > 1) of_step.mask = row[1];
          return options.layer(row[0], of_step);
        },
        rows);
    return swap_axes(y);
  }

 private:
  void check_input(const Shape& shape) const {
    CAPSTAN_CHECK(shape.rank() >= 3, ShapeError, name(), ": the input must be [batch, time, ...], not ", shape);
  }
};

}  // namespace

TimeDistributed::TimeDistributed(const Layer& layer, const LayerOptions& options)
    : Layer(make_configurable<TimeDistributedBody>(TimeDistributedConfig{options, layer})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::time_distributed_class() { return layers::TimeDistributedBody::info(); }
