// What those share who act on the rows of row-sparse tensors.
#pragma once

#include <string_view>

#include "src/core/apply.h"

namespace capstan {

// Throws IndexError in the name of `op` for a number that is no row of `rows`.
void check_rows(std::string_view op, const TensorRef& indices, std::int64_t rows);

// The same for all rows of a row-sparse tensor. Those of a trace are checked when it runs.
inline void check_rows(std::string_view op, const Tensor& gradient) {
  if (!gradient.is_row_sparse()) return;
  const Tensor indices = gradient.indices();
  if (has_elements(indices)) check_rows(op, indices, gradient.dim(0));
}

// f of a tensor, or of the values of a row-sparse one, which stays so.
template <class F>
Tensor on_values(const Tensor& x, const F& f) {
  return x.is_row_sparse() ? make_row_sparse(x.indices(), f(x.values()), x.shape()) : f(x);
}

}  // namespace capstan
