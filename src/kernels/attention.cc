// Attention in blocks of queries: the scores of a block against all keys stay in the second cache, where softmax, mask
// and dropout are applied, and never become a tensor.
//
// A block takes whole rows of scores, not tiles of keys with a running maximum: a row is short enough for cache up to
// many thousand keys, and the softmax stays two plain passes. The gradient computes the scores again from q and k
// rather than keeping anything of the forward pass, not even the sums of rows: one more pass over a row in cache, and
// the gradient is a function of the operands alone, which has derivatives of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/attention.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "src/core/thread_pool.h"
#include "src/kernels/attention.h"
#include "src/kernels/fold-inl.h"
#include "src/kernels/gemm.h"
#include "src/kernels/random.h"
#include "src/kernels/scratch.h"
#include "src/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Scores of a block of queries; 128 KiB of float32.
constexpr std::int64_t kBlockScores = 32768;
constexpr std::int64_t kLeastQueries = 8;
constexpr std::int64_t kMostQueries = 128;
// Short blocks skip more of the keys that no query of theirs sees.
constexpr std::int64_t kMostCausalQueries = 32;

// Calls body(i, mask, partial) along a row of n elements.
template <class D, class Body>
HWY_INLINE void along_row(D d, std::int64_t n, const Body& body) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, all, false);
  if (i < n) body(i, hn::FirstN(d, static_cast<std::size_t>(n - i)), true);
}
template <class D, class M, class T>
HWY_INLINE hn::Vec<D> load(D d, M mask, bool partial, const T* from) {
  return partial ? hn::MaskedLoad(mask, d, from) : hn::LoadU(d, from);
}
template <class D, class M, class V, class T>
HWY_INLINE void store(D d, M mask, bool partial, V v, T* to) {
  if (partial) {
    hn::BlendedStore(v, mask, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

// NaN stays in, so that it comes out.
template <class V>
HWY_INLINE V larger_or_nan(V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::Not(hn::Eq(b, b))), b, a);
}

// What is done to blocks of scores [rows, keys], a block of queries of one matrix against its first `keys` keys.
template <class T>
struct Block {
  const AttentionProblem<T>& problem;
  std::int64_t matrix;
  std::int64_t first;  // query
  std::int64_t rows;
  std::int64_t keys;

  // The keys that a query of this block may see.
  std::int64_t keys_of(std::int64_t row) const { return problem.causal ? std::min(keys, first + row + 1) : keys; }

  void apply_mask(std::int64_t row, std::int64_t n, T* scores) const {
    const AttentionProblem<T>& p = problem;
    if (p.mask_offsets == nullptr) return;
    const std::int64_t offset = p.mask_offsets[matrix] + (first + row) * p.mask_row;
    if (p.added != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) scores[i] += p.added[offset + i * p.mask_column];
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        if (p.seen[offset + i * p.mask_column] == 0) scores[i] = -std::numeric_limits<T>::infinity();
      }
    }
  }

  // Turns products of a row into exponentials; returns one over their sum, or zero for a row without keys.
  HWY_INLINE T exponentials(std::int64_t row, T* scores) const {
    const hn::ScalableTag<T> d;
    const std::int64_t n = keys_of(row);
    const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
    const auto scale = hn::Set(d, problem.scale);
    auto largest = lowest;
    if (problem.mask_offsets != nullptr) {
      along_row(d, n, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
        store(d, mask, partial, hn::Mul(load(d, mask, partial, scores + i), scale), scores + i);
      });
      apply_mask(row, n, scores);
    }
    const auto factor = problem.mask_offsets != nullptr ? hn::Set(d, T(1)) : scale;
    along_row(d, n, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
      auto v = hn::Mul(load(d, mask, partial, scores + i), factor);
      if (partial) v = hn::IfThenElse(mask, v, lowest);
      largest = larger_or_nan(largest, v);
    });
    const T most = fold_lanes(d, largest, [](auto a, auto b) HWY_ATTR { return larger_or_nan(a, b); });
    if (most == -std::numeric_limits<T>::infinity()) {
      std::fill(scores, scores + keys, T(0));
      return T(0);
    }
    const auto shift = hn::Set(d, most);
    auto sum = hn::Zero(d);
    along_row(d, n, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
      const auto v = hn::Sub(hn::Mul(load(d, mask, partial, scores + i), factor), shift);
      auto e = vector_math::exp(d, v);
      if (partial) e = hn::IfThenElseZero(mask, e);
      sum = hn::Add(sum, e);
      store(d, mask, partial, e, scores + i);
    });
    std::fill(scores + n, scores + keys, T(0));
    return T(1) / sum_lanes(d, sum);
  }

  // Drops elements of a row.
  void drop(std::int64_t row, T* values) const {
    constexpr std::int64_t kChunk = 256;
    std::uint32_t words[kChunk + 4];
    const std::int64_t begin = (matrix * problem.queries + first + row) * problem.keys;
    for (std::int64_t i = 0; i < keys; i += kChunk) {
      const std::int64_t count = std::min(kChunk, keys - i);
      const std::int64_t lead = (begin + i) % 4;
      philox_words(problem.seed, begin + i - lead, lead + count, words);
      for (std::int64_t k = 0; k < count; ++k) {
        values[i + k] = words[lead + k] >= problem.threshold ? values[i + k] * problem.kept_scale : T(0);
      }
    }
  }
};

