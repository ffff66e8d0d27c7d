// Softmax along rows.
//
// Typical classifiers have 5 or 10 classes, fewer than a vector has lanes. So rows of few classes
// are transposed in blocks of as many rows as there are lanes, and each lane works on a row of its
// own: no operation across lanes, no half-empty vectors. The transposes are done element by
// element; they cost less than the exponentials. Long rows are read along the row, with a mask for
// the rest.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/nn/softmax.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "src/core/thread_pool.h"
#include "src/kernels/nn/softmax.h"
#include "src/kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// What is wanted of a row. Each has finish(row, at, shifted, exponential, sum, log_sum) for one
// element and loss(row, ...) for the row, called by both algorithms below.
template <class T>
struct Softmax {
  static constexpr bool kExponentials = true, kLogarithm = false, kLoss = false;
  T* y;
};
template <class T>
struct LogSoftmax {
  static constexpr bool kExponentials = false, kLogarithm = true, kLoss = false;
  T* y;
};
template <class T>
struct Dense {
  static constexpr bool kExponentials = true, kLogarithm = true, kLoss = true;
  T* y;
  T* loss;
  const T* labels;
};
template <class T, class Label>
struct Sparse {
  static constexpr bool kExponentials = true, kLogarithm = true, kLoss = true;
  T* y;
  T* loss;
  const Label* labels;
};
template <class Output>
constexpr bool kIsDense = false;
template <class T>
constexpr bool kIsDense<Dense<T>> = true;

constexpr std::int64_t kFewClasses = 32;

// A block of a row to as many as a vector has lanes, [count, classes] from x on.
template <class T, class Output>
void few_classes(std::int64_t first_row, std::int64_t count, std::int64_t classes, const T* x, const Output& output) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  HWY_ALIGN T shifted[kFewClasses * kLanes];  // [class, row]
  HWY_ALIGN T results[kFewClasses * kLanes];
  HWY_ALIGN T log_sums[kLanes];
  x += first_row * classes;
  if (count < 1) __builtin_unreachable();  // g++ would take `shifted` for uninitialised.
  if (count < kLanes) std::fill(shifted, shifted + classes * kLanes, T(0));
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < classes; ++c) shifted[c * kLanes + r] = x[r * classes + c];
  }
  auto largest = hn::Load(d, shifted);
  for (std::int64_t c = 1; c < classes; ++c) {
    largest = hn::Max(largest, hn::Load(d, shifted + c * kLanes));
  }
  auto sum = hn::Zero(d);
  for (std::int64_t c = 0; c < classes; ++c) {
    const auto v = hn::Sub(hn::Load(d, shifted + c * kLanes), largest);
    const auto e = vector_math::exp(d, v);
    sum = hn::Add(sum, e);
    if (Output::kLogarithm) hn::Store(v, d, shifted + c * kLanes);
    if (Output::kExponentials) hn::Store(e, d, results + c * kLanes);
  }
  if (Output::kExponentials) {
    const auto factor = hn::Div(hn::Set(d, T(1)), sum);
    for (std::int64_t c = 0; c < classes; ++c) {
      hn::Store(hn::Mul(hn::Load(d, results + c * kLanes), factor), d, results + c * kLanes);
    }
  }
  if (Output::kLogarithm) {
    hn::Store(sum, d, log_sums);
    for (std::int64_t r = 0; r < count; ++r) log_sums[r] = std::log(log_sums[r]);
    if (!Output::kExponentials) {
      const auto log_sum = hn::Load(d, log_sums);
      for (std::int64_t c = 0; c < classes; ++c) {
        const auto v = hn::Load(d, shifted + c * kLanes);
        hn::Store(hn::Sub(v, log_sum), d, results + c * kLanes);
      }
    }
  }
  T* y = output.y + first_row * classes;
  for (std::int64_t r = 0; r < count; ++r, y += classes) {
    if constexpr (!Output::kLoss) {
      for (std::int64_t c = 0; c < classes; ++c) y[c] = results[c * kLanes + r];
    } else if constexpr (kIsDense<Output>) {
      const T* labels = output.labels + (first_row + r) * classes;
      T loss = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        y[c] = results[c * kLanes + r] - labels[c];
        loss += labels[c] * (log_sums[r] - shifted[c * kLanes + r]);
      }
      output.loss[first_row + r] = loss;
    } else {
      const std::int64_t label = output.labels[first_row + r];
      for (std::int64_t c = 0; c < classes; ++c) y[c] = results[c * kLanes + r];
      y[label] -= T(1);
      output.loss[first_row + r] = log_sums[r] - shifted[label * kLanes + r];
    }
  }
}

