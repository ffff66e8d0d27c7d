// Sums of products over chosen axes.
//
// tensordot is matmul between transposes and reshapes, so it needs no rule. einsum and the norms
// have files of their own and are in the list here.
#include "capstan/ops/linalg.h"

#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

// --- tensordot ---

namespace {

// The axes that a contraction sums over: pairs, or a number of axes at the inner ends.
struct AxisPairs {
  std::int8_t a[kMaxRank] = {};
  std::int8_t b[kMaxRank] = {};
  std::int8_t count_a = 0;
  std::int8_t count_b = 0;
  bool is_number = false;
  std::int32_t number = 0;
};

std::int8_t small_axis(std::int64_t axis) {
  return static_cast<std::int8_t>(std::clamp<std::int64_t>(axis, -128, 127));  // out of range stays out of range
}

void fill_axes(std::span<const std::int64_t> axes, std::int8_t* out, std::int8_t* count) {
  CAPSTAN_CHECK(axes.size() <= kMaxRank, ValueError, "tensordot: ", axes.size(), " axes are more than ", kMaxRank);
  for (std::size_t i = 0; i < axes.size(); ++i) out[i] = small_axis(axes[i]);
  *count = static_cast<std::int8_t>(axes.size());
}

void set_field(AxisPairs& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field = AxisPairs{};
  if (value.kind == AttributeValue::Kind::kInt) {
    field.is_number = true;
    field.number = static_cast<std::int32_t>(std::clamp<std::int64_t>(value.integer, -1, 127));
    return;
  }
  CAPSTAN_CHECK(value.kind == AttributeValue::Kind::kList && value.list.size() == 2, ValueError, op, ": attribute \"",
                name, "\" must be a number or two lists of axes, not ", value.to_string());
  const auto integers = [](const AttributeValue& list) {
    std::vector<std::int64_t> result;
    if (list.kind != AttributeValue::Kind::kList) return std::vector<std::int64_t>{list.integer};
    for (const AttributeValue& item : list.list) result.push_back(item.integer);
    return result;
  };
  fill_axes(integers(value.list[0]), field.a, &field.count_a);
  fill_axes(integers(value.list[1]), field.b, &field.count_b);
}

AttributeValue get_field(const AxisPairs& field) {
  if (field.is_number) return {static_cast<std::int64_t>(field.number)};
  std::vector<AttributeValue> a;
  std::vector<AttributeValue> b;
  for (int i = 0; i < field.count_a; ++i) a.emplace_back(std::int64_t{field.a[i]});
  for (int i = 0; i < field.count_b; ++i) b.emplace_back(std::int64_t{field.b[i]});
  return {std::vector<AttributeValue>{a, b}};
}

// x as a matrix whose columns (rows if `summed_first`) are the summed axes.
Tensor as_matrix(const Tensor& x, std::span<const int> summed, bool summed_first, Shape* free_shape) {
  const Shape shape = x.shape();
  bool is_summed[kMaxRank] = {};
  std::int64_t summed_size = 1;
  for (int axis : summed) {
    is_summed[axis] = true;
    summed_size *= shape[axis];
  }
  std::vector<int> order;
  if (summed_first) order.assign(summed.begin(), summed.end());
  std::int64_t free_size = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (is_summed[i]) continue;
    order.push_back(i);
    free_shape->push_back(shape[i]);
    free_size *= shape[i];
  }
  if (!summed_first) order.insert(order.end(), summed.begin(), summed.end());
  const Tensor moved = std::is_sorted(order.begin(), order.end()) ? x : transpose(x, Axes(std::span<const int>(order)));
  return reshape(moved, summed_first ? Shape{summed_size, free_size} : Shape{free_size, summed_size});
}

Tensor contract(Operand left_operand, Operand right_operand, const AxisPairs& pairs) try {
  const Tensor a = to_tensor(left_operand);
  const Tensor b = to_tensor(right_operand);
  std::vector<int> axes_a;
  std::vector<int> axes_b;
  if (pairs.is_number) {
    CAPSTAN_CHECK(pairs.number >= 0 && pairs.number <= std::min(a.rank(), b.rank()), ValueError,
                  "tensordot: ", pairs.number, " axes, but the ranks are ", a.rank(), " and ", b.rank(),
                  arguments({{"a", a}, {"b", b}}));
    for (int i = 0; i < pairs.number; ++i) {
      axes_a.push_back(a.rank() - pairs.number + i);
      axes_b.push_back(i);
    }
  } else {
    CAPSTAN_CHECK(pairs.count_a == pairs.count_b, ValueError, "tensordot: ", int{pairs.count_a}, " axes of a and ",
                  int{pairs.count_b}, " axes of b", arguments({{"a", a}, {"b", b}}));
    for (int i = 0; i < pairs.count_a; ++i) {
      axes_a.push_back(normalize_axis("tensordot", pairs.a[i], a.rank()));
      axes_b.push_back(normalize_axis("tensordot", pairs.b[i], b.rank()));
      CAPSTAN_CHECK(std::count(axes_a.begin(), axes_a.end(), axes_a.back()) == 1 &&
                        std::count(axes_b.begin(), axes_b.end(), axes_b.back()) == 1,
                    IndexError, "tensordot: an axis is given twice");
    }
  }
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    CAPSTAN_CHECK(a.dim(axes_a[i]) == b.dim(axes_b[i]), ShapeError, "tensordot: axis ", axes_a[i], " of a and axis ",
                  axes_b[i], " of b differ, ", a.dim(axes_a[i]), " and ", b.dim(axes_b[i]),
                  arguments({{"a", a}, {"b", b}}));
  }
  Shape shape;
  const Tensor left = as_matrix(a, axes_a, false, &shape);
  const Tensor right = as_matrix(b, axes_b, true, &shape);
  return reshape(matmul(left, right), shape);
} catch (const Error&) {
  rethrow_as("tensordot");
}

}  // namespace

constinit const OpDef kTensordot =
    composite<&contract, "a, b, axes">("tensordot", "The sum of products over pairs of axes.");

Tensor tensordot(Operand a, Operand b, int axes) {
  AxisPairs pairs;
  pairs.is_number = true;
  pairs.number = axes;
  return contract(a, b, pairs);
}

Tensor tensordot(Operand a, Operand b, std::span<const int> axes_a, std::span<const int> axes_b) {
  AxisPairs pairs;
  fill_axes(std::vector<std::int64_t>(axes_a.begin(), axes_a.end()), pairs.a, &pairs.count_a);
  fill_axes(std::vector<std::int64_t>(axes_b.begin(), axes_b.end()), pairs.b, &pairs.count_b);
  return contract(a, b, pairs);
}

CAPSTAN_OPS(linalg, &kTensordot);

}  // namespace capstan
