// Attention on heads that are side by side in rows, without the copies that bring each together.
//
// Projections give [batch, length, heads, depth], or all three operands as [batch, length, 3, heads, depth], attention
// wants [batch, heads, length, depth]. The transposes in between take a tenth of the time of a small transformer, and
// the kernels take rows that lie apart as well as others. So where all operands of an attention are such transposes and
// its result is transposed back, the attention takes and gives what is on the other sides of them; and so do its
// gradients, which may be put together again as the parts of one tensor.
//
// Nothing else may read a result, which is no longer there. An operand may have other readers: its transpose stays for
// them.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "src/core/op_for_programs.h"
#include "src/graph/graph.h"
#include "src/ops/array/array.h"
#include "src/ops/array/shape.h"

namespace capstan {

namespace {

using Value = Graph::Value;

// [batch, length, heads, depth] to [batch, heads, length, depth], and back.
constexpr int kSwap[] = {0, 2, 1, 3};
// [batch, length, parts, heads, depth] to [parts, batch, heads, length, depth], and back.
constexpr int kPartsFirst[] = {2, 0, 3, 1, 4};
constexpr int kPartsInside[] = {1, 3, 0, 2, 4};

class Heads {
 public:
  explicit Heads(Graph& graph) : graph_(graph), makers_(graph.values.size(), kNone), readers_(graph.values.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const Value output : graph.nodes[n].outputs) makers_[at(output)] = n;
      for (const Value input : graph.nodes[n].inputs) readers_[at(input)].push_back(n);
    }
    graph.for_each_result([&](Value value) { readers_[at(value)].push_back(kNone); });
  }

  void run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const HeadsInRows& twin = for_programs(*graph_.nodes[n].op).heads_in_rows;
      if (twin.op != nullptr) take(n, twin);
    }
    if (changed_) remove_dead(graph_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // An operand [batch, heads, length, depth], as the part of a value that has heads in rows.
  struct Place {
    Value value;
    int part = 0;
  };

  const Graph::Node* maker(Value value) const {
    const std::size_t n = makers_[at(value)];
    return n == kNone ? nullptr : &graph_.nodes[n];
  }
  // The only one that reads a value, or null.
  Graph::Node* reader(Value value) const {
    const std::vector<std::size_t>& all = readers_[at(value)];
    return all.size() == 1 && all[0] != kNone ? &graph_.nodes[all[0]] : nullptr;
  }
  int rank(Value value) const { return graph_.values[at(value)].shape.rank(); }
  bool transposes(const Graph::Node* node, std::span<const int> perm) const {
    return node != nullptr && is_transpose(*node->op, node->attributes, perm) &&
           rank(node->inputs[0]) == static_cast<int>(perm.size());
  }

  std::optional<Place> place_of(Value operand) const {
    const Graph::Node* const node = maker(operand);
    if (transposes(node, kSwap)) return Place{node->inputs[0]};
    if (node == nullptr || !unstacks_in_front(*node->op, node->attributes, rank(node->inputs[0]))) return std::nullopt;
    const Graph::Node* const whole = maker(node->inputs[0]);
    if (!transposes(whole, kPartsFirst)) return std::nullopt;
    const auto part = std::find(node->outputs.begin(), node->outputs.end(), operand) - node->outputs.begin();
    return Place{whole->inputs[0], static_cast<int>(part)};
  }

  // What becomes of the results: the outputs of the transposes that alone read them.
  struct Results {
    std::vector<Value> values;
    std::vector<Graph::Node*> made_by;
    bool joined = false;
  };
  std::optional<Results> results_of(const Graph::Node& node, std::size_t parts) const {
    Results results;
    for (const Value output : node.outputs) {
      Graph::Node* const next = reader(output);
      if (!transposes(next, kSwap)) return joined_results_of(node, parts);
      results.values.push_back(next->outputs[0]);
      results.made_by.push_back(next);
    }
    return results;
  }
  std::optional<Results> joined_results_of(const Graph::Node& node, std::size_t parts) const {
    const Graph::Node* const stack = reader(node.outputs[0]);
    if (stack == nullptr || node.outputs.size() != parts || stack->inputs != node.outputs) return std::nullopt;
    for (const Value output : node.outputs) {
      if (reader(output) != stack) return std::nullopt;
    }
    if (!stacks_in_front(*stack->op, stack->attributes, rank(stack->outputs[0]))) return std::nullopt;
    Graph::Node* const next = reader(stack->outputs[0]);
    if (!transposes(next, kPartsInside)) return std::nullopt;
    return Results{{next->outputs[0]}, {next}, true};
  }

  void take(std::size_t n, const HeadsInRows& twin) {
    Graph::Node& node = graph_.nodes[n];
    const DType dtype = graph_.values[at(node.inputs[0])].dtype;
    if (node.renew || rank(node.inputs[0]) != 4 || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) return;
    std::vector<Value> values;
    std::vector<int> parts;
    for (std::size_t i = 0; i < twin.operands; ++i) {
      const std::optional<Place> place = place_of(node.inputs[i]);
      if (!place || (i >= twin.parts && rank(place->value) != 4)) return;
      values.push_back(place->value);
      parts.push_back(place->part);
    }
    std::optional<Results> results = results_of(node, twin.parts);
    if (!results) return;
    for (const Graph::Node* made_by : results->made_by) {
      if (made_by->rerun != node.rerun) return;
    }
    alignas(std::max_align_t) std::byte attributes[sizeof(node.attributes)] = {};
    twin.attributes(node.attributes, parts, results->joined, attributes);
    std::memcpy(node.attributes, attributes, sizeof(attributes));
    node.op = twin.op;
    std::copy(values.begin(), values.end(), node.inputs.begin());
    node.outputs = results->values;
    for (const Value output : node.outputs) makers_[at(output)] = n;
    // Whoever made them has nothing left to make.
    for (Graph::Node* made_by : results->made_by) {
      const Graph::ValueInfo info = graph_.values[at(made_by->outputs[0])];
      made_by->outputs[0] = graph_.add_value(info.dtype, info.shape);
    }
    changed_ = true;
  }

  Graph& graph_;
  std::vector<std::size_t> makers_;                // by value
  std::vector<std::vector<std::size_t>> readers_;  // by value; kNone: the results of the graph
  bool changed_ = false;
};

}  // namespace

void attention_heads(Graph& graph) { Heads(graph).run(); }

}  // namespace capstan
