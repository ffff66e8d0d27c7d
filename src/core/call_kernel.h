// Runs the kernel of a structured op, whose outputs are there.
#pragma once

#include <new>
#include <span>
#include <stdexcept>

#include "src/core/check.h"
#include "src/core/op_def.h"

namespace capstan {

// Kernels assume that their short-lived memory is there.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_out_of_memory(const OpDef& op) {
  throw Error(detail::join(op.name, ": no memory for what it needs besides its result"));
}

template <class Body>
void with_memory_errors(const OpDef& op, const Body& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(op);
  } catch (const std::length_error&) {  // of a vector
    throw_out_of_memory(op);
  }
}

inline void call_kernel(const Call& call, std::span<Tensor> outputs) {
  with_memory_errors(call.op, [&] { call.op.kernel(call, outputs); });
}

}  // namespace capstan
