#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/graph/program.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::Body;
using testing::expect_same_everywhere;
using testing::filled;
using testing::Tensors;
using testing::trace_like;

std::string with_heads(const Tensors& arguments, const Body& body) {
  Graph graph = trace_like(arguments, body);
  attention_heads(graph);
  return testing::text_of(graph);
}
bool takes_heads(const Tensors& arguments, const Body& body) {
  return with_heads(arguments, body).find("attention_of_heads") != std::string::npos;
}

Tensor swapped(const Tensor& x) { return transpose(x, {0, 2, 1, 3}); }

// Operands that projections gave one by one.
Tensor attend(const Tensors& x, const AttentionOptions& options = {}) {
  return swapped(scaled_dot_product_attention(swapped(x[0]), swapped(x[1]), swapped(x[2]), options));
}
// And all at once.
Tensor attend_parts(const Tensor& x, const AttentionOptions& options = {}) {
  const Tensors parts = unstack(transpose(x, {2, 0, 3, 1, 4}));
  return swapped(scaled_dot_product_attention(parts[0], parts[1], parts[2], options));
}

TEST(AttentionHeads, TakesAndGivesThemWhereTheyStand) {
  const Tensors in = {filled({2, 5, 3, 4}, 1), filled({2, 6, 3, 4}, 2), filled({2, 6, 3, 7}, 3)};
  const Body body = [](const Tensors& x) -> Tensors { return {attend(x)}; };
  EXPECT_EQ(with_heads(in, body), R"(
%0 = argument float32[2, 5, 3, 4]
%1 = argument float32[2, 6, 3, 4]
%2 = argument float32[2, 6, 3, 7]
%7 = attention_of_heads(%0, %1, %2, causal=false, scale=none, dropout=0.0, seed=none, query=0, key=0, value=0, joined=false) float32[2, 5, 3, 7]
return %7
)");
  expect_same_everywhere(in, body);
  expect_same_everywhere({filled({3, 70, 2, 16}, 1), filled({3, 70, 2, 16}, 2), filled({3, 70, 2, 16}, 3)},
                         [](const Tensors& x) -> Tensors { return {attend(x, {.causal = true, .scale = 0.3})}; });
  expect_same_everywhere(
      {filled({2, 5, 3, 4}, 1, float64), filled({2, 6, 3, 4}, 2, float64), filled({2, 6, 3, 7}, 3, float64)}, body);
  expect_same_everywhere({filled({2, 0, 3, 4}, 1), filled({2, 6, 3, 4}, 2), filled({2, 6, 3, 7}, 3)}, body);
  expect_same_everywhere({filled({2, 5, 3, 4}, 1), filled({2, 0, 3, 4}, 2), filled({2, 0, 3, 7}, 3)}, body);
}

TEST(AttentionHeads, AsPartsOfOneTensor) {
  const Tensors in = {filled({2, 40, 3, 2, 16}, 1)};
  const Body body = [](const Tensors& x) -> Tensors { return {attend_parts(x[0], {.causal = true})}; };
  EXPECT_EQ(with_heads(in, body), R"(
%0 = argument float32[2, 40, 3, 2, 16]
%6 = attention_of_heads(%0, %0, %0, causal=true, scale=none, dropout=0.0, seed=none, query=0, key=1, value=2, joined=false) float32[2, 40, 2, 16]
return %6
)");
  expect_same_everywhere(in, body);
}

TEST(AttentionHeads, WithMasksAndSeeds) {
  const Tensors in = {filled({2, 5, 3, 4}, 1), filled({2, 6, 3, 4}, 2), filled({2, 6, 3, 7}, 3), filled({3, 1, 6}, 4)};
  const auto body = [](bool numbers) -> Body {
    return [numbers](const Tensors& x) -> Tensors {
      const Tensor mask = numbers ? x[3] : greater(x[3], 0.0);
      return {swapped(scaled_dot_product_attention(swapped(x[0]), swapped(x[1]), swapped(x[2]), mask,
                                                   {.dropout = 0.4, .seed = 3}))};
    };
  };
  for (const bool numbers : {false, true}) {
    EXPECT_TRUE(takes_heads(in, body(numbers)));
    expect_same_everywhere(in, body(numbers));
  }
}

