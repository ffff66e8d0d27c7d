// Ops that do something instead of computing something: prints and checks.
//
// Such an op is stateful, so a trace keeps it in its place and runs it at every call. Its result is a token that nobody
// reads; the gradient of a call finds it among the values of effects and so does not do the thing again. What it needs
// beside its operands is too long for attributes: they hold a pointer, and what it points to lives as long as the node,
// in the closure that writes the attributes anew before each run.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/context.h"

namespace capstan {

template <class Job>
struct EffectAttributes {
  const Job* job = nullptr;
};

inline void add_token(OutputSpecs& outputs) { outputs.add(DType::kInt32, Shape{}); }
inline void write_token(std::span<Tensor> outputs) { *mutable_data<std::int32_t>(outputs[0]) = 0; }

template <class Job>
inline constexpr AttributeType kEffectAttributes = {
    sizeof(EffectAttributes<Job>), [](void* data) { new (data) EffectAttributes<Job>(); }, {}, 0};

// Made by a function alone, and so not in the registry: it has no result.
template <class Job>
constexpr OpDef effect_op(std::string_view name, std::string_view text, Infer infer, Kernel kernel) {
  OpDef op;
  op.name = name;
  op.text = text;
  op.flags = kStateful | kSameForItems | kNotDifferentiable | kTakesAnyDTypes;
  op.inputs = {"values", kVariadic};
  op.attributes = &kEffectAttributes<Job>;
  op.infer = infer;
  op.kernel = kernel;
  return op;
}

// Runs the op now, or adds it to the trace. Tapes do not see it.
template <class Job>
void run_effect(const OpDef& op, std::vector<Operand> operands, Job job) {
  const PauseObservers pause;
  const auto kept = std::make_shared<const Job>(std::move(job));
  const EffectAttributes<Job> attributes{kept.get()};
  apply(op, operands, &attributes);
  if (context.tracer == nullptr) return;
  context.tracer->renew_attributes([kept](void* data) { static_cast<EffectAttributes<Job>*>(data)->job = kept.get(); });
}

}  // namespace capstan
