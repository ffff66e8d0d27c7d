// Samples and references of the ops in src/ops/diagonals/diagonal.cc.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/ops/decompositions/matrices.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;
const std::vector<DType> kAnyDType = reference::kEveryDType;

std::vector<OpSample> diag_samples() {
  return {
      {.inputs = {{.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {0}}}},
      {.inputs = {{.shape = {3}}}, .attributes = {{"k", 1}}},
      {.inputs = {{.shape = {2, 2}}}, .attributes = {{"k", -2}, {"num_cols", 3}, {"padding_value", 1}}},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}}},
      {.inputs = {{.shape = {2, 2, 3}}}, .attributes = {{"k", ints({0, 1})}, {"align", "LEFT_RIGHT"}}},
      {.inputs = {{.shape = {}}}, .error = "diag: takes tensors of rank 1 or more, not 0"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"num_rows", 2}}, .error = "3 values do not fit diagonals 0 to 0"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"k", ints({-1, 1})}}, .error = "2 rows for 3 diagonals"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"k", ints({1, 0})}}, .error = "is above the highest, 0"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"align", "MIDDLE"}}, .error = "\"RIGHT_LEFT\""},
      {.inputs = {{.shape = {3}}}, .attributes = {{"k", "x"}}, .error = "\"k\" must be a number or two"},
  };
}
// The elements of the diagonals of a matrix as TensorFlow's documentation has them: visit(row of the packed form, place
// in it, row, column), padding with a row of -1.
void for_each_place(std::int64_t rows, std::int64_t columns, const AttributeMap& attributes,
                    const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& visit) {
  std::vector<std::int64_t> k = reference::integers(attributes, "k");
  if (k.empty()) k = {0};
  const std::int64_t low = k.front();
  const std::int64_t high = k.back();
  const auto found = attributes.find("align");
  const std::string align = found == attributes.end() ? "RIGHT_LEFT" : found->second.text;
  const auto length_of = [&](std::int64_t d) {
    return std::min(rows + std::min<std::int64_t>(d, 0), columns - std::max<std::int64_t>(d, 0));
  };
  std::int64_t longest = 0;
  for (std::int64_t d = low; d <= high; ++d) longest = std::max(longest, length_of(d));
  for (std::int64_t d = high; d >= low; --d) {
    const std::string& side = d > 0 || (d == 0 && align.starts_with("LEFT")) ? align.substr(0, align.find('_'))
                                                                             : align.substr(align.find('_') + 1);
    const std::int64_t offset = side == "LEFT" ? 0 : longest - length_of(d);
    for (std::int64_t place = 0; place < longest; ++place) {
      const std::int64_t i = place - offset;
      const bool inside = i >= 0 && i < length_of(d);
      visit(high - d, place, inside ? i - std::min<std::int64_t>(d, 0) : -1, i + std::max<std::int64_t>(d, 0));
    }
  }
}
void diag_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  std::vector<std::int64_t> k = reference::integers(attributes, "k");
  if (k.empty()) k = {0};
  const std::int64_t longest = x.shape[-1];
  const std::int64_t least_rows = longest - std::min<std::int64_t>(k.back(), 0);
  const std::int64_t least_columns = longest + std::max<std::int64_t>(k.front(), 0);
  std::int64_t rows = reference::integer(attributes, "num_rows", -1);
  std::int64_t columns = reference::integer(attributes, "num_cols", -1);
  if (rows < 0 && columns < 0) rows = columns = std::max(least_rows, least_columns);
  if (rows < 0) rows = least_rows;
  if (columns < 0) columns = least_columns;
  const int axes = k.back() == k.front() ? 1 : 2;
  const Shape batch(x.shape.dims().first(static_cast<std::size_t>(x.shape.rank() - axes)));
  ReferenceTensor out{x.dtype, matrix_shape(batch, rows, columns), {}};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), reference::number(attributes, "padding_value", 0));
  const std::int64_t packed = longest * (k.back() - k.front() + 1);
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    for_each_place(rows, columns, attributes, [&](std::int64_t d, std::int64_t place, std::int64_t i, std::int64_t j) {
      if (i < 0) return;
      out.values[static_cast<std::size_t>((b * rows + i) * columns + j)] =
          x.values[static_cast<std::size_t>(b * packed + d * longest + place)];
    });
  }
  outputs = {out};
}
std::vector<OpSample> part_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}}},
      {.inputs = {{.shape = {2, 2, 3}}}},
      {.inputs = {{.shape = {0, 3}}}},
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"k", 2}}},
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"k", ints({-1, 2})}, {"padding_value", 1}}},
      {.inputs = {{.shape = {2, 4, 3}}}, .attributes = {{"k", ints({-2, 1})}, {"align", "LEFT_RIGHT"}}},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}, {"align", "LEFT_LEFT"}}},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}, {"align", "RIGHT_RIGHT"}}},
      {.inputs = {{.shape = {3}}}, .error = "diag_part: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {3, 3}}},
       .attributes = {{"k", 3}},
       .error = "diagonals 3 to 3 are outside of a matrix of 3"},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({1, -1})}}, .error = "is above the highest, -1"},
  };
}
void part_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const std::int64_t rows = x.shape[-2];
  const std::int64_t columns = x.shape[-1];
  const Shape batch(x.shape.dims().first(static_cast<std::size_t>(x.shape.rank() - 2)));
  ReferenceTensor out{x.dtype, batch, {}};
  std::int64_t lines = 0;
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    for_each_place(rows, columns, attributes, [&](std::int64_t d, std::int64_t place, std::int64_t i, std::int64_t j) {
      lines = d + 1;
      longest = std::max(longest, place + 1);
      out.values.push_back(i < 0 ? reference::number(attributes, "padding_value", 0)
                                 : x.values[static_cast<std::size_t>((b * rows + i) * columns + j)]);
    });
  }
  if (lines > 1) out.shape.push_back(lines);
  out.shape.push_back(longest);
  outputs = {out};
}
std::vector<OpSample> set_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 2, 3}}, {.shape = {2, 2}}}},
      {.inputs = {{.shape = {3, 3}}, {.shape = {2}}}, .attributes = {{"k", 1}}},
      {.inputs = {{.shape = {3, 4}}, {.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}, {"align", "LEFT_RIGHT"}}},
      {.inputs = {{.shape = {3, 3}}, {.shape = {2}}}, .error = "set_diag: the diagonal must have shape [3], not [2]"},
      {.inputs = {{.shape = {3}}, {.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
void set_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out = inputs[0];
  const std::int64_t rows = out.shape[-2];
  const std::int64_t columns = out.shape[-1];
  std::size_t next = 0;
  for (std::int64_t b = 0; b < out.shape.size() / (rows * columns); ++b) {
    for_each_place(rows, columns, attributes, [&](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
      const double value = inputs[1].values[next++];
      if (i >= 0) out.values[static_cast<std::size_t>((b * rows + i) * columns + j)] = value;
    });
  }
  outputs = {out};
}
std::vector<OpSample> band_samples() {
  return {
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"num_lower", 1}, {"num_upper", 1}}},
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"num_lower", -1}, {"num_upper", 0}}},
      {.inputs = {{.shape = {4, 3}}}, .attributes = {{"num_lower", 0}, {"num_upper", -1}}},
      {.inputs = {{.shape = {2, 3, 2}}}, .attributes = {{"num_lower", 2}, {"num_upper", 0}}},
      {.inputs = {{.shape = {2, 0, 2}}}, .attributes = {{"num_lower", 0}, {"num_upper", 0}}},
      {.inputs = {{.shape = {3}}},
       .attributes = {{"num_lower", 0}, {"num_upper", 0}},
       .error = "band_part: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {3, 4}}},
       .attributes = {{"num_lower", 4}, {"num_upper", 0}},
       .error = "num_lower 4 and num_upper 0 must not exceed the 3 rows and 4 columns"},
  };
}
void band_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const std::int64_t lower = attributes.at("num_lower").integer;
  const std::int64_t upper = attributes.at("num_upper").integer;
  outputs = {reference::build(x.dtype, x.shape, [&](const reference::Position& p) {
    const std::int64_t i = p[p.size() - 2];
    const std::int64_t j = p[p.size() - 1];
    const bool inside = (lower < 0 || i - j <= lower) && (upper < 0 || j - i <= upper);
    return inside ? reference::at(x, p) : 0.0;
  })};
}

const OpTests kDiagonalTests = {
    {"diag", {.samples = diag_samples, .reference = diag_reference, .dtypes = kAnyDType}},
    {"diag_part", {.samples = part_samples, .reference = part_reference, .dtypes = kAnyDType}},
    {"set_diag", {.samples = set_samples, .reference = set_reference, .dtypes = kAnyDType}},
    {"band_part", {.samples = band_samples, .reference = band_reference, .dtypes = kAnyDType}},
};

}  // namespace

}  // namespace capstan::testing
