#include "src/graph/gradient_paths.h"

#include <vector>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/ops/batching.h"
#include "src/ops/shape.h"

namespace capstan {

namespace {

// What only leads gradients need not have the items: cotangents are summed over axes that an input lacks.
bool batch_value(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.item_rank(0) == kMaxRank) return false;
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  inputs[0] = with_items(call, 0);
  return call_again(call, std::move(inputs), call.attribute_data, outputs);
}

constinit const OpDef kAlsoDependsOn = {
    .name = "also_depends_on",
    .text = "A tensor whose gradient by some others is zero instead of missing; made by control flow.",
    .flags = kReturnsViews | kReshapes | kTakesAnyDTypes,
    .arity = kVariadic,
    .input_names = "value, others",
    .infer = infer_first,
    .kernel = view_first,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = call.cotangent();
          for (int i = 1; i < call.input_count(); ++i) {
            if (call.needs(i)) cotangents[static_cast<std::size_t>(i)] = zeros_like(call.input(i));
          }
        },
    .batch = batch_value,
};

}  // namespace

constinit const OpDef kReread = {
    .name = "reread",
    .text = "What a variable holds after an assignment in a trace.",
    .flags = kReturnsViews | kReshapes,
    .arity = 2,
    .input_names = "value, begin",
    .infer = infer_first,
    .kernel = view_first,
    .vjp = [](const VjpCall& call, std::span<Tensor> cotangents) { cotangents[1] = call.cotangent(); },
    .batch = batch_value,
};

Tensor reread(const Tensor& value, const Tensor& begin) { return apply(kReread, value, begin); }

Tensor also_depends_on(const Tensor& value, std::span<const Tensor> others) {
  std::vector<Operand> operands = {value};
  operands.insert(operands.end(), others.begin(), others.end());
  return apply(kAlsoDependsOn, std::span<Operand>(operands));
}

}  // namespace capstan
