// What the pooling ops share: attributes, checks and sizes.
#pragma once

#include <string_view>

#include "capstan/ops/nn.h"
#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/kernels/pool/pool.h"
#include "src/ops/window.h"

namespace capstan {

struct PoolAttributes {
  HeightWidth ksize;
  HeightWidth strides;
  PackedPadding padding;
};

// Checks everything and computes the sizes.
inline Pool2DShape pool_shape(std::string_view op, const Shape& x, const PoolAttributes& attributes) {
  CAPSTAN_CHECK(x.rank() == 4, ShapeError, op, ": images need rank 4 (batch, height, width, channels), not ", x.rank(),
                "\n  x: ", x);
  const HeightWidth& window = attributes.ksize;
  const HeightWidth& strides = attributes.strides;
  CAPSTAN_CHECK(window.height >= 1 && window.width >= 1, ValueError, op, ": windows must be 1 or more, not ",
                window.height, " by ", window.width);
  CAPSTAN_CHECK(strides.height >= 1 && strides.width >= 1, ValueError, op, ": strides must be 1 or more, not ",
                strides.height, " and ", strides.width);
  Pool2DShape shape;
  shape.batch = x[0];
  shape.in_height = x[1];
  shape.in_width = x[2];
  shape.channels = x[3];
  shape.window_height = window.height;
  shape.window_width = window.width;
  shape.stride_height = strides.height;
  shape.stride_width = strides.width;
  const WindowAxis rows = slide(x[1], window.height, strides.height, attributes.padding, 0);
  const WindowAxis columns = slide(x[2], window.width, strides.width, attributes.padding, 1);
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
