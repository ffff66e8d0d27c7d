#include "src/transforms/jvp.h"

#include <algorithm>
#include <utility>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/micro.h"
#include "src/tape/derived.h"
#include "src/tape/tape_impl.h"

namespace capstan {

using detail::Block;

namespace {

using Tensors = std::vector<Tensor>;

// What a rule sees of a call that has just run. `needed` are those inputs whose entry has a value.
class CallView final : public VjpCall {
 public:
  CallView(const ObservedCall& call, std::span<const Tensor> cotangents, std::span<const Tensor> needed)
      : call_(call), cotangents_(cotangents.begin(), cotangents.end()), needed_(needed) {
    for (const ObservedInput& input : call.inputs) inputs_.push_back(share(input.block));
  }
  const Tensor& input(int i) const override { return inputs_[static_cast<std::size_t>(i)]; }
  const Tensor& output(int i) const override { return call_.outputs[static_cast<std::size_t>(i)]; }
  const Tensor& cotangent(int i) const override {
    Tensor& cotangent = cotangents_[static_cast<std::size_t>(i)];
    if (!cotangent.has_value()) cotangent = zeros_like(output(i));
    return cotangent;
  }
  bool has_cotangent(int i) const override { return cotangents_[static_cast<std::size_t>(i)].has_value(); }
  bool needs(int i) const override { return needed_[static_cast<std::size_t>(i)].has_value(); }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  const void* attribute_data() const override { return call_.attributes; }

 private:
  const ObservedCall& call_;
  mutable Tensors cotangents_;
  std::span<const Tensor> needed_;
  Tensors inputs_;
};

void add_to(Tensor& sum, Tensor more) {
  if (more.has_value()) sum = sum.has_value() ? add(std::move(sum), std::move(more)) : std::move(more);
}

// --- Elementwise ops ---

// Whether the derivative for an input is zero everywhere: then there is no tangent, as that of `sign`.
bool is_zero(const OpDef& op, std::size_t k) {
  if (op.formula == nullptr) return (op.reads[k] & kReadsCotangent) == 0;
  const MicroCode& derivative = op.formula->vjp[k];
  return derivative.steps.empty() || derivative.steps[static_cast<std::size_t>(derivative.result)].op == MicroOp::kZero;
}

// Outside of a trace, and if nobody watches: the loop of the rule, over raw memory.
Tensor run_rule_loop(const ObservedCall& call, std::size_t k, const Tensor& tangent) {
  const Block* const like = call.outputs[0].block();
  const Block* operands[5] = {tangent.block()};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if ((call.op.reads[k] & (kReadsInput0 << i)) != 0) operands[i + 1] = call.inputs[i].block;
  }
  if ((call.op.reads[k] & kReadsOutput) != 0) operands[4] = like;
  Tensor out = Tensor::adopt(new_tensor_block(like->dtype, like->rank, like->dims, like->count));
  const Loop loop = loops_of(call.op, like->dtype).vjp[k][static_cast<int>(like->dtype)];
  run_loop({loop, static_cast<const double*>(call.attributes)}, out.block(), operands);
  return out;
}

// An input that was stretched has a smaller tangent; sums and rules stretch it, and if they do not, it is done at the
// end.
Tensor jvp_elementwise(const ObservedCall& call, std::span<const Tensor> tangents) {
  const OpDef& op = call.op;
  const Tensor& output = call.outputs[0];
  const bool alone = context.observers == context.guard;
  Tensor sum;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const Tensor& tangent = tangents[k];
    if (!tangent.has_value() || is_zero(op, k)) continue;
    if ((op.passes >> k & 1) != 0) {
      add_to(sum, tangent);
    } else if (alone && context.tracer == nullptr && !is_on_device(tangent.block()) && !is_on_device(output.block())) {
      add_to(sum, run_rule_loop(call, k, tangent));
    } else if (alone && can_be_derived(op) && same_shape(tangent.block(), output.block())) {
      Block* inputs[3] = {};
      for (std::size_t i = 0; i < call.inputs.size(); ++i) inputs[i] = call.inputs[i].block;
      add_to(sum, apply_derived(op, static_cast<int>(k), call.attributes, tangent, inputs, output.block()));
    } else {
      Tensor needed[3];
      needed[k] = tangent;
      Tensor results[3];
      op.vjp(CallView(call, std::span(&tangent, 1), needed), std::span(results, call.inputs.size()));
      add_to(sum, std::move(results[k]));
    }
  }
  if (!sum.has_value() || same_shape(sum.block(), output.block())) return sum;
  return broadcast_like(sum, output);
}

