// Spans: what a program is doing, for a profile of where its time goes (capstan/profile.h).
//
// A span is around everything that takes time: an op, a fused loop, a rule of the reverse pass, a call of a
// function, an element of a dataset. While nobody profiles, one costs a load and a branch. A profiler is not an
// Observer: those see what has run, on their own thread, and change how it runs (buffers are not reused, functions run
// op by op), while a profile is of all threads and has to leave everything as it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"
#include "src/core/context.h"

namespace capstan {

struct OpDef;

enum class SpanKind : std::uint8_t {
  kOp,
  kLoop,
  kRule,
  kGradient,
  kFunction,
  kTrace,
  kScope,
  kStage,  // an element of a stage of a dataset
  kWait,   // a stage waits for its threads
  kCall    // a call of a stage's function on one of them
};

// Gets all spans of all threads. Its functions are called on the thread of the span.
class Profiler {
 public:
  // A span begins. The name is copied; an input is null if it is a number; `op` is what runs in it, or null. The result
  // stands for the span, or is 0.
  virtual std::uint64_t open(SpanKind kind, std::string_view name, std::span<detail::Block* const> inputs,
                             const OpDef* op) = 0;
  // It ends, and with it those inside of it that an exception has left. One that does not count has not happened, but
  // what is inside of it has.
  virtual void close(std::uint64_t span, std::span<const Tensor> outputs, bool counts) = 0;

 protected:
  ~Profiler() = default;
};

// Null while nobody profiles. What it points to lives as long as the program.
extern constinit std::atomic<Profiler*> current_profiler __attribute__((visibility("hidden")));

inline Profiler* active_profiler() { return current_profiler.load(std::memory_order_acquire); }

// A span as a scope. In a trace under way nothing runs but ops that it does not see, so only these have spans there.
class Span {
 public:
  Span(SpanKind kind, std::string_view name, std::span<detail::Block* const> inputs = {}, const OpDef* op = nullptr)
      : profiler_(active_profiler()) {
    if (profiler_ != nullptr) [[unlikely]]
      open(kind, name, inputs, op);
  }
  ~Span() {
    if (id_ != 0) [[unlikely]]
      profiler_->close(id_, {}, true);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Ends it here, with what it gave; one that gave a symbolic tensor was traced and has not run.
  void close(std::span<const Tensor> outputs);

 private:
  void open(SpanKind kind, std::string_view name, std::span<detail::Block* const> inputs, const OpDef* op);

  Profiler* profiler_;
  std::uint64_t id_ = 0;
};

// What operands are before the op runs, which may take them over; null for numbers.
std::vector<detail::Block*> blocks_of(std::span<const Operand> operands);

}  // namespace capstan
