// Pooling over regions of unequal lengths: fractional and adaptive.
//
// An axis is gathered so that every region becomes as long as the longest, by repeating its last element: then they are
// windows of equal lengths, which the pooling of images handles. A repeated element never is the first maximum, and in
// a mean its repeats share its weight.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/named_errors.h"
#include "src/kernels/pool/regions.h"
#include "src/ops/axes.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"
#include "src/ops/pool/pool_op.h"
#include "src/ops/seed.h"

namespace capstan {

namespace {

// Pools one axis of x.
Tensor pool_axis(bool max, const Tensor& x, int axis, const Regions& regions) {
  const std::int64_t outer = product(x.shape(), 0, axis);
  const std::int64_t inner = product(x.shape(), axis + 1, x.rank());
  Shape result = x.shape();
  result.set(axis, regions.count);
  if (x.size() == 0) return reshape(x, result);  // both are without elements
  const std::int64_t longest = regions.longest();
  const Tensor places = new_tensor(DType::kInt64, {regions.count, longest});
  const Tensor weights = max ? Tensor() : new_tensor(DType::kFloat64, {regions.count * longest, 1});
  list_places(regions, mutable_data<std::int64_t>(places), max ? nullptr : mutable_data<double>(weights));
  const std::int64_t positions = regions.count * longest;
  const Tensor rows = gather(reshape(x, {outer, x.dim(axis), inner}), reshape(places, {positions}), 1);
  if (max) {
    return reshape(max_pool2d(reshape(rows, {outer, positions, 1, inner}), {longest, 1}, {longest, 1}, "VALID"),
                   result);
  }
  const Tensor weighted = rows * cast(weights, x.dtype());
  return reshape(reduce_sum(reshape(weighted, {outer, regions.count, longest, inner}), 2), result);
}

// --- Fractional ---

// One ratio for height and width, a pair, or [1, height, width, 1].
struct Ratios {
  double row = 1;
  double column = 1;
};
void set_field(Ratios& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  std::vector<double> numbers;
  const auto add = [&](const AttributeValue& item) {
    CAPSTAN_CHECK(item.is_number(), ValueError, op, ": attribute \"", name, "\" must be numbers, not ",
                  value.to_string());
    numbers.push_back(item.number);
  };
  if (value.kind == AttributeValue::Kind::kList) {
    for (const AttributeValue& item : value.list) add(item);
  } else {
    add(value);
  }
  const bool framed = numbers.size() == 4 && numbers[0] == 1 && numbers[3] == 1;
  CAPSTAN_CHECK(numbers.size() == 1 || numbers.size() == 2 || framed, ValueError, op, ": attribute \"", name,
                "\" must be one number, a pair, or [1, height, width, 1], not ", value.to_string());
  field = {numbers[framed ? 1 : 0], numbers[framed ? 2 : numbers.size() - 1]};
}
AttributeValue get_field(const Ratios& field) {
  return AttributeValue(std::vector<AttributeValue>{field.row, field.column});
}

Regions regions_of(const Tensor& sequence, std::int64_t length, bool overlapping) {
  return {length, sequence.dim(0) - 1, sequence.data<std::int64_t>(), overlapping};
}

FractionalPool fractional_pool(std::string_view op, bool max, Operand value, const std::array<double, 2>& ratio,
                               const FractionalPoolOptions& options) {
  const Tensor x = floating_operand(op, value);
  CAPSTAN_CHECK(x.rank() == 4, ShapeError, op, ": images need rank 4 (batch, height, width, channels), not ", x.rank(),
                arguments({{"value", x}}));
  const std::uint64_t seed = key_of(options.seed);
  Tensor sequences[2];
  for (int i = 0; i < 2; ++i) {
    const double r = ratio[static_cast<std::size_t>(i)];
    CAPSTAN_CHECK(r >= 1, ValueError, op, ": a pooling ratio must be 1 or more, not ", r);
    const std::int64_t length = x.dim(i + 1);
    const auto count = static_cast<std::int64_t>(std::floor(static_cast<double>(length) / r));
    CAPSTAN_CHECK(count >= 1, ValueError, op, ": a pooling ratio of ", r, " leaves nothing of a length of ", length,
                  arguments({{"value", x}}));
    sequences[i] = new_tensor(DType::kInt64, {count + 1});
    draw_regions(length, count, options.pseudo_random, seed, static_cast<std::uint32_t>(i),
                 mutable_data<std::int64_t>(sequences[i]));
  }
  // Columns first: of equal maxima the first in the order of rows then is first.
  const Tensor columns = pool_axis(max, x, 2, regions_of(sequences[1], x.dim(2), options.overlapping));
  return {pool_axis(max, columns, 1, regions_of(sequences[0], x.dim(1), options.overlapping)), sequences[0],
          sequences[1]};
}

// --- Adaptive ---

Tensor adaptive_pool(std::string_view op, bool max, Operand x, std::span<const std::int64_t> output_size) {
  Tensor y = floating_operand(op, x);
  const int axes = y.rank() - 2;
  CAPSTAN_CHECK(axes >= 1 && axes <= 3, ShapeError, op, ": images need rank 3, 4 or 5, not ", y.rank(),
                arguments({{"x", y}}));
  const auto given = static_cast<int>(output_size.size());
  CAPSTAN_CHECK(given == 1 || given == axes, ValueError, op, ": ", given, " output sizes for ", axes, " axes");
  for (int axis = axes; axis >= 1; --axis) {
    const std::int64_t count = output_size[given == 1 ? 0 : static_cast<std::size_t>(axis - 1)];
    const std::int64_t length = y.dim(axis);
    CAPSTAN_CHECK(count >= 1 && count <= INT32_MAX, ValueError, op, ": output sizes must be 1 or more, not ", count);
    CAPSTAN_CHECK(length >= 1 && length <= INT32_MAX, ShapeError, op, ": regions of an axis of length ", length,
                  arguments({{"x", y}}));
    y = pool_axis(max, y, axis, {length, count});
  }
  return y;
}

template <auto kPool>
FractionalPool fractional_by_name(Operand value, const Ratios& pooling_ratio, bool pseudo_random, bool overlapping,
                                  std::int64_t seed) {
  return kPool(value, {pooling_ratio.row, pooling_ratio.column},
               {.pseudo_random = pseudo_random,
                .overlapping = overlapping,
                .seed = seed == 0 ? Seed() : static_cast<std::uint64_t>(seed)});  // 0 is none, as in TensorFlow
}

}  // namespace

constinit const OpDef kFractionalMaxPool =
    composite<&fractional_by_name<&fractional_max_pool>, "value, pooling_ratio, pseudo_random, overlapping, seed",
              false, false, 0>("fractional_max_pool",
                               "The largest elements of regions whose lengths are drawn at random.", kStateful);

constinit const OpDef kFractionalAvgPool =
    composite<&fractional_by_name<&fractional_avg_pool>, "value, pooling_ratio, pseudo_random, overlapping, seed",
              false, false, 0>("fractional_avg_pool", "The means of regions whose lengths are drawn at random.",
                               kStateful);

constinit const OpDef kAdaptiveMaxPool =
    composite<overload<Tensor(Operand, std::span<const std::int64_t>)>(&adaptive_max_pool), "x, output_size">(
        "adaptive_max_pool", "The largest elements of a given number of regions.");

constinit const OpDef kAdaptiveAveragePool =
    composite<overload<Tensor(Operand, std::span<const std::int64_t>)>(&adaptive_average_pool), "x, output_size">(
        "adaptive_average_pool", "The means of a given number of regions.");

FractionalPool fractional_max_pool(Operand value, std::array<double, 2> pooling_ratio,
                                   const FractionalPoolOptions& options) try {
  return fractional_pool("fractional_max_pool", true, value, pooling_ratio, options);
} catch (const Error&) {
  rethrow_as("fractional_max_pool");
}
FractionalPool fractional_avg_pool(Operand value, std::array<double, 2> pooling_ratio,
                                   const FractionalPoolOptions& options) try {
  return fractional_pool("fractional_avg_pool", false, value, pooling_ratio, options);
} catch (const Error&) {
  rethrow_as("fractional_avg_pool");
}
Tensor adaptive_max_pool(Operand x, std::span<const std::int64_t> output_size) try {
  return adaptive_pool("adaptive_max_pool", true, x, output_size);
} catch (const Error&) {
  rethrow_as("adaptive_max_pool");
}
Tensor adaptive_average_pool(Operand x, std::span<const std::int64_t> output_size) try {
  return adaptive_pool("adaptive_average_pool", false, x, output_size);
} catch (const Error&) {
  rethrow_as("adaptive_average_pool");
}

CAPSTAN_OPS(pool_regions, &kFractionalMaxPool, &kFractionalAvgPool, &kAdaptiveMaxPool, &kAdaptiveAveragePool);

}  // namespace capstan
