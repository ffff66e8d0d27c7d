// Attention of ONNX. Its many forms are checked by the node tests (docs/onnx.md).
#include "capstan/ops/attention.h"

#include <gtest/gtest.h>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "tests/onnx/single_node.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using onnx::attribute;
using testing::message_of;
using testing::SingleNode;

void expect_near(const Tensor& is, const Tensor& wanted) {
  ASSERT_EQ(is.shape(), wanted.shape());
  const std::vector<float> a = is.to_vector<float>(), b = wanted.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << i;
}

const Tensor kQuery = random::uniform({2, 4, 3, 5}, -1, 1, float32, 1);
const Tensor kKey = random::uniform({2, 4, 3, 5}, -1, 1, float32, 2);
const Tensor kValue = random::uniform({2, 4, 3, 5}, -1, 1, float32, 3);

TEST(Attention, IsThatOfTheLibrary) {
  const SingleNode node{.op = "Attention", .opset = 23, .weights_from = 9};
  expect_near(node({kQuery, kKey, kValue})[0], scaled_dot_product_attention(kQuery, kKey, kValue));
  const SingleNode causal{.op = "Attention", .attributes = {attribute("is_causal", 1)}, .opset = 23, .weights_from = 9};
  const Tensor wanted = scaled_dot_product_attention(kQuery, kKey, kValue, {.causal = true});
  expect_near(causal({kQuery, kKey, kValue})[0], wanted);
  // The same op by op, for its scores are asked for.
  SingleNode scores = causal;
  scores.outputs = 4;
  expect_near(scores({kQuery, kKey, kValue})[0], wanted);
}

TEST(Attention, HeadsMayShareKeysAndKeysMayBeKept) {
  const SingleNode node{.op = "Attention", .opset = 23, .outputs = 3, .weights_from = 9};
  const Tensor keys = kKey(slice(), slice(0, 2)), values = kValue(slice(), slice(0, 2));
  const Tensor past = kKey(slice(), slice(2, 4)), past_values = kValue(slice(), slice(2, 4));
  const std::vector<Tensor> is = node({kQuery, keys, values, Tensor(), past, past_values});
  const Tensor all = concat({past, keys}, 2), all_values = concat({past_values, values}, 2);
  expect_near(is[0], scaled_dot_product_attention(kQuery, repeat(all, 2, 1), repeat(all_values, 2, 1)));
  expect_near(is[1], all);
  expect_near(is[2], all_values);
}

TEST(Attention, ErrorsNameWhatIsWrong) {
  const SingleNode node{.op = "Attention",
                        .attributes = {attribute("q_num_heads", 3), attribute("kv_num_heads", 3)},
                        .opset = 23,
                        .weights_from = 9};
  const Tensor flat = zeros({2, 3, 20});
  EXPECT_NE(message_of<Error>([&] {
              node({flat, flat, flat});
            }).find("20 numbers do not divide into 3 heads"),
            std::string::npos);
  const Tensor row = zeros({2, 3});
  EXPECT_NE(message_of<Error>([&] {
              node({row, row, row});
            }).find("takes tensors of rank 3 or 4, not 2"),
            std::string::npos);
  EXPECT_NE(message_of<Error>([&] {
              node({kQuery, zeros({2, 4, 3, 6}), kValue});
            }).find("(Attention)"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
