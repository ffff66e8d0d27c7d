// What passes need to know of elementwise nodes: which loop one runs, and how its operands lie against its result.
#pragma once

#include <optional>

#include "src/emit/fused_loop.h"
#include "src/graph/graph.h"
#include "src/ops/array/layout.h"

namespace capstan {

// What a loop reads from outside.
constexpr std::size_t kMostOperands = 40;

// The loop of a node: its own formula, or what the op says it is (OpDef::loop); nothing if it is more than a loop.
std::optional<LoopOfOp> loop_of(const Graph::Node& node);

// The formula of a loop as data, and as the library's function for a dtype.
const MicroCode& code_of(const LoopOfOp& loop);
Loop function_of(const LoopOfOp& loop, DType dtype);

// How an operand of shape `in` is read for a result of shape `out`, in a range of rows and columns. `columns` is 0 if
// any number will do.
struct Placement {
  FusedLoop::Access access;
  std::int64_t columns;
};
// Nothing if rows and columns do not suffice.
std::optional<Placement> placement_of(const Shape& in, const Shape& out);

// A sum that a node computes of its first input, over all elements or over rows.
struct SumOfNode {
  std::int64_t columns;  // 0 for all elements
  std::int64_t divisor;  // of a mean; else 1
};
std::optional<SumOfNode> sum_of(const Graph& graph, const Graph::Node& node);

// How the only result of a node lies in its first input or around it, if it does.
std::optional<Layout> layout_of_node(const Graph& graph, const Graph::Node& node);

}  // namespace capstan
