// The sum of any number of tensors, in one pass over the result for each.
#include <cstring>
#include <vector>

#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/math/math.h"

namespace capstan {

namespace {

void infer_add_n(const Call& call, OutputSpecs& outputs) {
  CAPSTAN_CHECK(call.input_count() > 0, ValueError, call.op.name, ": needs at least one tensor");
  const TensorRef& first = call.input(0);
  CAPSTAN_CHECK(first.dtype() != DType::kBool, DTypeError, call.op.name, ": dtype bool is not supported");
  for (int i = 1; i < call.input_count(); ++i) {
    CAPSTAN_CHECK(call.input(i).shape() == first.shape(), ShapeError, call.op.name, ": shapes differ, ", first.shape(),
                  " and ", call.input(i).shape(), " (argument ", i, ")");
  }
  outputs.add(first.dtype(), first.shape());
}

void run_add_n(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& first = call.input(0);
  const Loop loop = loops_of(kAdd, first.dtype()).forward[static_cast<int>(first.dtype())];
  if (call.input_count() == 1) {
    std::memcpy(mutable_raw_data(outputs[0]), first.raw_data(),
                static_cast<std::size_t>(first.size()) * size_of(first.dtype()));
    return;
  }
  const detail::Block* sum = first.block();
  for (int i = 1; i < call.input_count(); ++i) {
    run_pair(loop, outputs[0].block(), sum, call.input(i).block());
    sum = outputs[0].block();
  }
}

}  // namespace

constinit const OpDef kAddN = {
    .name = "add_n",
    .text = "The sum of tensors of one shape.",
    .flags = kLinear,
    .inputs = {"tensors", kVariadic},
    .infer = infer_add_n,
    .kernel = run_add_n,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          for (int i = 0; i < call.input_count(); ++i) {
            if (call.needs(i)) cotangents[static_cast<std::size_t>(i)] = call.cotangent();
          }
        },
    .batch =
        [](const BatchCall& call, std::vector<Tensor>& outputs) {
          outputs = {call.input(0)};
          for (int i = 1; i < call.input_count(); ++i) outputs[0] = add(outputs[0], call.input(i));
          return true;
        },
};

Tensor add_n(Operands tensors) { return apply(kAddN, tensors.span()); }

CAPSTAN_OPS(add_n, &kAddN);

}  // namespace capstan
