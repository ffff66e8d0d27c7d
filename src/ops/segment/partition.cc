// Rows dealt out to parts, and put together again.
#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/segment.h"
#include "capstan/ops/sort.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/array/array.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"
#include "src/ops/rows.h"

namespace capstan {

namespace {

// x with its first `leading` axes as one.
Tensor merge_leading(const Tensor& x, int leading) {
  Shape shape{product(x.shape(), 0, leading)};
  for (int i = leading; i < x.rank(); ++i) shape.push_back(x.dim(i));
  return reshape(x, shape);
}

bool are_leading_axes(const Shape& leading, const Shape& shape) {
  bool fits = leading.rank() <= shape.rank();
  for (int i = 0; fits && i < leading.rank(); ++i) fits = leading[i] == shape[i];
  return fits;
}

// For each row of a stitch which row of all data, one after another and counted from 1, is there; 0 for none.
Tensor stitch_places(const std::vector<Tensor>& indices) {
  std::int64_t rows = 0;
  for (const Tensor& index : indices) {
    with_indices(index, [&](const auto* data) {
      for (std::int64_t i = 0; i < index.size(); ++i) {
        CAPSTAN_CHECK(data[i] >= 0 && std::int64_t{data[i]} < std::int64_t{UINT32_MAX}, IndexError,
                      "dynamic_stitch: index ", data[i],
                      data[i] < 0 ? " is negative" : " is more than a tensor can have");
        rows = std::max<std::int64_t>(rows, std::int64_t{data[i]} + 1);
      }
    });
  }
  const MakeTensorsOn processor(nullptr);
  const Tensor result = zeros({rows}, DType::kInt64);
  auto* places = mutable_data<std::int64_t>(result);
  std::int64_t row = 0;
  for (const Tensor& index : indices) {
    with_indices(index, [&](const auto* data) {
      for (std::int64_t i = 0; i < index.size(); ++i) places[data[i]] = ++row;
    });
  }
  return result;
}

Tensor dynamic_stitch_by_name(std::span<const Tensor> tensors) {
  CAPSTAN_CHECK(tensors.size() % 2 == 0, ValueError, "dynamic_stitch: ", tensors.size(),
                " tensors are not as many indices as data");
  const auto middle = tensors.begin() + static_cast<std::ptrdiff_t>(tensors.size() / 2);
  return dynamic_stitch({tensors.begin(), middle}, {middle, tensors.end()});
}

}  // namespace

constinit const OpDef kDynamicPartition = composite<&dynamic_partition, "x, partitions, num_partitions">(
    "dynamic_partition", "The rows of each part, by the number of the part that each row belongs to.");
constinit const OpDef kDynamicStitch = composite<&dynamic_stitch_by_name, "indices_and_data">(
    "dynamic_stitch",
    "Rows put in the places that their indices name; the last one wins. Takes all indices, then all data.");

std::vector<Tensor> dynamic_partition(Operand x, Operand partitions, std::int64_t num_partitions) try {
  const Tensor value = to_tensor(x);
  const Tensor parts = to_tensor(partitions);
  CAPSTAN_CHECK(num_partitions > 0 && num_partitions <= 65536, ValueError, "dynamic_partition: num_partitions is ",
                num_partitions, ", not from 1 to 65536");
  CAPSTAN_CHECK(parts.dtype() == DType::kInt32 || parts.dtype() == DType::kInt64, DTypeError,
                "dynamic_partition: partitions must be int32 or int64, not ", parts.dtype(),
                arguments({{"x", value}, {"partitions", parts}}));
  CAPSTAN_CHECK(are_leading_axes(parts.shape(), value.shape()), ShapeError, "dynamic_partition: partitions ",
                parts.shape(), " are not the leading axes of ", value.shape(),
                arguments({{"x", value}, {"partitions", parts}}));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(num_partitions));
  with_indices(parts, [&](const auto* data) {
    for (std::int64_t i = 0; i < parts.size(); ++i) {
      CAPSTAN_CHECK(data[i] >= 0 && data[i] < num_partitions, IndexError, "dynamic_partition: part ", data[i],
                    " of element ", i, " is not one of ", num_partitions);
      ++counts[static_cast<std::size_t>(data[i])];
    }
  });
  // A stable order brings the rows of a part together and keeps them in theirs.
  const Tensor rows = take_rows(merge_leading(value, parts.rank()), argsort(reshape(parts, {parts.size()})));
  std::vector<Tensor> result;
  std::int64_t begin = 0;
  for (std::int64_t count : counts) {
    result.push_back(part_of(rows, 0, begin, begin + count));
    begin += count;
  }
  return result;
} catch (const Error&) {
  rethrow_as("dynamic_partition");
}

Tensor dynamic_stitch(const std::vector<Tensor>& indices, const std::vector<Tensor>& data) try {
  CAPSTAN_CHECK(!indices.empty() && indices.size() == data.size(), ValueError, "dynamic_stitch: ", indices.size(),
                " index tensors for ", data.size(), " data tensors");
  Shape width;  // of a row
  std::vector<Tensor> rows;
  for (std::size_t m = 0; m < indices.size(); ++m) {
    check_indices("dynamic_stitch", indices[m]);
    CAPSTAN_CHECK(are_leading_axes(indices[m].shape(), data[m].shape()), ShapeError,
                  "dynamic_stitch: the shape of data ", data[m].shape(), " does not begin with those of its indices, ",
                  indices[m].shape());
    rows.push_back(merge_leading(data[m], indices[m].rank()));
    Shape own;
    for (int i = 1; i < rows[m].rank(); ++i) own.push_back(rows[m].dim(i));
    if (m == 0) width = own;
    CAPSTAN_CHECK(own == width, ShapeError, "dynamic_stitch: rows differ, ", width, " and ", own);
    CAPSTAN_CHECK(data[m].dtype() == data[0].dtype(), DTypeError, "dynamic_stitch: dtypes differ, ", data[0].dtype(),
                  " and ", data[m].dtype());
  }
  const Tensor places = stitch_places(indices);
  Shape zero{1};
  for (std::int64_t length : width) zero.push_back(length);
  rows.insert(rows.begin(), zeros(zero, data[0].dtype()));
  return take_rows(concat(rows, 0), places);
} catch (const Error&) {
  rethrow_as("dynamic_stitch");
}

CAPSTAN_OPS(partition, &kDynamicPartition, &kDynamicStitch);

}  // namespace capstan
