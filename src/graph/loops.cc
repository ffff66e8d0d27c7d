#include "src/graph/loops.h"

#include <bit>

#include "src/core/apply.h"
#include "src/ops/reduce/reduce.h"

namespace capstan {

std::optional<LoopOfOp> loop_of(const Graph::Node& node) {
  const OpDef& op = *node.op;
  if (op.loop != nullptr) return op.loop(node.attributes);
  if (op.kind != OpKind::kElementwise) return std::nullopt;
  const auto positions = (1u << op.inputs.count) - 1;
  return LoopOfOp{&op, -1, positions,
                  op.attributes == nullptr ? nullptr : reinterpret_cast<const double*>(node.attributes)};
}

const MicroCode& code_of(const LoopOfOp& loop) {
  return loop.input < 0 ? loop.op->formula->forward : loop.op->formula->vjp[loop.input];
}

Loop function_of(const LoopOfOp& loop, DType dtype) {
  const LoopTable& table = loops_of(*loop.op, dtype);
  return loop.input < 0 ? table.forward[static_cast<int>(dtype)] : table.vjp[loop.input][static_cast<int>(dtype)];
}

std::optional<Placement> placement_of(const Shape& in, const Shape& out) {
  using Access = FusedLoop::Access;
  if (in.size() == out.size()) return Placement{Access::kFull, 0};
  if (in.size() == 1) return Placement{Access::kScalar, 0};
  // The axes of the result in turn: those along which the operand advances must be all the first or all the last.
  std::int64_t lengths[2] = {1, 1};
  bool advances[2] = {};
  int parts = 0;
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == 1) continue;
    const int axis = i - (out.rank() - in.rank());
    const bool advance = axis >= 0 && in[axis] != 1;
    if (parts > 0 && advances[parts - 1] == advance) {
      lengths[parts - 1] *= out[i];
    } else if (parts == 2) {
      return std::nullopt;
    } else {
      advances[parts] = advance;
      lengths[parts++] = out[i];
    }
  }
  return Placement{advances[0] ? Access::kColumn : Access::kRow, lengths[1]};
}

std::optional<SumOfNode> sum_of(const Graph& graph, const Graph::Node& node) {
  if (node.inputs.empty()) return std::nullopt;
  const Graph::ValueInfo& x = graph.values[static_cast<std::size_t>(node.inputs[0])];
  ReduceShape shape;
  bool mean = false;
  if (!is_sum(*node.op, node.attributes, x.shape, graph.values[static_cast<std::size_t>(node.outputs[0])].shape, &shape,
              &mean)) {
    return std::nullopt;
  }
  const std::int64_t divisor = mean ? shape.reduced_count() : 1;
  if (shape.reduced_count() < 1 || shape.kept_count() < 1) return std::nullopt;
  if (shape.kept_count() == 1) return SumOfNode{0, divisor};
  if (shape.axes == 2 && shape.reduced[0]) return SumOfNode{shape.length[1], divisor};
  return std::nullopt;
}

std::optional<Layout> layout_of_node(const Graph& graph, const Graph::Node& node) {
  constexpr std::size_t kMost = 2;  // inputs of such an op
  if (node.outputs.size() != 1 || node.inputs.empty() || node.inputs.size() > kMost) return std::nullopt;
  Tensor like[kMost];
  TensorRef operands[kMost];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Graph::ValueInfo& info = graph.values[static_cast<std::size_t>(node.inputs[i])];
    like[i] = symbolic(info.dtype, info.shape);
    operands[i] = TensorRef(like[i].block());
  }
  const void* const attributes = node.op->attributes == nullptr ? nullptr : node.attributes;
  return layout_of({*node.op, std::span(operands, node.inputs.size()), attributes});
}

}  // namespace capstan
