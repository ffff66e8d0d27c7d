// Loops that run on the rows of a product while they are in cache.
//
// A loop that reads the result of a matrix product or a convolution (a bias, an activation) is moved behind it if
// everything else that it reads is there, and becomes part of its step. The kernel calls it for the rows that it has
// just finished (src/kernels/epilogue.h); kernels that gain nothing from it, such as those of small products, do not,
// and the loop runs behind them. It computes the same either way. Loops with sums stay steps of their own, since sums
// go over blocks of rows that are not those of products; and so do those that wait for two short products, which may
// run at once (stages.cc), and whose kernels would not call them.
#include <algorithm>
#include <utility>

#include "src/graph/loops.h"
#include "src/graph/program.h"

namespace capstan {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void follow_products(Graph& graph) {
  constexpr std::size_t kBefore = ~std::size_t{0};  // no node makes it
  std::vector<std::size_t> maker(graph.values.size(), kBefore);
  std::vector<std::vector<std::size_t>> followers(graph.nodes.size());
  std::vector<bool> moves(graph.nodes.size());
  std::vector<Graph::Node>& nodes = graph.nodes;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i + 1;
    while (nodes[i].group != Graph::kNone && end < nodes.size() && nodes[end].group == nodes[i].group) ++end;
    // The node that makes an operand last.
    std::size_t last = kBefore;
    for (std::size_t k = i; k < end; ++k) {
      for (const Graph::Value input : nodes[k].inputs) {
        const std::size_t from = maker[at(input)];
        if (from < i && (last == kBefore || from > last)) last = from;
      }
      for (const Graph::Value output : nodes[k].outputs) maker[at(output)] = k;
    }
    const bool follows = nodes[i].group != Graph::kNone && last != kBefore && is_product(nodes[last]) &&
                         nodes[i].rerun == nodes[last].rerun;
    for (std::size_t k = i; k < end && follows; ++k) {
      followers[last].push_back(k);
      moves[k] = true;
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

void Program::attach_epilogues() {
  std::vector<bool> is_taken(steps_.size());
  for (std::size_t s = 1; s < steps_.size(); ++s) {
    Step& product = steps_[s - 1];
    if (steps_[s].group < 0 || product.group >= 0 || !is_product(*product.node)) continue;
    const Graph::Value result = outputs_of(product)[0];
    const std::span<const Graph::Value> inputs = inputs_of(steps_[s]);
    const auto found = std::find(inputs.begin(), inputs.end(), result);
    const Shape& shape = graph_.values[at(result)].shape;
    const FusedGroup& group = groups_[at(steps_[s].group)];
    if (found == inputs.end() || !group.can_follow(at(found - inputs.begin()), shape[-1])) continue;
    // A variable is updated where it lies by a step that cannot fail, which a product is not.
    const std::span<const Graph::Value> outputs = outputs_of(steps_[s]);
    const bool writes = std::any_of(graph_.captured.begin(), graph_.captured.end(), [&](const Graph::Captured& c) {
      return std::find(outputs.begin(), outputs.end(), c.written) != outputs.end();
    });
    if (writes || waits_for_another_short_product(steps_[s], product)) continue;
    product.epilogue = steps_[s].group;
    is_taken[s] = true;
  }

  // The operands of a step lie side by side: those of the product, then those of its loop.
  const std::vector<Step> before = std::exchange(steps_, {});
  const std::vector<Graph::Value> all_inputs = std::exchange(step_inputs_, {});
  const std::vector<Graph::Value> all_outputs = std::exchange(step_outputs_, {});
  const auto part = [](const std::vector<Graph::Value>& all, std::int32_t first, std::int32_t count) {
    return std::vector<Graph::Value>(all.begin() + first, all.begin() + first + count);
  };
  for (std::size_t s = 0; s < before.size(); ++s) {
    if (is_taken[s]) continue;
    std::vector<Graph::Value> inputs = part(all_inputs, before[s].first_input, before[s].inputs);
    std::vector<Graph::Value> outputs = part(all_outputs, before[s].first_output, before[s].outputs);
    if (before[s].epilogue >= 0) {
      const FusedGroup& group = groups_[at(before[s].epilogue)];
      inputs.insert(inputs.end(), group.inputs().begin(), group.inputs().end());
      outputs.insert(outputs.end(), group.outputs().begin(), group.outputs().end());
    }
    append(before[s], inputs, outputs);
  }
}

// The output of an epilogue that lies where the product lies, which nobody else reads: the loop writes each row over
// the one that it has read.
std::optional<std::size_t> Program::output_over_product(const Step& step) const {
  if (step.epilogue < 0) return std::nullopt;
  const std::span<const Graph::Value> outputs = outputs_of(step);
  const Graph::Value product = outputs[0];
  if (last_read_[at(product)] != at(&step - steps_.data())) return std::nullopt;
  const std::vector<Graph::Value>& inputs = groups_[at(step.epilogue)].inputs();
  const auto position = std::find(inputs.begin(), inputs.end(), product) - inputs.begin();
  for (std::size_t o = 1; o < outputs.size(); ++o) {
    const bool in_arena = values_[at(outputs[o])].place == Place::kArena;
    if (in_arena && groups_[at(step.epilogue)].may_overwrite(at(position), o - 1)) return o;
  }
  return std::nullopt;
}

}  // namespace capstan
