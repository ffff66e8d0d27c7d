// Graph: a traced function, as values and the ops between them.
//
// Nodes are in the order in which the function ran, which is a topological order and that of every effect. A value
// is an argument, the value of a captured variable at the start of a call, a constant, or the output of a node.
//
// A tensor from outside that a traced function uses is a constant to its runs, but somebody may differentiate by it. So
// the graph of a trace has an argument for it (a capture), whose elements are known, and a node for each op that ran on
// such tensors while the function was traced, whose outputs are known. Who differentiates passes the tensor that he
// knows, and gets the ops; for all others, and for programs, what is known is a constant (see known.h).
//
// A variable has no nodes of its own: a read yields the value that the last write before it gave, and what it holds at
// the end is written back when everything has run, so a run that fails changes no variable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capstan/graph_nodes.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "src/core/op_def.h"

namespace capstan {

class Backend;
class Control;

// Values, nodes and steps are counted by numbers that may be negative; vectors are not.
inline std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }
inline std::int32_t index(std::size_t place) { return static_cast<std::int32_t>(place); }

struct Graph {
  // A position in `values`.
  using Value = std::int32_t;
  static constexpr Value kNone = -1;

  struct ValueInfo {
    DType dtype;
    Shape shape;
    Tensor constant;    // empty: not a constant
    Tensor known = {};  // of a capture or an output of a node: the elements that it has in every run
  };

  struct Node {
    const OpDef* op;
    std::vector<Value> inputs;
    std::vector<Value> outputs;
    alignas(16) std::byte attributes[64] = {};
    // Writes the attributes anew before every run, but none that infer reads; empty for most nodes.
    std::function<void(void* attributes)> renew;
    // What infer hands on to the kernel, once no pass changes the node any more; see linearize.
    std::vector<std::byte> geometry;
    // Bit i: this is the last that happens to the value of input i; nobody reads output i. See mark_last_reads.
    std::uint64_t last_reads = 0;
    std::uint64_t unread_outputs = 0;
    Value group = kNone;     // the number of its loop; see form_groups
    std::int32_t rerun = 0;  // the number of the second run that it belongs to; 0: of none, -1: see meet_budget
    bool is_known = false;   // its outputs are known: it is there for who differentiates

    // True if it runs whether its outputs are used or not.
    bool has_effect() const { return has_flag(*op, kStateful); }
  };

  struct Captured {
    Variable variable;
    Value value;            // what it holds when a call begins
    Value written = kNone;  // what it holds at the end, if that is something else
  };

  std::vector<ValueInfo> values;
  std::vector<Node> nodes;
  std::vector<Value> arguments;
  std::vector<Captured> captured;
  std::vector<Value> results;
  // What the nodes of control flow do, which their attributes refer to (see control.h).
  std::vector<std::shared_ptr<const Control>> controls;

  // The inputs of a run: the arguments, then the variables.
  std::size_t input_count() const { return arguments.size() + captured.size(); }
  Value input(std::size_t i) const {
    return i < arguments.size() ? arguments[i] : captured[i - arguments.size()].value;
  }

  // Calls f with every value that is needed when all nodes have run.
  template <class F>
  void for_each_result(const F& f) const {
    for (const Value result : results) {
      if (result != kNone) f(result);
    }
    for (const Captured& variable : captured) {
      if (variable.written != kNone) f(variable.written);
    }
  }

  // The end of the loop that begins with a node, or of the node itself if it is in none.
  std::size_t end_of_unit(std::size_t begin) const {
    std::size_t end = begin + 1;
    if (nodes[begin].group == kNone) return end;
    while (end < nodes.size() && nodes[end].group == nodes[begin].group) ++end;
    return end;
  }

  Value add_value(DType dtype, const Shape& shape, Tensor constant = {}) {
    values.push_back({dtype, shape, std::move(constant), {}});
    return static_cast<Value>(values.size()) - 1;
  }
};

inline bool is_among(std::span<const Graph::Value> values, Graph::Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Whether an op reads no element of its input i.
inline bool reads_shape_only(const Graph::Node& node, std::size_t i) {
  return (node.op->shape_inputs >> (node.op->inputs.count == kVariadic ? 0 : i) & 1) != 0;
}

// The lists of passes are in compile.cc. What a trace keeps: for tapes and enclosing traces, which run it op by op,
// and to be compiled.
void tidy(Graph& graph);

// What a program gets, whose lengths are known and which has no gradients: all passes before the graph is laid out. A
// budget of 0 is none.
void compile(Graph& graph, std::size_t budget = 0);

// Nodes whose outputs nobody needs and that have no effect are removed.
void remove_dead(Graph& graph);

// Equal pure ops of equal inputs, and equal constants of one element, become one.
void merge_duplicates(Graph& graph);

// Constants of one element that lie on a device become copies on the host, where passes can look at them.
void read_numbers(Graph& graph);
// The device that a constant lies on, or null.
Backend* backend_of_constants(const Graph& graph);

// A node that gives the elements of another value (a copy, x * 1, what is transposed twice) becomes that value or a
// reshape of it, with every bit; for programs, which have no gradients to tell them apart.
void simplify(Graph& graph);

// Ops that say what they are made of are taken apart, so that their loops can be fused with others; so are nodes of
// control flow whose run looks at no value. What such a node computes for a second time is a rerun of its own.
void expand(Graph& graph);

// Attention between transposes, which bring the heads of its operands together and those of its result apart again,
// reads and writes heads where they are.
void attention_heads(Graph& graph);

// Steps of optimizers that nobody waits for go to the end, where they may write in place.
void updates_last(Graph& graph);

// Gives the nodes of each fused loop a number and puts them side by side. What a rerun computes joins no loop of
// anything else: that would be as early as the first run, whose values it is there to replace.
void form_groups(Graph& graph);

// Products of matrices that read one operand in common become one node, where that pays.
void merge_products(Graph& graph);

// If the arena of the program needs more than so many bytes, values that are kept for long are computed a second time
// where they are read, until it suffices or nothing is left to gain. Comes when loops have been formed.
void meet_budget(Graph& graph, std::size_t budget);

// Notes where values are read last, so that a run can give up their buffers. Comes after all other passes.
void mark_last_reads(Graph& graph);

// One line per node: `%5 = add(%1, %4) float32[2, 3]`. The graphs that a node of control flow holds are below it,
// indented, with numbers of their own, each after its name and the inputs of the node that its arguments stand for.
std::string to_text(const Graph& graph);
// Each node before those that use it. What control flow does inside is one node.
std::vector<GraphNode> to_nodes(const Graph& graph);
// The same for Graphviz's dot.
std::string to_dot(const Graph& graph);

// What the nodes with effects gave in a run, in order, for a run that repeats it, as a gradient needs.
struct EffectLog {
  std::vector<Tensor> values;
  bool replay = false;   // false: values are noted; true: they are taken instead of running the nodes again
  std::size_t next = 0;  // the one that is taken next

  static EffectLog again(std::vector<Tensor> values) { return {std::move(values), true, 0}; }
};

// Runs the nodes through apply and returns the results, followed by the values to write to captured variables (in the
// order of `captured`, only those that are written). `inputs` are the arguments and then the values of the captured
// variables; an argument that dies in the run may be given up there. `log` may be null.
std::vector<Tensor> run_graph(const Graph& graph, std::vector<Tensor> inputs, EffectLog* log = nullptr);

}  // namespace capstan
