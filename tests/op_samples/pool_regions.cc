// Samples and references of the ops in src/ops/pool/pool_regions.cc.
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/registry.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/pool_reference.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;

// The regions of an axis.
struct Regions {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
};

ReferenceTensor pooled(bool max, const ReferenceTensor& x, const std::vector<Regions>& regions) {
  Shape shape{x.shape[0]};
  for (const Regions& axis : regions) shape.push_back(static_cast<std::int64_t>(axis.begin.size()));
  shape.push_back(x.shape[-1]);
  return reference::build(x.dtype, shape, [&](const reference::Position& at) {
    Shape inside;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const auto region = static_cast<std::size_t>(at[i + 1]);
      inside.push_back(regions[i].end[region] - regions[i].begin[region]);
    }
    double largest = -1e300;
    double sum = 0;
    reference::for_each(inside, [&](const reference::Position& k) {
      reference::Position from = at;
      for (std::size_t i = 0; i < k.size(); ++i) {
        from[i + 1] = regions[i].begin[static_cast<std::size_t>(at[i + 1])] + k[i];
      }
      largest = std::max(largest, reference::at(x, from));
      sum += reference::at(x, from);
    });
    return max ? largest : sum / static_cast<double>(inside.size());
  });
}

std::vector<OpSample> fractional_samples() {
  const AttributeValue ratios(std::vector<AttributeValue>{1.0, 1.5, 1.25, 1.0});
  return {
      {.inputs = {spread({1, 5, 7, 2})}, .attributes = {{"pooling_ratio", ratios}, {"seed", 7}}},
      {.inputs = {spread({2, 7, 4, 1})}, .attributes = {{"pooling_ratio", 1.4}, {"overlapping", true}, {"seed", 3}}},
      {.inputs = {spread({1, 7, 9, 1})},
       .attributes = {{"pooling_ratio", ratios}, {"pseudo_random", true}, {"seed", 5}}},
      {.inputs = {spread({1, 4, 6, 1})}, .attributes = {{"pooling_ratio", 2.0}, {"seed", 5}}},
      {.inputs = {{.shape = {0, 4, 6, 1}}}, .attributes = {{"pooling_ratio", 1.5}, {"seed", 5}}},
      {.inputs = {{.shape = {4, 4}}}, .attributes = {{"pooling_ratio", 1.5}}, .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"pooling_ratio", 0.5}},
       .error = "a pooling ratio must be 1 or more, not 0.5"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"pooling_ratio", 5}},
       .error = "a pooling ratio of 5 leaves nothing of a length of 4"},
  };
}
// The sequences are drawn, so they are asked for; that they cut the axis into regions of two neighbouring lengths is
// checked.
template <bool kMax>
void fractional_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                          std::vector<ReferenceTensor>& outputs) {
  const Tensor x = zeros(inputs[0].shape);
  const std::vector<Tensor> drawn = call("fractional_max_pool", std::span(&x, 1), attributes);
  outputs = {{}};
  std::vector<Regions> regions(2);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t length = inputs[0].shape[static_cast<int>(axis) + 1];
    const std::vector<std::int64_t> sequence = drawn[axis + 1].to_vector<std::int64_t>();
    for (std::size_t i = 0; i + 1 < sequence.size(); ++i) {
      regions[axis].begin.push_back(sequence[i]);
      regions[axis].end.push_back(std::min(sequence[i + 1] + (attributes.contains("overlapping") ? 1 : 0), length));
    }
    const std::int64_t even = length / static_cast<std::int64_t>(sequence.size() - 1);
    bool fits = sequence.front() == 0 && sequence.back() == length;
    for (std::size_t i = 0; i + 1 < sequence.size(); ++i) {
      const std::int64_t region = sequence[i + 1] - sequence[i];
      fits = fits && (region == even || region == even + 1);
    }
    if (!fits) throw std::logic_error("regions that do not cover their axis evenly");
    outputs.push_back({DType::kInt64, drawn[axis + 1].shape(), drawn[axis + 1].to_vector<double>()});
  }
  outputs[0] = pooled(kMax, inputs[0], regions);
}
std::vector<OpSample> adaptive_samples() {
  return {
      {.inputs = {spread({1, 5, 7, 2})}, .attributes = {{"output_size", ints({3, 2})}}},
      {.inputs = {spread({2, 7, 1})}, .attributes = {{"output_size", 3}}},
      {.inputs = {spread({1, 3, 4, 2, 1})}, .attributes = {{"output_size", ints({2, 3, 1})}}},
      // More regions than elements.
      {.inputs = {spread({1, 2, 3, 1})}, .attributes = {{"output_size", ints({3, 5})}}},
      {.inputs = {{.shape = {4, 4}}}, .attributes = {{"output_size", 2}}, .error = "images need rank 3, 4 or 5, not 2"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"output_size", ints({2, 0})}},
       .error = "output sizes must be 1 or more, not 0"},
      {.inputs = {{.shape = {1, 4, 0, 1}}},
       .attributes = {{"output_size", 2}},
       .error = "regions of an axis of length 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"output_size", ints({2, 2, 2})}},
       .error = "3 output sizes for 2 axes"},
  };
}
template <bool kMax>
void adaptive_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ReferenceTensor>& outputs) {
  const std::vector<std::int64_t> sizes = reference::integers(attributes, "output_size");
  std::vector<Regions> regions;
  for (int i = 0; i < inputs[0].shape.rank() - 2; ++i) {
    const std::int64_t length = inputs[0].shape[i + 1];
    const std::int64_t count = sizes[sizes.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    Regions axis;
    for (std::int64_t k = 0; k < count; ++k) {
      axis.begin.push_back(k * length / count);
      axis.end.push_back(((k + 1) * length + count - 1) / count);
    }
    regions.push_back(axis);
  }
  outputs = {pooled(kMax, inputs[0], regions)};
}

const OpTests kPoolRegionsTests = {
    {"fractional_max_pool", {.samples = fractional_samples, .reference = fractional_reference<true>}},
    {"fractional_avg_pool", {.samples = fractional_samples, .reference = fractional_reference<false>}},
    {"adaptive_max_pool", {.samples = adaptive_samples, .reference = adaptive_reference<true>}},
    {"adaptive_average_pool", {.samples = adaptive_samples, .reference = adaptive_reference<false>}},
};

}  // namespace

}  // namespace capstan::testing
