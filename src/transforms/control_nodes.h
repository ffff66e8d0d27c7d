// The nodes of control flow: a choice of branches, a loop until a condition fails, a loop over rows.
//
// All are differentiated in one way: the rule of any of them is one more node, which runs the node again under a tape
// of its own and asks that for gradients. So the tape of a run is what other libraries build as stacks of saved values:
// the gradient of a choice follows the branch that was taken, that of a loop goes back through the iterations that were
// made, and that of a gradient is the same thing once more, for any nesting and order. The price is a second forward
// pass, and a tape of the iterations while the gradient runs. Where nobody watches the gradient of a loop, it has a
// faster way to the same numbers (loop_gradient.h). Tangents are one more node as well, which runs the node
// again under an accumulator and keeps nothing of the iterations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/graph/control.h"
#include "src/transforms/loop_run.h"

namespace capstan {

enum class ControlKind : std::uint8_t {
  kCond,
  kSwitchCase,
  kCaseOf,
  kWhileLoop,
  kScan,
  kMapFn,
  kFoldl,
  kFoldr,
  kGradient,
  kTangent,
  kRecompute
};
std::string_view name_of(ControlKind kind);

// Checks the number of a case: -1 says that several conditions hold, `count` that none does. Throws ValueError.
void check_case(std::int64_t number, std::int64_t count);

// Slot 0 is the condition, or the number of the branch. The outputs are the results, then the variables that at least
// one branch writes.
struct Branches final : Control {
  ControlKind kind = ControlKind::kCond;
  std::vector<Subgraph> branches;
  std::vector<std::size_t> results;  // which results of the branches exist
  std::vector<std::size_t> written;  // the slots of the variables

  // Once everything else is set; `slots` is the number of inputs.
  void complete(std::size_t slots);
  std::vector<Tensor> run(std::vector<Tensor> slots, EffectLog* log) const override;
  std::vector<const Subgraph*> parts() const override;
  AttributeValue form() const override;
  std::shared_ptr<const Control> for_lengths(std::span<const Shape> slots) const override;
  std::string difference(const Control& other) const override;

 private:
  std::size_t choose(const Tensor& selector) const;

  std::vector<Paths> paths_by_branch_;
};

// The first `count` slots are the loop variables. The outputs are the loop variables, then the variables that the body
// writes.
struct WhileLoop final : LoopNode {
  Subgraph condition;
  Subgraph body;
  std::size_t count = 0;
  std::int64_t limit = -1;  // of iterations; negative: none

  void complete(std::size_t slots);
  LoopParts loop() const override { return {.condition = &condition, .body = &body, .carried = count, .limit = limit}; }
  std::vector<Tensor> run(std::vector<Tensor> slots, EffectLog* log) const override;
  std::vector<const Subgraph*> parts() const override { return {&condition, &body}; }
  std::string details() const override { return limit < 0 ? "" : "maximum_iterations=" + std::to_string(limit); }
  AttributeValue form() const override;
  std::shared_ptr<const Control> for_lengths(std::span<const Shape> slots) const override;
  std::string difference(const Control& other) const override;
};

// The first slots are what is carried from row to row, then what has rows. The results of the body are what is carried
// on and what is collected; the outputs are the same, the latter stacked, and then the variables that the body writes.
struct RowLoop final : LoopNode {
  ControlKind kind = ControlKind::kScan;
  Subgraph body;
  std::size_t carried = 0;
  std::size_t sliced = 0;
  std::size_t collected = 0;
  std::int64_t rows = 0;  // at least one
  bool reverse = false;

  void complete(std::size_t slots);
  LoopParts loop() const override {
    return {
        .body = &body, .carried = carried, .sliced = sliced, .collected = collected, .rows = rows, .reverse = reverse};
  }
  std::vector<Tensor> run(std::vector<Tensor> slots, EffectLog* log) const override;
  std::vector<const Subgraph*> parts() const override { return {&body}; }
  std::string details() const override { return "rows=" + std::to_string(rows) + (reverse ? ", reverse=true" : ""); }
  AttributeValue form() const override;
  std::shared_ptr<const Control> for_lengths(std::span<const Shape> slots) const override;
  std::string difference(const Control& other) const override;
};

// A function whose values are not kept for its gradient, which runs it again (recompute_grad). The outputs are its
// results, then the variables that it writes. To tapes it is one op.
struct Recomputed final : Control {
  Subgraph body;

  void complete(std::size_t slots);
  std::vector<Tensor> run(std::vector<Tensor> slots, EffectLog* log) const override;
  std::vector<Tensor> run_again(std::vector<Tensor> slots, EffectLog* log) const override;
  Unfolding unfolding(std::size_t) const override;
  void infer(const Call& call, OutputSpecs& specs) const override;
  std::string difference(const Control& other) const override {
    return difference_of(body, static_cast<const Recomputed&>(other).body);
  }
  std::vector<const Subgraph*> parts() const override { return {&body}; }
  AttributeValue form() const override { return AttributeValue::map(); }
};

// What the rule of a node is given: its inputs. After this alone a rule may look at the node, which lives as long as
// its trace. Throws TraceError if that is not the one under way.
std::vector<Tensor> inputs_of(const VjpCall& call);

// The gradients of a node by its inputs, as far as they are needed and reached: one more node in a trace. `log` is that
// of its run, if it has effects. An empty cotangent: nothing has come.
std::vector<Tensor> gradients_of_node(const Control& of, const std::vector<Tensor>& inputs, const Tensor& log,
                                      std::span<const Tensor> cotangents, const std::vector<bool>& needed);

}  // namespace capstan
