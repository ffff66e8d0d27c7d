// Graphs as data: what a traced function or a model is made of, for logs, pictures and tools.
#pragma once

#include <string>
#include <vector>

namespace capstan {

/// A place in a graph: an argument, a variable, a constant or an op of a traced function, or a layer of a model.
struct GraphNode {
  std::string name;                  ///< no other node of the graph has it; slashes group: "block/dense"
  std::string op;                    ///< "matmul", "argument", "variable", "constant"; of a layer its class
  std::vector<std::string> inputs;   ///< names of nodes; "split:1" is the result 1 of "split", and "split" its result 0
  std::vector<std::string> outputs;  ///< what it gives: "float32[32, 10]"; open lengths as traced
};

}  // namespace capstan
