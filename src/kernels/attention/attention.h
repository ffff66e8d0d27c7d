// Scaled dot-product attention over raw memory: y = softmax(scale * q k^T + mask) v for every matrix of a batch.
//
// q is [batch, queries, depth], k [batch, keys, depth], v [batch, keys, value_depth]; rows may lie apart, so that heads
// which are side by side in a row need not be copied. A query that sees no key
// has a result of zeros. With dropout, word i of the stream `seed` decides on element i of the probabilities [batch,
// queries, keys], as keyed_dropout does on a tensor of this shape. Any size may be zero. Every result element is one
// sum in one order, so results have the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "src/core/cpu.h"

namespace capstan {

// Matrix b of an operand begins at data + b / heads * outer + b % heads * inner; its rows are `row` elements apart.
template <class T>
struct AttentionMatrices {
  T* data = nullptr;
  std::int64_t outer = 0;
  std::int64_t inner = 0;
  std::int64_t row = 0;
};

template <class T>
struct AttentionProblem {
  std::int64_t batch = 0;
  std::int64_t heads = 1;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t depth = 0;
  std::int64_t value_depth = 0;
  T scale = 1;
  // Query i sees keys 0 ... i only.
  bool causal = false;

  // One of these or none: what is added to the scaled products, or which keys are seen (not zero). Element (i, j) of
  // matrix b lies at mask_offsets[b] + i * mask_row + j * mask_column.
  const T* added = nullptr;
  const std::uint8_t* seen = nullptr;
  const std::int64_t* mask_offsets = nullptr;
  std::int64_t mask_row = 0;
  std::int64_t mask_column = 0;

  bool dropout = false;
  std::uint64_t seed = 0;
  std::uint32_t threshold = 0;  // smaller words drop
  T kept_scale = 1;
};

// The kernels of one instruction set.
template <class T>
struct AttentionKernels {
  void (*forward)(const AttentionProblem<T>& problem, const AttentionMatrices<const T>& q,
                  const AttentionMatrices<const T>& k, const AttentionMatrices<const T>& v,
                  const AttentionMatrices<T>& y);
  // The gradients for q, k and v, given that for y.
  void (*gradient)(const AttentionProblem<T>& problem, const AttentionMatrices<const T>& q,
                   const AttentionMatrices<const T>& k, const AttentionMatrices<const T>& v,
                   const AttentionMatrices<const T>& dy, const AttentionMatrices<T>& dq, const AttentionMatrices<T>& dk,
                   const AttentionMatrices<T>& dv);
};

// T is float or double.
template <class T>
AttentionKernels<T> attention_kernels(int instruction_set);
template <>
AttentionKernels<float> attention_kernels<float>(int instruction_set);
template <>
AttentionKernels<double> attention_kernels<double>(int instruction_set);

}  // namespace capstan
