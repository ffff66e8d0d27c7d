// Gated recurrent units over raw memory: all steps of a batch of sequences.
//
// With the gates z, r = sigmoid(...) of x + s, where s = h' u + b and ' is the step before,
//     q = s,   n = tanh(x + r q),   h = z h' + (1 - z) n,
// each of its own third of x and s. At a step that the mask leaves out the gates are z = 1 and zeros, which keeps h and
// its cotangents.
//
// Sequences [batch, steps, ...] are dense; gates are z, r, n and q one after the other. Every element of a result is
// computed in one order, so results have the same bits for any number of threads. Sigmoid and tanh are those of
// vector_math-inl.h, below 2 ulp each.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"

namespace capstan {

struct GruShape {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t units = 0;
};

template <class T>
struct GruForwardCall {
  const T* x;        // [batch, steps, 3 units]
  const T* u;        // [units, 3 units]
  const T* b;        // [3 units]
  const T* first_h;  // [batch, units]
  const bool* mask;  // [batch, steps]; null: all steps are taken
  T* gates;          // [batch, steps, 4 units]
  T* h;              // [batch, steps, units]
};

// The cotangents of x, of the sums s and of the first states, given those of h.
template <class T>
struct GruGradientCall {
  const T* gates;
  const T* h;
  const T* u;
  const T* first_h;
  const T* dh;      // [batch, steps, units]
  const T* dgates;  // [batch, steps, 4 units], or null
  T* dx;            // [batch, steps, 3 units]
  T* dsums;         // [batch, steps, 3 units]
  T* dfirst_h;      // [batch, units]
  T* whole_dh;      // the cotangents of h with what comes back through later steps; or null
};

// The tangents of h, given those of x, of the sums without h' u, and of the first states. It is the transpose of the
// gradients.
template <class T>
struct GruTangentCall {
  const T* gates;
  const T* h;
  const T* u;
  const T* first_h;
  const T* tx;
  const T* tsums;
  const T* tfirst_h;
  const T* added;  // [batch, steps, units], added to the tangents of h, or null
  T* th;           // [batch, steps, units]
};

// The kernels of one instruction set.
template <class T>
struct GruKernels {
  void (*forward)(const GruShape& shape, const GruForwardCall<T>& call);
  void (*gradients)(const GruShape& shape, const GruGradientCall<T>& call);
  void (*tangents)(const GruShape& shape, const GruTangentCall<T>& call);
};

// T is float or double.
template <class T>
GruKernels<T> gru_kernels(int instruction_set);
template <>
GruKernels<float> gru_kernels<float>(int instruction_set);
template <>
GruKernels<double> gru_kernels<double>(int instruction_set);

}  // namespace capstan
