// What a thread is doing: the observers that watch its operations.
//
// `core` knows nothing of tapes or traces. Whoever wants to see operations derives from Observer and installs itself in
// the thread's Context; `apply` notifies all of them. Every call that an observer gets is on its own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

class Backend;
struct OpDef;
struct KeyLog;
namespace emit {
class Program;
}
namespace detail {
struct PassSettings;
struct CallScope;
}  // namespace detail

// One input of an observed op, noted before it ran: the kernel may reuse the block, and then its number changes.
struct ObservedInput {
  detail::Block* block;
  std::uint64_t node;
};

// An op that has just run.
struct ObservedCall {
  const OpDef& op;
  std::span<const ObservedInput> inputs;
  const void* attributes;
  std::span<Tensor> outputs;
};

// How a function that counts as one op is differentiated.
using TensorMap = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
struct CustomRule {
  TensorMap vjp;            // cotangents of the outputs -> of the inputs; an empty tensor is a missing one
  TensorMap jvp = nullptr;  // tangents of the inputs, some of them empty -> of the outputs; null: follows from vjp
};

// A function that has just run as one op.
struct CustomCall {
  std::span<const ObservedInput> inputs;
  std::span<Tensor> outputs;
  const CustomRule& rule;
};

class Observer {
 public:
  // An op has run. An observer that records it gives unnumbered outputs numbers from next_nodes().
  virtual void record(const ObservedCall& call) = 0;
  virtual void record(const CustomCall& call) = 0;
  // A variable was read; its value block is about to be an input.
  virtual void read(detail::VariableState& variable) = 0;
  // Whether it matters to this observer what a tensor that exists already is used for.
  virtual bool knows(const detail::Block* block) const = 0;

  Observer* outer = nullptr;  // the observer installed before this one

 protected:
  ~Observer() = default;
  // Pushes this observer as the thread's innermost; leave() removes it from any position.
  inline void enter();
  inline void leave();

 private:
  void leave_from_within();
};

// The other road: while a function is traced, an op with a symbolic operand, and any op that depends on more than its
// operands, becomes a node of its graph instead of running. Everything else runs as ever, and is noted: its elements
// are known, but whoever differentiates the graph later may know what it was computed from.
class Tracer {
 public:
  // Adds an op and makes its outputs, which are symbolic.
  virtual void trace(const OpDef& op, std::span<detail::Block* const> inputs, const void* attributes,
                     std::vector<Tensor>& outputs) = 0;
  // Whether ops that have run during the trace are noted.
  virtual bool notes() const = 0;
  // What a variable holds at this point of the trace; symbolic.
  virtual const Tensor& value_of(detail::VariableState& variable) = 0;
  virtual void assign(detail::VariableState& variable, const Tensor& value) = 0;
  // Before every run of the op that was traced last, `renew` writes its attributes.
  virtual void renew_attributes(std::function<void(void* attributes)> renew) = 0;
  // Whether a symbolic tensor is a value of this trace or of one that it is made within.
  virtual bool is_live(const detail::Block* block) const = 0;
  // A variable is about to be made. Throws ValueError if this is not the time for it.
  virtual void creating_variable() = 0;

 protected:
  ~Tracer() = default;
};

struct Context {
  Observer* observers = nullptr;  // innermost first
  Tracer* tracer = nullptr;       // of the function that is being traced
  Tracer* behind = nullptr;       // of one that is suspended for what is known, and notes it (see AsBefore)
  std::uint64_t next_node = 0;    // the number that the next recorded output gets
  std::uint64_t nodes_end = 0;    // where this thread's range of numbers ends
  Observer* guard = nullptr;      // the outermost observer, which no pause suspends: that of numbers
                                  // (check_numerics.cc), or in a trace that of the trace (src/graph/tracer.cc)
  const OpDef* rule = nullptr;    // whose gradient is computed, while there is a guard
  KeyLog* keys = nullptr;         // notes or repeats the keys of random draws (see key_log.h)