template <class T>
std::int64_t queries_per_block(const AttentionProblem<T>& p) {
  return std::min(p.queries, std::clamp(kBlockScores / std::max<std::int64_t>(p.keys, 1), kLeastQueries,
                                        p.causal ? kMostCausalQueries : kMostQueries));
}
template <class T>
Block<T> make_block(const AttentionProblem<T>& p, std::int64_t matrix, std::int64_t first, std::int64_t rows) {
  return {p, matrix, first, rows, p.causal ? std::min(p.keys, first + rows) : p.keys};
}

// scores [rows, keys] = q k^T
template <class T>
void multiply_keys(const Block<T>& block, const T* q, const T* k, std::int64_t depth, T* scores) {
  gemm_serial({.m = block.rows,
               .n = block.keys,
               .k = depth,
               .lda = depth,
               .ldb = depth,
               .ldc = block.keys,
               .transpose_b = true},
              q, k, scores);
}

template <class T>
void forward(const AttentionProblem<T>& p, const T* q, const T* k, const T* v, T* y) {
  if (p.batch * p.queries * p.value_depth == 0) return;
  if (p.keys == 0) {
    std::fill(y, y + p.batch * p.queries * p.value_depth, T(0));
    return;
  }
  const std::int64_t step = queries_per_block(p);
  const std::int64_t blocks = (p.queries + step - 1) / step;
  parallel_for(p.batch * blocks, [&](std::int64_t task) HWY_ATTR {
    const hn::ScalableTag<T> d;
    const std::int64_t first = task % blocks * step;
    const Block<T> block = make_block(p, task / blocks, first, std::min(step, p.queries - first));
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>((p.keys + 1) * step) * sizeof(T));
    T* const scores = scratch.as<T>();
    T* const inverse = scores + p.keys * step;
    multiply_keys(block, q + (block.matrix * p.queries + first) * p.depth, k + block.matrix * p.keys * p.depth, p.depth,
                  scores);
    for (std::int64_t row = 0; row < block.rows; ++row) {
      inverse[row] = block.exponentials(row, scores + row * block.keys);
      if (p.dropout) block.drop(row, scores + row * block.keys);
    }
    // Results have fewer columns than scores, so they are divided by the sums.
    T* const out = y + (block.matrix * p.queries + first) * p.value_depth;
    gemm_serial({.m = block.rows,
                 .n = p.value_depth,
                 .k = block.keys,
                 .lda = block.keys,
                 .ldb = p.value_depth,
                 .ldc = p.value_depth},
                scores, v + block.matrix * p.keys * p.value_depth, out);
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const auto factor = hn::Set(d, inverse[row]);
      T* const to = out + row * p.value_depth;
      along_row(d, p.value_depth, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
        store(d, mask, partial, hn::Mul(load(d, mask, partial, to + i), factor), to + i);
      });
    }
  });
}

