// Loops that make what a kernel reads, part by part, so that it is never held as a whole.
//
// A loop with one result that only kernels with the flag kReadsRows read, as their first operand, is run by those
// kernels (src/core/execution.h): a normalised image exists only row by row, in front of a maximum. Every further
// reader gets a copy of the loop, if that is cheap: the gradient of the maximum computes the image again rather than
// reading it. A loop must not read more in whole images than it writes, or more would be kept for the later reader.
#include <algorithm>
#include <utility>

#include "src/graph/execution_plan.h"
#include "src/graph/loops.h"
#include "src/graph/units.h"

namespace capstan {

namespace {

using Value = Graph::Value;

// Instructions for an element that a further reader may spend.
constexpr std::size_t kCheap = 24;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Prologues {
 public:
  explicit Prologues(Graph& graph) : graph_(graph), readers_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const Value input : graph.nodes[i].inputs) readers_[at(input)].push_back(i);
      if (graph.nodes[i].group != Graph::kNone) groups_ = std::max(groups_, graph.nodes[i].group + 1);
    }
    graph.for_each_result([&](Value value) { readers_[at(value)].push_back(kNobody); });
  }

  void run() {
    std::vector<std::vector<Graph::Node>> before(graph_.nodes.size());
    std::vector<bool> moves(graph_.nodes.size());
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count;) {
      const std::size_t end = graph_.end_of_unit(i);
      const Value result = graph_.nodes[i].group == Graph::kNone ? Graph::kNone : result_for_readers(i, end);
      if (result != Graph::kNone) {
        const std::vector<std::size_t> readers = readers_[at(result)];
        for (std::size_t r = 1; r < readers.size(); ++r) before[readers[r]] = copy_for(readers[r], i, end, result);
        for (std::size_t k = i; k < end; ++k) {
          moves[k] = true;
          before[readers[0]].push_back(std::move(graph_.nodes[k]));
        }
      }
      i = end;
    }
    std::vector<Graph::Node> ordered;
    ordered.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (moves[i]) continue;
      std::move(before[i].begin(), before[i].end(), std::back_inserter(ordered));
      ordered.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(ordered);
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};  // reads a result of the graph

  bool is_inside(Value value, std::size_t begin, std::size_t end) const {
    return std::all_of(readers_[at(value)].begin(), readers_[at(value)].end(),
                       [&](std::size_t reader) { return reader >= begin && reader < end; });
  }

  // The one result of a loop whose readers can run it.
  Value result_for_readers(std::size_t begin, std::size_t end) const {
    Value result = Graph::kNone;
    std::size_t cost = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const Graph::Node& node = graph_.nodes[k];
      const std::optional<LoopOfOp> loop = loop_of(node);
      if (!loop) return Graph::kNone;  // a sum
      cost += cost_of(code_of(*loop));
      if (is_inside(node.outputs[0], begin, end)) continue;
      if (result != Graph::kNone) return Graph::kNone;
      result = node.outputs[0];
    }
    if (result == Graph::kNone) return Graph::kNone;
    const std::vector<std::size_t>& readers = readers_[at(result)];
    const bool all_run_it = std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
      return reader != kNobody && runs(graph_.nodes[reader], result, graph_.nodes[begin].rerun);
    });
    const bool once = readers.size() == 1;
    return all_run_it && (once || (cost <= kCheap && reads_one_image(begin, end, result))) ? result : Graph::kNone;
  }

  bool runs(const Graph::Node& reader, Value result, std::int32_t rerun) const {
    const Graph::ValueInfo& info = graph_.values[at(result)];
    return has_flag(*reader.op, kReadsRows) && reader.inputs[0] == result && info.shape.rank() > 0 &&
           (info.dtype == DType::kFloat32 || info.dtype == DType::kFloat64) && reader.rerun == rerun &&
           std::count(reader.inputs.begin(), reader.inputs.end(), result) == 1;
  }

  static std::size_t cost_of(const MicroCode& code) {
    Recording recording;
    std::copy(code.steps.begin(), code.steps.end(), recording.steps);
    recording.count = static_cast<int>(code.steps.size());
    return static_cast<std::size_t>(recording.cost());
  }

  bool reads_one_image(std::size_t begin, std::size_t end, Value result) const {
    std::vector<Value> images;
    for (std::size_t k = begin; k < end; ++k) {
      for (const Value input : graph_.nodes[k].inputs) {
        const bool is_own = std::any_of(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                        graph_.nodes.begin() + static_cast<std::ptrdiff_t>(end),
                                        [&](const Graph::Node& node) { return node.outputs[0] == input; });
        const bool is_image = graph_.values[at(input)].shape.size() == graph_.values[at(result)].shape.size();
        if (!is_own && is_image) add_once(images, input);
      }
    }
    return images.size() <= 1;
  }

  // The loop once more; the reader reads what it gives.
  std::vector<Graph::Node> copy_for(std::size_t reader, std::size_t begin, std::size_t end, Value result) {
    std::vector<Graph::Node> copy(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                  graph_.nodes.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t k = 0; k < copy.size(); ++k) {
      const Value old = copy[k].outputs[0];
      const Value made = graph_.add_value(graph_.values[at(old)].dtype, graph_.values[at(old)].shape);
      copy[k].outputs[0] = made;
      copy[k].group = groups_;
      for (std::size_t later = k + 1; later < copy.size(); ++later) {
        std::replace(copy[later].inputs.begin(), copy[later].inputs.end(), old, made);
      }
      if (old == result) graph_.nodes[reader].inputs[0] = made;
    }
    ++groups_;
    return copy;
  }

  Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;  // by value: nodes
  std::int32_t groups_ = 0;
};

}  // namespace

void precede_readers(Graph& graph) { Prologues(graph).run(); }

void attach_prologues(ExecutionPlan& plan) {
  std::vector<std::size_t> readers(plan.graph.values.size());
  for (const Graph::Value input : plan.step_inputs) ++readers[at(input)];
  plan.graph.for_each_result([&](Value value) { ++readers[at(value)]; });
  std::vector<bool> is_taken(plan.steps.size());
  for (std::size_t s = 1; s < plan.steps.size(); ++s) {
    const ExecutionPlan::Step& loop = plan.steps[s - 1];
    ExecutionPlan::Step& reader = plan.steps[s];
    if (loop.group < 0 || reader.group >= 0 || !has_flag(*reader.node->op, kReadsRows)) continue;
    const Value operand = plan.inputs_of(reader)[0];
    const std::span<const Value> made = plan.outputs_of(loop);
    if (made.size() != 1 || made[0] != operand || readers[at(operand)] != 1) continue;
    if (!plan.groups[at(loop.group)].can_precede(plan.graph.values[at(operand)].shape[-1])) continue;
    reader.prologue = loop.group;
    plan.values[at(operand)].place = ExecutionPlan::Place::kPassing;
    is_taken[s - 1] = true;
  }
  plan.join_steps(is_taken);
}

}  // namespace capstan
