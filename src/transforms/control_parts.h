// A node of control flow in the making: its parts are traced one after the other, and what they use from around them
// becomes inputs of the node.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/function.h"
#include "src/graph/control.h"

namespace capstan {

class ControlParts {
 public:
  // The first inputs of the node; they have slots 0, 1, ...
  ControlParts(std::string_view op, std::vector<Tensor> inputs)
      : op_(op), captured_from_(inputs.size()), slots_(std::move(inputs)) {}

  // An argument of a part: what is in this slot, as this.
  struct Argument {
    std::size_t slot;
    OutputSpec spec;
  };
  // Arguments that are the slots from `first` on.
  std::vector<Argument> arguments(std::size_t first, std::size_t count) const;

  // Traces a part. `structure`, if it is not null, gets what the body returns.
  Subgraph trace(std::string name, std::span<const Argument> arguments, const detail::FunctionBody& body,
                 std::shared_ptr<void>* structure = nullptr);

  // The inputs so far, and how many there are.
  const std::vector<Tensor>& slots() const { return slots_; }
  std::size_t size() const { return slots_.size(); }
  // The input for what a part uses, made if there is none yet.
  std::size_t slot_of(const Tensor& tensor);
  std::size_t slot_of(const Variable& variable);

  // Runs the node, or adds it to the trace around it, and assigns what it gives for the variables whose slots these
  // are. Returns the other outputs.
  std::vector<Tensor> finish(const Control& control, std::span<const std::size_t> written) const;

 private:
  struct Captured {
    Variable variable;
    std::size_t slot;
  };
  std::string_view op_;
  std::size_t captured_from_;  // the first slot that is not an argument
  std::vector<Tensor> slots_;
  std::vector<Captured> variables_;
};

}  // namespace capstan
