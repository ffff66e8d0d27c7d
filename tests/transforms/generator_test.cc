// Random generators with a state, and draws that are functions of seeds.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capstan/capstan.h"

namespace capstan {
namespace {

// The numbers are TensorFlow 2.21's.
TEST(Generator, DrawsWhatTensorFlowsDoes) {
  const random::Generator generator = random::Generator::from_seed(1234);
  EXPECT_NEAR(generator.normal({6})[5].item<float>(), 0.7137579, 1e-6);
  EXPECT_EQ(generator.state().value().to_vector<std::int64_t>(), (std::vector<std::int64_t>{2770, 0, 0}));
  generator.skip(2);
  EXPECT_EQ(generator.state().value()[0].item<std::int64_t>(), 2770 + 512);
  const random::Generator copy = generator;
  const Tensor seeds = copy.make_seeds(2);
  EXPECT_EQ(seeds.shape(), (Shape{2, 2}));
  EXPECT_EQ(generator.state().value()[0].item<std::int64_t>(), 2770 + 1024);
  EXPECT_EQ(reduce_sum(abs(seeds[1])).item<std::int64_t>(), 0);
}

TEST(Generator, CarriesIntoTheUpperHalfOfItsCounter) {
  const random::Generator generator(constant({-1, 5, 9}, int64));
  const Tensor eight = generator.uniform({8});
  EXPECT_EQ(generator.state().value().to_vector<std::int64_t>(), (std::vector<std::int64_t>{2047, 6, 9}));
  // The second block is that of the state after one step, with the lower half wrapped around.
  const random::Generator next(constant({0, 6, 9}, int64));
  EXPECT_EQ(slice(eight, {4}, {4}).to_vector<float>(), next.uniform({4}).to_vector<float>());
}

TEST(Generator, MovesOnInAFunction) {
  const random::Generator plain = random::Generator::from_seed(3), traced = random::Generator::from_seed(3);
  auto draw = function([&] { return traced.normal({4}); });
  for (int call = 0; call < 3; ++call)
    EXPECT_EQ(draw().to_vector<float>(), plain.normal({4}).to_vector<float>()) << call;
  EXPECT_EQ(traced.state().value().to_vector<std::int64_t>(), plain.state().value().to_vector<std::int64_t>());
}

TEST(Generator, IsAsItWasAfterADrawThatFailed) {
  const random::Generator generator = random::Generator::from_seed(3);
  EXPECT_THROW(generator.normal({2}, 0, 1, int32), DTypeError);
  EXPECT_THROW(generator.integers({2}, 4, 4), ValueError);
  EXPECT_THROW(generator.uniform({-1}), ShapeError);
  EXPECT_THROW(generator.skip(-1), ValueError);
  EXPECT_EQ(generator.state().value()[0].item<std::int64_t>(), 3);
  EXPECT_THROW(random::Generator(constant({1.0, 2.0, 3.0})), ShapeError);
}

TEST(StatelessDraws, TakeSeedsAsTensors) {
  const Tensor seeds = constant({1, 2}, int32);
  EXPECT_EQ(random::stateless_normal({3}, seeds).to_vector<float>(),
            random::stateless_normal({3}, {1, 2}).to_vector<float>());
  auto draw = function([](const Tensor& seeds) { return random::stateless_integers({5}, seeds, 0, 100); });
  EXPECT_EQ(draw(seeds).to_vector<std::int64_t>(),
            random::stateless_integers({5}, {1, 2}, 0, 100).to_vector<std::int64_t>());
  const Tensor each = vectorized_map([](const Tensor& seed) { return random::stateless_uniform({3}, seed); },
                                     cast(constant({{1, 2}, {3, 4}}), int64));
  EXPECT_EQ(each[1].to_vector<float>(), random::stateless_uniform({3}, {3, 4}).to_vector<float>());
  EXPECT_EQ(random::stateless_uniform({3}, constant({{1, 2}, {3, 4}})).to_vector<float>(), each.to_vector<float>());
}

}  // namespace
}  // namespace capstan
