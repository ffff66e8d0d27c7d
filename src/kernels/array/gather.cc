#include "src/kernels/array/gather.h"

#include <algorithm>
#include <cstring>

#include "src/core/thread_pool.h"

namespace capstan {

namespace {

// Elements per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskElements = 1 << 16;

template <class T>
void gather_by(const GatherSizes& sizes, std::size_t element_bytes, const T* indices, const std::byte* from,
               std::byte* to) {
  const std::int64_t rows = sizes.batch * sizes.outer * sizes.count;
  const auto row_bytes = static_cast<std::size_t>(sizes.inner) * element_bytes;
  if (rows == 0 || row_bytes == 0) return;
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTaskElements / sizes.inner);
  const auto copy_rows = [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    std::int64_t group = task * rows_per_task / sizes.count;  // batch and outer
    std::int64_t place = task * rows_per_task % sizes.count;
    const T* list = indices + group / sizes.outer * sizes.count;
    for (std::int64_t row = task * rows_per_task; row < end; ++row) {
      const std::byte* source = from + static_cast<std::size_t>(group * sizes.length + list[place]) * row_bytes;
      std::byte* target = to + static_cast<std::size_t>(row) * row_bytes;
      if (row_bytes == 4) {
        std::memcpy(target, source, 4);
      } else if (row_bytes == 8) {
        std::memcpy(target, source, 8);
      } else {
        std::memcpy(target, source, row_bytes);
      }
      if (++place == sizes.count) {
        place = 0;
        list = indices + ++group / sizes.outer * sizes.count;
      }
    }
  };
  const std::int64_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  if (tasks == 1) {
    copy_rows(0);
  } else {
    parallel_for(tasks, copy_rows);
  }
}

}  // namespace

void gather_rows(const GatherSizes& sizes, std::size_t element_bytes, const std::int32_t* indices, const void* in,
                 void* out) {
  gather_by(sizes, element_bytes, indices, static_cast<const std::byte*>(in), static_cast<std::byte*>(out));
}
void gather_rows(const GatherSizes& sizes, std::size_t element_bytes, const std::int64_t* indices, const void* in,
                 void* out) {
  gather_by(sizes, element_bytes, indices, static_cast<const std::byte*>(in), static_cast<std::byte*>(out));
}

}  // namespace capstan