TEST(AttentionHeads, OfGradients) {
  const Body apart = [](const Tensors& x) -> Tensors {
    GradientTape tape;
    for (const Tensor& t : x) tape.watch(t);
    return tape.gradient(reduce_sum(square(attend(x, {.causal = true}))), x);
  };
  const Tensors in = {filled({2, 40, 3, 8}, 1), filled({2, 50, 3, 8}, 2), filled({2, 50, 3, 5}, 3)};
  const std::string text = with_heads(in, apart);
  EXPECT_NE(text.find("= attention_of_heads_gradients("), std::string::npos) << text;
  EXPECT_EQ(text.find("transpose("), std::string::npos) << text;
  expect_same_everywhere(in, apart);
  expect_same_everywhere({filled({2, 0, 3, 8}, 1), filled({2, 50, 3, 8}, 2), filled({2, 50, 3, 5}, 3)}, apart);
  expect_same_everywhere({filled({2, 40, 3, 8}, 1), filled({2, 0, 3, 8}, 2), filled({2, 0, 3, 5}, 3)}, apart);

  const Body together = [](const Tensors& x) -> Tensors {
    GradientTape tape;
    tape.watch(x[0]);
    return {tape.gradient(reduce_sum(square(attend_parts(x[0], {.causal = true}))), x[0])};
  };
  const Tensors all = {filled({2, 40, 3, 2, 16}, 1)};
  const std::string joined = with_heads(all, together);
  EXPECT_NE(joined.find("joined=true) float32[2, 40, 3, 2, 16]"), std::string::npos) << joined;
  EXPECT_EQ(joined.find("transpose("), std::string::npos) << joined;
  expect_same_everywhere(all, together);
}

TEST(AttentionHeads, OneAttentionBehindAnother) {
  const Tensors in = {filled({2, 6, 3, 4}, 1), filled({2, 6, 3, 4}, 2)};
  const Body body = [](const Tensors& x) -> Tensors {
    const Tensor first = attend({x[0], x[1], x[1]});
    return {attend({first, first, x[0]})};
  };
  EXPECT_EQ(with_heads(in, body).find("transpose("), std::string::npos);
  expect_same_everywhere(in, body);
}

TEST(AttentionHeads, LeavesWhatOthersRead) {
  const Tensors in = {filled({2, 5, 3, 4}, 1), filled({2, 6, 3, 4}, 2), filled({2, 6, 3, 7}, 3)};
  // The result before it is transposed.
  const Body read = [](const Tensors& x) -> Tensors {
    const Tensor y = scaled_dot_product_attention(swapped(x[0]), swapped(x[1]), swapped(x[2]));
    return {swapped(y), y};
  };
  EXPECT_FALSE(takes_heads(in, read));
  expect_same_everywhere(in, read);
  // An operand that has other readers stays for them.
  const Body operand = [](const Tensors& x) -> Tensors { return {attend(x), swapped(x[1])}; };
  EXPECT_TRUE(takes_heads(in, operand));
  expect_same_everywhere(in, operand);
  // Another order of axes, and a dtype that is widened.
  EXPECT_FALSE(takes_heads(in, [](const Tensors& x) -> Tensors {
    return {transpose(scaled_dot_product_attention(swapped(x[0]), swapped(x[1]), swapped(x[2])), {2, 0, 1, 3})};
  }));
  EXPECT_FALSE(takes_heads({cast(in[0], bfloat16), cast(in[1], bfloat16), cast(in[2], bfloat16)},
                           [](const Tensors& x) -> Tensors { return {attend(x)}; }));
}

}  // namespace
}  // namespace capstan
