// What the pooling ops share: attributes, checks and sizes.
#pragma once

#include <string_view>

#include "capstan/ops/nn.h"
#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/kernels/pool/pool.h"
#include "src/ops/window_lengths.h"

namespace capstan {

struct PoolAttributes {
  PerAxis<2> ksize;
  PerAxis<2> strides;
  PackedPadding padding;
};

// Checks everything and computes the sizes.
inline Pool2DShape pool_shape(std::string_view op, const Shape& x, const PoolAttributes& attributes) {
  CAPSTAN_CHECK(x.rank() == 4, ShapeError, op, ": images need rank 4 (batch, height, width, channels), not ", x.rank(),
                "\n  x: ", x);
  const auto& window = attributes.ksize.at;
  const auto& strides = attributes.strides.at;
  CAPSTAN_CHECK(attributes.ksize.all_positive(), ValueError, op, ": windows must be 1 or more, not ", window[0], " by ",
                window[1]);
  CAPSTAN_CHECK(attributes.strides.all_positive(), ValueError, op, ": strides must be 1 or more, not ",
                attributes.strides.text());
  Pool2DShape shape;
  shape.batch = x[0];
  shape.in_height = x[1];
  shape.in_width = x[2];
  shape.channels = x[3];
  shape.window_height = window[0];
  shape.window_width = window[1];
  shape.stride_height = strides[0];
  shape.stride_width = strides[1];
  const WindowAxis rows = slide(x[1], window[0], strides[0], attributes.padding, 0);
  const WindowAxis columns = slide(x[2], window[1], strides[1], attributes.padding, 1);
  shape.out_height = rows.count;
  shape.out_width = columns.count;
  shape.pad_top = rows.before;
  shape.pad_left = columns.before;
  return shape;
}
inline Shape result_of(const Pool2DShape& shape) {
  return {shape.batch, shape.out_height, shape.out_width, shape.channels};
}

}  // namespace capstan
