#include "src/train/layers/text_hash.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/train/layers/category_encoding.h"

namespace capstan::detail {

Tensor encode_texts(std::string_view layer, const Texts& form, const std::vector<std::int64_t>& ids,
                    std::string_view mode, std::int64_t depth, DType dtype) {
  if (form.has_shape()) return encode_ids(constant(ids, form.shape()), mode, depth, dtype);
  CAPSTAN_CHECK(mode == "multi_hot" || mode == "count", ShapeError, layer,
                ": rows of texts have different lengths, which output_mode \"", mode, "\" cannot give as one tensor");
  // Filled up with an id that counts nowhere.
  std::size_t longest = 0;
  for (std::size_t i = 0; i < form.row_count(); ++i) longest = std::max(longest, form.row(i).size());
  std::vector<std::int64_t> filled(form.row_count() * longest, -1);
  auto next = ids.begin();
  for (std::size_t i = 0; i < form.row_count(); ++i) {
    const auto length = static_cast<std::ptrdiff_t>(form.row(i).size());
    std::copy_n(next, length, filled.begin() + static_cast<std::ptrdiff_t>(i * longest));
    next += length;
  }
  const Shape shape{static_cast<std::int64_t>(form.row_count()), static_cast<std::int64_t>(longest)};
  return encode_ids(constant(filled, shape), mode, depth, dtype);
}

}  // namespace capstan::detail
