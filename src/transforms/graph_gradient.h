// The derivatives of a call of a graph: op by op, which any tape can see, and as programs of their own, which are
// traced when they are first needed and fuse the loops of the call and of its derivative.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/core/once.h"
#include "src/graph/graph.h"
#include "src/graph/program.h"

namespace capstan {

// The gradients by the inputs of a run (see run_graph), given the cotangents of its results that exist. `effects` is
// what its nodes with effects gave. Outer tapes that record see all of it, which gives higher orders.
std::vector<Tensor> gradients_of(const Graph& graph, std::vector<Tensor> inputs, std::vector<Tensor> effects,
                                 std::span<const Tensor> cotangents);

// The tangents of the results that exist, given those of some inputs.
std::vector<Tensor> tangents_of(const Graph& graph, std::vector<Tensor> inputs, std::vector<Tensor> effects,
                                std::span<const Tensor> tangents);

// The same two for a graph without effects, when nobody watches.
class GraphTangent {
 public:
  std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs, std::span<const Tensor> tangents);

 private:
  std::mutex mutex_;
  std::map<std::vector<bool>, std::unique_ptr<Program>> programs_;  // by which inputs have a tangent
};

class GraphGradient {
 public:
  // With the budget of the program; see Program.
  std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs, std::span<const Tensor> cotangents,
                          std::size_t budget);

 private:
  void make(const Graph& graph, std::size_t budget);

  Once made_;
  std::unique_ptr<Program> program_;
  std::vector<std::optional<Shape>> rows_;  // by gradient: the shape of a row-sparse one, which is two results
};

}  // namespace capstan
