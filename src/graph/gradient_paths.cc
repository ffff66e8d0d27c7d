#include "src/graph/gradient_paths.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/attributes.h"
#include "src/core/context.h"
#include "src/ops/array/shape.h"
#include "src/ops/batching.h"

namespace capstan {

namespace {

// What only leads gradients need not have the items: cotangents are summed over axes that an input lacks.
bool batch_value(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.item_rank(0) == kMaxRank) return false;
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  inputs[0] = with_items(call, 0);
  return call_again(call, std::move(inputs), call.attribute_data, outputs);
}

struct PathAttributes {
  std::int64_t others = 0;  // how many inputs after the first one have a gradient of zeros
};

// What a path that was not taken makes of a gradient, if somebody differentiates that.
Tensor on_paths(const Tensor& gradient, const VjpCall& call) {
  if (context.observers == context.guard) return gradient;
  std::vector<Tensor> read;
  for (int i = 1; i < call.input_count(); ++i) {
    if (is_known(call.input(i).block())) read.push_back(call.input(i));
  }
  return read.empty() ? gradient : also_depends_on(gradient, read);
}

constinit const OpDef kAlsoDependsOn = {
    .name = "also_depends_on",
    .text = "A tensor whose gradient by some others is zero instead of missing; made by control flow.",
    .flags = kReturnsViews | kReshapes | kTakesAnyDTypes,
    .inputs = {"value, others", kVariadic},
    .attributes = &attribute_table<PathAttributes, "others">,
    .infer = infer_first,
    .kernel = view_first,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = on_paths(call.cotangent(), call);
          for (int i = 1; i <= call.attributes<PathAttributes>().others; ++i) {
            if (call.needs(i)) cotangents[static_cast<std::size_t>(i)] = on_paths(zeros_like(call.input(i)), call);
          }
        },
    // Reverse mode and the operands alone would not do: a tangent of the others is one of zeros.
    .jvp =
        [](const VjpCall& call, std::span<const Tensor> tangents, std::span<Tensor> of_outputs) {
          if (tangents[0].has_value()) {
            of_outputs[0] = on_paths(tangents[0], call);
          } else if (std::any_of(tangents.begin() + 1, tangents.begin() + 1 + call.attributes<PathAttributes>().others,
                                 [](const Tensor& tangent) { return tangent.has_value(); })) {
            of_outputs[0] = on_paths(zeros_like(call.input(0)), call);
          }
        },
    .batch = batch_value,
};

}  // namespace

constinit const OpDef kReread = {
    .name = "reread",
    .text = "What a variable holds after an assignment in a trace.",
    .flags = kReturnsViews | kReshapes,
    .inputs = "value, begin",
    .infer = infer_first,
    .kernel = view_first,
    .vjp = [](const VjpCall& call, std::span<Tensor> cotangents) { cotangents[1] = call.cotangent(); },
    .batch = batch_value,
};

Tensor reread(const Tensor& value, const Tensor& begin) { return apply(kReread, value, begin); }

Tensor also_depends_on(const Tensor& value, std::span<const Tensor> others, std::span<const Tensor> in_derivatives) {
  const PathAttributes attributes{static_cast<std::int64_t>(others.size())};
  std::vector<Operand> operands = {value};
  operands.insert(operands.end(), others.begin(), others.end());
  operands.insert(operands.end(), in_derivatives.begin(), in_derivatives.end());
  return apply(kAlsoDependsOn, std::span<Operand>(operands), &attributes);
}

}  // namespace capstan
