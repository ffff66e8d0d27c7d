#include "src/transforms/row_pullback.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/op_for_programs.h"
#include "src/graph/control.h"
#include "src/graph/tracer.h"

namespace capstan {

namespace {

// What every value of the pullback is, and how each op runs on one example.
class Plan {
 public:
  Plan(const Graph& graph, std::int64_t examples)
      : graph_(graph), examples_(examples), kinds_(graph.values.size(), Examples::kSame) {
    kinds_[at(graph.arguments[0])] = Examples::kRow;
  }

  Examples kind(Graph::Value value) const { return kinds_[at(value)]; }

  // Nothing if it is not known how.
  std::optional<ExampleStep> step(const Graph::Node& node) {
    Examples most = Examples::kSame;
    std::vector<Examples> kinds;
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      kinds.push_back(kinds_[at(node.inputs[i])]);
      shapes.push_back(shape(node.inputs[i]));
      if (kinds[i] == Examples::kRow || most == Examples::kSame) most = kinds[i];
      // Its shape is that of one example.
      if (kinds[i] == Examples::kRow && reads_shape_only(node, i)) return std::nullopt;
    }
    // After the axis of examples the op is what it is.
    std::optional<ExampleStep> step = ExampleStep{.result = most};
    if (most == Examples::kRow) {
      const ExampleRule rule = for_programs(*node.op).example;
      // The inputs that are cut have bits.
      const bool known = rule != nullptr && node.outputs.size() == 1 && node.inputs.size() <= 32;
      step = known ? rule({kinds, shapes, shape(node.outputs[0]), examples_, node.attributes}) : std::nullopt;
    }
    if (step) {
      for (const Graph::Value output : node.outputs) kinds_[at(output)] = step->result;
    }
    return step;
  }

 private:
  const Shape& shape(Graph::Value value) const { return graph_.values[at(value)].shape; }

  const Graph& graph_;
  std::int64_t examples_;
  std::vector<Examples> kinds_;
};

}  // namespace

std::optional<Pullback> pullback_of_row(const Pullback& full) {
  const Graph& graph = full.graph;
  const Graph::ValueInfo& cotangent = graph.values[at(graph.arguments[0])];
  Plan plan(graph, cotangent.shape[0]);
  std::vector<ExampleStep> steps;
  for (const Graph::Node& node : graph.nodes) {
    if (node.has_effect() || control_of(*node.op, node.attributes) != nullptr) return std::nullopt;
    std::optional<ExampleStep> step = plan.step(node);
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  const auto is_row = [&](Graph::Value result) {
    return result != Graph::kNone && plan.kind(result) == Examples::kRow;
  };
  if (std::any_of(graph.results.begin(), graph.results.end(), is_row)) return std::nullopt;

  GraphTracer tracer("jacobian", GraphTracer::ForItems{});
  Shape one = cotangent.shape;
  one.set(0, 1);
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) values[i] = graph.values[i].constant;
  values[at(graph.arguments[0])] = tracer.add_argument(cotangent.dtype, one);
  const Tensor example = tracer.add_argument(DType::kInt64, {1});
  for (std::size_t i = 1; i < full.inputs.size(); ++i) values[at(graph.input(i))] = full.inputs[i];
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Graph::Node& node = graph.nodes[n];
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor& input = values[at(node.inputs[i])];
      inputs.push_back((steps[n].cut >> i & 1) != 0 ? gather(input, example, 0) : input);
    }
    std::vector<Operand> operands(inputs.begin(), inputs.end());
    std::vector<Tensor> outputs =
        apply_all(*node.op, operands, node.op->attributes == nullptr ? nullptr : node.attributes);
    for (std::size_t k = 0; k < outputs.size(); ++k) values[at(node.outputs[k])] = std::move(outputs[k]);
  }
  std::vector<Tensor> results;
  for (const Graph::Value result : graph.results) {
    results.push_back(result == Graph::kNone ? Tensor() : values[at(result)]);
  }
  Pullback row{tracer.finish(results), {Tensor(), Tensor()}};
  for (const Tensor& capture : tracer.captures()) row.inputs.push_back(capture);
  tidy(row.graph);
  return row;
}

}  // namespace capstan