// --- Linear ops ---

Tensors jvp_linear(const ObservedCall& call, std::span<const Tensor> tangents) {
  const std::size_t n = call.inputs.size();
  // What the rules for these inputs read.
  const auto read = [&](std::uint32_t needed, std::size_t i) {
    return (reads_of(call.op, needed).inputs >> std::min<std::size_t>(i, 31) & 1) != 0;
  };
  std::uint32_t moving = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(n, 31); ++i) moving |= std::uint32_t{tangents[i].has_value()} << i;
  bool together = true;
  for (std::size_t i = 0; i < n; ++i) together &= !(tangents[i].has_value() && read(moving, i));

  Tensors sums;
  for (std::size_t k = 0; k < n; ++k) {
    if (!tangents[k].has_value()) continue;
    const std::uint32_t needed = together ? moving : 1u << std::min<std::size_t>(k, 31);
    Tensors inputs;
    for (std::size_t i = 0; i < n; ++i) {
      const Tensor input = share(call.inputs[i].block);
      const std::size_t bit = call.op.inputs.count == kVariadic ? 0 : i;
      const bool is_shape = (call.op.shape_inputs >> bit & 1) != 0;
      if (i == k || (together && tangents[i].has_value())) {
        inputs.push_back(tangents[i]);
      } else if (is_shape || read(needed, i) || !is_differentiable(input.dtype())) {
        inputs.push_back(input);
      } else {
        inputs.push_back(zeros_like(input));
      }
    }
    std::vector<Operand> operands(inputs.begin(), inputs.end());
    Tensors results = apply_all(call.op, operands, call.attributes);
    if (together) return results;
    sums.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) add_to(sums[i], std::move(results[i]));
  }
  return sums;
}

// --- Any rule, transposed ---

// `pull` turns cotangents of the outputs into those of the inputs.
template <class Pull>
Tensors transpose_rule(std::span<const Tensor> outputs, std::span<const Tensor> tangents, const Pull& pull) {
  // Any values would do, as the rule is linear; but formulas leave out what is multiplied by a zero.
  Tensors seeds(outputs.size());
  Tensors sources;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_differentiable(outputs[i].dtype())) continue;
    seeds[i] = ones_like(outputs[i]);
    sources.push_back(seeds[i]);
  }
  GradientTape tape({.persistent = false, .watch_accessed_variables = false});
  tape.watch(sources);
  const Tensors cotangents = pull(seeds);
  Tensors targets;
  GradientOptions options;
  for (std::size_t k = 0; k < tangents.size() && k < cotangents.size(); ++k) {
    if (!tangents[k].has_value() || !cotangents[k].has_value()) continue;
    // A rule does not sum over axes along which its input was stretched, so the tangent is stretched.
    const Tensor target = cotangents[k].to_dense();
    const bool fits = same_shape(target.block(), tangents[k].block());
    options.output_gradients.push_back(fits ? tangents[k] : broadcast_like(tangents[k], target));
    targets.push_back(target);
  }
  if (targets.empty()) return Tensors(outputs.size());
  Tensors found = tape.gradient(targets, sources, options);
  std::size_t next = 0;
  for (Tensor& seed : seeds) {
    if (!seed.has_value()) continue;
    seed = std::move(found[next++]);
    if (seed.has_value()) seed = seed.to_dense();
  }
  return seeds;
}

}  // namespace

std::vector<Tensor> jvp_of(const ObservedCall& call, std::span<const Tensor> tangents) {
  const OpDef& op = call.op;
  if (op.kind == OpKind::kElementwise && !is_complex(call.outputs[0].dtype())) return {jvp_elementwise(call, tangents)};
  if (op.jvp != nullptr) {
    Tensors of_outputs(call.outputs.size());
    op.jvp(CallView(call, {}, tangents), tangents, of_outputs);
    return of_outputs;
  }
  if (has_flag(op, kLinear)) return jvp_linear(call, tangents);
  return transpose_rule(call.outputs, tangents, [&](std::span<const Tensor> seeds) {
    Tensors cotangents(call.inputs.size());
    op.vjp(CallView(call, seeds, tangents), cotangents);
    return cotangents;
  });
}

std::vector<Tensor> jvp_of(const CustomCall& call, std::span<const Tensor> tangents) {
  if (call.rule.jvp != nullptr) return call.rule.jvp(tangents);
  return transpose_rule(call.outputs, tangents, call.rule.vjp);
}

}  // namespace capstan
