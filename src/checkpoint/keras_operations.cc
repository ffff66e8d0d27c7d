// Keras puts the operations of a functional model in the order of their distance from the outputs, and of those that
// are as far, in the order in which a search from the outputs meets them. Masks that a layer uses are made by
// operations: NotEqual of an Embedding, NotEqual and Any of a Masking. So the places of layers are numbers without gaps
// where no layer uses a mask, and else the same search has to be made with these operations in it. Masks that merging
// layers make of several are not followed.
#include "src/checkpoint/keras_operations.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "src/train/functional.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

namespace {

// Classes whose `call` takes the mask of its input.
constexpr std::string_view kUseMask[] = {
    "AdditiveAttention", "Attention", "BatchNormalization",     "Bidirectional", "ConvLSTM1D", "ConvLSTM2D",
    "ConvLSTM3D",        "GRU",       "GlobalAveragePooling1D", "LSTM",          "Lambda",     "RNN",
    "SimpleRNN",         "Softmax",   "TimeDistributed"};
constexpr std::string_view kRecurrent[] = {"Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D",
                                           "GRU",           "LSTM",       "RNN",        "SimpleRNN"};

bool is_in(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool option_is_set(const Layer& layer, std::string_view option) {
  const LayerBase& body = LayerState::body_of(layer);
  if (body.options_data() == nullptr) return false;
  for (const OptionField& field : body.class_info().options()) {
    bool is_set = false;
    if (field.name == option) set_field(is_set, field.get(body.options_data()), "", option);
    if (is_set) return true;
  }
  return false;
}

// The calls of a model, and the operations of masks among them.
class Operations {
 public:
  static constexpr int kNone = -1;

  // A call on what these calls gave. Returns its number.
  int add_call(const Layer& layer, std::vector<int> inputs) {
    const std::string_view type = LayerState::of(layer).type_name;
    const int mask = inputs.empty() ? kNone : calls_[at(inputs[0])].mask;
    Call call{&LayerState::of(layer), inputs, kNone};
    if (mask != kNone && is_in(kUseMask, type)) {
      call.inputs.push_back(mask);
      uses_masks_ = true;
    }
    const bool passes = is_in(kRecurrent, type) ? passes_on(layer) : LayerState::of(layer).passes_masks;
    if (type == "Masking" || (type == "Embedding" && option_is_set(layer, "mask_zero"))) {
      call.mask = add({nullptr, {inputs.empty() ? kNone : inputs[0]}, kNone});
      if (type == "Masking") call.mask = add({nullptr, {call.mask}, kNone});
    } else if (passes) {
      call.mask = mask;
    }
    return add(std::move(call));
  }

  bool uses_masks() const { return uses_masks_; }

  // The place of each layer that the outputs need.
  std::unordered_map<const LayerState*, std::size_t> places(const std::vector<int>& outputs) {
    for (const int output : outputs) search(output);
    for (std::size_t i = 0; i < calls_.size(); ++i) {  // inputs that nothing needs
      if (calls_[i].layer == nullptr || !calls_[i].inputs.empty() || seen_[static_cast<int>(i)]) continue;
      met_.emplace(key(static_cast<int>(i)), 0);
      left_.push_back(static_cast<int>(i));
    }
    // As in Keras's map_graph: a layer that is called several times counts with its largest depth that is known by
    // then.
    std::map<Key, int> depth_of;
    std::vector<int> call_depths(calls_.size());
    for (auto one = left_.rbegin(); one != left_.rend(); ++one) {
      int& depth = depth_of[key(*one)];
      depth = std::max(depth, call_depths[at(*one)]);
      for (const int input : calls_[at(*one)].inputs) {
        if (input != kNone) call_depths[at(input)] = std::max(call_depths[at(input)], depth + 1);
      }
    }
    std::vector<std::pair<std::pair<int, std::size_t>, Key>> order;
    for (const auto& [one, depth] : depth_of) order.push_back({{-depth, met_.at(one)}, one});
    std::sort(order.begin(), order.end());
    std::unordered_map<const LayerState*, std::size_t> places;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].second.first != nullptr) places.emplace(order[i].second.first, i);
    }
    return places;
  }

 private:
  struct Call {
    const LayerState* layer;  // null for an operation of a mask
    std::vector<int> inputs;
    int mask;  // the operation that made the mask of what it gives
  };
  using Key = std::pair<const LayerState*, int>;  // a layer, or the number of an operation

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  int add(Call call) {
    calls_.push_back(std::move(call));
    return static_cast<int>(calls_.size()) - 1;
  }
  Key key(int call) const {
    const LayerState* const layer = calls_[at(call)].layer;
    return {layer, layer == nullptr ? call : 0};
  }

  static bool passes_on(const Layer& layer) {
    if (LayerState::of(layer).type_name == std::string_view("Bidirectional")) {
      return passes_on(LayerState::of(layer).sublayers.at(0));
    }
    return option_is_set(layer, "return_sequences");
  }

  // Depth first, without recursion: models can be deep.
  void search(int output) {
    std::vector<std::pair<int, std::size_t>> open;
    const auto enter = [&](int call) {
      if (call == kNone || seen_[call]) return;
      seen_[call] = true;
      met_.emplace(key(call), met_.size() + 1);
      open.emplace_back(call, 0);
    };
    enter(output);
    while (!open.empty()) {
      auto& [call, next] = open.back();
      if (next == calls_[at(call)].inputs.size()) {
        left_.push_back(call);
        open.pop_back();
      } else {
        enter(calls_[at(call)].inputs[next++]);
      }
    }
  }

  std::vector<Call> calls_;
  std::map<int, bool> seen_;
  std::map<Key, std::size_t> met_;
  std::vector<int> left_;
  bool uses_masks_ = false;
};

