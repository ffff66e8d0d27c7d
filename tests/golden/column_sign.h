// Columns of factors have a free sign: cases that say `"compare": "column_sign"` hold for either.
#pragma once

#include <string_view>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::testing {

// The outputs of qr, svd or eigh with those columns negated that point away from the stored ones; together with a
// column of q the row of r, with one of u that of v. The products are recorded like any op, so gradients flow through
// them.
std::vector<Tensor> with_signs_of(std::string_view op, const std::vector<Tensor>& outputs,
                                  const std::vector<Tensor>& stored);

}  // namespace capstan::testing
