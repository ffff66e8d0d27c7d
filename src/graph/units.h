// What a compiled graph runs as one (the steps of its plan), and what lies in memory in between, as far as that is
// known before it is laid out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

// A loop, a kernel with the loops and sums around it, or a single op.
struct Unit {
  std::vector<std::size_t> nodes;  // in order
  // What comes from outside and what is read there, each once.
  std::vector<Graph::Value> operands, outputs;
  bool makes_outputs = false;  // views, whose operands live as long as they
  bool overwrites = false;     // an output may lie where an operand ends
};

struct Units {
  static constexpr std::int32_t kNobody = -1;

  explicit Units(const Graph& graph);

  std::vector<Unit> units;
  // By value:
  std::vector<std::int32_t> maker;  // a unit; kNobody if it is there when the run begins
  std::vector<bool> in_prologue;    // made in passing, by each unit that reads it
  std::vector<bool> inside;         // nobody reads it outside of its unit
  std::vector<bool> leaves;         // it leaves the run, or a view of it does
  std::vector<std::size_t> bytes;   // in the arena
  std::vector<std::int32_t>
      written_by;  // of a variable: the unit that makes its next value, which may lie in its place

 private:
  void find_units(const Graph& graph);
  void find_operands(const Graph& graph);
  void find_bytes(const Graph& graph);
};

// Adds a value unless it is there.
void add_once(std::vector<Graph::Value>& values, Graph::Value value);

}  // namespace capstan
