// Optimizers that a program writes by the means of the library's own.
#include "capstan/update_rule.h"

#include <gtest/gtest.h>

#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/train/every_way.h"

namespace capstan {
namespace {

using testing::message_of;
using testing::same_bits;

struct HeavyBallOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  std::optional<double> clipnorm = {};
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&HeavyBallOptions::learning_rate>("learning_rate"),
                                          option<&HeavyBallOptions::momentum>("momentum").at_least(0).at_most(1),
                                          option<&HeavyBallOptions::clipnorm>("clipnorm")};
    return all;
  }
};

struct HeavyBall : Rule<HeavyBall, HeavyBallOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "HeavyBall", kText = "Gradient descent with momentum.";
  std::vector<Slot> slots(const Variable&) const override { return {{"momentum"}}; }
  void step(UpdateStep& s) const override {
    const Tensor m = s.slot(0) * options.momentum - s.rate() * s.gradient();
    s.set_slot(0, m);
    s.set_variable(s.variable() + m);
  }
};

struct RateOnly {
  LearningRate learning_rate = 0.5;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&RateOnly::learning_rate>("learning_rate")};
    return all;
  }
};

// More than one loop: a gradient of length 1, and a slot that begins as the variable.
struct Normalized : Rule<Normalized, RateOnly> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Normalized", kText = "Steps of one length.";
  std::vector<Slot> slots(const Variable&) const override { return {{.name = "last", .is_copy = true}}; }
  void step(UpdateStep& s) const override {
    s.set_slot(0, s.variable());
    s.set_variable(s.variable() - s.rate() * s.gradient() / sqrt(reduce_sum(s.gradient() * s.gradient()) + 1e-9));
  }
};

// Another formula for matrices than for vectors, in three slots.
struct ByRank : Rule<ByRank, RateOnly> {
  using Rule::Rule;
  static constexpr std::string_view kName = "ByRank", kText = "Has two formulas.";
  std::vector<Slot> slots(const Variable&) const override { return {{"a"}, {.name = "b", .initial = 2}, {"c"}}; }
  Numbers numbers(const Moment& now) const override { return {now.learning_rate, static_cast<double>(now.step)}; }
  void step(UpdateStep& s) const override {
    const Tensor a = s.slot(0) + abs(s.gradient());
    s.set_slot(0, a);
    s.set_slot(2, where(a > s.slot(1), a, s.slot(2)));  // slot b stays
    const Tensor change = s.gradient() / (sqrt(a) + s.number(1));
    s.set_variable(s.variable() - s.rate() * (s.variable().rank() == 2 ? change * change : change));
  }
};

// A slot of matrices with the sums of their rows, and none of other variables.
struct ByRows : Rule<ByRows, RateOnly> {
  using Rule::Rule;
  static constexpr std::string_view kName = "ByRows", kText = "Divides by sums of rows.";
  std::vector<Slot> slots(const Variable& variable) const override {
    if (variable.shape().rank() != 2) return {};
    return {{.name = "rows", .initial = 1, .shape = Shape{variable.shape()[0]}}};
  }
  void step(UpdateStep& s) const override {
    const Tensor& g = s.gradient();
    if (s.slot_count() == 0) return s.set_variable(s.variable() - s.rate() * g);
    const Tensor rows = s.slot(0) + reduce_sum(abs(g), {1});
    s.set_slot(0, rows);
    s.set_variable(s.variable() - s.rate() * g / expand_dims(rows, 1));
  }
};

struct BadCopy : Rule<BadCopy, RateOnly> {
  using Rule::Rule;
  static constexpr std::string_view kName = "BadCopy", kText = "Copies into another shape.";
  std::vector<Slot> slots(const Variable&) const override {
    return {{.name = "a", .is_copy = true, .shape = Shape{7}}};
  }
  void step(UpdateStep&) const override {}
};

TEST(UpdateRule, MayHaveSlotsOfAnotherShapeOrNone) {
  testing::expect_same_on_every_way("ByRows", [] { return make_optimizer<ByRows>(); });
  const Variable w(zeros({2, 3}), {.name = "w"}), v(zeros({2}), {.name = "v"});
  const Optimizer optimizer = make_optimizer<ByRows>();
  optimizer.apply_gradients({constant({{1.0, 1.0, 1.0}, {0.0, 0.0, 3.0}}), ones({2})}, {w, v});
  ASSERT_EQ(optimizer.variables().size(), 1u);
  EXPECT_TRUE(same_bits(optimizer.variables()[0].value(), constant({4.0, 4.0})));
  EXPECT_TRUE(same_bits(w.value(), constant({{-0.125, -0.125, -0.125}, {0.0, 0.0, -0.375}})));
  EXPECT_TRUE(same_bits(v.value(), constant({-0.5, -0.5})));
  EXPECT_THROW(make_optimizer<BadCopy>().build(std::vector{w}), ShapeError);
}

TEST(UpdateRule, OfAProgramIsWhatTheLibrarysOwnIs) {
  for (const testing::How how : testing::kEveryWay) {
    const optimizers::SGD sgd({.learning_rate = 0.1, .momentum = 0.9, .clipnorm = 1.0});
    const Optimizer own = make_optimizer<HeavyBall>({.learning_rate = 0.1, .clipnorm = 1.0});
    testing::expect_same(testing::train(own, float32, how), testing::train(sgd, float32, how), "");
  }
}

