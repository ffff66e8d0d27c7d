// Reductions, see reduce.h.
//
// Two loops do the work, once per instruction set: `rows` reduces stored rows, `columns` reduces
// over rows. Both cut their work into blocks and join the blocks by halving, which keeps the error
// of sums small and the order fixed. Around them the driver cuts large reductions into tasks by
// shape alone, and peels one axis at a time off shapes that alternate.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/reduce/reduce.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"
#include "src/kernels/reduce/reduce.h"
#include "src/kernels/reduce/reduce_integers.h"
#include "src/kernels/reduce/reduce_steps.h"
#include "src/kernels/scratch.h"

#ifndef CAPSTAN_KERNELS_REDUCE_ONCE_
#define CAPSTAN_KERNELS_REDUCE_ONCE_
namespace capstan {

// Elements of a row, and rows of a column, that are reduced without joining.
inline constexpr std::int64_t kRowBlock = 1024;
inline constexpr std::int64_t kColumnBlock = 256;
// Columns that one call of `columns` takes at most.
inline constexpr std::int64_t kColumnWidth = 1024;

template <class T>
struct ReduceKernel {
  // out[i] = the reduction of in[i * n .. (i + 1) * n).
  void (*rows)(const T* in, std::int64_t rows, std::int64_t n, T* out);
  // out[j] = the reduction of in[i * stride + j] over i in [0, n), for j in [0, width).
  void (*columns)(const T* in, std::int64_t n, std::int64_t stride, std::int64_t width, T* out);
};

template <class T>
struct ReduceKernels {
  ReduceKernel<T> step[kReduceSteps];
};

}  // namespace capstan
#endif  // CAPSTAN_KERNELS_REDUCE_ONCE_

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct SumStep {
  static constexpr double kIdentity = 0;
  template <class D, class V>
  static HWY_INLINE V map(D, V x) {
    return x;
  }
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct SumOfSquaresStep : SumStep {
  template <class D, class V>
  static HWY_INLINE V map(D, V x) {
    return hn::Mul(x, x);
  }
};
struct ProductStep : SumStep {
  static constexpr double kIdentity = 1;
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::Mul(a, b);
  }
};
struct MaximumStep : SumStep {
  static constexpr double kIdentity = -std::numeric_limits<double>::infinity();
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
};
struct MinimumStep : SumStep {
  static constexpr double kIdentity = std::numeric_limits<double>::infinity();
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
};

// N vectors as a binary tree, so that partial results keep their places whatever a vector's length.
template <class D, int N>
struct Group {
  Group<D, N / 2> low, high;
};
template <class D>
struct Group<D, 1> {
  hn::Vec<D> v;
};

template <class T, class Step>
struct Loops {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr D d{};
  static constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  static constexpr int kPartials = 64 / sizeof(T);
  static constexpr int kVectors = kPartials / static_cast<int>(kLanes);

