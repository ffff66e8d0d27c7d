// LossScaleOptimizer, and what Adafactor and Muon do in special cases.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/train/every_way.h"

namespace capstan {
namespace {

using testing::message_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(LossScaleOptimizer, LeavesOutUpdatesThatAreNotFinite) {
  for (const bool traced : {false, true}) {
    const Variable v({1.0, -2.0});
    const optimizers::SGD sgd({.learning_rate = schedules::InverseTimeDecay(0.5, 1, 0)});
    const optimizers::LossScaleOptimizer optimizer(sgd, {.initial_scale = 8, .dynamic_growth_steps = 2});
    const auto step = [&](const Tensor& g) {
      const Tensor scaled = optimizer.scale_loss(ones({}));
      optimizer.apply_gradients({g}, {v});
      return scaled;
    };
    auto compiled = function(step);
    const std::vector<std::vector<float>> gradients = {{8, 4}, {kInfinity, 0}, {4, 4}, {4, 4}, {kNaN, 1}, {2, 2}};
    const std::vector<std::vector<float>> wanted = {{0.5f, -2.25f},  {0.5f, -2.25f},  {0, -2.75f},
                                                    {-0.5f, -3.25f}, {-0.5f, -3.25f}, {-0.75f, -3.5f}};
    const std::vector<float> scales = {8, 8, 4, 4, 8, 4};
    const std::vector<std::int64_t> updates = {1, 1, 2, 3, 3, 4};
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      const Tensor g = constant(gradients[k]);
      EXPECT_EQ((traced ? compiled(g) : step(g)).item<float>(), scales[k]) << k;
      EXPECT_EQ(v.to_vector<float>(), wanted[k]) << k << traced;
      EXPECT_EQ(optimizer.iterations(), updates[k]) << k << traced;
      EXPECT_EQ(sgd.iterations(), updates[k]) << k << traced;
    }
  }
}

TEST(LossScaleOptimizer, KeepsTheScaleInLimits) {
  const Variable v({1.0});
  const optimizers::LossScaleOptimizer high(optimizers::SGD(), {.initial_scale = 0x1p127, .dynamic_growth_steps = 1});
  high.apply_gradients({constant({1.0})}, {v});
  EXPECT_EQ(high.variables()[1].value().item<float>(), 0x1p127f);
  const optimizers::LossScaleOptimizer low(optimizers::SGD(), {.initial_scale = 0x1p-126});
  low.apply_gradients({constant({kInfinity})}, {v});
  EXPECT_EQ(low.variables()[1].value().item<float>(), 0x1p-126f);
}

TEST(LossScaleOptimizer, HasTheOthersRateAndSlots) {
  const optimizers::Adam adam({.learning_rate = 0.25});
  const optimizers::LossScaleOptimizer optimizer(adam);
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
  optimizer.set_learning_rate(0.5);
  EXPECT_EQ(adam.learning_rate(), 0.5);
  const Variable v({1.0});
  optimizer.build(std::vector{v});
  EXPECT_EQ(optimizer.variables().size(), 4u);
  EXPECT_EQ(optimizer.variables()[1].path(), optimizer.name() + "/dynamic_scale");
  const AttributeValue config = optimizer.get_config();
  EXPECT_EQ(config.find("learning_rate"), nullptr);
  const Optimizer again = optimizers::get(optimizers::serialize(optimizer));
  EXPECT_EQ(again.learning_rate(), 0.5);
  EXPECT_EQ(again.scale_loss(ones({})).item<float>(), 32768);
}

TEST(LossScaleOptimizer, WorksOnEveryWay) {
  testing::expect_same_on_every_way("LossScaleOptimizer", [] {
    return optimizers::LossScaleOptimizer(optimizers::Adam({.clipnorm = 1.0}), {.dynamic_growth_steps = 2});
  });
}

TEST(LossScaleOptimizer, RefusesWhatScalesItself) {
  EXPECT_EQ(
      message_of([] { optimizers::LossScaleOptimizer(optimizers::SGD({.loss_scale_factor = 2.0})); }).substr(0, 37),
      "LossScaleOptimizer: the optimizer sgd");
  const optimizers::LossScaleOptimizer once{optimizers::SGD()};
  const Optimizer& handle = once;
  EXPECT_THROW(optimizers::LossScaleOptimizer(handle, {}), ValueError);
  EXPECT_EQ(message_of([] { optimizers::get("LossScaleOptimizer"); }),
            "LossScaleOptimizer: option \"inner_optimizer\" must be given");
  EXPECT_THROW(optimizers::LossScaleOptimizer(optimizers::SGD(), {.initial_scale = 0}), ValueError);
  EXPECT_THROW(optimizers::LossScaleOptimizer(optimizers::SGD(), {.dynamic_growth_steps = 0}), ValueError);
}

TEST(Adafactor, StaysFiniteWhereARowAndAColumnHaveNoGradient) {
  const Variable w(ones({2, 2}));
  optimizers::Adafactor().apply_gradients({constant({{0.0, 0.0}, {0.0, 1.0}})}, {w});
  EXPECT_TRUE(reduce_all(is_finite(w)).item<bool>());
  EXPECT_LT(w.value().to_vector<float>()[3], 1);
}

TEST(FactoredOptimizers, WorkOnEveryWay) {
  testing::expect_same_on_every_way("Adafactor", [] { return optimizers::Adafactor(); });
  testing::expect_same_on_every_way("Muon", [] { return optimizers::Muon(); });
  testing::expect_same_on_every_way("ScheduleFreeAdamW", [] { return optimizers::ScheduleFreeAdamW(); });
}

TEST(Muon, RefusesWhatIsNoRegularExpression) {
  EXPECT_EQ(message_of([] { optimizers::Muon({.exclude_layers = {"("}}); }),
            "Muon: option \"exclude_layers\" has \"(\", which is no regular expression");
  for (const std::string& costly : {std::string("(a{1,99}){1,99}"), std::string("(a)\\1"), std::string(1001, '(')}) {
    EXPECT_EQ(message_of([&] { optimizers::Muon({.exclude_layers = {costly}}); }),
              "Muon: option \"exclude_layers\" has \"" + costly +
                  "\", which is longer than 1000 characters, or has a count in braces or a reference to a group");
  }
}

TEST(OptimizerOptions, HaveLimits) {
  EXPECT_EQ(message_of([] { optimizers::Adam({.ema_momentum = 2}); }),
            "Adam: option \"ema_momentum\" must be at least 0.0 and at most 1.0, not 2.0");
  EXPECT_THROW(optimizers::Adam({.ema_overwrite_frequency = -1}), ValueError);
  EXPECT_THROW(optimizers::Adam({.loss_scale_factor = 0.0}), ValueError);
  EXPECT_EQ(message_of([] { optimizers::Adam({.gradient_accumulation_steps = 1}); }),
            "Adam: option \"gradient_accumulation_steps\" must be 0 or at least 2, not 1");
}

}  // namespace
}  // namespace capstan
