// Ops that go along axes: reductions, places of extrema, running sums, softmax.
#include <string>

#include "src/onnx/export.h"

namespace capstan::onnx {
namespace {

std::string reduced(const OpCall& c, const std::string& x, std::string_view with) {
  const std::vector<std::int64_t> axes = c.axes("axis", c.rank());
  if (axes.empty()) return with == "ReduceL2" ? c.node("Abs", {x}) : x;
  return c.node(with, {x, c.integers_of(axes)}, {attribute("keepdims", c.truth("keepdims") ? 1 : 0)});
}
void reduce(OpCall& c) { c.give(reduced(c, c.in(0), c.onnx())); }
// Truth values as whole numbers, which more runtimes reduce, also where there are none.
void reduce_truth(OpCall& c) {
  c.give(c.cast_to(reduced(c, c.cast_to(c.in(0), DType::kInt32), c.onnx()), DType::kBool));
}

void write_extremum(OpCall& c) {
  const std::string place =
      c.node(c.onnx(), {c.in(0)}, {attribute("axis", c.axis("axis", c.rank())), attribute("keepdims", 0)});
  c.give(c.out_dtype() == DType::kInt64 ? place : c.cast_to(place, c.out_dtype()));
}

void write_cumsum(OpCall& c) {
  c.give(
      c.node("CumSum", {c.in(0), c.scalar(c.axis("axis", c.rank()), DType::kInt64)},
             {attribute("exclusive", c.truth("exclusive") ? 1 : 0), attribute("reverse", c.truth("reverse") ? 1 : 0)}));
}

void along_axis(OpCall& c) { c.give(c.node(c.onnx(), {c.in(0)}, {attribute("axis", c.axis("axis", c.rank()))})); }

void write_l2_loss(OpCall& c) {
  const std::string squares = c.node("ReduceSumSquare", {c.in(0)}, {attribute("keepdims", 0)});
  c.give(c.node("Mul", {squares, c.scalar(0.5)}));
}

constexpr ExportRow kReductionRows[] = {
    {"argmax", write_extremum, "ArgMax"},
    {"argmin", write_extremum, "ArgMin"},
    {"cumsum", write_cumsum},
    {"l2_loss", write_l2_loss},
    {"log_softmax", along_axis, "LogSoftmax"},
    {"reduce_all", reduce_truth, "ReduceProd"},
    {"reduce_any", reduce_truth, "ReduceSum"},
    {"reduce_euclidean_norm", reduce, "ReduceL2"},
    {"reduce_max", reduce, "ReduceMax"},
    {"reduce_mean", reduce, "ReduceMean"},
    {"reduce_min", reduce, "ReduceMin"},
    {"reduce_prod", reduce, "ReduceProd"},
    {"reduce_sum", reduce, "ReduceSum"},
    {"softmax", along_axis, "Softmax"},
};

}  // namespace

std::span<const ExportRow> reduction_rows() { return kReductionRows; }

}  // namespace capstan::onnx
