// Long short-term memories over raw memory: all steps of a batch of sequences.
//
// With the gates i, f, o = sigmoid(...) and g = tanh(...) of z + h' u, where ' is the step before,
//     c = f c' + i g,   h = o tanh(c).
// At a step that the mask leaves out the gates are i = 0, f = 1, g = 1, o = 0, which keeps c, and h = h'. The
// derivatives of all gates are zero there.
//
// Sequences [batch, steps, ...] are dense; the four gates of a step are one after the other. Every element of a
// result is computed in one order, so results have the same bits for any number of threads. Sigmoid and tanh are those
// of vector_math-inl.h, below 2 ulp each.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"

namespace capstan {

struct LstmShape {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t units = 0;
  const bool* mask = nullptr;  // [batch, steps]; null: all steps are taken
};

template <class T>
struct LstmForwardCall {
  const T* z;                // [batch, steps, 4 units], or rows of as many elements
  const std::int64_t* rows;  // [batch, steps], which of them a step takes; null: its own
  const T* u;                // [units, 4 units]
  const T* first_h;          // [batch, units]
  const T* first_c;
  T* gates;  // [batch, steps, 4 units]; may be z if there are no rows
  T* cells;  // [batch, steps, units]
  T* h;
};

// The cotangents of z and the first states, given those of h.
template <class T>
struct LstmGradientCall {
  const T* gates;
  const T* cells;
  const T* u;
  const T* first_c;
  const T* dh;      // [batch, steps, units]
  const T* dcells;  // the same for cells, or null
  const T* added;   // [batch, steps, 4 units], added to dz, or null
  T* dz;            // [batch, steps, 4 units]; may be gates
  T* dfirst_h;      // [batch, units]
  T* dfirst_c;
  // The whole cotangents of cells and of h, with what comes back through later steps; or null.
  T* whole_dcells;
  T* whole_dh;
};

// The tangents of cells and h, given those of z and the first states. It is the transpose of the gradients.
template <class T>
struct LstmTangentCall {
  const T* gates;
  const T* cells;
  const T* u;
  const T* first_c;
  const T* tz;        // [batch, steps, 4 units]
  const T* tfirst_h;  // [batch, units]
  const T* tfirst_c;
  const T* added_cells;  // [batch, steps, units], added to the tangents of cells, or null
  const T* added_h;      // the same for h
  T* tsums;              // [batch, steps, 4 units], of z + h' u
  T* tcells;
  T* th;
};

// The kernels of one instruction set.
template <class T>
struct LstmKernels {
  void (*forward)(const LstmShape& shape, const LstmForwardCall<T>& call);
  void (*gradients)(const LstmShape& shape, const LstmGradientCall<T>& call);
  void (*tangents)(const LstmShape& shape, const LstmTangentCall<T>& call);
};

// T is float or double.
template <class T>
LstmKernels<T> lstm_kernels(int instruction_set);
template <>
LstmKernels<float> lstm_kernels<float>(int instruction_set);
template <>
LstmKernels<double> lstm_kernels<double>(int instruction_set);

}  // namespace capstan
