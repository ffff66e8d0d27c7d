#include "src/transforms/row_pullback.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/graph/control.h"
#include "src/graph/tracer.h"
#include "src/ops/batching.h"
#include "src/ops/math.h"
#include "src/ops/registry.h"
#include "src/ops/shape.h"
#include "src/tape/derived.h"

namespace capstan {

namespace {

std::size_t at(Graph::Value value) { return static_cast<std::size_t>(value); }

enum class Kind : std::uint8_t {
  kSame,  // does not depend on the cotangent
  kRow,   // has one example, of all those that it has in the full pass, where the others are zeros
  kFull,  // has no axis of examples, and depends on the cotangent
};

// How an op is run on one example.
struct Step {
  std::vector<bool> cut;  // the inputs of which only the example is taken
  Kind result;
};

bool is_true(const Graph::Node& node, std::string_view name) {
  for (int i = 0; i < node.op->attributes->field_count; ++i) {
    const AttributeField& field = node.op->attributes->fields[i];
    if (field.name == name) return field.get(node.attributes).truth;
  }
  return false;
}

class Plan {
 public:
  Plan(const Graph& graph, std::int64_t examples)
      : graph_(graph), examples_(examples), kinds_(graph.values.size(), Kind::kSame) {
    kinds_[at(graph.arguments[0])] = Kind::kRow;
  }

  Kind kind(Graph::Value value) const { return kinds_[at(value)]; }

  // Nothing if it is not known how.
  std::optional<Step> step(const Graph::Node& node) {
    Kind most = Kind::kSame;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Kind kind = kinds_[at(node.inputs[i])];
      if (kind == Kind::kRow || most == Kind::kSame) most = kind;
      // Its shape is that of one example.
      if (kind == Kind::kRow && reads_shape_only(node, i)) return std::nullopt;
    }
    // Behind the axis of examples the op is what it is.
    std::optional<Step> step = Step{std::vector<bool>(node.inputs.size()), most};
    if (most == Kind::kRow) step = node.outputs.size() == 1 ? step_of(node) : std::nullopt;
    if (step) {
      for (const Graph::Value output : node.outputs) kinds_[at(output)] = step->result;
    }
    return step;
  }

 private:
  const Shape& shape(Graph::Value value) const { return graph_.values[at(value)].shape; }
  bool has_examples(Graph::Value value, int rank) const {
    return shape(value).rank() == rank && rank > 0 && shape(value)[0] == examples_;
  }
  bool is_row(const Graph::Node& node, std::size_t i) const { return kinds_[at(node.inputs[i])] == Kind::kRow; }
  bool is_same(const Graph::Node& node, std::size_t i) const { return kinds_[at(node.inputs[i])] == Kind::kSame; }
  int rank(const Graph::Node& node, std::size_t i) const { return shape(node.inputs[i]).rank(); }

  // All inputs but the rows are the same for all items; those with an axis of examples in that of the result are cut.
  std::optional<Step> by_element(const Graph::Node& node) const {
    Step step{std::vector<bool>(node.inputs.size()), Kind::kRow};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_row(node, i)) continue;
      if (!is_same(node, i)) return std::nullopt;
      step.cut[i] = has_examples(node.inputs[i], shape(node.outputs[0]).rank());
    }
    return step;
  }

  // The first axis of every input is that of examples.
  std::optional<Step> by_example(const Graph::Node& node) const {
    Step step{std::vector<bool>(node.inputs.size()), Kind::kRow};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_row(node, i)) continue;
      if (!is_same(node, i) || !has_examples(node.inputs[i], rank(node, i))) return std::nullopt;
      step.cut[i] = true;
    }
    return step;
  }

  std::optional<Step> matmul(const Graph::Node& node) const {
    const bool turn_a = is_true(node, "transpose_a") || is_true(node, "adjoint_a");
    const bool turn_b = is_true(node, "transpose_b") || is_true(node, "adjoint_b");
    // Rows times a matrix.
    if (is_row(node, 0) && is_same(node, 1) && !turn_a && rank(node, 1) == 2) return Step{{false, false}, Kind::kRow};
    // A sum over the examples.
    if (rank(node, 0) != 2 || rank(node, 1) != 2 || !turn_a || turn_b) return std::nullopt;
    if (is_row(node, 1) && is_same(node, 0)) return Step{{true, false}, Kind::kFull};
    if (is_row(node, 0) && is_same(node, 1)) return Step{{false, true}, Kind::kFull};
    return std::nullopt;
  }

  std::optional<Step> step_of(const Graph::Node& node) const {
    static const OpDef* const kMatmul = find_op("matmul");
    static const OpDef* const kReshapeLike = find_op("reshape_like");
    static const OpDef* const kFilterGradient = find_op("conv2d_backprop_filter");
    const OpDef& op = *node.op;
    if (is_derived(op)) return is_row(node, 0) ? by_element(node) : std::nullopt;
    if (&op == &kAdd) return is_row(node, 0) && is_row(node, 1) ? by_element(node) : std::nullopt;
    if (&op == kMatmul) return matmul(node);
    if (op.batch == batch_examples) return by_example(node);
    if (&op == kFilterGradient && is_row(node, 1) && is_same(node, 0) && rank(node, 0) == 4 && rank(node, 1) == 4) {
      return Step{{true, false}, Kind::kFull};
    }
    if (&op == kReshapeLike && is_row(node, 0) && has_examples(node.inputs[1], rank(node, 1))) {
      return Step{{false, true}, Kind::kRow};
    }
    if (&op == &kSumLike && is_row(node, 0)) {
      if (has_examples(node.inputs[1], rank(node, 0))) return Step{{false, true}, Kind::kRow};
      return Step{{false, false}, Kind::kFull};
    }
    return std::nullopt;
  }

  const Graph& graph_;
  std::int64_t examples_;
  std::vector<Kind> kinds_;
};

}  // namespace

std::optional<Pullback> pullback_of_row(const Pullback& full) {
  const Graph& graph = full.graph;
  const Graph::ValueInfo& cotangent = graph.values[at(graph.arguments[0])];
  Plan plan(graph, cotangent.shape[0]);
  std::vector<Step> steps;
  for (const Graph::Node& node : graph.nodes) {
    if (node.has_effect() || control_of(*node.op, node.attributes) != nullptr) return std::nullopt;
    std::optional<Step> step = plan.step(node);
    if (!step) return std::nullopt;
    steps.push_back(*std::move(step));
  }
  const auto is_row = [&](Graph::Value result) { return result != Graph::kNone && plan.kind(result) == Kind::kRow; };
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
      inputs.push_back(steps[n].cut[i] ? gather(input, example, 0) : input);
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