// Calls body(vector index, mask of the elements that exist) along a row.
template <class D, class Body>
HWY_INLINE void along_row(D d, std::int64_t classes, const Body& body) {
  const std::int64_t lanes = hn::Lanes(d);
  std::int64_t c = 0;
  for (; c + lanes <= classes; c += lanes) body(c, hn::FirstN(d, lanes), false);
  if (c < classes) body(c, hn::FirstN(d, classes - c), true);
}

template <class T, class Output>
void many_classes(std::int64_t row, std::int64_t classes, const T* x, const Output& output) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  x += row * classes;
  T* y = output.y + row * classes;
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  // Elements beyond the end are minus infinity, whose exponential is zero.
  const auto load = [&](std::int64_t c, auto mask, bool partial) HWY_ATTR {
    if (!partial) return hn::LoadU(d, x + c);
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, x + c), lowest);
  };
  const auto store = [&](V v, std::int64_t c, auto mask, bool partial)
                         HWY_ATTR { partial ? hn::BlendedStore(v, mask, d, y + c) : hn::StoreU(v, d, y + c); };

  V vector_largest = lowest;
  along_row(d, classes, [&](std::int64_t c, auto mask, bool partial) HWY_ATTR {
    vector_largest = hn::Max(vector_largest, load(c, mask, partial));
  });
  const V largest = hn::MaxOfLanes(d, vector_largest);
  V vector_sum = hn::Zero(d);
  along_row(d, classes, [&](std::int64_t c, auto mask, bool partial) HWY_ATTR {
    const V e = vector_math::exp(d, hn::Sub(load(c, mask, partial), largest));
    vector_sum = hn::Add(vector_sum, partial ? hn::IfThenElseZero(mask, e) : e);
    if (Output::kExponentials) store(e, c, mask, partial);
  });
  const T sum = hn::GetLane(hn::SumOfLanes(d, vector_sum));
  const T log_sum = Output::kLogarithm ? std::log(sum) : T(0);
  const V factor = hn::Set(d, T(1) / sum);
  const V shift = hn::Set(d, log_sum);
  V vector_loss = hn::Zero(d);
  along_row(d, classes, [&](std::int64_t c, auto mask, bool partial) HWY_ATTR {
    if constexpr (!Output::kExponentials) {
      store(hn::Sub(hn::Sub(load(c, mask, partial), largest), shift), c, mask, partial);
    } else {
      const V e = partial ? hn::MaskedLoad(mask, d, y + c) : hn::LoadU(d, y + c);
      V v = hn::Mul(e, factor);
      if constexpr (kIsDense<Output>) {
        const T* labels = output.labels + row * classes + c;
        const V label = partial ? hn::MaskedLoad(mask, d, labels) : hn::LoadU(d, labels);
        const V term = hn::Mul(label, hn::Sub(shift, hn::Sub(load(c, mask, partial), largest)));
        vector_loss = hn::Add(vector_loss, partial ? hn::IfThenElseZero(mask, term) : term);
        v = hn::Sub(v, label);
      }
      store(v, c, mask, partial);
    }
  });
  if constexpr (kIsDense<Output>) {
    output.loss[row] = hn::GetLane(hn::SumOfLanes(d, vector_loss));
  } else if constexpr (Output::kLoss) {
    const std::int64_t label = output.labels[row];
    y[label] -= T(1);
    output.loss[row] = log_sum - (x[label] - hn::GetLane(largest));
  }
}

