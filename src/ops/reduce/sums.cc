// Which ops are sums, for who fuses them with what they sum.
#include "src/ops/array/shape.h"
#include "src/ops/reduce/reduce.h"

namespace capstan {

bool is_sum(const OpDef& op, const void* attributes, const Shape& x, const Shape& out, ReduceShape* shape, bool* mean) {
  *shape = {};
  *mean = &op == &kReduceMean;
  if (&op == &kReduceSum || *mean) {
    *shape = reduce_shape(x, normalize_axes(op.name, static_cast<const ReduceAttributes*>(attributes)->axis, x.rank()));
    return true;
  }
  if (&op != &kSumLike) return false;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = i - (x.rank() - out.rank());
    shape->add(x[i], axis < 0 || out[axis] != x[i]);
  }
  return true;
}

}  // namespace capstan