TEST(UpdateRule, PlainTracedAndRowSparseUpdatesFollowFromOneFormula) {
  testing::expect_same_on_every_way("HeavyBall", [] { return make_optimizer<HeavyBall>(); });
  testing::expect_same_on_every_way("Normalized", [] { return make_optimizer<Normalized>(); });
  testing::expect_same_on_every_way("ByRank", [] { return make_optimizer<ByRank>(); });
}

TEST(UpdateRule, ThatIsNoLoopRunsOpByOp) {
  const Variable w({3.0, 4.0});
  const Optimizer optimizer = make_optimizer<Normalized>();
  const Tensor before = w.value();
  optimizer.apply_gradients({w.value()}, {w});
  EXPECT_EQ(testing::difference(w.value(), constant({2.7f, 3.6f}), {.relative = 1e-6, .floor = 1e-6}), "");
  EXPECT_TRUE(same_bits(optimizer.variables()[0].value(), before));
}

TEST(UpdateRule, SlotsHaveNamesAndFirstValues) {
  const Variable w(ones({2, 2}), {.name = "w"});
  const Variable v(ones({2}), {.name = "v"});
  const Optimizer optimizer = make_optimizer<ByRank>();
  optimizer.build(std::vector{w, v});
  std::string names;
  for (const Variable& slot : optimizer.variables()) names += slot.name() + " ";
  EXPECT_EQ(names, "w_a w_b w_c v_a v_b v_c ");
  EXPECT_TRUE(same_bits(optimizer.variables()[1].value(), constant({{2.0, 2.0}, {2.0, 2.0}})));
  EXPECT_EQ(optimizer.variables()[0].path(), optimizer.name() + "/w_a");
}

TEST(UpdateRule, HasAFewNumbers) {
  EXPECT_EQ((Numbers{1, 2, 3, 4, 5, 6, 7, 8}).size(), 8U);
  EXPECT_NE(
      message_of<ValueError>([] { Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9}; }).find("at most 8 numbers, and this one 9"),
      std::string::npos);
}

struct Reaching : Rule<Reaching, HeavyBallOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Reaching", kText = "Reads a slot that it does not have.";
  void step(UpdateStep& s) const override { s.set_variable(s.slot(0)); }
};

TEST(UpdateRule, HasNoSlotsButThoseThatItNames) {
  Variable x(1.0);
  const Optimizer reaching = make_optimizer<Reaching>();
  EXPECT_NE(
      message_of<IndexError>([&] { reaching.apply_gradients({constant(1.0)}, {x}); }).find("slot 0, but there are 0"),
      std::string::npos);
  EXPECT_EQ(x.value().item<double>(), 1.0);
}

TEST(UpdateRule, IsMadeByNameOnceItIsRegistered) {
  register_class<HeavyBall>();
  register_class<HeavyBall>();  // once more changes nothing
  const Optimizer made = optimizers::get("heavy_ball");
  EXPECT_EQ(made.rule().class_info().name, "HeavyBall");
  const AttributeValue value = optimizers::serialize(make_optimizer<HeavyBall>({.momentum = 0.25}));
  EXPECT_EQ(value.find("registered_name")->text, "Custom>HeavyBall");
  EXPECT_FALSE(value.find("module")->has_value());
  EXPECT_EQ(optimizers::get(value).get_config().find("momentum")->number, 0.25);
  EXPECT_EQ(message_of([] { make_optimizer<HeavyBall>({.momentum = 2}); }),
            "HeavyBall: option \"momentum\" must be at least 0.0 and at most 1.0, not 2.0");
}

// --- Hooks ---

TEST(GradientHook, ChangesGradientsOfPlainAndTracedUpdates) {
  for (const bool traced : {false, true}) {
    const Variable w({1.0, 2.0});
    const Variable idle({1.0});
    const optimizers::SGD sgd({.learning_rate = 1, .clipvalue = 0.5});
    std::string order;
    sgd.on_gradients([&](std::span<Tensor> gradients, std::span<const Variable> variables) {
      order += "a";
      ASSERT_EQ(gradients.size(), 1u);  // a missing gradient is left out
      EXPECT_TRUE(variables[0] == w);
      gradients[0] = gradients[0] * 2;
    });
    sgd.on_gradients([&](std::span<Tensor> gradients, std::span<const Variable>) {
      order += "b";
      gradients[0] = gradients[0] + 1;
    });
    const auto step = [&](const Tensor& g) { sgd.apply_gradients({g, Tensor()}, {w, idle}); };
    auto compiled = function(step);
    for (int i = 0; i < 2; ++i) traced ? compiled(constant({3.0, 0.25})) : step(constant({3.0, 0.25}));
    // Clipped to 0.5 and 0.25 first, then 2 g + 1, twice.
    EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1 - 2 * 2, 2 - 2 * 1.5f})) << traced;
    EXPECT_EQ(order, traced ? "ab" : "abab");
  }
}

TEST(GradientHook, WhoseGradientsDoNotFitIsAnError) {
  const Variable w({1.0, 2.0});
  const optimizers::Adam adam;
  adam.on_gradients([](std::span<Tensor> gradients, std::span<const Variable>) { gradients[0] = ones({3}); });
  EXPECT_THROW(adam.apply_gradients({ones({2})}, {w}), ShapeError);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(adam.iterations(), 0);
}

}  // namespace
}  // namespace capstan
