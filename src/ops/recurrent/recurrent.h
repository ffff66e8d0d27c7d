// What the ops of recurrent layers share: the checks of their operands, and steps before and after.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/core/op_def.h"

namespace capstan {

// The lengths of a sequence [batch, steps, gates * units].
struct Steps {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t units = 0;
};
// Those of an input, which sets the dtype of all. Throws for anything but at least one step of a floating dtype.
Steps check_steps(const Call& call, int i, std::string_view name, std::int64_t gates);
// Throws unless an input has this shape and the dtype of the first one.
void check_input(const Call& call, int i, std::string_view name, const Shape& shape);
// Throws unless an input is a mask of the steps, or of shape [0, 0], which means none.
void check_mask(const Call& call, int i, const Steps& steps);

// The mask of a call, or null.
const bool* mask_of_steps(const Call& call, int i);
// The mask that leaves out no step, [0, 0].
Tensor all_steps();

// Of states [batch, steps, units] those of the step before, given what is before the first.
Tensor step_before(const Tensor& first, const Tensor& states);
// Of something for each step that belongs to the step before: for the step that it belongs to. The last one gets zeros.
Tensor step_behind(const Tensor& x);
// What belongs to the states before the first step.
Tensor first_step(const Tensor& x);
// The sum over batch and steps of the outer products of a [batch, steps, m] and b [batch, steps, n].
Tensor rows_product(const Tensor& a, const Tensor& b);

// A batching rule: the items join the batch, unless the recurrent kernel, or its bias, differs from item to item. -1
// stands for an input that the op does not have.
bool join_sequences(const BatchCall& call, int kernel, int mask, int bias, std::vector<Tensor>& outputs);
template <int kKernel, int kMask = -1, int kBias = -1>
bool batch_sequences(const BatchCall& call, std::vector<Tensor>& outputs) {
  return join_sequences(call, kKernel, kMask, kBias, outputs);
}

}  // namespace capstan
