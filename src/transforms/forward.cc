// ForwardAccumulator: an observer that computes the tangents of what it sees.
//
// It knows a tensor by its block, which it holds together with the tangent, since addresses of blocks are used again.
// What nobody else holds any more can not be asked for, so a table that has grown by half is swept. Tapes number the
// results they record; that would serve here as well, but a number does not say when its tensor has gone.
//
// What is computed here is seen by the observers around this one and by nobody else: not by this one, whose tangents
// would have tangents, and not by those inside, for which it is no part of the program. Those around it have seen the
// op before (notify in src/core/context.h), so they know the tensors that its tangent is made of.
#include "capstan/forward.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/live.h"
#include "src/core/variable_state.h"
#include "src/tape/gradient_arguments.h"
#include "src/transforms/jvp.h"

namespace capstan {

using detail::Block;

class AccumulatorImpl final : public Observer {
 public:
  ~AccumulatorImpl() = default;

  void check_thread() const {
    CAPSTAN_CHECK(owner_ == &context, GradientError, "ForwardAccumulator: this accumulator belongs to another thread",
                  help("make an accumulator on each thread; tensors and variables can be shared"));
  }

  void start() {
    check_thread();
    CAPSTAN_CHECK(!recording, GradientError, "start: this accumulator is already recording");
    recording = true;
    enter();
  }

  void stop() {
    check_thread();
    if (!recording) return;
    recording = false;
    leave();
  }

  void record(const ObservedCall& call) override {
    if (has_flag(call.op, kNotDifferentiable) || has_flag(call.op, kBooleanResult)) return;
    observe(call, call.op.inputs.count == kVariadic ? -(call.op.shape_inputs & 1) : call.op.shape_inputs);
  }
  void record(const CustomCall& call) override { observe(call, 0); }

  void read(detail::VariableState& variable) override {
    const Tensor* const tangent = find(variable);
    if (tangent != nullptr) know(share(current_value(variable).block()), *tangent);
  }

  bool knows(const Block* block) const override { return find(block) != nullptr; }

  void watch(const Source& primal, const Tensor& tangent) {
    const PauseObservers pause(recording ? outer : context.observers);
    const auto increased = [&](const Tensor* before) { return before == nullptr ? tangent : add(*before, tangent); };
    if (primal.variable() == nullptr) {
      const Tensor before = look_up(primal);
      Tensor total = increased(before.has_value() ? &before : nullptr);
      know(*primal.tensor(), std::move(total), true);
      return;
    }
    detail::VariableState& variable = *primal.variable()->state();
    const Tensor total = increased(find(variable));
    std::erase_if(variables_, [&](const auto& entry) { return entry.first.state() == &variable; });
    variables_.emplace_back(*primal.variable(), total);
    know(share(current_value(variable).block()), total, true);
  }

  // The tangent of a target, or nothing.
  Tensor look_up(const Source& target) const {
    const Tensor* tangent = nullptr;
    if (target.variable() != nullptr) {
      tangent = find(*target.variable()->state());
    } else if (target.tensor()->is_row_sparse()) {
      // That of its rows.
      tangent = find(target.tensor()->block()->sparse.values);
      if (tangent != nullptr) return make_row_sparse(target.tensor()->indices(), *tangent, target.tensor()->shape());
      tangent = find(target.tensor()->block());
    } else {
      tangent = find(target.tensor()->block());
    }
    return tangent == nullptr ? Tensor() : *tangent;
  }

  bool recording = false;

 private:
  struct Known {
    Tensor primal;
    Tensor tangent;
  };

  const Tensor* find(const Block* block) const {
    if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) == 0) return nullptr;
    const auto found = known_.find(block);
    return found == known_.end() ? nullptr : &found->second.tangent;
  }
  const Tensor* find(const detail::VariableState& variable) const {
    for (const auto& [known, tangent] : variables_) {
      if (known.state() == &variable) return &tangent;
    }
    return nullptr;
  }

  void know(Tensor primal, Tensor tangent, bool anew = false) {
    Block* const block = primal.block();
    if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) == 0) block->flags.fetch_or(Block::kLeaf);
    if (anew) known_.erase(block);
    known_.try_emplace(block, Known{std::move(primal), std::move(tangent)});
  }

  // Computes the tangents of what a call gave if some of its inputs have one. `shapes` are inputs of which only the
  // shape counts, by bits.
  template <class Call>
  void observe(const Call& call, int shapes) {
    std::vector<Tensor> tangents;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const Block* const block = call.inputs[i].block;
      if (!is_differentiable(block->dtype) || (shapes >> std::min<std::size_t>(i, 31) & 1) != 0) continue;
      const Tensor* const tangent = find(block);
      if (tangent == nullptr) continue;
      tangents.resize(call.inputs.size());
      tangents[i] = *tangent;
    }
    if (tangents.empty()) return;
    const PauseObservers pause(outer);
    std::vector<Tensor> found = jvp_of(call, tangents);
    for (std::size_t i = 0; i < found.size() && i < call.outputs.size(); ++i) {
      const Tensor& output = call.outputs[i];
      if (found[i].has_value() && is_differentiable(output.dtype())) know(output, std::move(found[i]), true);
    }
    if (known_.size() > limit_) sweep();
  }

  void sweep() {
    std::erase_if(known_, [](const auto& entry) {
      return entry.second.primal.block()->refs.load(std::memory_order_acquire) == 1;
    });
    limit_ = known_.size() + known_.size() / 2 + 2;
  }

  const Context* owner_ = &context;
  std::unordered_map<const Block*, Known> known_;
  std::size_t limit_ = 4;
  std::vector<std::pair<Variable, Tensor>> variables_;
};

