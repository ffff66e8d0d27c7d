// What makes an operand element by element, asked for the parts of it that a kernel is about to read.
//
// The counterpart of the epilogue (epilogue.h): whoever calls a kernel arms a prologue in the place of an operand, in a
// scope of its thread, and the operand has no memory. A kernel that reads its operand in parts has them made in its own
// scratch memory, where they stay in cache, as often as it needs them. Only kernels of ops with the flag kReadsRows are
// called in this way; they always ask.
#pragma once

#include <cstdint>

namespace capstan {

class Prologue {
 public:
  // Writes the elements [begin, end) of the operand to `to`, on any thread of the pool. A range is whole rows of the
  // last axis.
  using Run = void (*)(const void* context, std::int64_t begin, std::int64_t end, void* to);

  // `operand` is the address that the kernel is given; nothing is ever read there.
  Prologue(const void* operand, Run run, const void* context)
      : operand_(operand), run_(run), context_(context), outer_(armed_) {
    armed_ = this;
  }
  ~Prologue() { armed_ = outer_; }
  Prologue(const Prologue&) = delete;
  Prologue& operator=(const Prologue&) = delete;

  // For kernels: that of an operand, or null if the operand lies in memory.
  static const Prologue* of(const void* operand) {
    return armed_ != nullptr && armed_->operand_ == operand ? armed_ : nullptr;
  }
  void operator()(std::int64_t begin, std::int64_t end, void* to) const { run_(context_, begin, end, to); }

 private:
  // The innermost scope of the thread.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local const Prologue* armed_ = nullptr;

  const void* operand_;
  Run run_;
  const void* context_;
  const Prologue* outer_;
};

}  // namespace capstan
