#include "src/graph/shapes.h"

#include <cstring>
#include <map>
#include <utility>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/graph/control.h"

namespace capstan {

namespace {

using Value = Graph::Value;

// Numbers and shapes. Larger ones are broadcasts of these, which a run does better than it reads them from memory.
constexpr std::int64_t kMostFolded = kMaxRank;

}  // namespace

detail::Block* NodeInference::block_of(Value value) {
  Tensor& tensor = stand_ins_[at(value)];
  if (!tensor.has_value()) {
    const Graph::ValueInfo& info = graph_.values[at(value)];
    tensor = info.constant.has_value() ? info.constant : symbolic(info.dtype, info.shape);
  }
  return tensor.block();
}

OutputSpecs NodeInference::infer(const Graph::Node& node) {
  inputs_.clear();
  for (const Value input : node.inputs) inputs_.push_back(block_of(input));
  OutputSpecs specs;
  infer_outputs(*node.op, inputs_, node.op->attributes == nullptr ? nullptr : node.attributes, specs);
  return specs;
}

Graph with_shapes(const Graph& generic, std::span<const Shape> arguments) {
  Graph graph = generic;
  for (std::size_t i = 0; i < arguments.size(); ++i) graph.values[at(graph.arguments[i])].shape = arguments[i];
  NodeInference inference(graph);
  for (Graph::Node& node : graph.nodes) {
    if (const Control* const control = control_of(*node.op, node.attributes)) {
      std::vector<Shape> inputs;
      for (const Value input : node.inputs) inputs.push_back(graph.values[at(input)].shape);
      if (auto other = control->for_lengths(inputs)) {
        const ControlAttributes attributes{other.get()};
        std::memcpy(node.attributes, &attributes, sizeof(attributes));
        graph.controls.push_back(std::move(other));
      }
    }
    const OutputSpecs specs = inference.infer(node);
    CAPSTAN_CHECK(specs.size() == static_cast<int>(node.outputs.size()), ShapeError, node.op->name, ": gives ",
                  specs.size(), " results, not ", node.outputs.size());
    for (int i = 0; i < specs.size(); ++i)
      graph.values[at(node.outputs[static_cast<std::size_t>(i)])].shape = specs[i].shape;
  }
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written == Graph::kNone) continue;
    const Shape& before = graph.values[at(captured.value)].shape;
    const Shape& after = graph.values[at(captured.written)].shape;
    CAPSTAN_CHECK(before == after, ShapeError, "assign: a variable has shape ", before, ", the value ", after);
  }
  return graph;
}

void detach_shapes(Graph& graph) {
  std::map<std::pair<DType, std::vector<std::int64_t>>, Value> stand_ins;
  for (Graph::Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reads_shape_only(node, i) || graph.values[at(node.inputs[i])].constant.has_value()) continue;
      const DType dtype = graph.values[at(node.inputs[i])].dtype;
      const Shape shape = graph.values[at(node.inputs[i])].shape;
      const auto [found, is_new] =
          stand_ins.try_emplace({dtype, std::vector<std::int64_t>(shape.begin(), shape.end())}, Graph::kNone);
      if (is_new) found->second = graph.add_value(dtype, shape, shape_only(symbolic(dtype, shape)));
      node.inputs[i] = found->second;
    }
  }
}

void fold_constants(Graph& graph) {
  const PauseObservers pause;
  std::vector<Graph::Node> kept;
  kept.reserve(graph.nodes.size());
  for (Graph::Node& node : graph.nodes) {
    bool folds = !node.has_effect() && !node.renew && !node.inputs.empty();
    for (const Value input : node.inputs) folds &= graph.values[at(input)].constant.has_value();
    for (const Value output : node.outputs) folds &= graph.values[at(output)].shape.size() <= kMostFolded;
    if (!folds) {
      kept.push_back(std::move(node));
      continue;
    }
    std::vector<Operand> operands;
    for (const Value input : node.inputs) operands.emplace_back(std::as_const(graph.values[at(input)].constant));
    std::vector<Tensor> outputs;
    try {
      outputs = apply_all(*node.op, operands, node.op->attributes == nullptr ? nullptr : node.attributes);
    } catch (const Error&) {  // which belongs to the run that gets there
      kept.push_back(std::move(node));
      continue;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) graph.values[at(node.outputs[i])].constant = outputs[i];
  }
  graph.nodes = std::move(kept);
}

}  // namespace capstan