  static HWY_INLINE V identity() { return hn::Set(d, static_cast<T>(Step::kIdentity)); }
  static HWY_INLINE V load(const T* p) { return Step::map(d, hn::LoadU(d, p)); }
  static HWY_INLINE V load_first(const T* p, std::int64_t n) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n));
    return hn::IfThenElse(mask, Step::map(d, hn::MaskedLoad(mask, d, p)), identity());
  }

  template <int N>
  static HWY_INLINE void clear(Group<D, N>& group) {
    if constexpr (N == 1) {
      group.v = identity();
    } else {
      clear(group.low);
      clear(group.high);
    }
  }
  template <int N>
  static HWY_INLINE void add(Group<D, N>& group, const T* p) {
    if constexpr (N == 1) {
      group.v = Step::join(d, group.v, load(p));
    } else {
      add(group.low, p);
      add(group.high, p + N / 2 * kLanes);
    }
  }
  template <int N>
  static HWY_INLINE void add_first(Group<D, N>& group, const T* p, std::int64_t n) {
    if (n <= 0) return;
    if constexpr (N == 1) {
      group.v = Step::join(d, group.v, load_first(p, std::min(n, kLanes)));
    } else {
      add_first(group.low, p, n);
      add_first(group.high, p + N / 2 * kLanes, n - N / 2 * kLanes);
    }
  }
  // Halves are joined place by place, as the halves of a vector are below.
  template <int N>
  static HWY_INLINE Group<D, N> join_groups(const Group<D, N>& a, const Group<D, N>& b) {
    if constexpr (N == 1) {
      return {Step::join(d, a.v, b.v)};
    } else {
      return {join_groups(a.low, b.low), join_groups(a.high, b.high)};
    }
  }
  template <int N>
  static HWY_INLINE V fold_group(const Group<D, N>& group) {
    if constexpr (N == 1) {
      return group.v;
    } else {
      return fold_group(join_groups(group.low, group.high));
    }
  }
  template <class DD>
  static HWY_INLINE T fold(DD dd, hn::Vec<DD> v) {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (hn::MaxLanes(DD()) > 1) {
      const hn::Half<DD> half;
      return fold(half, Step::join(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
#endif
    static_cast<void>(dd);
    return hn::GetLane(v);
  }
  // One pair as a vector, so that scalar joins are the vectors' own.
  static HWY_INLINE T join(T a, T b) {
    const hn::CappedTag<T, 1> one;
    return hn::GetLane(Step::join(one, hn::Set(one, a), hn::Set(one, b)));
  }

  static HWY_INLINE T row_block(const T* p, std::int64_t n) {
    Group<D, kVectors> group;
    clear(group);
    std::int64_t i = 0;
    for (; i + kPartials <= n; i += kPartials) add(group, p + i);
    add_first(group, p + i, n - i);
    return fold(d, fold_group(group));
  }
  // Not inlined, for compilers would put it into itself, again and again.
  static HWY_NOINLINE T row(const T* p, std::int64_t n) {
    if (n <= kRowBlock) return row_block(p, n);
    const std::int64_t left = (n + kRowBlock - 1) / kRowBlock / 2 * kRowBlock;
    const T first = row(p, left);
    return join(first, row(p + left, n - left));
  }
  static void rows(const T* in, std::int64_t count, std::int64_t n, T* out) {
    // With one lane a block is large, and a call is little beside it.
    const bool in_blocks = kLanes > 1 && n <= kRowBlock;
    for (std::int64_t i = 0; i < count; ++i) out[i] = in_blocks ? row_block(in + i * n, n) : row(in + i * n, n);
  }

  // Four rows are joined first, and then added: a quarter of the additions form the chain.
  template <class Load>
  static HWY_INLINE V add_rows(V sum, const T* p, std::int64_t rows, std::int64_t stride, const Load& load_row) {
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4, p += 4 * stride) {
      const V low = Step::join(d, load_row(p), load_row(p + stride));
      const V high = Step::join(d, load_row(p + 2 * stride), load_row(p + 3 * stride));
      sum = Step::join(d, sum, Step::join(d, low, high));
    }
    for (; i < rows; ++i, p += stride) sum = Step::join(d, sum, load_row(p));
    return sum;
  }

  static HWY_NOINLINE void column_block(const T* in, std::int64_t n, std::int64_t stride, std::int64_t width, T* out) {
    // Narrow: sums stay in a register over all rows. Wide: rows are read along, four at a time.
    const std::int64_t rows_at_once = width <= 128 ? n : 4;
    for (std::int64_t first = 0; first == 0 || first < n; first += rows_at_once) {
      const std::int64_t rows = std::min(rows_at_once, n - first);
      const T* p = in + first * stride;
      std::int64_t j = 0;
      for (; j + kLanes <= width; j += kLanes) {
        const V sum = first == 0 ? identity() : hn::LoadU(d, out + j);
        hn::StoreU(add_rows(sum, p + j, rows, stride, [](const T* q) HWY_ATTR { return load(q); }), d, out + j);
      }
      if (j < width) {
        const std::int64_t left = width - j;
        const auto mask = hn::FirstN(d, static_cast<std::size_t>(left));
        const V sum = first == 0 ? identity() : hn::MaskedLoad(mask, d, out + j);
        const V result = add_rows(sum, p + j, rows, stride,
                                  [mask](const T* q) HWY_ATTR { return Step::map(d, hn::MaskedLoad(mask, d, q)); });
        hn::BlendedStore(result, mask, d, out + j);
      }
    }
  }
  static HWY_NOINLINE void columns(const T* in, std::int64_t n, std::int64_t stride, std::int64_t width, T* out) {
    if (n <= kColumnBlock) {
      column_block(in, n, stride, width, out);
      return;
    }
    const std::int64_t above = (n + kColumnBlock - 1) / kColumnBlock / 2 * kColumnBlock;
    T below[kColumnWidth];
    columns(in, above, stride, width, out);
    columns(in + above * stride, n - above, stride, width, below);
    for (std::int64_t j = 0; j < width; ++j) out[j] = join(out[j], below[j]);
  }

  static constexpr ReduceKernel<T> kKernel = {rows, columns};
};

template <class T>
constexpr ReduceKernels<T> make_kernels() {
  return {{Loops<T, SumStep>::kKernel, Loops<T, ProductStep>::kKernel, Loops<T, MaximumStep>::kKernel,
           Loops<T, MinimumStep>::kKernel, Loops<T, SumOfSquaresStep>::kKernel}};
}

}  // namespace

