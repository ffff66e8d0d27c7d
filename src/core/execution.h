// What a kernel is given besides operands and results: what a program runs together with it, on parts of its operand
// and of its result, while they are in cache (src/graph/accompanied.cc).
#pragma once

#include <cstdint>

namespace capstan {

// Makes an operand element by element. The operand has no memory: a kernel that reads it in parts has them made in
// scratch memory of its own, where they stay in cache, as often as it needs them.
class Prologue {
 public:
  // Writes the elements [begin, end) of the operand to `to`, on any thread of the pool. A range is whole rows of the
  // last axis.
  using Run = void (*)(const void* context, std::int64_t begin, std::int64_t end, void* to);

  Prologue(Run run, const void* context) : run_(run), context_(context) {}
  void operator()(std::int64_t begin, std::int64_t end, void* to) const { run_(context_, begin, end, to); }

 private:
  Run run_;
  const void* context_;
};

// Follows a kernel element by element, run on the parts of the result that are finished. One that the kernel does not
// take is run by the caller afterwards, so a kernel takes it only where it gains something.
class Epilogue {
 public:
  // Calls run(context, begin, end) for ranges of the elements of the result, each once, on any thread of the pool. A
  // range is whole rows of the last axis.
  using Run = void (*)(const void* context, std::int64_t begin, std::int64_t end);

  Epilogue(const void* result, std::int64_t elements, Run run, const void* context)
      : result_(result), elements_(elements), run_(run), context_(context) {}
  Epilogue(const Epilogue&) = delete;
  Epilogue& operator=(const Epilogue&) = delete;

  void operator()(std::int64_t begin, std::int64_t end) const { run_(context_, begin, end); }
  bool is_taken() const { return taken_; }

 private:
  friend struct Execution;

  const void* result_;
  std::int64_t elements_;
  Run run_;
  const void* context_;
  bool taken_ = false;
};

struct Execution {
  // Of input 0, in float32 or float64; only kernels of ops with the flag kReadsRows are given one, and they have to use
  // it.
  const Prologue* prologue = nullptr;
  Epilogue* epilogue = nullptr;

  // For a loop that writes so many elements at `result`: the epilogue, or null if that is not the whole of the kernel's
  // result, but one item of it or memory in which a narrow result is made. Who takes it runs it on all of the elements.
  const Epilogue* take_epilogue(const void* result, std::int64_t elements) const {
    if (epilogue == nullptr || epilogue->result_ != result || epilogue->elements_ != elements || epilogue->taken_) {
      return nullptr;
    }
    epilogue->taken_ = true;
    return epilogue;
  }
};

// A kernel that runs by itself.
inline constexpr Execution kAlone;

}  // namespace capstan
