// What the files that join, cut and arrange arrays share.
#pragma once

#include <vector>

#include "src/core/allocator.h"
#include "src/core/op_def.h"
#include "src/kernels/strided_copy.h"

namespace capstan {

// The ops of arrange.cc and pad.cc, for the list of the family.
extern const OpDef kPad;
extern const OpDef kTile;
extern const OpDef kRepeat;
extern const OpDef kReverse;
extern const OpDef kRoll;
extern const OpDef kMeshgrid;

inline std::byte* bytes_of(const Tensor& tensor, std::int64_t offset = 0) {
  return static_cast<std::byte*>(mutable_raw_data(tensor)) +
         offset * static_cast<std::ptrdiff_t>(size_of(tensor.dtype()));
}
inline const std::byte* bytes_of(const TensorRef& tensor, std::int64_t offset = 0) {
  return static_cast<const std::byte*>(tensor.raw_data()) +
         offset * static_cast<std::ptrdiff_t>(size_of(tensor.dtype()));
}

// x[begin:end] along one axis.
inline Tensor part_of(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  std::vector<Index> items(static_cast<std::size_t>(axis), Slice{});
  items.emplace_back(Slice{begin, end});
  return getitem(x, items);
}

}  // namespace capstan
