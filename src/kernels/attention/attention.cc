// Attention in blocks of queries: the scores of a block against all keys stay in the second cache, where softmax, mask
// and dropout are applied, and never become a tensor.
//
// A block takes whole rows of scores, not tiles of keys with a running maximum: a row is short enough for cache up to
// many thousand keys, and the softmax stays two plain passes. The gradient computes the scores again from q and k
// rather than keeping anything of the forward pass, not even the sums of rows: one more pass over a row in cache, and
// the gradient is a function of the operands alone, which has derivatives of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/attention/attention.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"
#include "src/kernels/attention/attention.h"
#include "src/kernels/fold-inl.h"
#include "src/kernels/linalg/gemm.h"
#include "src/kernels/linalg/gemm_tiles.h"
#include "src/kernels/random/random.h"
#include "src/kernels/scratch.h"
#include "src/kernels/math/vector_math-inl.h"

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

// A few elements, which are no work for memset.
template <class T>
[[gnu::noinline]] void clear(T* to, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (n < lanes) {
    std::fill(to, to + n, T(0));
    return;
  }
  for (std::int64_t i = 0; i < n - lanes; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
  hn::StoreU(hn::Zero(d), d, to + n - lanes);
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
  [[gnu::noinline]] T exponentials(std::int64_t row, T* scores) const {
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
      clear(scores, keys);
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
    clear(scores + n, keys - n);
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

template <class T, class E>
E* matrix_of(const AttentionProblem<T>& p, const AttentionMatrices<E>& matrices, std::int64_t matrix) {
  return matrices.data + matrix / p.heads * matrices.outer + matrix % p.heads * matrices.inner;
}

template <class T>
[[gnu::noinline]] void clear_rows(T* to, std::int64_t rows, std::int64_t columns, std::int64_t row) {
  for (std::int64_t i = 0; i < rows; ++i) clear(to + i * row, columns);
}

// A matrix [rows, columns] the other way round, for all the products of its blocks.
template <class T>
constexpr std::int64_t turned_row(std::int64_t rows) {
  return (rows + kLineElements<T> - 1) / kLineElements<T> * kLineElements<T>;
}
template <class T>
[[gnu::noinline]] void turn(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t row, T* to) {
  tile_kernels<T>(instruction_set()).transpose(columns, rows, from, row, to, turned_row<T>(rows));
}

// A matrix whose rows lie side by side: a copy in `to` if they do not, since rows a power of two apart share few sets
// of the first cache.
template <class T>
[[gnu::noinline]] const T* gathered(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t row, T* to) {
  if (row == columns) return from;
  tile_kernels<T>(instruction_set()).copy(rows, columns, from, row, to, columns);
  return to;
}

// The other way round.
template <class T>
[[gnu::noinline]] void scattered(const T* from, std::int64_t rows, std::int64_t columns, T* to, std::int64_t row) {
  if (from == to) return;
  for (std::int64_t i = 0; i < rows; ++i) std::copy(from + i * columns, from + (i + 1) * columns, to + i * row);
}

// Fetches a row of a matrix into the second cache. The processor does not foresee reads of rows that lie apart, so
// those of the next matrix are fetched row by row beside the exponentials of this one.
template <class T, class E>
[[gnu::noinline]] void fetch_row(const AttentionProblem<T>& p, const AttentionMatrices<E>& matrices,
                                 std::int64_t matrix, std::int64_t row, std::int64_t rows, std::int64_t columns) {
  if (matrix >= p.batch || row >= rows || matrices.row == columns) return;
  const E* const from = matrix_of(p, matrices, matrix) + row * matrices.row;
  for (std::int64_t i = 0; i < columns; i += kLineElements<T>) __builtin_prefetch(from + i, !std::is_const_v<E>, 2);
}

// scores [rows, keys] = q k^T, given k^T.
template <class T>
[[gnu::noinline]] void multiply_keys(const Block<T>& block, const T* q, const T* turned, std::int64_t turned_row,
                                     std::int64_t depth, T* scores, std::int64_t q_row = 0) {
  gemm_serial({.m = block.rows,
               .n = block.keys,
               .k = depth,
               .lda = q_row > 0 ? q_row : depth,
               .ldb = turned_row,
               .ldc = block.keys},
              q, turned, scores);
}

template <class T>
void forward(const AttentionProblem<T>& p, const AttentionMatrices<const T>& q, const AttentionMatrices<const T>& k,
             const AttentionMatrices<const T>& v, const AttentionMatrices<T>& y) {
  if (p.batch * p.queries * p.value_depth == 0) return;
  if (p.keys == 0) {
    for (std::int64_t i = 0; i < p.batch; ++i) clear_rows(matrix_of(p, y, i), p.queries, p.value_depth, y.row);
    return;
  }
  const std::int64_t step = queries_per_block(p);
  const std::int64_t blocks = (p.queries + step - 1) / step;
  // The blocks of a part share the turned keys.
  const std::int64_t wanted = (4 * thread_count() + p.batch - 1) / p.batch;
  const std::int64_t parts = thread_count() == 1 ? 1 : std::min(blocks, wanted);
  parallel_for(p.batch * parts, [&](std::int64_t task) HWY_ATTR {
    const hn::ScalableTag<T> d;
    const std::int64_t matrix = task / parts, part = task % parts;
    const std::int64_t begin = blocks * part / parts * step;
    const std::int64_t end = std::min(p.queries, blocks * (part + 1) / parts * step);
    const std::int64_t most_keys = p.causal ? std::min(p.keys, end) : p.keys;
    const std::int64_t k_row = turned_row<T>(most_keys);
    const Scratch scratch(
        ScratchSlot::kTask,
        static_cast<std::size_t>(k_row * p.depth + (p.keys + 1) * step + most_keys * p.value_depth) * sizeof(T));
    T* const turned = scratch.as<T>();
    T* const scores = turned + k_row * p.depth;
    T* const inverse = scores + p.keys * step;
    turn(matrix_of(p, k, matrix), most_keys, p.depth, k.row, turned);
    const T* const values = gathered(matrix_of(p, v, matrix), most_keys, p.value_depth, v.row, inverse + step);
    for (std::int64_t first = begin; first < end; first += step) {
      const Block<T> block = make_block(p, matrix, first, std::min(step, p.queries - first));
      multiply_keys(block, matrix_of(p, q, matrix) + first * q.row, turned, k_row, p.depth, scores, q.row);
      for (std::int64_t row = 0; row < block.rows; ++row) {
        inverse[row] = block.exponentials(row, scores + row * block.keys);
        if (p.dropout) block.drop(row, scores + row * block.keys);
        fetch_row(p, q, matrix + 1, first + row, p.queries, p.depth);
        fetch_row(p, k, matrix + 1, first + row, p.keys, p.depth);
        fetch_row(p, v, matrix + 1, first + row, p.keys, p.value_depth);
        fetch_row(p, y, matrix + 1, first + row, p.queries, p.value_depth);
      }
      // Results have fewer columns than scores, so they are divided by the sums.
      T* const out = matrix_of(p, y, matrix) + first * y.row;
      gemm_serial(
          {.m = block.rows, .n = p.value_depth, .k = block.keys, .lda = block.keys, .ldb = p.value_depth, .ldc = y.row},
          scores, values, out);
      for (std::int64_t row = 0; row < block.rows; ++row) {
        const auto factor = hn::Set(d, inverse[row]);
        T* const to = out + row * y.row;
        along_row(d, p.value_depth, [&](std::int64_t i, auto mask, bool partial) HWY_ATTR {
          store(d, mask, partial, hn::Mul(load(d, mask, partial, to + i), factor), to + i);
        });
      }
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
void gradient(const AttentionProblem<T>& p, const AttentionMatrices<const T>& q, const AttentionMatrices<const T>& k,
              const AttentionMatrices<const T>& v, const AttentionMatrices<const T>& dy, const AttentionMatrices<T>& dq,
              const AttentionMatrices<T>& dk, const AttentionMatrices<T>& dv) {
  const std::int64_t step = queries_per_block(p);
  const std::int64_t turned_keys = turned_row<T>(p.keys);
  parallel_for(p.batch, [&](std::int64_t matrix) {
    if (p.keys == 0) clear_rows(matrix_of(p, dq, matrix), p.queries, p.depth, dq.row);
    const std::int64_t both = p.depth + p.value_depth;
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(turned_keys * both + 2 * p.keys * step +
                                                                       p.keys * (both + p.depth) + step * both) *
                                                  sizeof(T));
    T* memory = scratch.as<T>();
    const auto take = [&](std::int64_t elements) { return std::exchange(memory, memory + elements); };
    T* const k_turned = take(turned_keys * p.depth);
    T* const v_turned = take(turned_keys * p.value_depth);
    T* const e = take(p.keys * step);
    T* const dp = take(p.keys * step);
    // What is read or added to in several products, side by side.
    const T* const keys = gathered(matrix_of(p, k, matrix), p.keys, p.depth, k.row, take(p.keys * p.depth));
    T* const q_memory = take(step * p.depth);
    T* const dy_memory = take(step * p.value_depth);
    T* const key_gradients = dk.row == p.depth ? matrix_of(p, dk, matrix) : take(p.keys * p.depth);
    T* const value_gradients = dv.row == p.value_depth ? matrix_of(p, dv, matrix) : take(p.keys * p.value_depth);
    std::fill(key_gradients, key_gradients + p.keys * p.depth, T(0));
    std::fill(value_gradients, value_gradients + p.keys * p.value_depth, T(0));
    turn(keys, p.keys, p.depth, p.depth, k_turned);
    turn(matrix_of(p, v, matrix), p.keys, p.value_depth, v.row, v_turned);
    for (std::int64_t first = 0; first < p.queries && p.keys > 0; first += step) {
      const Block<T> block = make_block(p, matrix, first, std::min(step, p.queries - first));
      const std::int64_t n = block.keys;
      const T* const queries = gathered(matrix_of(p, q, matrix) + first * q.row, block.rows, p.depth, q.row, q_memory);
      const T* const gradients =
          gathered(matrix_of(p, dy, matrix) + first * dy.row, block.rows, p.value_depth, dy.row, dy_memory);
      multiply_keys(block, queries, k_turned, turned_keys, p.depth, e);
      multiply_keys(block, gradients, v_turned, turned_keys, p.value_depth, dp);
      for (std::int64_t row = 0; row < block.rows; ++row) {
        const T inverse = block.exponentials(row, e + row * n);
        gradient_row(block, row, inverse, e + row * n, dp + row * n);
        fetch_row(p, q, matrix + 1, first + row, p.queries, p.depth);
        fetch_row(p, k, matrix + 1, first + row, p.keys, p.depth);
        fetch_row(p, v, matrix + 1, first + row, p.keys, p.value_depth);
        fetch_row(p, dy, matrix + 1, first + row, p.queries, p.value_depth);
        fetch_row(p, dq, matrix + 1, first + row, p.queries, p.depth);
        fetch_row(p, dk, matrix, first + row, p.keys, p.depth);
        fetch_row(p, dv, matrix, first + row, p.keys, p.value_depth);
      }
      gemm_serial({.m = block.rows, .n = p.depth, .k = n, .lda = n, .ldb = p.depth, .ldc = dq.row}, dp, keys,
                  matrix_of(p, dq, matrix) + first * dq.row);
      // Of a key and a value, the sums over the queries that see them.
      const auto add = [&](const T* scores, const T* rows, std::int64_t columns, T* to) {
        gemm_serial({.m = n,
                     .n = columns,
                     .k = block.rows,
                     .lda = n,
                     .ldb = columns,
                     .ldc = columns,
                     .transpose_a = true,
                     .accumulate = true},
                    scores, rows, to);
      };
      add(dp, queries, p.depth, key_gradients);
      add(e, gradients, p.value_depth, value_gradients);
    }
    scattered(key_gradients, p.keys, p.depth, matrix_of(p, dk, matrix), dk.row);
    scattered(value_gradients, p.keys, p.value_depth, matrix_of(p, dv, matrix), dv.row);
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
