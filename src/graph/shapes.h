// One trace for many shapes.
//
// A trace is made for tensors of certain lengths, but its nodes say what is done, not how long things are: for other
// lengths the same nodes are right, with the shapes of their results inferred anew. That fails where C++ code looked at
// a length while it was traced and put a number that depends on it into the graph: a literal, an attribute, the choice
// of an op. Nothing in one trace gives that away, but it shows in two: traces of two lengths that are equal in all but
// the shapes of values hold no such number, chance aside. Which lengths are tried
// is decided by the caller (src/transforms/shape_family.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

// What is different in two graphs of one function, in words; empty if it is nothing but the shapes of values. The first
// `argument_variables` captured variables are arguments and may be any.
std::string difference_of(const Graph& a, const Graph& b, std::size_t argument_variables);

// Whether two constants have the same dtype, shape and bits.
CAPSTAN_EXPORT bool equal_constants(const Tensor& a, const Tensor& b);

// Infers the outputs of nodes of a graph. Operands are stand-ins without elements, those of constants aside.
class NodeInference {
 public:
  explicit NodeInference(const Graph& graph) : graph_(graph), stand_ins_(graph.values.size()) {}
  // The shapes of the node's inputs must be known by now.
  OutputSpecs infer(const Graph::Node& node);

 private:
  detail::Block* block_of(Graph::Value value);

  const Graph& graph_;
  std::vector<Tensor> stand_ins_;  // by value
  std::vector<detail::Block*> inputs_;
};

// The graph for arguments of other shapes: those of its tensors, in order. Throws what inferring a shape throws, and
// ShapeError if a captured variable would change its shape.
Graph with_shapes(const Graph& graph, std::span<const Shape> arguments);

// An input of which only the shape is read becomes a stand-in without elements, so that no run computes it or keeps it
// for that. Only now: while the lengths are open, the shape has to come from the value.
void detach_shapes(Graph& graph);

// What follows from constants alone (the size of a tensor, for one) is computed now, if it is small.
void fold_constants(Graph& graph);

}  // namespace capstan
