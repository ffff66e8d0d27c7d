#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::filled;
using testing::steps_of;
using testing::Tensors;

TEST(Epilogues, OfProductsOfAllForms) {
  for (const DType dtype : {float32, float64}) {
    const auto like = [dtype](const Shape& shape, std::uint64_t seed) { return filled(shape, seed, dtype); };
    const testing::Body dense = [](const Tensors& in) -> Tensors { return {relu(matmul(in[0], in[1]) + in[2])}; };
    // Few columns, which loops take several rows of at once; many steps along the inner axis; more columns than a block
    // has; small ones; nothing.
    for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{
             {3000, 40, 24}, {700, 1300, 30}, {130, 8, 2500}, {5, 4, 3}, {1, 2000, 2000}, {0, 3, 4}, {3, 0, 4}}) {
      SCOPED_TRACE(m);
      testing::expect_same_everywhere({like({m, k}, 1), like({k, n}, 2), like({n}, 3)}, dense);
    }
    testing::expect_same_everywhere(
        {like({40, 900}, 1), like({200, 40}, 2), like({900, 1}, 3)}, [](const Tensors& in) -> Tensors {
          return {tanh(matmul(in[0], in[1], {.transpose_a = true, .transpose_b = true}) * in[2])};
        });
    // One matrix on the right is one product, several are many.
    testing::expect_same_everywhere({like({7, 200, 40}, 1), like({40, 50}, 2), like({50}, 3)}, dense);
    testing::expect_same_everywhere({like({7, 200, 40}, 1), like({7, 40, 50}, 2), like({50}, 3)}, dense);
    testing::expect_same_everywhere({like({2, 3, 300, 80}, 1), like({3, 80, 90}, 2), like({90}, 3)}, dense);
  }
}

TEST(Epilogues, OfConvolutions) {
  const auto layer = [](std::array<std::int64_t, 2> strides) -> testing::Body {
    return [=](const Tensors& in) -> Tensors {
      const Tensor y = conv2d(in[0], in[1], strides, "SAME") + in[2];
      return {sigmoid(y) * y};
    };
  };
  for (const auto& [filters, units] : std::vector<std::pair<Shape, std::int64_t>>{
           {{3, 3, 5, 20}, 20}, {{3, 3, 5, 64}, 64}, {{1, 1, 5, 300}, 300}, {{5, 2, 5, 2}, 2}, {{3, 3, 5, 3}, 3}}) {
    SCOPED_TRACE(units);
    testing::expect_same_everywhere({filled({6, 17, 13, 5}, 1), filled(filters, 2), filled({units}, 3)}, layer({1, 1}));
    testing::expect_same_everywhere({filled({6, 17, 13, 5}, 1), filled(filters, 2), filled({units}, 3)}, layer({2, 2}));
  }
  // More output channels than the packed matrices of one pass.
  testing::expect_same_everywhere({filled({2, 6, 6, 200}, 1), filled({3, 3, 200, 400}, 2), filled({400}, 3)},
                                  layer({1, 1}));
  // An operand for each image.
  testing::expect_same_everywhere({filled({6, 17, 13, 5}, 1), filled({3, 3, 5, 20}, 2), filled({6, 1, 1, 1}, 3)},
                                  layer({1, 1}));
}

TEST(Epilogues, MayReadWhatTheProductReads) {
  const Tensors arguments = {filled({600, 600}, 1), filled({600, 600}, 2)};
  testing::expect_same_everywhere(arguments, [](const Tensors& in) -> Tensors {
    const Tensor x = tanh(in[0]);
    // x dies here; its rows are read by the product until it ends.
    const Tensor y = relu(matmul(x, in[1]) + x);
    return {matmul(y, y, {.transpose_a = true}) - y};
  });
  testing::expect_same_everywhere({filled({4, 30, 30, 16}, 1), filled({3, 3, 16, 16}, 2)},
                                  [](const Tensors& in) -> Tensors {
                                    const Tensor x = tanh(in[0]);
                                    return {reduce_sum(tanh(relu(conv2d(x, in[1], {1, 1}, "SAME") + x)), 0)};
                                  });
}

TEST(Epilogues, TheProductMayBeReadByOthers) {
  testing::expect_same_everywhere(
      {filled({3000, 40}, 1), filled({40, 24}, 2), filled({24}, 3)}, [](const Tensors& in) -> Tensors {
        const Tensor product = matmul(in[0], in[1]);
        const Tensor y = relu(product + in[2]);
        return {product, y, reduce_max(product, 0), matmul(y, in[1], {.transpose_b = true}), reshape(y, {-1})};
      });
  // As a row of something larger, of which no range of rows is finished.
  testing::expect_same_everywhere({filled({300, 40}, 1), filled({40, 24}, 2), filled({5, 300, 24}, 3)},
                                  [](const Tensors& in) -> Tensors { return {tanh(matmul(in[0], in[1]) + in[2])}; });
}

