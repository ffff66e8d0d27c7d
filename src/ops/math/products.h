// Products of matrices that read one operand in common, as one op; made in programs alone
// (src/graph/merge_products.cc).
#pragma once

#include <optional>

#include "src/core/op_def.h"

namespace capstan {

struct ProductSides {
  bool transpose_a = false;
  bool transpose_b = false;
  bool same_right = false;  // of `products`: input 0 is the right operand of all, not the left one
};

// How a matmul takes its operands; nothing for other ops.
std::optional<ProductSides> sides_of_matmul(const OpDef& op, const void* attributes);

// Inputs are the operand in common and the others, outputs the products, each with the bits of its matmul; all are real
// matrices of one floating dtype. The attributes are ProductSides.
extern const OpDef kProducts;

}  // namespace capstan
