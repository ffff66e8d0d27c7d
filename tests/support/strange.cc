#include "tests/support/strange.h"

#include <limits>
#include <span>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "tests/support/make_tensor.h"

namespace capstan::testing {

std::int64_t strange_integer(Random& random) {
  static const std::vector<std::int64_t> integers = {
      -9, -3, -2, -1, 0, 1, 2, 3, 7, 9, 64, 65, 100, INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1,
      std::int64_t{1} << 62, std::int64_t{1} << 31, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 32,
      -(std::int64_t{1} << 31), std::int64_t{1} << 40, std::int64_t{1} << 27, (std::int64_t{1} << 32) - 1,
      // Its square is 1 in 64 bits, and that of the next is 0.
      (std::int64_t{1} << 63) + 1, std::int64_t{1} << 33};
  return pick(integers, random);
}

double strange_number(Random& random) {
  static const std::vector<double> numbers = {0.0,
                                              -1.0,
                                              0.5,
                                              1.0,
                                              2.0,
                                              1e-300,
                                              1e300,
                                              -1e300,
                                              std::numeric_limits<double>::infinity(),
                                              -std::numeric_limits<double>::infinity(),
                                              std::numeric_limits<double>::quiet_NaN()};
  return pick(numbers, random);
}

Tensor strange_tensor(Random& random, const Tensor& sample) {
  DType dtype = sample.dtype();
  if (random.integer(0, 3) == 0) dtype = static_cast<DType>(random.integer(0, kDTypes - 1));
  const Shape given = sample.shape();
  std::vector<std::int64_t> lengths(given.begin(), given.end());
  switch (random.integer(0, 4)) {
    case 0:
      lengths.assign(static_cast<std::size_t>(random.integer(0, 8)), 1);
      for (std::int64_t& length : lengths) length = random.integer(0, 3);
      break;
    case 1:
      if (!lengths.empty()) {
        lengths[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(lengths.size()) - 1))] =
            random.integer(0, 5);
      }
      break;
    case 2:
      if (!lengths.empty()) lengths.pop_back();
      break;
    case 3:
      if (lengths.size() < 8) lengths.push_back(random.integer(0, 3));
      break;
    default:
      break;
  }
  const Shape shape{std::span<const std::int64_t>(lengths)};
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  const bool strange = random.integer(0, 2) == 0;
  for (double& value : values) {
    value = random.uniform(-3, 3);
    if (!strange) continue;
    if (is_differentiable(dtype)) {
      const double numbers[] = {0, 1e300, -1e300, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
      value = numbers[random.integer(0, 4)];
    } else {
      const double numbers[] = {0, -1, 2147483647, -2147483648.0, 1000, 9.2e18, -9.2e18};
      value = numbers[random.integer(0, 6)];
    }
  }
  Tensor tensor = make_tensor(dtype, shape, values);
  // Gradients of this form may be given to any op.
  if (is_floating(dtype) && shape.rank() > 0 && shape[0] > 0 && random.integer(0, 9) == 0) {
    Shape row = shape;
    row.set(0, 1);
    const Tensor index = constant({static_cast<std::int64_t>(random.integer(0, shape[0] - 1))});
    return make_row_sparse(index, zeros(row, dtype), shape);
  }
  return tensor;
}

}  // namespace capstan::testing
