// Samples and references of the ops in src/ops/attention/attention.cc.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "src/core/philox.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

const SampleInput kSeen{
    .shape = {3, 4}, .values = {1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0}, .dtype = bool_, .differentiable = false};

// With g in fourth place if `gradient`.
std::vector<OpSample> samples(bool gradient) {
  std::vector<OpSample> list;
  const auto add = [&](Shape q, Shape k, Shape v, std::vector<SampleInput> mask, AttributeMap attributes,
                       std::string error = {}) {
    OpSample sample{.inputs = {{.shape = q}, {.shape = k}, {.shape = v}}, .attributes = attributes, .error = error};
    if (gradient) {
      Shape g = q;
      g.set(-1, v[-1]);
      sample.inputs.push_back({.shape = g});
    }
    for (SampleInput& input : mask) sample.inputs.push_back(input);
    list.push_back(sample);
  };
  add({2, 3}, {4, 3}, {4, 2}, {}, {});
  add({2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 3}, {}, {{"scale", 0.5}});
  add({2, 3, 2}, {2, 3, 2}, {2, 3, 1}, {}, {{"causal", true}});
  add({2, 3, 2}, {2, 5, 2}, {2, 5, 2}, {}, {{"causal", true}, {"scale", 1.5}});
  add({2, 3, 2}, {2, 4, 2}, {2, 4, 2}, {kSeen}, {});
  add({2, 3, 2}, {2, 4, 2}, {2, 4, 2}, {{.shape = {2, 1, 4}}}, {});
  add({2, 2, 3, 1}, {2, 2, 4, 1}, {2, 2, 4, 1}, {{.shape = {2, 3, 1}}}, {{"causal", true}});
  add({2, 3, 2}, {2, 4, 2}, {2, 4, 2}, {kSeen}, {{"causal", true}, {"dropout", 0.3}, {"seed", 5}});
  add({2, 3, 2}, {2, 5, 2}, {2, 5, 2}, {}, {{"dropout", 0.5}, {"seed", 7}});
  add({2, 3, 2}, {2, 5, 2}, {2, 5, 2}, {}, {{"causal", true}, {"dropout", 0.5}, {"seed", 7}});
  add({0, 3, 2}, {0, 4, 2}, {0, 4, 2}, {}, {});
  add({1, 3, 2}, {1, 0, 2}, {1, 0, 2}, {}, {});
  add({2, 3}, {4, 2}, {4, 2}, {}, {}, "query and key differ in depth, 3 and 2");
  add({2, 3}, {4, 3}, {5, 2}, {}, {}, "4 keys have 5 values");
  add({2, 2, 3}, {1, 4, 3}, {2, 4, 2}, {}, {}, "leading axes differ, [2, 2, 3] and [1, 4, 3]");
  add({2, 2, 3}, {4, 3}, {4, 2}, {}, {}, "ranks differ, 3 and 2");
  add({2, 3}, {4, 3}, {4, 2}, {{.shape = {3, 4}}}, {}, "the mask [3, 4] does not broadcast to the scores, [2, 4]");
  add({2, 3}, {4, 3}, {4, 2}, {}, {{"dropout", 1.0}, {"seed", 1}}, "the dropout must be in [0, 1), not 1");
  return list;
}
std::vector<OpSample> attention_samples() { return samples(false); }
std::vector<OpSample> gradient_samples() {
  std::vector<OpSample> list = samples(true);
  list.push_back({.inputs = {{.shape = {2, 3}}, {.shape = {4, 3}}, {.shape = {4, 2}}, {.shape = {2, 3}}},
                  .error = "g has shape [2, 3] where [2, 2] is expected"});
  return list;
}

