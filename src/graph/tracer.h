// Builds a graph while a function runs with symbolic tensors.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/core/context.h"
#include "src/graph/graph.h"

namespace capstan {

// Installs itself in the thread's context for its life, in place of the observers and of any enclosing trace. Tensors
// of the traces around it become arguments of its graph, and so do differentiable ones that exist already, as long as
// somebody else holds them or may know them (see captures). Ops on these alone run at once, seen by the tapes that were
// opened in the trace, and are noted as nodes whose outputs are known: tapes around the trace may ask later. For that
// the trace has an observer of its own, which no pause suspends.
class GraphTracer final : public Tracer {
 public:
  // Of what becomes a program, which nobody differentiates: there are no captures, and nothing is noted.
  // `name` is for messages; `first` lets it make variables.
  explicit GraphTracer(std::string name, bool first = false);
  // Of a function.
  struct OfFunction {
    bool first = false;
  };
  GraphTracer(std::string name, OfFunction function);
  // Of a part of the trace around it: a branch, the body of a loop.
  struct OfPart {};
  GraphTracer(std::string name, OfPart);
  // Of what is to run for many items: a part of the trace around it, if there is one. Otherwise the observers of the
  // thread stay and see the ops that run at once. Here every tensor that is used becomes a capture, and is not known:
  // whoever runs the graph has computed it before.
  struct ForItems {};
  GraphTracer(std::string name, ForItems);
  ~GraphTracer();
  GraphTracer(const GraphTracer&) = delete;
  GraphTracer& operator=(const GraphTracer&) = delete;

  // A symbolic argument of the function.
  Tensor add_argument(DType dtype, const Shape& shape);
  // An argument that is a variable: what it holds comes from the caller.
  void add_argument(const Variable& variable);
  // Ends the trace: these are the results, empty ones aside.
  Graph finish(const std::vector<Tensor>& results);
  // Whether a symbolic tensor is of this trace, or of those around it.
  bool knows(const detail::Block* block) const;
  // The tensors from outside that it has used, when it has ended. Its graph has an argument for each, after those that
  // were added, in this order. Those among them that are row-sparse are dense in the graph: whoever runs it converts
  // them, so that those who know the rows are told.
  const std::vector<Tensor>& captures() const { return captures_; }
  // Adds an op that has run on tensors that are not symbolic.
  void note(const ObservedCall& call);

  void trace(const OpDef& op, std::span<detail::Block* const> inputs, const void* attributes,
             std::vector<Tensor>& outputs) override;
  bool notes() const override { return notes_; }
  const Tensor& value_of(detail::VariableState& variable) override;
  void assign(detail::VariableState& variable, const Tensor& value) override;
  void renew_attributes(std::function<void(void* attributes)> renew) override;
  bool is_live(const detail::Block* block) const override;
  void creating_variable() override;

 private:
  struct Holding {
    std::size_t captured;  // position in graph_.captured
    Tensor begin;
    Tensor current;
    bool assigned = false;  // and not read since
  };

  // A tensor from outside that has been used; its value is a constant as long as it is not known what becomes of it.
  struct Foreign {
    Graph::Value value;
    Tensor tensor;  // itself, unless it is that constant
    bool is_symbolic = false;
  };

  enum class Kind : std::uint8_t { kProgram, kFunction, kPart, kItems };
  GraphTracer(std::string name, Kind kind, bool first);

  Tensor make_symbolic(Graph::Value value);
  Graph::Value graph_value(detail::Block* block);
  bool is_made_here(const detail::Block* block) const;
  void note_dense(detail::Block* row_sparse, const Tensor& dense);
  Holding& holding_of(detail::VariableState& variable);
  void use(Graph::Value value);
  void add_captures();
  void settle_notes();
  void forget_unused();

  std::string name_;
  Kind kind_;
  bool first_;
  bool notes_;
  bool parts_note_;
  Graph graph_;
  std::unordered_map<const detail::Block*, Graph::Value> known_;
  std::vector<Tensor> held_;  // keeps symbolic blocks alive, so that their addresses stay theirs
  std::unordered_map<const detail::VariableState*, Holding> variables_;
  std::vector<Foreign> foreign_;
  std::vector<Tensor> captures_;
  std::vector<Graph::Value> noted_;  // what ops have given that were noted
  std::int64_t noted_bytes_ = 0;     // how much memory that keeps
  std::vector<bool> used_;           // by value: an op of the graph reads it that was not noted
  Observer* outer_observers_;
  Observer* outer_guard_;
  Tracer* outer_tracer_;
  GraphTracer* around_ = nullptr;  // the trace around it, but of a program
};

}  // namespace capstan
