// apply: the one road from an operation to its effect.
//
// It resolves operands (variables are read, numbers take the dtype of the tensor they meet), runs the op, and shows it
// to the thread's observers. Everything else in the library observes this road.
#pragma once

#include <span>

#include "capstan/tensor.h"
#include "src/core/op_def.h"
#include "src/core/same_shape.h"
#include "src/core/shaped_blocks.h"

namespace capstan {

// Runs an op with one output. `attributes` points to the op's attribute struct, or is null if it has none.
Tensor apply(const OpDef& op, std::span<Operand> inputs, const void* attributes = nullptr);

// Runs an op with any number of outputs.
std::vector<Tensor> apply_all(const OpDef& op, std::span<Operand> inputs, const void* attributes = nullptr);

inline Tensor apply(const OpDef& op, Operand x, const void* attributes = nullptr) {
  return apply(op, std::span(&x, 1), attributes);
}
inline Tensor apply(const OpDef& op, Operand a, Operand b, const void* attributes = nullptr) {
  Operand inputs[] = {a, b};
  return apply(op, std::span(inputs, 2), attributes);
}
inline Tensor apply(const OpDef& op, Operand a, Operand b, Operand c, const void* attributes = nullptr) {
  Operand inputs[] = {a, b, c};
  return apply(op, std::span(inputs, 3), attributes);
}

// Reads an operand as a tensor: a number becomes a scalar of `dtype` (its own dtype if none is given). A given-up
// tensor is shared, so that a body may read its operands as often as it likes.
Tensor to_tensor(Operand operand);
Tensor to_tensor(Operand operand, DType dtype);
// The same for the last use of an operand: a given-up tensor is moved.
Tensor take(Operand operand);

// A scalar tensor of the dtype holding `number`. Throws ValueError if the dtype cannot hold it.
Tensor scalar(double number, DType dtype);

// NumPy's rule for two shapes. Throws ShapeError naming the op.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

// What an op would give for these inputs, which may be symbolic. Throws what the op would.
void infer_outputs(const OpDef& op, std::span<detail::Block* const> inputs, const void* attributes,
                   OutputSpecs& outputs);

// One more handle of a block.
inline Tensor share(detail::Block* block) {
  detail::retain(block);
  return Tensor::adopt(block);
}

// Runs loop over a broadcast of its inputs. `out` has the result's shape; inputs broadcast to it; null inputs are
// skipped. Large loops run on the thread pool in chunks whose size depends on the shape only.
struct ElementwiseRun {
  Loop loop;
  const double* parameters = nullptr;
  bool accumulate = false;
};
void run_loop(const ElementwiseRun& run, const detail::Block* out, std::span<const detail::Block* const> inputs);

// The same for two inputs that have the shape of `out`.
inline void run_pair(Loop loop, const detail::Block* out, const detail::Block* a, const detail::Block* b) {
  if (out->count <= kDirectLoop && out->count > 0) [[likely]] {
    loop({out->data, {a->data, b->data, nullptr, nullptr, nullptr}, out->count, nullptr, 0, false});
    return;
  }
  const detail::Block* const inputs[] = {a, b};
  run_loop({loop}, out, inputs);
}

}  // namespace capstan
