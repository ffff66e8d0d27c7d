// Samples and references of the ops in src/ops/reduce/scan.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/ops/axes.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> scan_samples() {
  std::vector<OpSample> samples;
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      samples.push_back({.inputs = {{.shape = {5}}}, .attributes = {{"exclusive", exclusive}, {"reverse", reverse}}});
      samples.push_back({.inputs = {{.shape = {2, 3, 2}}},
                         .attributes = {{"axis", 1}, {"exclusive", exclusive}, {"reverse", reverse}}});
    }
  }
  samples.push_back({.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", -1}}});
  samples.push_back({.inputs = {{.shape = {0, 3}}}});
  samples.push_back({.inputs = {{.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range"});
  return samples;
}
std::vector<OpSample> running_product_samples() {
  std::vector<OpSample> samples = scan_samples();
  samples.push_back({.inputs = {{.shape = {2, 4}, .values = {2, 0, 3, 0.5, 0, 1, 0, 2}}}, .attributes = {{"axis", 1}}});
  return samples;
}

struct SumStep {
  static constexpr double kIdentity = 0;
  template <class T>
  static T join(T a, T b) {
    return a + b;
  }
};
struct ProductStep {
  static constexpr double kIdentity = 1;
  template <class T>
  static T join(T a, T b) {
    return a * b;
  }
};
struct LogsumexpStep {
  static constexpr double kIdentity = -INFINITY;
  static double join(double a, double b) {
    const double high = std::max(a, b);
    return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
  }
};

// The elements are x[outer, n, inner].
struct View {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};
View view_of(const Shape& shape, const AttributeMap& attributes) {
  const int axis = normalize_axis("reference", reference::integer(attributes, "axis", 0), shape.rank());
  View view{.n = shape[axis]};
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) (i < axis ? view.outer : view.inner) *= shape[i];
  }
  return view;
}
bool truth(const AttributeMap& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found != attributes.end() && found->second.truth;
}

template <class Step, class T>
void scan_reference(const std::vector<T>& inputs, const AttributeMap& attributes, std::vector<T>& outputs) {
  const bool exclusive = truth(attributes, "exclusive");
  const bool reverse = truth(attributes, "reverse");
  T out = inputs[0];
  const View view = view_of(out.shape, attributes);
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t j = 0; j < view.inner; ++j) {
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>((o * view.n + i) * view.inner + j); };
      for (std::int64_t i = 0; i < view.n; ++i) {
        auto value = static_cast<std::remove_cvref_t<decltype(out.values[0])>>(Step::kIdentity);
        for (std::int64_t k = 0; k < view.n; ++k) {
          const bool before = reverse ? k > i : k < i;
          if (before || (k == i && !exclusive)) value = Step::join(value, inputs[0].values[at(k)]);
        }
        out.values[at(i)] = value;
      }
    }
  }
  outputs = {out};
}

std::vector<OpSample> inclusive_samples() {
  // The exclusive scan starts at -inf, which no tolerance compares.
  std::vector<OpSample> samples = scan_samples();
  std::erase_if(samples, [](const OpSample& sample) {
    const auto found = sample.attributes.find("exclusive");
    return found != sample.attributes.end() && found->second.truth;
  });
  return samples;
}
std::vector<OpSample> recurrence_samples() {
  return {
      {.inputs = {{.shape = {5}}, {.shape = {5}}}},
      {.inputs = {{.shape = {2, 3, 2}}, {.shape = {2, 3, 2}}}, .attributes = {{"axis", 1}, {"reverse", true}}},
      {.inputs = {{.shape = {2, 4}}, {.shape = {2, 4}}}, .attributes = {{"axis", -1}}},
      {.inputs = {{.shape = {2, 4}}, {.shape = {2, 3}}}, .error = "shapes differ, [2, 4] and [2, 3]"},
  };
}
void recurrence_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                          std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out = inputs[1];
  const View view = view_of(out.shape, attributes);
  const bool reverse = truth(attributes, "reverse");
  for (std::int64_t i = 1; i < view.n; ++i) {
    const std::int64_t k = reverse ? view.n - 1 - i : i;
    const std::int64_t last = reverse ? k + 1 : k - 1;
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t j = 0; j < view.inner; ++j) {
        const auto at = [&](std::int64_t n) { return static_cast<std::size_t>((o * view.n + n) * view.inner + j); };
        out.values[at(k)] += inputs[0].values[at(k)] * out.values[at(last)];
      }
    }
  }
  outputs = {out};
}

const OpTests kScanTests = {
    {"cumsum",
     {.samples = scan_samples,
      .reference = scan_reference<SumStep, ReferenceTensor>,
      .dtypes = {float32, float64, bfloat16, int32, int64, complex64, complex128}}},
    {"cumprod",
     {.samples = running_product_samples,
      .reference = scan_reference<ProductStep, ReferenceTensor>,
      .complex_reference = scan_reference<ProductStep, ComplexTensor>,
      .dtypes = {float32, float64, bfloat16, int32, int64, complex64, complex128}}},
    {"cumulative_logsumexp",
     {.samples = inclusive_samples, .reference = scan_reference<LogsumexpStep, ReferenceTensor>}},
    {"linear_recurrence", {.samples = recurrence_samples, .reference = recurrence_reference}},
};

}  // namespace

}  // namespace capstan::testing