template <class T>
void gradient_row(std::int64_t row, std::int64_t classes, const T* y, const T* g, T* dx) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  y += row * classes;
  g += row * classes;
  dx += row * classes;
  const auto load = [&](const T* from, std::int64_t c, auto mask, bool partial)
                        HWY_ATTR { return partial ? hn::MaskedLoad(mask, d, from + c) : hn::LoadU(d, from + c); };
  V vector_sum = hn::Zero(d);
  along_row(d, classes, [&](std::int64_t c, auto mask, bool partial) HWY_ATTR {
    vector_sum = hn::Add(vector_sum, hn::Mul(load(y, c, mask, partial), load(g, c, mask, partial)));
  });
  const V sum = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, vector_sum)));
  along_row(d, classes, [&](std::int64_t c, auto mask, bool partial) HWY_ATTR {
    const V v = hn::Mul(load(y, c, mask, partial), hn::Sub(load(g, c, mask, partial), sum));
    partial ? hn::BlendedStore(v, mask, d, dx + c) : hn::StoreU(v, d, dx + c);
  });
}

// Calls part(first row, last row) for tasks of about 8192 elements, whole blocks of rows.
template <class Part>
void for_rows(std::int64_t rows, std::int64_t classes, const Part& part) {
  const std::int64_t per_task = std::max<std::int64_t>(8192 / classes / 16, 1) * 16;
  parallel_for((rows + per_task - 1) / per_task,
               [&](std::int64_t task) { part(task * per_task, std::min(rows, (task + 1) * per_task)); });
}

template <class T, class Output>
void run(std::int64_t rows, std::int64_t classes, const T* x, const Output& output) {
  if (rows == 0) return;
  if (classes == 0) {
    if constexpr (Output::kLoss) std::fill(output.loss, output.loss + rows, T(0));
    return;
  }
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  for_rows(rows, classes, [&](std::int64_t begin, std::int64_t end) {
    if (classes <= kFewClasses) {
      for (std::int64_t row = begin; row < end; row += kLanes) {
        few_classes(row, std::min(kLanes, end - row), classes, x, output);
      }
    } else {
      for (std::int64_t row = begin; row < end; ++row) many_classes(row, classes, x, output);
    }
  });
}

template <class T>
void softmax(std::int64_t rows, std::int64_t classes, const T* x, T* y) {
  run(rows, classes, x, Softmax<T>{y});
}
template <class T>
void log_softmax(std::int64_t rows, std::int64_t classes, const T* x, T* y) {
  run(rows, classes, x, LogSoftmax<T>{y});
}
template <class T>
void gradient(std::int64_t rows, std::int64_t classes, const T* y, const T* g, T* dx) {
  if (rows * classes == 0) return;
  for_rows(rows, classes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) gradient_row(row, classes, y, g, dx);
  });
}
template <class T>
void cross_entropy(std::int64_t rows, std::int64_t classes, const T* x, const T* labels, T* loss, T* difference) {
  run(rows, classes, x, Dense<T>{difference, loss, labels});
}
template <class T, class Label>
void sparse_cross_entropy(std::int64_t rows, std::int64_t classes, const T* x, const Label* labels, T* loss,
                          T* difference) {
  run(rows, classes, x, Sparse<T, Label>{difference, loss, labels});
}

template <class T>
constexpr SoftmaxKernels<T> kKernels = {&softmax<T>,
                                        &log_softmax<T>,
                                        &gradient<T>,
                                        &cross_entropy<T>,
                                        &sparse_cross_entropy<T, std::int32_t>,
                                        &sparse_cross_entropy<T, std::int64_t>};

}  // namespace

CAPSTAN_TARGET_KERNELS(SoftmaxKernels, softmax)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(SoftmaxKernels, softmax)

}  // namespace capstan
#endif  // HWY_ONCE
