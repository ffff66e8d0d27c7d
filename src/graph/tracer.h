// Builds a graph while a function runs with symbolic tensors.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/core/context.h"
#include "src/graph/graph.h"

namespace capstan {

// Installs itself in the thread's context for its life, in place of the observers and of any enclosing trace: the trace
// of a function is a world of its own. That of a part of control flow (a branch, the body of a loop) is not: tensors of
// the traces around it, and those that tapes may know, become arguments of its graph (see captures).
class GraphTracer final : public Tracer {
 public:
  // `name` is for messages; `first` lets the function make variables.
  GraphTracer(std::string name, bool first);
  // Of a part: the trace around it is the thread's.
  explicit GraphTracer(std::string name);
  // Of what is to run for many items: a part of the trace around it, if there is one. Otherwise ops without symbolic
  // operands run at once, seen by the observers of the thread, which stay. Tensors that are not symbolic are captures
  // as well, because tapes may know them: constants of equal values would become one.
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
  // Whether a symbolic tensor is of this trace, or of those around a part.
  bool knows(const detail::Block* block) const;
  // The tensors from around it that a part has used. Its graph has an argument for each, behind those that were
  // added, in this order.
  const std::vector<Tensor>& captures() const { return captures_; }

  void trace(const OpDef& op, std::span<detail::Block* const> inputs, const void* attributes,
             std::vector<Tensor>& outputs) override;
  const Tensor& value_of(detail::VariableState& variable) override;
  void assign(detail::VariableState& variable, const Tensor& value) override;
  void renew_attributes(std::function<void(void* attributes)> renew) override;
  void creating_variable() override;

 private:
  struct Holding {
    std::size_t captured;  // position in graph_.captured
    Tensor begin;
    Tensor current;
    bool assigned = false;  // and not read since
  };

  Tensor make_symbolic(Graph::Value value);
  Graph::Value graph_value(detail::Block* block);
  Holding& holding_of(detail::VariableState& variable);

  std::string name_;
  bool first_;
  Graph graph_;
  std::unordered_map<const detail::Block*, Graph::Value> known_;
  std::vector<Tensor> held_;  // keeps the known blocks alive, so that their addresses stay theirs
  std::unordered_map<const detail::VariableState*, Holding> variables_;
  std::vector<Tensor> captures_;
  Observer* outer_observers_ = nullptr;
  Observer* outer_guard_ = nullptr;
  Tracer* outer_tracer_;
  bool hides_observers_ = true;
  bool for_items_ = false;
  bool is_part_ = false;
  GraphTracer* around_ = nullptr;  // of a part
};

}  // namespace capstan
