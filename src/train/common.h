// What layers of the library share.
#pragma once

#include <span>
#include <string_view>

#include "capstan/layers.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

// f(the weight in the layer's compute_dtype()). A weight that has it is an operand as it is, which costs less than its
// value.
template <class F>
Tensor with_weight(const LayerBase& layer, const Variable& weight, const F& f) {
  const DType dtype = LayerState::of(layer).compute_dtype;
  return weight.state()->value.dtype() == dtype ? f(Operand(weight)) : f(Operand(cast(weight, dtype)));
}

// Of a layer without options of its own.
struct NoOptions : LayerOptions {
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&NoOptions::name, NoOptions>("name"),
                                          option<&NoOptions::trainable, NoOptions>("trainable"),
                                          option<&NoOptions::dtype, NoOptions>("dtype")};
    return all;
  }
};

}  // namespace capstan::detail
