// A sample that all pooling ops use.
#pragma once

#include "src/ops/pool/pool_op.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

// A sample of distinct values far apart, so that small steps do not change which one is the largest.
inline SampleInput spread(Shape shape) {
  SampleInput input{.shape = shape};
  const std::int64_t count = shape.size();
  const std::int64_t step = count % 11 == 0 ? 13 : 11;
  for (std::int64_t i = 0; i < count; ++i) input.values.push_back(0.125 * static_cast<double>(i * step % count) - 2);
  return input;
}

}  // namespace capstan::testing
