#include "src/kernels/array/scatter.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "src/core/thread_pool.h"
#include "src/kernels/joins.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

// Elements per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskElements = 1 << 16;

template <Scatter mode, class T>
T joined(T a, T b) {
  if constexpr (mode == Scatter::kMaximum) {
    return MaximumJoin::join(a, b);
  } else if constexpr (mode == Scatter::kMinimum) {
    return MinimumJoin::join(a, b);
  } else {
    return mode == Scatter::kAdd ? wrapping_sum(a, b) : wrapping_difference(a, b);
  }
}

template <Scatter mode, class T>
void scatter_row(T* out, const T* update, std::int64_t n) {
  if constexpr (mode == Scatter::kUpdate) {
    std::memcpy(out, update, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = joined<mode>(out[i], update[i]);
  }
}

template <Scatter mode, class T>
void scatter_rows(T* out, std::int64_t rows, std::int64_t row_length, const T* updates,
                  std::span<const std::int64_t> numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (row_length == 0 || count == 0) return;
  const std::int64_t tasks = row_length < 16 ? 1 : std::clamp<std::int64_t>(count * row_length / kTaskElements, 1, 16);
  const std::int64_t rows_per_task = (rows + tasks - 1) / tasks;
  const auto scatter = [&](std::int64_t task) {
    const std::int64_t begin = task * rows_per_task;
    const std::int64_t end = begin + rows_per_task;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = numbers[static_cast<std::size_t>(i)];
      if (row < begin || row >= end) continue;
      scatter_row<mode>(out + row * row_length, updates + i * row_length, row_length);
    }
  };
  if (tasks == 1) {
    scatter(0);
  } else {
    parallel_for(tasks, scatter);
  }
}

template <Scatter mode, class T>
void scatter_as(std::span<const std::int64_t> numbers, std::int64_t rows, std::int64_t row_length, const void* updates,
                void* out) {
  const auto* from = static_cast<const T*>(updates);
  auto* to = static_cast<T*>(out);
  if constexpr (std::is_same_v<T, BFloat16>) {
    std::vector<float> wide(to, to + rows * row_length);
    const std::vector<float> wide_updates(from, from + static_cast<std::int64_t>(numbers.size()) * row_length);
    scatter_rows<mode>(wide.data(), rows, row_length, wide_updates.data(), numbers);
    std::transform(wide.begin(), wide.end(), to, [](float value) { return BFloat16(value); });
  } else {
    scatter_rows<mode>(to, rows, row_length, from, numbers);
  }
}

template <Scatter mode>
void scatter_numbers(DType dtype, std::span<const std::int64_t> numbers, std::int64_t rows, std::int64_t row_length,
                     const void* updates, void* out) {
  const auto run = [&]<class T>(T) { scatter_as<mode, T>(numbers, rows, row_length, updates, out); };
  if constexpr (mode == Scatter::kAdd || mode == Scatter::kSubtract) {
    with_any_number_type(dtype, run);
  } else {
    with_real_type(dtype, run);
  }
}

}  // namespace

void scatter_rows(Scatter mode, DType dtype, std::span<const std::int64_t> numbers, std::int64_t rows,
                  std::int64_t row_length, const void* updates, void* out) {
  switch (mode) {
    case Scatter::kAdd:
      return scatter_numbers<Scatter::kAdd>(dtype, numbers, rows, row_length, updates, out);
    case Scatter::kSubtract:
      return scatter_numbers<Scatter::kSubtract>(dtype, numbers, rows, row_length, updates, out);
    case Scatter::kMaximum:
      return scatter_numbers<Scatter::kMaximum>(dtype, numbers, rows, row_length, updates, out);
    case Scatter::kMinimum:
      return scatter_numbers<Scatter::kMinimum>(dtype, numbers, rows, row_length, updates, out);
    case Scatter::kUpdate:
      // Bytes: rows of elements of any dtype.
      return scatter_rows<Scatter::kUpdate>(static_cast<std::byte*>(out), rows,
                                            row_length * static_cast<std::int64_t>(size_of(dtype)),
                                            static_cast<const std::byte*>(updates), numbers);
  }
}

}  // namespace capstan
