// Integer indices as arguments of ops.
#pragma once

#include <string_view>

#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/ops/axes.h"

namespace capstan {

// Elements per task; fixed, so that the split depends on the shape only.
inline constexpr std::int64_t kTaskElements = 1 << 16;

inline void check_indices(std::string_view op, const TensorRef& indices) {
  CAPSTAN_CHECK(indices.dtype() == DType::kInt32 || indices.dtype() == DType::kInt64, DTypeError, op,
                ": indices must be int32 or int64, not ", indices.dtype(), arguments({{"indices", indices}}));
}

// Calls visit(pointer) with the indices as their C++ type.
template <class Visit>
void with_indices(const TensorRef& indices, const Visit& visit) {
  if (is_on_device(indices.block())) return with_indices(copy_to_host(indices), visit);
  if (indices.dtype() == DType::kInt64) {
    visit(indices.data<std::int64_t>());
  } else {
    visit(indices.data<std::int32_t>());
  }
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_index(std::string_view op, std::int64_t index, int axis,
                                                               std::int64_t length) {
  throw IndexError(detail::join(op, ": index ", index, " is out of range for axis ", axis, " of length ", length));
}

// A number as an index is an integer of its own, whatever dtype the other arguments have.
struct IndexOperand {
  explicit IndexOperand(Operand operand)
      : holder(operand.is_literal() ? to_tensor(operand) : Tensor()),
        operand(operand.is_literal() ? Operand(static_cast<const Tensor&>(holder)) : operand) {}
  Tensor holder;
  Operand operand;
};

}  // namespace capstan
