#include "src/core/row_sparse.h"

#include "src/core/backend.h"
#include "src/core/check.h"

namespace capstan {

void check_rows(std::string_view op, const TensorRef& of, std::int64_t rows) {
  const Tensor indices = copy_to_host(of);
  const bool wide = indices.dtype() == DType::kInt64;
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    const std::int64_t row = wide ? indices.data<std::int64_t>()[i] : indices.data<std::int32_t>()[i];
    CAPSTAN_CHECK(row >= 0 && row < rows, IndexError, op, ": index ", row, " is out of range for axis 0 of length ",
                  rows);
  }
}

}  // namespace capstan