namespace {

// What is wrong with the primals and tangents, if anything; and the tangents as tensors.
std::vector<Tensor> checked_tangents(std::span<const Source> primals, std::span<const Operand> tangents) {
  CAPSTAN_CHECK(primals.size() == tangents.size(), ValueError, "ForwardAccumulator: ", tangents.size(),
                " tangents for ", primals.size(), " primals");
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < primals.size(); ++i) {
    CAPSTAN_CHECK(present(primals[i]), ValueError, "ForwardAccumulator: primal ", i, " is an empty tensor");
    for (std::size_t k = 0; k < i; ++k) {
      CAPSTAN_CHECK(!same_source(primals[i], primals[k]), ValueError, "ForwardAccumulator: primal ", i,
                    " is the same as primal ", k, help("give each primal once, and sum the tangents"));
    }
    const TensorRef primal = value_of(primals[i]);
    check_live("ForwardAccumulator", primal);
    const Operand& operand = tangents[i];
    CAPSTAN_CHECK(operand.kind() != Operand::Kind::kLent || operand.lent() != nullptr, ValueError,
                  "ForwardAccumulator: tangent ", i, " is an empty tensor", help("give zeros_like(primal)"));
    const Tensor tangent = operand.is_literal() ? to_tensor(operand, primal.dtype()) : to_tensor(operand).to_dense();
    check_live("ForwardAccumulator", tangent);
    CAPSTAN_CHECK(tangent.dtype() == primal.dtype(), DTypeError, "ForwardAccumulator: tangent ", i, " is ",
                  tangent.dtype(), ", its primal ", primal.dtype(), help("convert it with cast(x, dtype)"));
    CAPSTAN_CHECK(tangent.shape() == primal.shape(), ShapeError, "ForwardAccumulator: tangent ", i, " has shape ",
                  tangent.shape(), ", its primal ", primal.shape());
    tensors.push_back(tangent);
  }
  return tensors;
}

}  // namespace

ForwardAccumulator::ForwardAccumulator(const Primals& primals, const Tangents& tangents) : impl_(new AccumulatorImpl) {
  std::unique_ptr<AccumulatorImpl> impl(impl_);  // until nothing can fail
  watch(primals, tangents);
  impl.release()->start();
}

// One of another thread that is active is in that thread's context and must not go away.
ForwardAccumulator::~ForwardAccumulator() {
  if (impl_->recording) {
    try {
      impl_->stop();
    } catch (const GradientError&) {
      return;
    }
  }
  delete impl_;
}

void ForwardAccumulator::watch(const Primals& primals, const Tangents& tangents) {
  impl_->check_thread();
  const std::vector<Tensor> tensors = checked_tangents(primals.list(), tangents.list());
  for (std::size_t i = 0; i < tensors.size(); ++i) impl_->watch(primals.list()[i], tensors[i]);
}

void ForwardAccumulator::start() { impl_->start(); }
void ForwardAccumulator::stop() { impl_->stop(); }
bool ForwardAccumulator::is_recording() const { return impl_->recording; }

Tensor ForwardAccumulator::look_up(const Source& target, UnconnectedGradients unconnected_gradients) const {
  impl_->check_thread();
  CAPSTAN_CHECK(present(target), ValueError, "jvp: a target is an empty tensor",
                help("a missing gradient is an empty tensor; test it with has_value()"));
  if (target.tensor() != nullptr) check_live("jvp", *target.tensor());
  Tensor tangent = impl_->look_up(target);
  if (tangent.has_value() || unconnected_gradients == UnconnectedGradients::kNone) return tangent;
  return zeros_like(target.variable() != nullptr ? current_value(*target.variable()->state()) : *target.tensor());
}

}  // namespace capstan