  // What other files know of the thread. It is here, so that there is one variable of a thread to look at.
  Backend* backend = nullptr;     // where tensors are made of nothing; null: on the processor (backend.cc)
  bool runs_task = false;         // of the pool: thread_pool.cc
  bool is_dataset_stage = false;  // src/data/cursor.cc
  int open_examples = 0;          // src/train/layer.cc
  std::int64_t memory_budget = std::numeric_limits<std::int64_t>::max() / 2;  // bytes: allocator.cc
  std::uint64_t* seeds = nullptr;                                             // a stream of its own: seed_stream.cc
  emit::Program* recorded = nullptr;                                          // src/emit/record-inl.h
  detail::CallScope* layer_call = nullptr;                                    // src/train/layer.cc
  const detail::PassSettings* pass_settings = nullptr;                        // src/data/tuning.cc
};

// Constant-initialised and of the initial-exec model: an access is one instruction.
extern thread_local constinit Context context __attribute__((tls_model("initial-exec"), visibility("hidden")));

void Observer::enter() {
  outer = context.observers;
  context.observers = this;
}

void Observer::leave() {
  if (context.observers == this) [[likely]] {
    context.observers = outer;
  } else {
    leave_from_within();
  }
}

// Shows a call to an observer and those around it, the outermost first: what an observer does about a call is seen by
// those around it, and they have to know the call by then.
template <class Call>
[[gnu::noinline]] void notify_nested(Observer* observer, const Call& call) {
  if (observer->outer != nullptr) notify_nested(observer->outer, call);
  observer->record(call);
}
template <class Call>
inline void notify(Observer* observer, const Call& call) {
  if (observer->outer == nullptr) [[likely]] {
    observer->record(call);
  } else {
    notify_nested(observer, call);
  }
}

// Tells the observers that a variable is read.
inline void notify_read(detail::VariableState& variable) {
  for (Observer* o = context.observers; o != nullptr; o = o->outer) o->read(variable);
}

// Whether somebody on the thread knows a tensor.
inline bool is_known(const detail::Block* block) {
  for (const Observer* o = context.observers; o != nullptr; o = o->outer) {
    if (o->knows(block)) return true;
  }
  return false;
}

// Whether anybody may know a tensor, on the thread or not: it was recorded, with the number `node`, or watched.
inline bool may_be_known(const detail::Block* block, std::uint64_t node) {
  return node != 0 || (block->flags.load(std::memory_order_relaxed) & detail::Block::kLeaf) != 0;
}
inline bool may_be_known(const detail::Block* block) { return may_be_known(block, block->node); }

// Makes sure that the thread has numbers to give; throws Error when a tape's range is used up.
void reserve_nodes();

// Hands out `count` consecutive numbers and returns the first.
inline std::uint64_t next_nodes(int count) {
  if (context.next_node + static_cast<std::uint64_t>(count) > context.nodes_end) [[unlikely]]
    reserve_nodes();
  const std::uint64_t first = context.next_node;
  context.next_node += static_cast<std::uint64_t>(count);
  return first;
}

// Suspends the trace while a variable and its initial value are made, which happens now.
class CreateVariables {
 public:
  CreateVariables() : saved_(context.tracer) {
    if (saved_ != nullptr) saved_->creating_variable();
    context.tracer = nullptr;
  }
  ~CreateVariables() { context.tracer = saved_; }
  CreateVariables(const CreateVariables&) = delete;
  CreateVariables& operator=(const CreateVariables&) = delete;

 private:
  Tracer* saved_;
};

// Suspends the trace and all observers for a scope: what runs is no part of the user's program.
class SuspendTrace {
 public:
  SuspendTrace() : observers_(context.observers), guard_(context.guard), tracer_(context.tracer) {
    context.observers = context.guard = nullptr;
    context.tracer = nullptr;
  }
  ~SuspendTrace() {
    context.observers = observers_;
    context.guard = guard_;
    context.tracer = tracer_;
  }
  SuspendTrace(const SuspendTrace&) = delete;
  SuspendTrace& operator=(const SuspendTrace&) = delete;

 private:
  Observer* observers_;
  Observer* guard_;
  Tracer* tracer_;
};

// Suspends every observer of the thread but its guard for a scope, as stop_gradient does, or those inside of `around`.
class PauseObservers {
 public:
  explicit PauseObservers(Observer* around = context.guard) : saved_(context.observers) { context.observers = around; }
  ~PauseObservers() { context.observers = saved_; }
  PauseObservers(const PauseObservers&) = delete;
  PauseObservers& operator=(const PauseObservers&) = delete;

 private:
  Observer* saved_;
};

}  // namespace capstan
