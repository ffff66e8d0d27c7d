#include "src/graph/price.h"

#include <algorithm>
#include <vector>

#include "src/core/op_for_programs.h"
#include "src/graph/control.h"
#include "src/graph/loops.h"

namespace capstan {

namespace {

// Below these the kernels run on one thread: elements of one operand or result.
constexpr std::int64_t kMostElements = 16384;
constexpr std::int64_t kMostLoopElements = 32768;

// Nanoseconds, measured on AVX-512.
constexpr double kCall = 60;
constexpr double kElement = 0.25;
constexpr double kMicroStep = 0.01;      // of a formula, for a float32
constexpr double kMultiplyAdd = 0.0125;  // of float32

// In additions.
double work_of(const MicroCode& code) {
  double work = 4;
  for (const MicroStep& step : code.steps) {
    if (step.op > MicroOp::kParameter) work += step.op < MicroOp::k_abs ? 1 : step.op < MicroOp::k_lgamma ? 20 : 200;
  }
  return work;
}

}  // namespace

Price price_of(const Graph::Node& node) {
  if (node.has_effect() || node.renew || control_of(*node.op, node.attributes) != nullptr) {
    return Price::kNever;
  }
  if (has_flag(*node.op, kReshapes) || loop_of(node)) return Price::kLight;
  if (has_flag(*node.op, kReturnsViews) || has_flag(*node.op, kUpdatesInPlace)) return Price::kNever;
  if (has_flag(*node.op, kCheapAgain)) return Price::kLight;
  return has_flag(*node.op, kCostlyAgain) ? Price::kDense : Price::kNever;
}

std::optional<double> short_time_of(const Graph& graph, const Graph::Node& node) {
  const Price price = price_of(node);
  if (price == Price::kNever || has_flag(*node.op, kReshapes)) return std::nullopt;
  const auto info = [&](Graph::Value value) -> const Graph::ValueInfo& {
    return graph.values[static_cast<std::size_t>(value)];
  };
  const Graph::ValueInfo& out = info(node.outputs[0]);
  const bool single = out.dtype == DType::kFloat32 || out.dtype == DType::kBool;
  const double by_dtype = single ? 1 : out.dtype == DType::kFloat64 ? 2 : 10;
  const auto elements = static_cast<double>(out.shape.size());
  if (price == Price::kDense) {
    const CostRule rule = for_programs(*node.op).cost;
    if (rule == nullptr || by_dtype > 2 || elements == 0) return std::nullopt;
    std::vector<Shape> inputs, outputs;
    for (const Graph::Value input : node.inputs) inputs.push_back(info(input).shape);
    for (const Graph::Value output : node.outputs) outputs.push_back(info(output).shape);
    const Cost cost = rule(inputs, outputs);
    if (cost.multiply_adds >= cost.one_thread_below) return std::nullopt;
    return kCall + kMultiplyAdd * by_dtype * cost.multiply_adds;
  }
  std::int64_t most = out.shape.size();
  for (const Graph::Value input : node.inputs) most = std::max(most, info(input).shape.size());
  const std::optional<LoopOfOp> loop = loop_of(node);
  if (most > (loop ? kMostLoopElements : kMostElements)) return std::nullopt;
  if (!loop || loop->op->formula == nullptr) return kCall + kElement * by_dtype * static_cast<double>(most);
  return kCall + kMicroStep * by_dtype * elements * work_of(code_of(*loop));
}

std::optional<double> short_time_of(const Graph& graph) {
  double sum = 0;
  for (const Graph::Node& node : graph.nodes) {
    if (price_of(node) != Price::kNever && has_flag(*node.op, kReshapes)) continue;
    const std::optional<double> time = short_time_of(graph, node);
    if (!time) return std::nullopt;
    sum += *time;
  }
  return sum;
}

}  // namespace capstan
