// Samples and references of the ops in src/ops/segment/partition.cc.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::index_input;

std::vector<OpSample> partition_samples() {
  return {{.inputs = {{.shape = {5}}, index_input({5}, {0, 1, 0, 1, 1})}, .attributes = {{"num_partitions", 2}}},
          {.inputs = {{.shape = {3, 2}}, index_input({3}, {2, 0, 2}, DType::kInt64)},
           .attributes = {{"num_partitions", 3}}},
          {.inputs = {{.shape = {2, 2, 3}}, index_input({2, 2}, {1, 0, 1, 1})}, .attributes = {{"num_partitions", 2}}},
          {.inputs = {{.shape = {0, 2}}, index_input({0}, {})}, .attributes = {{"num_partitions", 1}}},
          {.inputs = {{.shape = {2}}, index_input({2}, {0, 2})},
           .attributes = {{"num_partitions", 2}},
           .error = "part 2 of element 1 is not one of 2"},
          {.inputs = {{.shape = {2}}, index_input({2}, {0, 0})},
           .attributes = {{"num_partitions", 0}},
           .error = "num_partitions is 0"},
          {.inputs = {{.shape = {2}}, index_input({3}, {0, 0, 0})},
           .attributes = {{"num_partitions", 1}},
           .error = "are not the leading axes of"}};
}
void partition_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t parts = attributes.at("num_partitions").integer;
  const std::size_t rows = in[1].values.size();
  const std::size_t width = rows == 0 ? 0 : in[0].values.size() / rows;
  out.clear();
  for (std::int64_t part = 0; part < parts; ++part) {
    ReferenceTensor tensor{in[0].dtype, {0}, {}};
    for (int i = in[1].shape.rank(); i < in[0].shape.rank(); ++i) tensor.shape.push_back(in[0].shape[i]);
    for (std::size_t i = 0; i < rows; ++i) {
      if (in[1].values[i] != static_cast<double>(part)) continue;
      tensor.shape.set(0, tensor.shape[0] + 1);
      for (std::size_t j = 0; j < width; ++j) tensor.values.push_back(in[0].values[i * width + j]);
    }
    out.push_back(tensor);
  }
}
std::vector<OpSample> stitch_samples() {
  return {{.inputs = {index_input({2}, {0, 2}), index_input({1}, {1}), {.shape = {2, 2}}, {.shape = {1, 2}}}},
          {.inputs = {index_input({2}, {0, 1}), index_input({1}, {1}), {.shape = {2}}, {.shape = {1}}}},
          {.inputs = {index_input({}, {3}, DType::kInt64), {.shape = {2}}}},
          {.inputs = {index_input({2, 2}, {0, 3, 1, 0}), {.shape = {2, 2, 3}}}},
          {.inputs = {index_input({0}, {}), {.shape = {0, 2}}}},
          {.inputs = {index_input({1}, {-1}), {.shape = {1}}}, .error = "index -1 is negative"},
          {.inputs = {index_input({2}, {0, 1}), {.shape = {3}}}, .error = "does not begin with those of its indices"},
          {.inputs = {index_input({1}, {0}), index_input({1}, {1}), {.shape = {1}}, {.shape = {1, 2}}},
           .error = "rows differ"},
          {.inputs = {index_input({1}, {0}, DType::kFloat32), {.shape = {1}}}, .error = "indices must be int32"},
          {.inputs = {index_input({1}, {0})}, .error = "1 tensors are not as many indices as data"}};
}
void stitch_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const std::size_t parts = in.size() / 2;
  double rows = 0;
  for (std::size_t m = 0; m < parts; ++m) {
    for (double index : in[m].values) rows = std::max(rows, index + 1);
  }
  Shape shape{static_cast<std::int64_t>(rows)};
  for (int i = in[0].shape.rank(); i < in[parts].shape.rank(); ++i) shape.push_back(in[parts].shape[i]);
  const auto width = static_cast<std::size_t>(rows == 0 ? 0 : static_cast<double>(shape.size()) / rows);
  out = {{in[parts].dtype, shape, std::vector<double>(static_cast<std::size_t>(shape.size()))}};
  for (std::size_t m = 0; m < parts; ++m) {
    for (std::size_t i = 0; i < in[m].values.size(); ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        out[0].values[static_cast<std::size_t>(in[m].values[i]) * width + j] = in[parts + m].values[i * width + j];
      }
    }
  }
}

const OpTests kPartitionTests = {
    {"dynamic_partition",
     {.samples = partition_samples, .reference = partition_reference, .dtypes = reference::kEveryDType}},
    {"dynamic_stitch", {.samples = stitch_samples, .reference = stitch_reference, .dtypes = reference::kEveryNumber}},
};

}  // namespace

}  // namespace capstan::testing
