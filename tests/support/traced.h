// Graphs of small functions, and their runs, for the tests of passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/graph/graph.h"
#include "src/graph/program.h"

namespace capstan::testing {

using Tensors = std::vector<Tensor>;
using Body = std::function<Tensors(const Tensors& arguments)>;

struct Argument {
  Shape shape;
  DType dtype = float32;
};

// Numbers between -1 and 1.
Tensor filled(const Shape& shape, std::uint64_t seed, DType dtype = float32);

// The graph of a function as it was traced, before any pass.
Graph trace(const std::vector<Argument>& arguments, const Body& body);
// The same for arguments like these tensors.
Graph trace_like(const Tensors& arguments, const Body& body);

// The text of a graph, behind an empty line: expected texts are raw strings that begin with one.
std::string text_of(const Graph& graph);

// Runs a program as a function does: written variables get their new values. Returns the results.
Tensors run(const Program& program, const Tensors& arguments);
// The same for a graph, op by op.
Tensors run(const Graph& graph, const Tensors& arguments);

// A program of the body gives what the body gives, twice, with every bit; variables are set back in between and end
// with the body's values, which must be the same as well.
void expect_same_runs(const Tensors& arguments, const Body& body, const std::vector<Variable>& variables = {});

// The same with machine code and tiles, on one thread and several.
void expect_same_everywhere(const Tensors& arguments, const Body& body, const std::vector<Variable>& variables = {});

// Several threads run a program at once, each with its own arguments, and get what the graph gives, with every bit.
void expect_same_in_threads(const Graph& graph, int threads, const std::function<Tensors(int thread)>& arguments);

// The steps of a program as profiles name them, in the order of their names: "loop(add, relu); matmul".
std::string steps_of(const Tensors& arguments, const Body& body);

// Small steps, drawn at random, over two matrices [4, 4], a row [4], and a variable [4, 4], if there is one, which some
// of them write.
Tensors random_steps(std::uint64_t seed, int steps, const Tensors& in, const Variable* variable = nullptr);

// No two values that are needed at the same time share memory of the program's arena.
void expect_apart(const Program& program);

// The bytes of all values that a program keeps in its arena, as if none shared any.
std::size_t bytes_without_sharing(const Program& program);

}  // namespace capstan::testing
