// One trace of a function, and its calls.
//
// A call under tapes is one record for them. Its rule runs the stored graph again under a tape of its own, op by op, so
// that gradients of any order exist; draws and other effects are not repeated but taken from the call. Captured tensors
// are constants of the program; those that somebody around the call knows are inputs of the record, and the rule takes
// a graph that has arguments for them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capstan/tape.h"
#include "src/graph/graph.h"
#include "src/graph/program.h"
#include "src/transforms/graph_gradient.h"

namespace capstan {

class ConcreteState;

// A graph as tapes see it run, and its derivatives.
struct ObservedGraph {
  Graph graph;
  mutable GraphGradient gradient;
  mutable GraphTangent tangent;
};

// What a run needs for a moment, empty before it and after; the caller keeps the memory.
struct RunBuffers {
  std::vector<detail::Block*> blocks;
  std::vector<detail::VariableState*> variables;

  void clear() {
    blocks.clear();
    variables.clear();
  }
};

// For one list of shapes. It lives as long as its function, or as a tape that has recorded a call of it. Complete when
// `raw` is in place and make_program() has been called.
struct Trace : std::enable_shared_from_this<Trace> {
  // Results that are row-sparse, each of which is two of the graph: the position of its indices there, and its shape.
  using RowResults = std::vector<std::pair<std::size_t, Shape>>;

  std::string name;
  Graph raw;                              // as it was made: calls within other traces run it, and shapes may be open
  std::vector<Tensor> captures;           // the last arguments of `raw`
  std::shared_ptr<const void> structure;  // of the result, without its tensors
  RowResults rows;

  ObservedGraph plain;  // without captures
  std::optional<Program> program;
  std::size_t budget = 0;
  bool has_effects = false;
  bool is_short = false;  // a run takes a few microseconds on this thread and calls nothing of the user

  void make_program(std::size_t memory_budget);
  // Whether the symbolic tensors among its captures are of the trace under way.
  bool serves_here() const { return !is_bound_ || knows_captures(); }
  // Runs it on the arguments of a call and assigns the variables that it writes.
  void run(std::span<const Source> leaves, RunBuffers& buffers, std::vector<Tensor>& outputs) const;

 private:
  struct Call;
  bool knows_captures() const;
  // With those captures that somebody knows as inputs, between the arguments and the variables.
  const ObservedGraph& with_captures(const std::vector<bool>& known) const;
  std::vector<Tensor> run_and_record(const std::vector<Tensor>& inputs, std::size_t tensors) const;

  bool is_bound_ = false;  // a capture is symbolic
  mutable std::mutex mutex_;
  mutable std::map<std::vector<bool>, std::unique_ptr<ObservedGraph>> with_captures_;
};

// The graph of a concrete function as it was made, for those that write it down: the last arguments are captures, whose
// elements are known.
CAPSTAN_EXPORT const Graph& traced_graph(const ConcreteState& state);

}  // namespace capstan
