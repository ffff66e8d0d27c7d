#include "src/ops/row_sums.h"

namespace capstan {

const RowSumsOfOp* row_sums_of(const OpDef& op) {
  for (const RowSumsOfOp& sums : batch_norm_row_sums()) {
    if (sums.op == &op) return &sums;
  }
  return nullptr;
}

}  // namespace capstan
