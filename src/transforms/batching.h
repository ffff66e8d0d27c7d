// Runs a graph for many items at once: what vectorized_map and jacobians are made of.
//
// A value that differs from item to item is one tensor with the axis of the items in front; any other is computed once
// for all. Each node runs by the batching rule of its op through apply, so tapes and traces see library ops, and
// gradients of what is batched exist like any others. What has no rule for its inputs runs item by item.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

// A value of all items.
struct Batched {
  Tensor tensor;
  bool per_item = false;  // has the axis of the items in front; otherwise the same for all
};

// The same with the axis of the items in any case.
Tensor with_axis(const Batched& value, std::int64_t size);

class BatchedGraph {
 public:
  // `inputs` are those of run_graph; those whose bit is set differ from item to item, and what is in their place
  // is not read. Runs all that does not depend on them, once.
  BatchedGraph(const Graph& graph, std::vector<Tensor> inputs, const std::vector<bool>& per_item);

  // The results of the graph, then the values of written variables, for `size` items, at least one. `items` are the
  // inputs that differ, in their order.
  std::vector<Batched> run(std::vector<Tensor> items, std::int64_t size) const;

  // The most memory that one item needs at a time, about.
  std::int64_t bytes_per_item() const;

 private:
  void run_node(const Graph::Node& node, std::vector<Tensor>& values, std::int64_t size) const;

  const Graph& graph_;
  std::vector<Graph::Value> items_;  // the inputs that differ
  std::vector<bool> differs_;        // of each value
  std::vector<Tensor> values_;       // those that do not, as far as they are known before there are items
  std::vector<const Graph::Node*> later_;
};

}  // namespace capstan
