// What a function of the user's uses beside its arguments, found by watching a run of it: for rules that run it again,
// and that give gradients for all that it uses.
#pragma once

#include <span>
#include <vector>

#include "capstan/variable.h"
#include "src/core/context.h"

namespace capstan {

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
    outer = around;
    context.observers = this;
  }
  ~Holdings();
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;

  void record(const ObservedCall&) override {}
  void record(const CustomCall&) override {}
  void read(detail::VariableState& variable) override;

  std::vector<Held> held;

 protected:
  Observer* saved_;

 private:
  bool hides_;
};

// What a run of a function uses, hidden from tapes, which only learn of variables that are read. Tensors that tapes may
// know and that are neither arguments nor made in the run have come in by a capture.
class Uses final : public Holdings {
 public:
  explicit Uses(std::span<const Tensor> arguments)
      : Holdings(context.guard), arguments_(arguments), begin_(context.next_node) {}

  void record(const ObservedCall& call) override { note(call.inputs, call.outputs); }
  void record(const CustomCall& call) override { note(call.inputs, call.outputs); }
  void read(detail::VariableState& variable) override;

  std::vector<Tensor> captured;

 private:
  void note(std::span<const ObservedInput> inputs, std::span<Tensor> outputs);
  bool is_foreign(const ObservedInput& input) const;

  std::span<const Tensor> arguments_;
  std::uint64_t begin_;
};

// Gives variables the values that they had, and at the end those that they have now, whatever is written meanwhile.
class AsBefore {
 public:
  explicit AsBefore(const std::vector<Held>& held);
  ~AsBefore();
  AsBefore(const AsBefore&) = delete;
  AsBefore& operator=(const AsBefore&) = delete;

 private:
  Holdings now_;
};

}  // namespace capstan