const ReduceKernels<float>* reduce_float() {
  static constexpr ReduceKernels<float> kernels = make_kernels<float>();
  return &kernels;
}
const ReduceKernels<double>* reduce_double() {
  static constexpr ReduceKernels<double> kernels = make_kernels<double>();
  return &kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

// Elements per task.
constexpr std::int64_t kChunk = 32768;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
const ReduceKernels<T>& kernels_of(int set) {
  if constexpr (std::is_same_v<T, float>) {
    static constexpr const ReduceKernels<float>* (*table[])() = CAPSTAN_TARGET_TABLE(reduce_float);
    return *table[set]();
  } else {
    static constexpr const ReduceKernels<double>* (*table[])() = CAPSTAN_TARGET_TABLE(reduce_double);
    return *table[set]();
  }
}

constexpr ReduceStep step_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return kProductStep;
    case Reduction::kMaximum:
    case Reduction::kAny:
      return kMaximumStep;
    case Reduction::kMinimum:
    case Reduction::kAll:
      return kMinimumStep;
    case Reduction::kSumOfSquares:
    case Reduction::kEuclideanNorm:
      return kSumOfSquaresStep;
    default:
      return kSumStep;
  }
}

// [outer, n, inner] -> [outer, inner].
template <class T>
void reduce_axis(int set, ReduceStep step, std::int64_t outer, std::int64_t n, std::int64_t inner, const T* in,
                 T* out) requires std::is_floating_point_v<T> {
  const ReduceKernel<T>& kernel = kernels_of<T>(set).step[step];
  if (outer * inner == 0) return;
  if (n == 0) {
    std::fill_n(out, outer * inner, identity_of<T>(step));
    return;
  }
  // A long axis is cut into chunks, whose results are joined by halving.
  const std::int64_t chunk =
      inner == 1 ? kChunk : divide_up(std::max<std::int64_t>(kChunk / inner, 1), kColumnBlock) * kColumnBlock;
  const std::int64_t chunks = divide_up(n, chunk);
  const std::int64_t blocks = divide_up(inner, kColumnWidth);
  if (chunks == 1) {
    if (inner == 1) {
      const std::int64_t rows = std::max<std::int64_t>(1, kChunk / n);
      if (outer <= 2 * rows) {
        kernel.rows(in, outer, n, out);
        return;
      }
      parallel_for(divide_up(outer, rows), [&](std::int64_t task) {
        const std::int64_t first = task * rows;
        kernel.rows(in + first * n, std::min(rows, outer - first), n, out + first);
      });
      return;
    }
    // Small reductions of many outer positions share a task.
    const std::int64_t items = outer * blocks;
    const std::int64_t per_task = std::max<std::int64_t>(1, kChunk / (n * std::min(inner, kColumnWidth)));
    parallel_for(divide_up(items, per_task), [&](std::int64_t task) {
      for (std::int64_t item = task * per_task; item < std::min(items, (task + 1) * per_task); ++item) {
        const std::int64_t o = item / blocks;
        const std::int64_t j = item % blocks * kColumnWidth;
        kernel.columns(in + o * n * inner + j, n, inner, std::min(kColumnWidth, inner - j), out + o * inner + j);
      }
    });
    return;
  }
  Scratch scratch(ScratchSlot::kCall, static_cast<std::size_t>(outer * chunks * inner) * sizeof(T));
  T* partial = scratch.as<T>();  // [outer, chunks, inner]
  parallel_for(outer * chunks * blocks, [&](std::int64_t task) {
    const std::int64_t j = task % blocks * kColumnWidth;
    const std::int64_t c = task / blocks % chunks;
    const std::int64_t o = task / blocks / chunks;
    const std::int64_t rows = std::min(chunk, n - c * chunk);
    const T* from = in + (o * n + c * chunk) * inner + j;
    T* to = partial + (o * chunks + c) * inner + j;
    if (inner == 1) {
      kernel.rows(from, 1, rows, to);
    } else {
      kernel.columns(from, rows, inner, std::min(kColumnWidth, inner - j), to);
    }
  });
  reduce_axis(set, step == kSumOfSquaresStep ? kSumStep : step, outer, chunks, inner, partial, out);
}