// The probabilities before and after dropout, [..., queries, keys].
struct NaiveScores {
  ReferenceTensor plain;
  ReferenceTensor dropped;
  double scale;
};
NaiveScores naive_scores(const std::vector<ReferenceTensor>& inputs, std::size_t mask_position,
                         const AttributeMap& attributes) {
  const Shape q = inputs[0].shape;
  const double scale = reference::number(attributes, "scale", 1 / std::sqrt(static_cast<double>(q[-1])));
  const bool causal = attributes.contains("causal");
  Shape shape = q;
  shape.set(-1, inputs[1].shape[-2]);
  NaiveScores scores{{.dtype = inputs[0].dtype, .shape = shape}, {}, scale};
  scores.plain = reference::build(inputs[0].dtype, shape, [&](const reference::Position& at) {
    double sum = 0;
    reference::Position x = at;
    reference::Position y = at;
    y[y.size() - 2] = at.back();
    for (std::int64_t i = 0; i < q[-1]; ++i) {
      x.back() = y.back() = i;
      sum += reference::at(inputs[0], x) * reference::at(inputs[1], y);
    }
    sum *= scale;
    if (inputs.size() > mask_position) {
      const ReferenceTensor& mask = inputs[mask_position];
      reference::Position m(at.end() - mask.shape.rank(), at.end());
      for (std::size_t i = 0; i < m.size(); ++i) {
        if (mask.shape[static_cast<int>(i)] == 1) m[i] = 0;
      }
      if (mask.dtype != DType::kBool) {
        sum += reference::at(mask, m);
      } else if (reference::at(mask, m) == 0) {
        return -std::numeric_limits<double>::infinity();
      }
    }
    return causal && at.back() > at[at.size() - 2] ? -std::numeric_limits<double>::infinity() : sum;
  });
  const auto keys = static_cast<std::size_t>(shape[-1]);
  std::vector<double>& values = scores.plain.values;
  for (std::size_t row = 0; row < values.size(); row += keys) {
    double total = 0;
    for (std::size_t i = row; i < row + keys; ++i) total += std::exp(values[i]);
    for (std::size_t i = row; i < row + keys; ++i) values[i] = total == 0 ? 0 : std::exp(values[i]) / total;
  }
  scores.dropped = scores.plain;
  const double rate = reference::number(attributes, "dropout", 0);
  for (std::size_t i = 0; rate > 0 && i < values.size(); ++i) {
    const double draw =
        philox(static_cast<std::uint64_t>(attributes.at("seed").integer), i / 4).words[i % 4] / 4294967296.0;
    scores.dropped.values[i] = draw >= rate ? values[i] / (1 - rate) : 0;
  }
  return scores;
}

// Products of the matrices of a and b, which may be transposed.
ReferenceTensor product(const ReferenceTensor& a, bool transpose_a, const ReferenceTensor& b, bool transpose_b) {
  Shape shape = a.shape;
  shape.set(-2, a.shape[transpose_a ? -1 : -2]);
  shape.set(-1, b.shape[transpose_b ? -2 : -1]);
  const std::int64_t depth = a.shape[transpose_a ? -2 : -1];
  return reference::build(a.dtype, shape, [&](const reference::Position& at) {
    const std::size_t r = at.size();
    double sum = 0;
    reference::Position x = at;
    reference::Position y = at;
    for (std::int64_t i = 0; i < depth; ++i) {
      x[r - 2] = transpose_a ? i : at[r - 2];
      x[r - 1] = transpose_a ? at[r - 2] : i;
      y[r - 2] = transpose_b ? at[r - 1] : i;
      y[r - 1] = transpose_b ? i : at[r - 1];
      sum += reference::at(a, x) * reference::at(b, y);
    }
    return sum;
  });
}

void attention_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  outputs = {product(naive_scores(inputs, 3, attributes).dropped, false, inputs[2], false)};
}
void gradient_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ReferenceTensor>& outputs) {
  const NaiveScores scores = naive_scores(inputs, 4, attributes);
  ReferenceTensor ds = product(inputs[3], false, inputs[2], true);
  const double rate = reference::number(attributes, "dropout", 0);
  const auto keys = static_cast<std::size_t>(ds.shape[-1]);
  for (std::size_t row = 0; row < ds.values.size(); row += keys) {
    double sum = 0;
    for (std::size_t i = row; i < row + keys; ++i) {
      if (rate > 0) ds.values[i] *= scores.dropped.values[i] == 0 ? 0 : 1 / (1 - rate);
      sum += ds.values[i] * scores.plain.values[i];
    }
    for (std::size_t i = row; i < row + keys; ++i) {
      ds.values[i] = scores.scale * scores.plain.values[i] * (ds.values[i] - sum);
    }
  }
  outputs = {product(ds, false, inputs[1], false), product(ds, true, inputs[0], false),
             product(scores.dropped, true, inputs[3], false)};
}

const OpTests kAttentionTests = {
    {"scaled_dot_product_attention", {.samples = attention_samples, .reference = attention_reference}},
    {"attention_gradients", {.samples = gradient_samples, .reference = gradient_reference}},
};

}  // namespace

}  // namespace capstan::testing
