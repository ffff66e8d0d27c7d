// Which op keeps a gradient from flowing through a graph; for explain().
#pragma once

#include <cstddef>

#include "src/graph/graph.h"

namespace capstan {

struct Flow {
  bool exists = false;         // the result is computed from the input
  const OpDef* cut = nullptr;  // an op without a gradient that all ways pass through; null if a gradient flows
};

// From an input of a run (see run_graph) to a result that exists.
Flow flow_between(const Graph& graph, std::size_t input, std::size_t result);

}  // namespace capstan
