// Attention at sizes that fill vectors and take several blocks of queries, against softmax(q k^T) v written out.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/runtime.h"
#include "capstan/tape.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

struct AttentionCase {
  Shape q, k, v;
  std::optional<Tensor> mask;
  AttentionOptions options;
};

Tensor written_out(const AttentionCase& c, const Tensor& q, const Tensor& k, const Tensor& v) {
  Tensor scores = matmul(q, k, {.transpose_b = true}) / std::sqrt(static_cast<double>(q.dim(-1)));
  if (c.mask && c.mask->dtype() == bool_) scores = where(*c.mask, scores, -INFINITY);
  if (c.mask && c.mask->dtype() != bool_) scores = scores + *c.mask;
  if (c.options.causal) {
    scores = where(less_equal(range(k.dim(-2)), reshape(range(q.dim(-2)), {q.dim(-2), 1})), scores, -INFINITY);
  }
  Tensor probabilities = softmax(scores);
  if (c.options.dropout > 0) probabilities = dropout(probabilities, c.options.dropout, *c.options.seed);
  return matmul(probabilities, v);
}

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  cases.push_back({{2, 3, 150, 20}, {2, 3, 70, 20}, {2, 3, 70, 33}, {}, {}});
  cases.push_back({{2, 300, 16}, {2, 300, 16}, {2, 300, 16}, {}, {.causal = true}});
  cases.push_back({{2, 40, 8}, {2, 1000, 8}, {2, 1000, 5}, {}, {.causal = true}});
  const Tensor first = less(range(70), reshape(range(2, 152), {150, 1}));
  cases.push_back({{2, 3, 150, 20}, {2, 3, 70, 20}, {2, 3, 70, 33}, first, {}});
  cases.push_back({{2, 3, 15, 20}, {2, 3, 70, 20}, {2, 3, 70, 3}, random::normal({2, 1, 1, 70}, 0, 1, float64, 9), {}});
  cases.push_back({{3, 50, 8}, {3, 77, 8}, {3, 77, 8}, {}, {.dropout = 0.3, .seed = 11}});
  return cases;
}

TEST(Attention, AgreesWithWhatItIsMadeOf) {
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.q.to_string() + c.k.to_string());
    const std::vector<Tensor> x = {random::normal(c.q, 0, 1, float64, 1), random::normal(c.k, 0, 1, float64, 2),
                                   random::normal(c.v, 0, 1, float64, 3)};
    GradientTape fused;
    GradientTape plain;
    fused.watch(x);
    plain.watch(x);
    const Tensor y = c.mask ? scaled_dot_product_attention(x[0], x[1], x[2], *c.mask, c.options)
                            : scaled_dot_product_attention(x[0], x[1], x[2], c.options);
    const Tensor want = written_out(c, x[0], x[1], x[2]);
    EXPECT_LT(reduce_max(abs(y - want)).item<double>(), 1e-12);
    const Tensor g = random::normal(y.shape(), 0, 1, float64, 4);
    const std::vector<Tensor> got = fused.gradient(y, x, {.output_gradients = {g}});
    const std::vector<Tensor> due = plain.gradient(want, x, {.output_gradients = {g}});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(reduce_max(abs(got[i] - due[i])).item<double>(), 1e-11) << i;
  }
}

TEST(Attention, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  const std::vector<Tensor> x = {random::normal({4, 200, 32}, 0, 1, float32, 1),
                                 random::normal({4, 200, 32}, 0, 1, float32, 2),
                                 random::normal({4, 200, 32}, 0, 1, float32, 3)};
  const auto compute = [&](int threads) {
    set_num_threads(threads);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true, .dropout = 0.1, .seed = 3});
    std::vector<Tensor> results = tape.gradient(y * y, x);
    results.push_back(y);
    return results;
  };
  const std::vector<Tensor> one = compute(1);
  const std::vector<Tensor> four = compute(4);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(testing::same_bits(one[i], four[i])) << i;
  set_num_threads(before);
}

TEST(Attention, GivesZerosToAQueryThatSeesNoKey) {
  const Tensor q = random::normal({2, 3}, 0, 1, float32, 1);
  const Tensor k = random::normal({4, 3}, 0, 1, float32, 2);
  const Tensor mask = constant({{1, 0, 1, 0}, {0, 0, 0, 0}});
  GradientTape tape;
  tape.watch(q);
  const Tensor y = scaled_dot_product_attention(q, k, k, not_equal(mask, 0));
  const Tensor of_q = tape.gradient(y, q);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(y(1, i).item<float>(), 0);
    EXPECT_EQ(of_q(1, i).item<float>(), 0);
    EXPECT_NE(y(0, i).item<float>(), 0);
  }
}

TEST(Attention, DrawsAnewWithoutASeed) {
  const Tensor x = random::normal({8, 4}, 0, 1, float32, 1);
  const Tensor a = scaled_dot_product_attention(x, x, x, {.dropout = 0.5});
  const Tensor b = scaled_dot_product_attention(x, x, x, {.dropout = 0.5});
  EXPECT_FALSE(testing::same_bits(a, b));
  EXPECT_THROW(attention_gradients(x, x, x, x, {.dropout = 0.5}), ValueError);
  EXPECT_THROW(scaled_dot_product_attention(x, x, x, constant({1, 2, 3, 4, 5, 6, 7, 8})), DTypeError);
}

}  // namespace
}  // namespace capstan
