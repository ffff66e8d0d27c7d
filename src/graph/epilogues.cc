// What runs on the rows of a result while they are in cache.
//
// A loop that reads the result of a matrix product or a convolution (a bias, an activation) becomes part of its step if
// everything else that it reads is there when that begins. So do sums over the rows of that result, or of what the
// loop makes of it (the moments of batch normalisation; src/core/op_for_programs.h). The kernel calls them for the rows
// that it has just finished (src/core/execution.h); kernels that gain nothing from it, such as those of small products,
// do not, and they run after them. What is computed is the same either way, in every bit. Loops that end in sums stay
// steps of their own, since those go over blocks of rows that are not those of products; and so do loops that wait for
// two short products, which may run at once (stages.cc), and whose kernels would not call them.
#include <algorithm>

#include "src/core/op_for_programs.h"
#include "src/graph/execution_plan.h"
#include "src/graph/stages.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;

constexpr std::size_t kBefore = ~std::size_t{0};  // no step makes it

bool finishes_rows(const Step& step) { return step.group < 0 && has_flag(*step.node->op, kFinishesRows); }

bool can_have_loop(const ExecutionPlan& plan, const Step& product, const Step& loop) {
  // Sums are those of what a loop makes, if there is one.
  if (loop.group < 0 || product.epilogue >= 0 || product.sums != nullptr) return false;
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

bool can_have_sums(const ExecutionPlan& plan, const Step& product, const Step& sums) {
  const RowSumsRule how = sums.group < 0 ? for_programs(*sums.node->op).row_sums : RowSumsRule();
  if (how.with_sums == nullptr || product.sums != nullptr) return false;
  // The loop may write over the product.
  const std::span<const Graph::Value> result = plan.outputs_of(product);
  const std::span<const Graph::Value> made =
      product.epilogue >= 0 ? std::span<const Graph::Value>(plan.groups[at(product.epilogue)].outputs()) : result;
  const std::span<const Graph::Value> inputs = plan.inputs_of(sums);
  const Graph::Value summed = inputs[at(how.input)];
  const Graph::ValueInfo& info = plan.graph.values[at(summed)];
  if (!is_among(made, summed) || info.shape != plan.graph.values[at(result[0])].shape) return false;
  if (info.dtype != DType::kFloat32 && info.dtype != DType::kFloat64) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_new = is_among(made, inputs[i]) || is_among(result, inputs[i]);
    if (is_new && i != at(how.input)) return false;
  }
  return true;
}

}  // namespace

void attach_epilogues(ExecutionPlan& plan) {
  // By value: the step that makes it, or that which the maker has become part of.
  std::vector<std::size_t> maker(plan.graph.values.size(), kBefore);
  std::vector<bool> is_taken(plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    // What makes an operand last.
    std::size_t last = kBefore;
    for (const Graph::Value input : plan.inputs_of(step)) {
      const std::size_t from = maker[at(input)];
      if (from != kBefore && (last == kBefore || from > last)) last = from;
    }
    if (last != kBefore && finishes_rows(plan.steps[last]) && step.node->rerun == plan.steps[last].node->rerun) {
      Step& product = plan.steps[last];
      if (can_have_loop(plan, product, step)) {
        product.epilogue = step.group;
        is_taken[s] = true;
      } else if (can_have_sums(plan, product, step)) {
        product.sums = step.node;
        is_taken[s] = true;
      }
    }
    for (const Graph::Value output : plan.outputs_of(step)) maker[at(output)] = is_taken[s] ? last : s;
  }
  plan.join_steps(is_taken);
}

}  // namespace capstan
