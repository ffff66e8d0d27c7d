// Samples and references of the ops in src/ops/sort/count.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::index_input;

std::vector<OpSample> unique_samples() {
  return {{.inputs = {{.shape = {6}, .values = {1, 0, 1, 2, 0, 1}}}},
          {.inputs = {{.shape = {4}}}, .attributes = {{"out_idx", "int64"}}},
          {.inputs = {{.shape = {0}}}},
          {.inputs = {{.shape = {2, 2}}}, .error = "x must be a vector, not of rank 2"},
          {.inputs = {{.shape = {2}}}, .attributes = {{"out_idx", "float32"}}, .error = "out_idx must be int32"}};
}
template <bool kCounts>
void unique_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const DType dtype = attributes.contains("out_idx") ? DType::kInt64 : DType::kInt32;
  std::map<double, std::size_t> numbers;
  out = {{in[0].dtype, {}, {}}, {dtype, in[0].shape, {}}, {dtype, {}, {}}};
  for (double value : in[0].values) {
    const auto [found, is_new] = numbers.emplace(value, numbers.size());
    if (is_new) {
      out[0].values.push_back(value);
      out[2].values.push_back(0);
    }
    out[1].values.push_back(static_cast<double>(found->second));
    out[2].values[found->second] += 1;
  }
  out[0].shape = out[2].shape = {static_cast<std::int64_t>(numbers.size())};
  if (!kCounts) out.pop_back();
}
std::vector<OpSample> bincount_samples() {
  return {{.inputs = {index_input({4}, {1, 1, 3, 0})}},
          {.inputs = {index_input({2, 2}, {1, 1, 3, 0}, DType::kInt64)},
           .attributes = {{"minlength", 6}, {"dtype", "float32"}}},
          {.inputs = {index_input({4}, {1, 1, 3, 0})}, .attributes = {{"maxlength", 2}, {"dtype", "int64"}}},
          {.inputs = {index_input({0}, {})}},
          {.inputs = {index_input({2}, {1, -1})}, .error = "element 1 is negative, -1"},
          {.inputs = {index_input({2}, {1, 1})}, .attributes = {{"minlength", -1}}, .error = "a length is -1"},
          {.inputs = {index_input({1}, {5e9}, DType::kInt64)}, .error = "5000000001 bins are more than"}};
}
void bincount_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  double bins = static_cast<double>(reference::integer(attributes, "minlength", 0));
  for (double value : in[0].values) bins = std::max(bins, value + 1);
  bins = std::min(bins, static_cast<double>(reference::integer(attributes, "maxlength", INT32_MAX)));
  const auto dtype = attributes.find("dtype");
  out = {{dtype == attributes.end() ? DType::kInt32 : dtype_from_name(dtype->second.text),
          {static_cast<std::int64_t>(bins)},
          std::vector<double>(static_cast<std::size_t>(bins))}};
  for (double value : in[0].values) {
    if (value < bins) out[0].values[static_cast<std::size_t>(value)] += 1;
  }
}
AttributeValue interval(double low, double high) { return std::vector<AttributeValue>{low, high}; }
std::vector<OpSample> histogram_samples() {
  const SampleInput values = {.shape = {6}, .values = {0, 1, 2, 5, 4, 15}};
  return {{.inputs = {values}, .attributes = {{"range", interval(1, 5)}, {"nbins", 4}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"range", interval(0, 1)}, {"nbins", 3}, {"dtype", "int64"}}},
          {.inputs = {{.shape = {0}}}, .attributes = {{"range", interval(0, 1)}, {"nbins", 1}}},
          {.inputs = {{.shape = {2, 3}, .values = {0, 1, 2, 5, 4, 15}}},
           .attributes = {{"range", interval(1, 5)}, {"nbins", 4}, {"batch_dims", 1}}},
          {.inputs = {{.shape = {0, 2}}}, .attributes = {{"range", interval(0, 1)}, {"batch_dims", 1}}},
          {.inputs = {values},
           .attributes = {{"range", interval(0, 1)}, {"batch_dims", 2}},
           .error = "batch_dims is 2, not from 0 to the rank, 1"},
          {.inputs = {values}, .attributes = {{"range", interval(1, 1)}}, .error = "the range from 1 to 1 is empty"},
          {.inputs = {values}, .attributes = {{"range", interval(0, 1)}, {"nbins", 0}}, .error = "nbins is 0"},
          {.inputs = {values}, .attributes = {{"range", 1}}, .error = "must be a list of two numbers"},
          {.inputs = {{.shape = {1}, .values = {std::nan("")}}},
           .attributes = {{"range", interval(0, 1)}},
           .error = "element 0 is not a number"}};
}
void histogram_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t bins = reference::integer(attributes, "nbins", 100);
  const double low = attributes.at("range").list[0].number;
  const double high = attributes.at("range").list[1].number;
  const std::int64_t batch_dims = reference::integer(attributes, "batch_dims", 0);
  Shape shape(in[0].shape.dims().first(static_cast<std::size_t>(batch_dims)));
  shape.push_back(bins);
  out = {{attributes.contains("dtype") ? DType::kInt64 : DType::kInt32, shape, {}}};
  out[0].values.resize(static_cast<std::size_t>(shape.size()));
  reference::for_each(in[0].shape, [&](reference::Position position) {
    const double value = reference::at(in[0], position);
    const auto bin = static_cast<std::int64_t>(std::floor((value - low) / (high - low) * static_cast<double>(bins)));
    position.resize(static_cast<std::size_t>(batch_dims));
    position.push_back(std::clamp<std::int64_t>(bin, 0, bins - 1));
    out[0].values[reference::flat(shape, position)] += 1;
  });
}
std::vector<OpSample> confusion_samples() {
  const SampleInput labels = index_input({4}, {1, 2, 2, 0});
  const SampleInput predictions = index_input({4}, {1, 0, 2, 2}, DType::kInt64);
  return {{.inputs = {labels, predictions}},
          {.inputs = {labels, predictions}, .attributes = {{"num_classes", 4}, {"dtype", "float32"}}},
          {.inputs = {index_input({0}, {}), index_input({0}, {})}},
          {.inputs = {labels, predictions}, .attributes = {{"num_classes", 2}}, .error = "index 2 is out of range"},
          {.inputs = {labels, index_input({1}, {0})}, .error = "must be vectors of one length"}};
}
void confusion_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  double largest = -1;
  for (const ReferenceTensor& x : in) {
    for (double value : x.values) largest = std::max(largest, value);
  }
  const std::int64_t classes = reference::integer(attributes, "num_classes", static_cast<std::int64_t>(largest) + 1);
  out = {{attributes.contains("dtype") ? DType::kFloat32 : DType::kInt32,
          {classes, classes},
          std::vector<double>(static_cast<std::size_t>(classes * classes))}};
  for (std::size_t i = 0; i < in[0].values.size(); ++i) {
    out[0].values[static_cast<std::size_t>(in[0].values[i] * static_cast<double>(classes) + in[1].values[i])] += 1;
  }
}

const OpTests kCountTests = {
    {"unique", {.samples = unique_samples, .reference = unique_reference<false>, .dtypes = reference::kOrderedDTypes}},
    {"unique_with_counts",
     {.samples = unique_samples, .reference = unique_reference<true>, .dtypes = reference::kOrderedDTypes}},
    {"bincount", {.samples = bincount_samples, .reference = bincount_reference}},
    {"histogram_fixed_width",
     {.samples = histogram_samples, .reference = histogram_reference, .dtypes = reference::kRealDTypes}},
    {"confusion_matrix", {.samples = confusion_samples, .reference = confusion_reference}},
};

}  // namespace

}  // namespace capstan::testing