// The calls of a chain, and the last of them. Its input has no layer here.
int add_chain(const LayerState& model, Operations& operations, const Layer& input) {
  int last = operations.add_call(input, {});
  for (const Layer& layer : model.sublayers) last = operations.add_call(layer, {last});
  return last;
}

// The calls of a functional model, and its outputs; nothing if it begins within another model, or if its operations
// that make masks are layers, as in a model that Keras wrote.
std::vector<int> add_graph(const FunctionalGraph& graph, Operations& operations) {
  for (const auto& call : graph.calls) {
    if (call->options.mask.has_value()) return {};
  }
  std::unordered_map<const SymbolicCall*, int> numbers;
  for (const Tensor& input : graph.inputs.tensors()) {
    const SymbolicCall& call = *symbolic_value(input)->call;
    if (call.inputs.has_value()) return {};
    numbers.emplace(&call, operations.add_call(call.layer, {}));
  }
  for (const auto& call : graph.calls) {
    std::vector<int> inputs;
    for (const Tensor& tensor : arguments_of(*call)) {
      if (const SymbolicValue* const value = symbolic_value(tensor)) inputs.push_back(numbers.at(value->call.get()));
    }
    numbers.emplace(call.get(), operations.add_call(call->layer, inputs));
  }
  std::vector<int> outputs;
  for (const Tensor& output : graph.outputs.tensors()) {
    outputs.push_back(numbers.at(symbolic_value(output)->call.get()));
  }
  return outputs;
}

}  // namespace

std::vector<std::size_t> operation_places(const Layer& model) {
  const LayerState& its = LayerState::of(model);
  const bool is_chain = std::string_view(its.type_name) == "Sequential";
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < its.sublayers.size(); ++i) places.push_back(i + (is_chain ? 1 : 0));
  Operations operations;
  std::vector<int> outputs;
  if (is_chain) {
    outputs = {add_chain(its, operations, model)};
  } else if (const std::optional<FunctionalGraph> graph = functional_graph(model)) {
    outputs = add_graph(*graph, operations);
  }
  if (outputs.empty() || !operations.uses_masks()) return places;
  const auto with_masks = operations.places(outputs);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto found = with_masks.find(&LayerState::of(its.sublayers[i]));
    if (found != with_masks.end()) places[i] = found->second;
  }
  return places;
}

}  // namespace capstan::detail