template <class T>
void reduce_axis(int, ReduceStep step, std::int64_t outer, std::int64_t n, std::int64_t inner, const T* in,
                 T* out) requires std::is_integral_v<T> {
  reduce_integers(step, outer, n, inner, in, out);
}

// Products of complex numbers, in the order in which they lie; other steps never come here (see reduce_complex).
template <class T>
void reduce_axis(int, ReduceStep, std::int64_t outer, std::int64_t n, std::int64_t inner, const std::complex<T>* in,
                 std::complex<T>* out) {
  for (std::int64_t o = 0; o < outer; ++o) {
    std::complex<T>* to = out + o * inner;
    std::fill_n(to, inner, std::complex<T>(1));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::complex<T>* from = in + (o * n + i) * inner;
      for (std::int64_t j = 0; j < inner; ++j) to[j] *= from[j];
    }
  }
}

template <class T>
void finish(Reduction reduction, std::int64_t reduced, std::int64_t kept, T* out) {
  if (reduction == Reduction::kMean) {
    if constexpr (std::is_floating_point_v<T>) {
      // The quotient of zeros is not left to the processor: its NaN has a sign that prints.
      const T count = static_cast<T>(reduced);
      for (std::int64_t i = 0; i < kept; ++i) {
        out[i] = reduced == 0 ? std::numeric_limits<T>::quiet_NaN() : out[i] / count;
      }
    } else if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < kept && reduced != 0; ++i) {
        out[i] = static_cast<T>(static_cast<std::int64_t>(out[i]) / reduced);
      }
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == Reduction::kEuclideanNorm) {
      for (std::int64_t i = 0; i < kept; ++i) out[i] = std::sqrt(out[i]);
    }
  }
}

// Peels reduced axes off, innermost first, until one pass is left, which writes `out`.
template <class T>
void reduce_typed(int set, Reduction reduction, const ReduceShape& whole, const T* in, T* out) {
  ReduceStep step = step_of(reduction);
  ReduceShape shape = whole;
  const std::int64_t reduced = shape.reduced_count();
  const std::int64_t kept = shape.kept_count();
  int passes = 0;
  for (int i = 0; i < shape.axes; ++i) passes += shape.reduced[i] ? 1 : 0;
  if (passes == 0) {
    reduce_axis(set, step, 1, 1, kept, in, out);
    finish(reduction, reduced, kept, out);
    return;
  }
  const auto peel = [&](std::int64_t* outer, std::int64_t* n, std::int64_t* inner) {
    int axis = shape.axes - 1;
    while (!shape.reduced[axis]) --axis;
    ReduceShape rest;
    *outer = *inner = 1;
    for (int i = 0; i < shape.axes; ++i) {
      if (i == axis) continue;
      rest.add(shape.length[i], shape.reduced[i]);
      (i < axis ? *outer : *inner) *= shape.length[i];
    }
    *n = shape.length[axis];
    shape = rest;
  };
  std::int64_t outer = 0;
  std::int64_t n = 0;
  std::int64_t inner = 0;
  peel(&outer, &n, &inner);
  if (passes == 1) {
    reduce_axis(set, step, outer, n, inner, in, out);
  } else {
    // A second buffer is never needed: each pass is smaller than the one before and they alternate
    // between two halves.
    const std::size_t first_size = static_cast<std::size_t>(outer * inner);
    Scratch scratch(ScratchSlot::kCall, 2 * first_size * sizeof(T));
    T* from = scratch.as<T>();
    T* to = from + first_size;
    reduce_axis(set, step, outer, n, inner, in, from);
    if (step == kSumOfSquaresStep) step = kSumStep;
    for (int pass = 1; pass < passes; ++pass) {
      peel(&outer, &n, &inner);
      reduce_axis(set, step, outer, n, inner, from, pass + 1 == passes ? out : to);
      std::swap(from, to);
    }
  }
  finish(reduction, reduced, kept, out);
}

