// Nodes that give the elements of another value are replaced by it, or by a reshape of it.
//
// Which these are is said beside the ops (src/ops/identities.h), by the flag kReshapes, and by nodes that hold nothing
// but a rule (gives_inputs in control.h). A node that has been
// replaced stays where it is, without readers, until remove_dead.
#include <algorithm>
#include <numeric>
#include <vector>

#include "src/core/op_for_programs.h"
#include "src/graph/control.h"
#include "src/graph/graph.h"
#include "src/ops/array/shape.h"

namespace capstan {

namespace {

using Value = Graph::Value;

class Simplifier final : public Expressions {
 public:
  explicit Simplifier(Graph& graph)
      : graph_(graph), calls_(graph.values.size()), instead_(graph.values.size()), base_(graph.values.size()) {
    std::iota(instead_.begin(), instead_.end(), 0);
    base_ = instead_;
  }

  DType dtype(Value value) const override { return info(value).dtype; }
  const Shape& shape(Value value) const override { return info(value).shape; }
  const Tensor& constant(Value value) const override { return info(value).constant; }
  const Call* maker(Value value) const override {
    const Call& call = calls_[at(value)];
    return call.op == nullptr ? nullptr : &call;
  }

  void run() {
    for (Graph::Node& node : graph_.nodes) {
      for (Value& input : node.inputs) replace(input);
      const Control* const control = control_of(*node.op, node.attributes);
      if (control != nullptr && control->gives_inputs) {
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
          instead_[at(node.outputs[k])] = node.inputs[k];
          base_[at(node.outputs[k])] = base_[at(node.inputs[k])];
        }
        continue;
      }
      if (node.outputs.size() != 1 || node.has_effect() || node.renew) continue;
      const Value result = node.outputs[0];
      const void* const attributes = node.op->attributes == nullptr ? nullptr : node.attributes;
      calls_[at(result)] = {node.op, node.inputs, result, attributes};
      const Value same = same_elements(node, calls_[at(result)]);
      if (same == kNone || dtype(same) != dtype(result) || shape(same).size() != shape(result).size()) continue;
      const Value base = base_[at(same)];
      base_[at(result)] = base;
      if (shape(base) == shape(result)) {
        instead_[at(result)] = base;
      } else if (shape(same) == shape(result)) {
        instead_[at(result)] = same;
      } else if (!has_flag(*node.op, kReshapes) || base != node.inputs[0]) {
        make_reshape(node, base);
        calls_[at(result)] = {node.op, node.inputs, result, node.attributes};
      }
    }
    for (Value& result : graph_.results) replace(result);
    // One that is written what it held stays a result of the program: who runs it counts them.
    for (Graph::Captured& captured : graph_.captured) replace(captured.written);
  }

 private:
  const Graph::ValueInfo& info(Value value) const { return graph_.values[at(value)]; }

  void replace(Value& value) const {
    if (value != kNone) value = instead_[at(value)];
  }

  Value same_elements(const Graph::Node& node, const Call& call) const {
    if (has_flag(*node.op, kReshapes)) return node.inputs[0];
    const IdentityRule rule = for_programs(*node.op).identity;
    return rule == nullptr ? kNone : rule(*this, call);
  }

  void make_reshape(Graph::Node& node, Value from) const {
    std::fill(std::begin(node.attributes), std::end(node.attributes), std::byte{});
    node.op = &reshape_to(shape(node.outputs[0]), node.attributes);
    node.inputs = {from};
  }

  Graph& graph_;
  std::vector<Call> calls_;     // by value
  std::vector<Value> instead_;  // what stands for each value from now on
  std::vector<Value> base_;     // what has the elements of each value and is no reshape
};

}  // namespace

void simplify(Graph& graph) { Simplifier(graph).run(); }

}  // namespace capstan
