// What is known of the values of a graph before it runs: captured tensors, and what follows from them alone.
#pragma once

#include <vector>

#include "src/graph/graph.h"

namespace capstan {

// Whether a node reads one of the values that are marked.
bool reads_any(const Graph::Node& node, const std::vector<bool>& marked);

// Whether the elements of all that a known node gives are at hand.
bool is_held(const Graph& graph, const Graph::Node& node);

// Makes constants of what is known, so that captures are no arguments any more and nobody can differentiate by them.
// Those of the captures whose bit is set stay arguments, and what follows from them nodes.
void bind_known(Graph& graph, const std::vector<bool>& open = {});

// Which nodes a run skips, because their outputs are known and nobody knows what they follow from. `inputs` are the
// arguments of the run. Empty: none.
std::vector<bool> nodes_to_skip(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace capstan