// Complex numbers. Sums and means are those of the parts: to the kernels they are an innermost axis that is kept.
template <class T>
void reduce_complex(int set, Reduction reduction, ReduceShape shape, const void* in, void* out) {
  if (reduction == Reduction::kProduct) {
    reduce_typed(set, reduction, shape, static_cast<const std::complex<T>*>(in), static_cast<std::complex<T>*>(out));
    return;
  }
  shape.add(2, false);
  reduce_typed(set, reduction, shape, static_cast<const T*>(in), static_cast<T*>(out));
}

}  // namespace

void reduce_with(int instruction_set, Reduction reduction, DType dtype, const ReduceShape& shape, const void* in,
                 void* out) {
  const auto run = [&]<class T>(T) {
    reduce_typed(instruction_set, reduction, shape, static_cast<const T*>(in), static_cast<T*>(out));
  };
  switch (dtype) {
    case DType::kFloat32:
      return run(float{});
    case DType::kFloat64:
      return run(double{});
    case DType::kInt32:
      return run(std::int32_t{});
    case DType::kInt64:
      return run(std::int64_t{});
    case DType::kUInt8: {
      if (reduction != Reduction::kMean) return run(std::uint8_t{});
      // The sum of bytes outgrows a byte, their mean does not.
      const std::int64_t kept = shape.kept_count();
      const std::int64_t count = kept * shape.reduced_count();
      Scratch scratch(ScratchSlot::kCall, static_cast<std::size_t>(count + kept) * sizeof(std::int64_t));
      std::int64_t* wide = scratch.as<std::int64_t>();
      std::copy_n(static_cast<const std::uint8_t*>(in), count, wide);
      reduce_typed(instruction_set, reduction, shape, static_cast<const std::int64_t*>(wide), wide + count);
      std::transform(wide + count, wide + count + kept, static_cast<std::uint8_t*>(out),
                     [](std::int64_t v) { return static_cast<std::uint8_t>(v); });
      return;
    }
    case DType::kBool:
      return run(bool{});
    case DType::kComplex64:
      return reduce_complex<float>(instruction_set, reduction, shape, in, out);
    case DType::kComplex128:
      return reduce_complex<double>(instruction_set, reduction, shape, in, out);
    case DType::kBFloat16: {
      const std::int64_t kept = shape.kept_count();
      const std::int64_t count = kept * shape.reduced_count();
      Scratch scratch(ScratchSlot::kCall, static_cast<std::size_t>(count + kept) * sizeof(float));
      float* wide = scratch.as<float>();
      float* result = wide + count;
      const BFloat16* narrow = static_cast<const BFloat16*>(in);
      for (std::int64_t i = 0; i < count; ++i) wide[i] = narrow[i];
      reduce_typed(instruction_set, reduction, shape, static_cast<const float*>(wide), result);
      for (std::int64_t i = 0; i < kept; ++i) static_cast<BFloat16*>(out)[i] = BFloat16(result[i]);
      return;
    }
  }
}

void reduce(Reduction reduction, DType dtype, const ReduceShape& shape, const void* in, void* out) {
  // The sum of a few numbers, as every gradient of a stretched scalar needs one.
  if (shape.axes == 1 && shape.reduced[0] && reduction == Reduction::kSum && dtype == DType::kFloat32 &&
      shape.length[0] > 0 && shape.length[0] <= kChunk) {
    kernels_of<float>(instruction_set())
        .step[kSumStep]
        .rows(static_cast<const float*>(in), 1, shape.length[0], static_cast<float*>(out));
    return;
  }
  reduce_with(instruction_set(), reduction, dtype, shape, in, out);
}

}  // namespace capstan
#endif  // HWY_ONCE
