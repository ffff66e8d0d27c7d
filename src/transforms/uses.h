// A user function recorded as one op: its captures, found by observing one run, and the record of that run, whose rule
// runs the function again and gives gradients for all captures.
#pragma once

#include <span>
#include <vector>

#include "capstan/tape.h"
#include "capstan/variable.h"
#include "src/core/context.h"

namespace capstan {

// Tensors as the inputs of a record, before anything else becomes of them.
std::vector<ObservedInput> observed(std::span<const Tensor> tensors);

// Copies of what a function gave, which may be its arguments: a record has outputs of its own.
std::vector<Tensor> copies(std::span<const Tensor> tensors);

// A variable, and what it held.
struct Held {
  Variable variable;
  Tensor value;
};

// Notes what variables hold before they are read or written, which is announced as a read. Stands in the context for
// its life, in place of the observers inside of `around`, which come back at the end.
class Holdings : public Observer {
 public:
  explicit Holdings(Observer* around) : saved_(context.observers), hides_(around != saved_) {
    context.observers = around;
    enter();
  }
  ~Holdings();
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;

  void record(const ObservedCall&) override {}
  void record(const CustomCall&) override {}
  void read(detail::VariableState& variable) override;
  bool knows(const detail::Block*) const override { return false; }

  std::vector<Held> held;

 protected:
  Observer* saved_;

 private:
  bool hides_;
};

// What a run of a function uses, hidden from tapes, which only learn of variables that are read. Tensors that tapes may
// know and that are not made in the run have come in by a capture; so its arguments are copies, which tapes do not
// know.
class Uses final : public Holdings {
 public:
  Uses() : Holdings(context.guard), begin_(context.next_node) {}

  void record(const ObservedCall& call) override { note(call.inputs, call.outputs); }
  void record(const CustomCall& call) override { note(call.inputs, call.outputs); }
  bool knows(const detail::Block* block) const override;
  void read(detail::VariableState& variable) override;
  // What the run has given, which may be a captured tensor that no op has read.
  void note_results(std::span<const Tensor> results) { note(observed(results), {}); }

  std::vector<Tensor> captured;

 private:
  void note(std::span<const ObservedInput> inputs, std::span<Tensor> outputs);
  bool is_foreign(const ObservedInput& input) const;

  std::uint64_t begin_;
  std::size_t before_last_ = 0;  // how many were captured before the latest call
};

// What a function uses, apart from the tensors that a run of it makes: the sources of its record after its arguments.
struct Parameters {
  std::vector<Tensor> captured;
  std::vector<Held> held;      // those that may have gradients
  std::vector<Held> all_held;  // for AsBefore

  Parameters() = default;
  explicit Parameters(Uses&& uses);
  std::size_t size() const { return captured.size() + held.size(); }
  // Lets a tape watch all, while the variables hold what they held.
  void watch(GradientTape& tape) const;
  // The gradients by `arguments` and then by each of these, which the tape watches.
  std::vector<Tensor> gradients(GradientTape& tape, const std::vector<Tensor>& targets, std::vector<Tensor> arguments,
                                const GradientOptions& options) const;
  // Shows the tapes of the thread these outputs as made of `arguments` and of these, by a rule that gives gradients in
  // that order.
  void record(std::span<Tensor> outputs, std::span<const Tensor> arguments, TensorMap rule) const;

 private:
  std::vector<Variable> variables() const;
};

// Gives variables the values that they had, and at the end those that they have now, whatever is written meanwhile. If
// there are any, or draws that are repeated, and what they are used with is `known`, a trace under way is suspended,
// whose variables have other values and which would draw anew. It notes what runs meanwhile.
class AsBefore {
 public:
  AsBefore(const std::vector<Held>& held, bool known, bool draws = false);
  ~AsBefore();
  AsBefore(const AsBefore&) = delete;
  AsBefore& operator=(const AsBefore&) = delete;

 private:
  Holdings now_;
  Tracer* tracer_;
  Tracer* behind_;
};

}  // namespace capstan
