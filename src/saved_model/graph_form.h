// A traced graph as a dynamic value, which becomes JSON in a file.
//
//     {"inputs": [0, 1], "constants": [[2, 0]], "nodes": [["matmul", [0, 2], [3], {"transpose_a": true}]],
//      "results": [3], "variables": [0], "writes": []}
//
// Values are counted. A constant is its value and its place in the tables, a node its op, inputs, outputs and those
// attributes that are not the defaults. The last inputs are what these variables of the tables hold at first, the last
// results what those that are written hold at the end. A result of -1 is empty. A node of control flow has its parts as
// a fifth: graphs whose inputs are in the slots "from" of the node, and whose last results belong into the slots
// "written".
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "capstan/registry.h"
#include "capstan/variable.h"
#include "src/graph/graph.h"

namespace capstan::saved_model {

// What the graphs of a file share.
class Tables {
 public:
  std::int64_t number_of(const Tensor& constant);
  std::int64_t number_of(const Variable& variable);

  std::vector<Tensor> constants;
  std::vector<Variable> variables;

 private:
  std::unordered_map<const void*, std::int64_t> numbers_;
};

// Adds to `refused` what cannot be saved.
AttributeValue form_of(const Graph& graph, Tables& tables, std::vector<std::string>& refused);

}  // namespace capstan::saved_model