TEST(Epilogues, AreOneStepWithTheirProduct) {
  const Tensors dense = {filled({300, 40}, 1), filled({40, 24}, 2), filled({24}, 3)};
  EXPECT_EQ(steps_of(dense, [](const Tensors& in) -> Tensors { return {relu(matmul(in[0], in[1]) + in[2])}; }),
            "matmul + loop(add, relu)");
  // What it reads besides has to be there before the product begins.
  EXPECT_EQ(steps_of(dense,
                     [](const Tensors& in) -> Tensors {
                       const Tensor y = matmul(in[0], in[1]);
                       return {relu(y + reduce_max(y, 0))};
                     }),
            "loop(add, relu); matmul; reduce_max");
  EXPECT_EQ(
      steps_of(dense, [](const Tensors& in) -> Tensors { return {matmul(in[0], in[1]) * matmul(tanh(in[0]), in[1])}; }),
      "loop(tanh); matmul; matmul + loop(multiply)");
  // A loop with sums goes over blocks of its own.
  EXPECT_EQ(steps_of(dense, [](const Tensors& in) -> Tensors { return {reduce_sum(tanh(matmul(in[0], in[1])), 0)}; }),
            "loop(tanh, reduce_sum); matmul");
  EXPECT_EQ(steps_of({filled({2, 9, 9, 3}, 1), filled({3, 3, 3, 8}, 2), filled({8}, 3)},
                     [](const Tensors& in) -> Tensors {
                       return {relu(conv2d(in[0], in[1], {1, 1}, "VALID") + in[2])};
                     }),
            "conv2d + loop(add, relu)");
}

TEST(Epilogues, VariablesAreUpdatedWhereTheyLieByLoopsOfTheirOwn) {
  const Variable w(filled({40, 24}, 1));
  const testing::Body step = [&](const Tensors& in) -> Tensors {
    w.assign_sub(matmul(in[0], in[1], {.transpose_a = true}) * 0.1);
    return {};
  };
  const Tensors arguments = {filled({300, 40}, 2), filled({300, 24}, 3)};
  testing::expect_same_everywhere(arguments, step, {w});
  EXPECT_EQ(steps_of(arguments, step), "loop(multiply, subtract); matmul");
  auto f = function([&](const Tensor& x, const Tensor& y) { step({x, y}); });
  f(arguments[0], arguments[1]);
  const void* const before = w.value().block()->data;
  f(arguments[0], arguments[1]);
  EXPECT_EQ(w.value().block()->data, before);
}

// --- Sums over rows ---

TEST(Epilogues, TakeTheMomentsOfWhatTheyMake) {
  const auto layer = [](bool activated) -> testing::Body {
    return [=](const Tensors& in) -> Tensors {
      const Tensor y = conv2d(in[0], in[1], {1, 1}, "SAME");
      const BatchNormResult norm = batch_norm_training(activated ? relu(y + in[2]) : y, in[2], in[3]);
      return {norm.y, norm.mean, norm.variance};
    };
  };
  for (const DType dtype : {float32, float64}) {
    const auto like = [dtype](const Shape& shape, std::uint64_t seed) { return filled(shape, seed, dtype); };
    // Chunks of 4096 / channels rows, which images of 221 rows cut; more channels than that; kernels without epilogues.
    for (const auto& [images, channels] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{6, 20}, {30, 16}, {1, 600}, {2, 3}, {0, 20}, {6, 0}}) {
      SCOPED_TRACE(channels);
      for (const bool activated : {false, true}) {
        testing::expect_same_everywhere(
            {like({images, 17, 13, 5}, 1), like({3, 3, 5, channels}, 2), like({channels}, 3), like({channels}, 4)},
            layer(activated));
      }
    }
    testing::expect_same_everywhere(
        {like({3000, 40}, 1), like({40, 24}, 2), like({24}, 3)},
        [](const Tensors& in) -> Tensors { return {batch_norm_training(matmul(in[0], in[1]), in[2], in[2]).y}; });
  }
  const Tensors arguments = {filled({6, 17, 13, 5}, 1), filled({3, 3, 5, 20}, 2), filled({20}, 3), filled({20}, 4)};
  EXPECT_EQ(steps_of(arguments, layer(false)), "conv2d + batch_norm_moments; loop(subtract, multiply, add)");
  EXPECT_EQ(steps_of(arguments, layer(true)),
            "conv2d + loop(add, relu) + batch_norm_moments; loop(subtract, multiply, add)");
}

TEST(Epilogues, TakeTheSumsOfAGradient) {
  const testing::Body body = [](const Tensors& in) -> Tensors {
    GradientTape tape;
    tape.watch(in[0]);
    tape.watch(in[1]);
    const Tensor h = tanh(batch_norm_training(conv2d(in[0], in[1], {1, 1}, "SAME"), in[3], in[3]).y);
    const Tensor y = conv2d(batch_norm_training(h, in[3], in[3]).y, in[2], {2, 2}, "SAME");
    return tape.gradient(y * y, std::vector<Tensor>{in[0], in[1]});
  };
  const Tensors arguments = {filled({6, 17, 13, 5}, 1), filled({3, 3, 5, 20}, 2), filled({3, 3, 20, 30}, 3),
                             filled({20}, 4)};
  testing::expect_same_everywhere(arguments, body);
  EXPECT_NE(steps_of(arguments, body).find("conv2d_backprop_input + batch_norm_sums"), std::string::npos);
}

TEST(Epilogues, TakeNoSumsOfWhatIsOverwrittenOrNotThere) {
  // The loop may lie where the product lay, whose moments are wanted.
  testing::expect_same_everywhere(
      {filled({3000, 40}, 1), filled({40, 24}, 2), filled({24}, 3)}, [](const Tensors& in) -> Tensors {
        const Tensor product = matmul(in[0], in[1]);
        const Tensor y = relu(product + in[2]);
        return {y, batch_norm_training(product, in[2], in[2]).mean, batch_norm_training(y, in[2], in[2]).mean};
      });
  // Scales that the product itself gives.
  testing::expect_same_everywhere({filled({3000, 24}, 1), filled({24, 24}, 2)}, [](const Tensors& in) -> Tensors {
    const Tensor product = matmul(in[0], in[1]);
    return {batch_norm_training(product, reduce_max(product, 0), product(0)).y};
  });
}

}  // namespace
}  // namespace capstan