// A row: from exponentials e and the gradient dp of the (dropped) probabilities to probabilities, in place of e, and
// the gradient of the products, in place of dp.
template <class T>
HWY_INLINE void gradient_row(const Block<T>& block, std::int64_t row, T inverse, T* e, T* dp) {
  const hn::ScalableTag<T> d;
  if (block.problem.dropout) block.drop(row, dp);
  const auto factor = hn::Set(d, inverse);
  auto sum = hn::Zero(d);
  along_row(d, block.keys, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
    const auto p = hn::Mul(load(d, mask, partial, e + i), factor);
    sum = hn::MulAdd(p, load(d, mask, partial, dp + i), sum);
    store(d, mask, partial, p, e + i);
  });
  const auto mean = hn::Set(d, sum_lanes(d, sum));
  const auto scale = hn::Set(d, block.problem.scale);
  along_row(d, block.keys, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
    const auto p = hn::Mul(load(d, mask, partial, e + i), scale);
    store(d, mask, partial, hn::Mul(p, hn::Sub(load(d, mask, partial, dp + i), mean)), dp + i);
  });
  if (block.problem.dropout) block.drop(row, e);
}

template <class T>
void gradient(const AttentionProblem<T>& p, const T* q, const T* k, const T* v, const T* dy, T* dq, T* dk, T* dv) {
  std::fill(dk, dk + p.batch * p.keys * p.depth, T(0));
  std::fill(dv, dv + p.batch * p.keys * p.value_depth, T(0));
  if (p.batch * p.queries == 0) return;
  if (p.keys == 0) {
    std::fill(dq, dq + p.batch * p.queries * p.depth, T(0));
    return;
  }
  const std::int64_t step = queries_per_block(p);
  parallel_for(p.batch, [&](std::int64_t matrix) {
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(2 * p.keys * step) * sizeof(T));
    T* const e = scratch.as<T>();
    T* const dp = e + p.keys * step;
    const T* const keys = k + matrix * p.keys * p.depth;
    const T* const values = v + matrix * p.keys * p.value_depth;
    for (std::int64_t first = 0; first < p.queries; first += step) {
      const Block<T> block = make_block(p, matrix, first, std::min(step, p.queries - first));
      const std::int64_t n = block.keys;
      const T* const queries = q + (matrix * p.queries + first) * p.depth;
      const T* const gradients = dy + (matrix * p.queries + first) * p.value_depth;
      multiply_keys(block, queries, keys, p.depth, e);
      multiply_keys(block, gradients, values, p.value_depth, dp);
      for (std::int64_t row = 0; row < block.rows; ++row) {
        const T inverse = block.exponentials(row, e + row * n);
        gradient_row(block, row, inverse, e + row * n, dp + row * n);
      }
      gemm_serial({.m = block.rows, .n = p.depth, .k = n, .lda = n, .ldb = p.depth, .ldc = p.depth}, dp, keys,
                  dq + (matrix * p.queries + first) * p.depth);
      gemm_serial({.m = n,
                   .n = p.depth,
                   .k = block.rows,
                   .lda = n,
                   .ldb = p.depth,
                   .ldc = p.depth,
                   .transpose_a = true,
                   .accumulate = true},
                  dp, queries, dk + matrix * p.keys * p.depth);
      gemm_serial({.m = n,
                   .n = p.value_depth,
                   .k = block.rows,
                   .lda = n,
                   .ldb = p.value_depth,
                   .ldc = p.value_depth,
                   .transpose_a = true,
                   .accumulate = true},
                  e, gradients, dv + matrix * p.keys * p.value_depth);
    }
  });
}

template <class T>
constexpr AttentionKernels<T> kKernels = {&forward<T>, &gradient<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(AttentionKernels, attention)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(AttentionKernels, attention)

}  // namespace capstan
#endif  // HWY_ONCE
