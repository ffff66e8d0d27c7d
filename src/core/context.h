// What a thread is doing: the observers that watch its operations.
//
// `core` knows nothing of tapes or traces. Whoever wants to see operations derives from Observer and installs itself in
// the thread's Context; `apply` notifies all of them. Every call that an observer gets is on its own thread.
#pragma once

#include <cstdint>
#include <span>

#include "capstan/tensor.h"

namespace capstan {

struct OpDef;

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

class Observer {
 public:
  // An op has run. An observer that records it gives unnumbered outputs numbers from next_nodes().
  virtual void record(const ObservedCall& call) = 0;
  // A variable was read; its value block is about to be an input.
  virtual void read(detail::VariableState& variable) = 0;

  Observer* outer = nullptr;  // the observer installed before this one

 protected:
  ~Observer() = default;
};

struct Context {
  Observer* observers = nullptr;  // innermost first
  std::uint64_t next_node = 0;    // the number that the next recorded output gets
  std::uint64_t nodes_end = 0;    // where this thread's range of numbers ends
};

// Constant-initialised and of the initial-exec model: an access is one instruction.
extern thread_local constinit Context context __attribute__((tls_model("initial-exec"), visibility("hidden")));

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

// Suspends every observer of the thread for a scope, as stop_gradient does.
class PauseObservers {
 public:
  PauseObservers() : saved_(context.observers) { context.observers = nullptr; }
  ~PauseObservers() { context.observers = saved_; }
  PauseObservers(const PauseObservers&) = delete;
  PauseObservers& operator=(const PauseObservers&) = delete;

 private:
  Observer* saved_;
};

}  // namespace capstan
