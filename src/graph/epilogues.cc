// What runs on the rows of a result while they are in cache.
//
// A loop that reads the result of a matrix product or a convolution (a bias, an activation) is moved after it if
// everything else that it reads is there, and becomes part of its step. So are sums over the rows of that result, or of
// what the loop makes of it (the moments of batch normalisation; src/core/op_for_programs.h). The kernel calls them for
// the rows that it has just finished (src/core/execution.h); kernels that gain nothing from it, such as those of
// small products, do not, and they run after them. What is computed is the same either way, in every bit. Loops that
// end in sums stay steps of their own, since those go over blocks of rows that are not those of products; and so do
// loops that wait for two short products, which may run at once (stages.cc), and whose kernels would not call them.
#include <algorithm>
#include <utility>

#include "src/core/op_for_programs.h"
#include "src/graph/execution_plan.h"
#include "src/graph/loops.h"
#include "src/graph/stages.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool finishes_rows(const Graph::Node& node) { return has_flag(*node.op, kFinishesRows); }

}  // namespace

void follow_products(Graph& graph) {
  constexpr std::size_t kBefore = ~std::size_t{0};  // no node makes it
  // By value: the node that makes it, or the product after which that runs.
  std::vector<std::size_t> maker(graph.values.size(), kBefore);
  std::vector<std::vector<std::size_t>> followers(graph.nodes.size());
  std::vector<bool> moves(graph.nodes.size());
  std::vector<Graph::Node>& nodes = graph.nodes;
  for (std::size_t i = 0; i < nodes.size();) {
    const std::size_t end = graph.end_of_unit(i);
    const bool is_loop = nodes[i].group != Graph::kNone;
    // What makes an operand last.
    std::size_t last = kBefore;
    for (std::size_t k = i; k < end; ++k) {
      for (const Graph::Value input : nodes[k].inputs) {
        const std::size_t from = maker[at(input)];
        if (from < i && (last == kBefore || from > last)) last = from;
      }
      for (const Graph::Value output : nodes[k].outputs) maker[at(output)] = k;
    }
    const bool follows = (is_loop || for_programs(*nodes[i].op).row_sums.with_sums != nullptr) && last != kBefore &&
                         finishes_rows(nodes[last]) && nodes[i].rerun == nodes[last].rerun;
    for (std::size_t k = i; k < end && follows; ++k) {
      followers[last].push_back(k);
      moves[k] = true;
      for (const Graph::Value output : nodes[k].outputs) maker[at(output)] = last;
    }
    i = end;
  }
  std::vector<Graph::Node> ordered;
  ordered.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (moves[i]) continue;
    ordered.push_back(std::move(nodes[i]));
    for (const std::size_t follower : followers[i]) ordered.push_back(std::move(nodes[follower]));
  }
  nodes = std::move(ordered);
}

namespace {

bool can_have_loop(const ExecutionPlan& plan, const Step& product, const Step& loop) {
  if (loop.group < 0) return false;
  const Graph::Value result = plan.outputs_of(product)[0];
  const std::span<const Graph::Value> inputs = plan.inputs_of(loop);
  const auto found = std::find(inputs.begin(), inputs.end(), result);
  const Shape& shape = plan.graph.values[at(result)].shape;
  const FusedGroup& group = plan.groups[at(loop.group)];
  if (found == inputs.end() || !group.can_follow(at(found - inputs.begin()), shape[-1])) return false;
  if (waits_for_another_short_product(plan, loop, product)) return false;
  // A variable is updated where it lies by a step that cannot fail, which a product is not.
  return std::none_of(plan.graph.captured.begin(), plan.graph.captured.end(), [&](const Graph::Captured& captured) {
    return is_among(plan.outputs_of(loop), captured.written);
  });
}

// `loop` is null if the product has none.
bool can_have_sums(const ExecutionPlan& plan, const Step& product, const Step* loop, const Step& sums) {
  const RowSumsRule how = sums.group < 0 ? for_programs(*sums.node->op).row_sums : RowSumsRule();
  if (how.with_sums == nullptr) return false;
  // The loop may write over the product.
  const std::span<const Graph::Value> made = plan.outputs_of(loop != nullptr ? *loop : product);
  const std::span<const Graph::Value> inputs = plan.inputs_of(sums);
  const Graph::Value summed = inputs[at(how.input)];
  const Graph::ValueInfo& info = plan.graph.values[at(summed)];
  if (!is_among(made, summed) || info.shape != plan.graph.values[at(plan.outputs_of(product)[0])].shape) return false;
  if (info.dtype != DType::kFloat32 && info.dtype != DType::kFloat64) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_new = is_among(made, inputs[i]) || is_among(plan.outputs_of(product), inputs[i]);
    if (is_new && i != at(how.input)) return false;
  }
  return true;
}

}  // namespace

void attach_epilogues(ExecutionPlan& plan) {
  std::vector<bool> is_taken(plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    Step& product = plan.steps[s];
    if (product.group >= 0 || !finishes_rows(*product.node)) continue;
    const Step* loop = nullptr;
    std::size_t next = s + 1;
    if (next < plan.steps.size() && can_have_loop(plan, product, plan.steps[next])) {
      loop = &plan.steps[next];
      product.epilogue = loop->group;
      is_taken[next++] = true;
    }
    if (next < plan.steps.size() && can_have_sums(plan, product, loop, plan.steps[next])) {
      product.sums = plan.steps[next].node;
      is_taken[next] = true;
    }
  }
  plan.join_steps(is_taken);
}

}  // namespace capstan
