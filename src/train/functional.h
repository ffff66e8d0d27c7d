// Values of a functional model: places that hold no data of the user's.
//
// A symbolic tensor is a tensor of zeros, for a batch of one, which notes how it came about. A layer that is called on
// one computes on these zeros, which makes its weights and shows the shape of the result, and once more on those of
// other lengths, which shows what depends on the batch and on lengths that are open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/layer.h"

namespace capstan::detail {

// What an open length is in zeros that stand for an example: long enough for several poolings.
inline constexpr std::int64_t kOpenLength = 64;

// A call of a layer on symbolic values; that of an InputLayer has no inputs.
struct SymbolicCall {
  Layer layer;
  Nest inputs;
  CallOptions options;
  std::uint64_t number;  // calls in the order in which they were made
  std::size_t results;   // how many tensors it gave
  int node = 0;          // among the calls of its layer
};

struct SymbolicValue {
  std::shared_ptr<const SymbolicCall> call;
  std::size_t index;  // among what the call gave
  Shape shape;        // -1: any length
  Tensor twin;        // for other lengths
};

// Null for a tensor with data.
CAPSTAN_EXPORT const SymbolicValue* symbolic_value(const Tensor& tensor);
// Whether a value is among the arguments of a call.
bool has_symbolic(const Tensor& x, const CallOptions& options);
bool has_symbolic(const Nest& inputs, const CallOptions& options);

// Computes on the zeros of the arguments, and notes the call on what it gives.
Nest call_symbolically(const Layer& layer, const Nest& inputs, const CallOptions& options);

// The tensors that a call was given, in one order.
CAPSTAN_EXPORT std::vector<Tensor> arguments_of(const SymbolicCall& call);

// An input of a functional model, or a layer that it calls.
struct FunctionalPlace {
  Layer layer;   // that gave the input, or that is called
  Tensor input;  // none for a layer that is called

  // Whether it is an input that a layer of another model gave. Such a layer is not part of the model.
  bool is_inner_input() const { return input.has_value() && symbolic_value(input)->call->inputs.has_value(); }
};

// What a functional model was made of: its calls in the order in which they were made, and its inputs and layers in
// Keras's order.
struct FunctionalGraph {
  Nest inputs, outputs;
  std::vector<std::shared_ptr<const SymbolicCall>> calls;
  std::vector<FunctionalPlace> places;
};

// Nothing for another layer.
CAPSTAN_EXPORT std::optional<FunctionalGraph> functional_graph(const Layer& model);

// Calls change(tensor) for each tensor among the arguments of a call, in one order.
template <class Change>
void for_each_argument(Nest& inputs, CallOptions& options, const Change& change) {
  replace_tensors(inputs, change);
  replace_tensors(options.mask, change);
  replace_tensors(options.initial_state, change);
  if (options.attention_mask.has_value()) change(options.attention_mask);
}

}  // namespace capstan::detail
