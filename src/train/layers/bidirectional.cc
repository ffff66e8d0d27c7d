// A recurrent layer in both directions of time.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/recurrent_layer.h"

namespace capstan::layers {

namespace {

using detail::RecurrentBody;

struct BidirectionalConfig : BidirectionalOptions {
  Layer layer = {};
  static std::span<const OptionField> fields() {
    using O = BidirectionalConfig;
    static constexpr std::string_view kModes[] = {"concat", "sum", "mul", "ave"};
    static constexpr auto all =
        with_layer_options<O>({option<&O::merge_mode, O>("merge_mode").one_of(kModes),
                               option<&O::layer, O>("layer", true), option<&O::backward_layer, O>("backward_layer")});
    return all;
  }
};

RecurrentBody& recurrent(const Layer& layer) {
  RecurrentBody* const body = detail::recurrent_body(layer);
  CAPSTAN_CHECK(body != nullptr, ValueError, "Bidirectional: the layer must be recurrent, which ",
                layer.has_value() ? "\"" + layer.name() + "\" of class " + layer.type_name() : "an empty handle",
                " is not");
  return *body;
}

// A layer of the same configuration under the name "prefix_name".
Layer copy_of(const Layer& layer, const std::string& prefix, bool turned) {
  const RecurrentBody& body = recurrent(layer);
  AttributeValue config = layer.get_config();
  const std::string& name = layer.name();
  config.set("name", prefix + (name.starts_with(prefix) ? name.substr(prefix.size()) : name));
  if (turned) config.set("go_backwards", !body.run().go_backwards);
  return layer_from(serialize(body, config));
}

class BidirectionalBody final
    : public ConfiguredLayer<BidirectionalBody, BidirectionalConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "Bidirectional", kText[] = "A recurrent layer in both directions of time.";
  explicit BidirectionalBody(const BidirectionalConfig& o)
      : ConfiguredLayer(o),
        forward_(copy_of(o.layer, "forward_", false)),
        backward_(o.backward_layer.has_value() ? o.backward_layer : copy_of(o.layer, "backward_", true)) {
    const RecurrentBody::Run &ahead = recurrent(forward_).run(), &back = recurrent(backward_).run();
    const auto check = [&](bool fits, const char* option, bool a, bool b, const char* what) {
      CAPSTAN_CHECK(fits, ValueError, kName, ": the layers must ", what, " in ", option, ", which is ",
                    a ? "true" : "false", " of the one and ", b ? "true" : "false", " of the other");
    };
    check(ahead.go_backwards != back.go_backwards, "go_backwards", ahead.go_backwards, back.go_backwards, "differ");
    check(ahead.return_sequences == back.return_sequences, "return_sequences", ahead.return_sequences,
          back.return_sequences, "agree");
    check(ahead.return_state == back.return_state, "return_state", ahead.return_state, back.return_state, "agree");
    check(ahead.stateful == back.stateful, "stateful", ahead.stateful, back.stateful, "agree");
    // As in Keras: what one direction repeats at a masked step would not fit what the other does.
    recurrent(forward_).zero_masked_outputs();
    recurrent(backward_).zero_masked_outputs();
    track({forward_, backward_});
    detail::LayerState::of(*this).takes_lookups = true;
  }

  void reset_state() {
    recurrent(forward_).reset_state();
    recurrent(backward_).reset_state();
  }

 protected:
  void build(const std::vector<Shape>& shapes) override {
    forward_.build_all(shapes);
    backward_.build_all(shapes);
  }

  Nest call(const Nest& inputs, const CallOptions& given) override {
    CallOptions ahead = given, back = given;
    if (given.initial_state.has_value()) {
      const std::vector<Tensor> states = given.initial_state.tensors();
      const auto count = static_cast<std::ptrdiff_t>(recurrent(forward_).state_count(inputs.tensor().shape()));
      const std::size_t all =
          static_cast<std::size_t>(count) + recurrent(backward_).state_count(inputs.tensor().shape());
      CAPSTAN_CHECK(states.size() == all, ValueError, name(), ": there must be ", all,
                    " initial states, those of both directions, not ", states.size());
      ahead.initial_state = std::vector<Tensor>(states.begin(), states.begin() + count);
      back.initial_state = std::vector<Tensor>(states.begin() + count, states.end());
    }
    const Nest first = forward_(inputs, ahead), second = backward_(inputs, back);
    const RecurrentBody::Run& run = recurrent(forward_).run();
    const Tensor y = first.items()[0].tensor();
    Tensor z = second.items()[0].tensor();
    if (run.return_sequences) z = reverse(z, {1});
    std::vector<Tensor> outputs = merged(y, z);
    if (run.return_state) {
      for (const Nest& result : {first, second}) {
        for (const Nest& state : result.items().subspan(1)) outputs.push_back(state.tensor());
      }
    }
    return outputs.size() == 1 ? Nest(outputs[0]) : Nest(outputs);
  }

  Nest compute_mask(const Nest&, const Nest& mask) override {
    if (!recurrent(forward_).run().return_sequences || !mask.is_tensor()) return {};
    return options.merge_mode ? mask : Nest::list({mask, mask});
  }

 private:
  std::vector<Tensor> merged(const Tensor& y, const Tensor& z) const {
    if (!options.merge_mode) return {y, z};
    if (options.merge_mode == "concat") return {concat({y, z}, -1)};
    if (options.merge_mode == "sum") return {y + z};
    if (options.merge_mode == "mul") return {y * z};
    return {(y + z) / 2};
  }

  const Layer forward_, backward_;
};

}  // namespace

Bidirectional::Bidirectional(const Layer& layer, const BidirectionalOptions& options)
    : Layer(make_configurable<BidirectionalBody>(BidirectionalConfig{options, layer})) {}

void Bidirectional::reset_state() const { static_cast<BidirectionalBody&>(body()).reset_state(); }

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::bidirectional_class() { return layers::BidirectionalBody::info(); }
