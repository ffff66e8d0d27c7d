// Ops that do something instead of computing something: prints and checks.
//
// Such an op is stateful, so a trace keeps it in its place and runs it at every call. Its result is a token that nobody
// reads; the gradient of a call finds it among the values of effects and so does not do the thing again. What it needs
// beside its operands is too long for attributes: they hold a pointer, and what it points to lives as long as the node,
// in the closure that writes the attributes anew before each run.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "src/core/apply.h"
#include "src/core/context.h"

namespace capstan {

template <class Job>
struct EffectAttributes {
  const Job* job = nullptr;
};

inline void add_token(OutputSpecs& outputs) { outputs.add(DType::kInt32, Shape{}); }
inline Tensor token() { return scalar(0, DType::kInt32); }

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
