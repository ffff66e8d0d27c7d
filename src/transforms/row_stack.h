// The rows that a loop collects, as one tensor.
#pragma once

#include <utility>
#include <vector>

#include "capstan/ops/array.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/context.h"
#include "src/core/row_shape.h"

namespace capstan {

// Rows of one shape and dtype, which may come in any order. Each is copied to its place when it comes, so that no more
// than the result is held; only where an observer has to see it they are kept and joined by an op.
class RowStack {
 public:
  explicit RowStack(std::int64_t rows) : rows_(rows), list_(watched_ ? static_cast<std::size_t>(rows) : 0) {}

  // The row with this number.
  void put(std::int64_t row, Tensor value) {
    if (watched_) {
      list_[static_cast<std::size_t>(row)] = std::move(value);
      return;
    }
    Backend* const backend = backend_of(all_.has_value() ? all_.block() : value.block());
    if (!all_.has_value()) all_ = new_tensor_on(backend, value.dtype(), stacked_shape(rows_, value.shape()));
    if (backend != backend_of(value.block()))
      value = backend == nullptr ? copy_to_host(value) : copy_to(*backend, value);
    const std::size_t bytes = static_cast<std::size_t>(value.size()) * size_of(value.dtype());
    auto* to = static_cast<std::byte*>(all_.block()->data) + static_cast<std::size_t>(row) * bytes;
    copy_bytes(backend, to, value.block()->data, bytes);
  }

  Tensor finish() { return watched_ ? stack(list_) : std::move(all_); }

 private:
  bool watched_ = context.observers != nullptr || context.tracer != nullptr;
  std::int64_t rows_;
  std::vector<Tensor> list_;
  Tensor all_;
};

}  // namespace capstan
