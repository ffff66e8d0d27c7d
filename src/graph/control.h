// Control flow on values: nodes that hold graphs of their own.
//
// What such a node does is an immutable object; the attributes of the node are a pointer to it, and every graph that
// has the node shares it. When a graph is run under a tape, the object runs its parts through apply, so the tape sees
// the ops of the branch that was taken and of the iterations that were made; a trace that runs the graph gets the node
// as it is; and if nobody watches, each part runs as a program of its own.
//
// Effects. Which draws a loop makes is known only when it has run, but a gradient has to repeat them. A node whose
// parts have effects therefore has a first output beside the others: the log of what they gave, packed into bytes. Its
// length is known at a run only; in the graph it is uint8[0].
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/core/once.h"
#include "src/graph/graph.h"

namespace capstan {

class Program;

// The program of a graph, made when it is first asked for: a branch that is never taken is never compiled.
class LazyProgram {
 public:
  LazyProgram();
  ~LazyProgram();
  const Program& of(const Graph& graph);

 private:
  Once made_;
  std::unique_ptr<const Program> program_;
};

// One graph of a node. Its inputs are taken from the slots of the node, which are at first the node's inputs.
struct Subgraph {
  std::string name;  // "then", "body"
  Graph graph;
  std::vector<std::size_t> from;     // the slot of each input of the graph
  std::vector<std::size_t> written;  // the slots of the variables that it writes; their values follow its results
  std::shared_ptr<LazyProgram> program = std::make_shared<LazyProgram>();

  bool has_effects() const;

  // Calls f with the slot of each input of its program: those of the graph but for captures that are known.
  template <class F>
  void for_each_program_slot(const F& f) const {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!graph.values[static_cast<std::size_t>(graph.input(i))].known.has_value()) f(from[i]);
    }
  }

  // Runs it on what is in the slots and gives what run_graph gives: as a program if nobody watches, no log is kept
  // and the lengths are those of the trace, else op by op. Of `given_up`, if it is not null, the slots that are true
  // are left empty.
  void run(std::vector<Tensor>& slots, EffectLog* log, const std::vector<bool>* given_up,
           std::vector<Tensor>& values) const;

 private:
  bool has_lengths_of(const std::vector<Tensor>& slots) const;
};

// As of graphs (shapes.h).
std::string difference_of(const Subgraph& a, const Subgraph& b);
// The part for slots of these shapes, with a program of its own.
Subgraph with_lengths(const Subgraph& part, std::span<const Shape> slots);

// What depends on what: [output][input], true if there is a path along which a gradient can flow.
using Paths = std::vector<std::vector<bool>>;
// Of a graph, whose outputs are its results and the written variables, and whose inputs are those of run_graph.
Paths paths_of(const Graph& graph);
// The same with the slots of a node as inputs.
Paths paths_of(const Subgraph& part, std::size_t slots);

// How the nodes of a run can replace the node in a program.
struct Unfolding {
  bool possible = false;  // a run looks at no value, so that it can be traced
  bool again = false;     // it computes what another node has computed before
  std::int64_t log = -1;  // the input that is the log of that other node, if it had effects
};

class Control : public std::enable_shared_from_this<Control> {
 public:
  virtual ~Control() = default;

  // Computes the outputs, without the log.
  virtual std::vector<Tensor> run(std::vector<Tensor> inputs, EffectLog* log) const = 0;
  // The same when a gradient is taken of it: tapes see the ops. Only what hides them from tapes needs another one.
  virtual std::vector<Tensor> run_again(std::vector<Tensor> inputs, EffectLog* log) const {
    return run(std::move(inputs), log);
  }
  // `inputs` is how many it has. A run that is traced for this has the log in its argument, instead of that input.
  virtual Unfolding unfolding(std::size_t) const { return {}; }
  // What it gives for inputs that may have other lengths than those that it was made for. By default the outputs are
  // what they are, so it serves these alone.
  virtual void infer(const Call& call, OutputSpecs& specs) const;
  // The same for inputs of other lengths; null if it serves those alone that it was made for. Throws ShapeError for
  // lengths that it does not take.
  virtual std::shared_ptr<const Control> for_lengths(std::span<const Shape>) const { return nullptr; }
  // What is different in another of the same op, in words, as of graphs (shapes.h); empty if nothing but lengths is.
  virtual std::string difference(const Control& other) const { return this == &other ? "" : "its attributes differ"; }
  // As the batching rule of an op: computes the outputs, without the log, for many items at once. Returns false if it
  // has no way.
  virtual bool batch(const BatchCall&, std::vector<Tensor>&) const { return false; }
  // For texts: the graphs that it holds, and what else there is to know, in the form of attributes ("rows=3").
  virtual std::vector<const Subgraph*> parts() const = 0;
  virtual std::string details() const { return ""; }
  // For files: what makes it again, beside its parts; nothing if they cannot hold it.
  virtual AttributeValue form() const { return {}; }
  // For messages: what a program would call it.
  virtual std::string name() const { return std::string(op->name); }

  // These are set once, by whoever makes the object.
  const OpDef* op = nullptr;
  bool effects = false;
  bool gives_inputs = false;        // output k has the elements of input k: the node is there for its rule alone
  std::vector<OutputSpec> outputs;  // without the log
  Paths paths;                      // of the outputs without the log
};

// For Control::form().
CAPSTAN_EXPORT AttributeValue list_of(const std::vector<std::size_t>& numbers);
AttributeValue form_with(std::initializer_list<std::pair<const char*, AttributeValue>> items);

// The attributes of a node of control flow.
struct ControlAttributes {
  const Control* control;
};
extern const AttributeType kControlAttributes;

// What a node does, or null if it is not one of control flow.
CAPSTAN_EXPORT const Control* control_of(const OpDef& op, const void* attributes);

// The shape rule and the kernel of the ops of such nodes.
void infer_control(const Call& call, OutputSpecs& outputs);
void run_control_kernel(const Call& call, std::span<Tensor> outputs);

// The op of nodes that hold graphs, without its rules, which read all inputs and the log. With effects the log is the
// first output.
constexpr OpDef control_op(std::string_view name, std::string_view text, bool effects) {
  OpDef op;
  op.name = name;
  op.text = text;
  op.flags = static_cast<std::uint16_t>(kTakesAnyDTypes | kReturnsViews | kCallsOps | (effects ? kStateful : kNoFlags));
  op.outputs = kVariadic;
  op.inputs = {"inputs", kVariadic};
  op.attributes = &kControlAttributes;
  op.infer = &infer_control;
  op.kernel = &run_control_kernel;
  op.saves = {.inputs = 1, .outputs = static_cast<std::uint16_t>(effects ? 1 : 0)};
  return op;
}

// Runs it, or adds a node to the trace under way if an input is symbolic or draws have to be made anew at every run.
// `log` is that of the graph around it, or null. The outputs begin with its own log if it has effects; that is left
// empty unless it is wanted.
std::vector<Tensor> call_control(const Control& control, std::vector<Tensor> inputs, EffectLog* log, bool log_wanted);

// A log as a tensor of bytes, and back, ready to be replayed.
Tensor pack(const EffectLog& log);
EffectLog unpack(const Tensor& bytes);

}  // namespace capstan
