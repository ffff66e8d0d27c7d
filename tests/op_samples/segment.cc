// Samples and references of the ops in src/ops/segment/segment.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

SampleInput ids_input(const Shape& shape, std::vector<double> values, DType dtype = DType::kInt32) {
  return {.shape = shape, .values = std::move(values), .dtype = dtype, .differentiable = false};
}

std::vector<OpSample> unsorted_samples() {
  return {
      {.inputs = {{.shape = {5, 2}}, ids_input({5}, {0, 2, 0, -1, 3})}, .attributes = {{"num_segments", 5}}},
      {.inputs = {{.shape = {4}}, ids_input({4}, {1, 1, 1, 0}, DType::kInt64)}, .attributes = {{"num_segments", 2}}},
      {.inputs = {{.shape = {2, 3, 2}}, ids_input({2, 3}, {0, 1, 2, 2, 1, 0})}, .attributes = {{"num_segments", 3}}},
      {.inputs = {{.shape = {0, 2}}, ids_input({0}, {})}, .attributes = {{"num_segments", 2}}},
      {.inputs = {{.shape = {2}}, ids_input({2}, {0, 2})},
       .attributes = {{"num_segments", 2}},
       .error = "id 2 at position 1 is not below num_segments, 2"},
      {.inputs = {{.shape = {2}}, ids_input({3}, {0, 0, 1})},
       .attributes = {{"num_segments", 2}},
       .error = "are not the leading axes of"},
      {.inputs = {{.shape = {1}}, ids_input({1}, {0})},
       .attributes = {{"num_segments", -1}},
       .error = "num_segments is negative, -1"}};
}
// Zeros make the products behind the second derivative matter.
std::vector<OpSample> segment_product_samples() {
  std::vector<OpSample> samples = unsorted_samples();
  samples.push_back({.inputs = {{.shape = {6}, .values = {2, 0, 3, 0, 0, 1}}, ids_input({6}, {0, 0, 1, 2, 2, 0})},
                     .attributes = {{"num_segments", 4}}});
  return samples;
}
std::vector<OpSample> sorted_samples() {
  return {{.inputs = {{.shape = {5, 2}}, ids_input({5}, {0, 0, 2, 2, 3})}},
          {.inputs = {{.shape = {3}}, ids_input({3}, {1, 1, 1}, DType::kInt64)}},
          {.inputs = {{.shape = {0, 2}}, ids_input({0}, {})}},
          {.inputs = {{.shape = {3}}, ids_input({3}, {1, 0, 1})}, .error = "ids go down from 1 to 0 at position 1"},
          {.inputs = {{.shape = {2}}, ids_input({2}, {-1, 0})}, .error = "the first id is negative, -1"},
          {.inputs = {{.shape = {3}}, ids_input({2}, {0, 1})}, .error = "must be one for each of the rows"}};
}

enum class Reduction { kSum, kMean, kSqrtN, kProduct, kMaximum, kMinimum };

template <Reduction reduction>
double reduce(const std::vector<double>& group) {
  const auto n = static_cast<double>(group.size());
  double sum = 0;
  double product = 1;
  for (double x : group) {
    sum += x;
    product *= x;
  }
  switch (reduction) {
    case Reduction::kSum:
      return sum;
    case Reduction::kMean:
      return group.empty() ? 0 : sum / n;
    case Reduction::kSqrtN:
      return group.empty() ? 0 : sum / std::sqrt(n);
    case Reduction::kProduct:
      return product;
    case Reduction::kMaximum:
      return *std::max_element(group.begin(), group.end());
    case Reduction::kMinimum:
      return *std::min_element(group.begin(), group.end());
  }
  return 0;
}

// What stands in a segment without rows depends on the dtype and is tested in segment_test.cc; samples have none.
template <Reduction reduction, bool sorted>
void segment_reference(const std::vector<ReferenceTensor>& in, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& out) {
  double last = -1;
  for (double id : in[1].values) last = std::max(last, id);
  const std::int64_t count = sorted ? static_cast<std::int64_t>(last) + 1 : attributes.at("num_segments").integer;
  Shape shape{count};
  for (int i = in[1].shape.rank(); i < in[0].shape.rank(); ++i) shape.push_back(in[0].shape[i]);
  const auto width = static_cast<std::size_t>(count == 0 ? 0 : shape.size() / count);
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < in[1].values.size(); ++i) {
    if (in[1].values[i] < 0) continue;
    for (std::size_t j = 0; j < width; ++j) {
      groups[static_cast<std::size_t>(in[1].values[i]) * width + j].push_back(in[0].values[i * width + j]);
    }
  }
  out = {{in[0].dtype, shape, {}}};
  for (const std::vector<double>& group : groups) {
    const bool extremum = reduction == Reduction::kMaximum || reduction == Reduction::kMinimum;
    out[0].values.push_back(extremum && group.empty() ? 0 : reduce<reduction>(group));
  }
}

// Extrema of segments that all have rows.
std::vector<OpSample> extremum_samples() {
  std::vector<OpSample> samples = unsorted_samples();
  std::erase_if(samples, [](const OpSample& sample) {
    return sample.error.empty() && (sample.inputs[0].shape == Shape{5, 2} || sample.inputs[0].shape == Shape{0, 2});
  });
  return samples;
}

template <Reduction reduction>
const OpTest kUnsortedTest = {.samples = reduction == Reduction::kProduct ? segment_product_samples
                                         : reduction == Reduction::kMaximum || reduction == Reduction::kMinimum
                                             ? extremum_samples
                                             : unsorted_samples,
                              .reference = segment_reference<reduction, false>};
template <Reduction reduction>
const OpTest kSortedTest = {.samples = sorted_samples, .reference = segment_reference<reduction, true>};

const OpTests kSegmentTests = {
    {"unsorted_segment_sum", kUnsortedTest<Reduction::kSum>},
    {"unsorted_segment_prod", kUnsortedTest<Reduction::kProduct>},
    {"unsorted_segment_max", kUnsortedTest<Reduction::kMaximum>},
    {"unsorted_segment_min", kUnsortedTest<Reduction::kMinimum>},
    {"unsorted_segment_mean", kUnsortedTest<Reduction::kMean>},
    {"unsorted_segment_sqrt_n", kUnsortedTest<Reduction::kSqrtN>},
    {"segment_sum", kSortedTest<Reduction::kSum>},
    {"segment_mean", kSortedTest<Reduction::kMean>},
    {"segment_prod", kSortedTest<Reduction::kProduct>},
    {"segment_max", kSortedTest<Reduction::kMaximum>},
    {"segment_min", kSortedTest<Reduction::kMinimum>},
};

}  // namespace

}  // namespace capstan::testing
