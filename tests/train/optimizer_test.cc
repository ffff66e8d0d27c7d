#include "capstan/optimizers.h"

#include <gtest/gtest.h>

#include "capstan/capstan.h"

namespace capstan {
namespace {

TEST(Optimizer, RefusesListsThatDoNotFitAndChangesNothing) {
  const Variable w({1.0, 2.0});
  const Variable other({1.0});
  const optimizers::SGD sgd({.learning_rate = 1});
  const Tensor g = ones({2});
  EXPECT_THROW(sgd.apply_gradients(std::vector<Tensor>{}, std::vector<Variable>{}), ValueError);
  EXPECT_THROW(sgd.apply_gradients(std::vector<Tensor>{g, g}, std::vector<Variable>{w}), ValueError);
  EXPECT_THROW(sgd.apply_gradients(std::vector<Tensor>{ones({3})}, std::vector<Variable>{w}), ShapeError);
  EXPECT_THROW(sgd.apply_gradients(std::vector<Tensor>{ones({2}, float64)}, std::vector<Variable>{w}), DTypeError);
  EXPECT_THROW(sgd.apply_gradients(std::vector<Tensor>{Tensor()}, std::vector<Variable>{w}), ValueError);
  EXPECT_THROW(sgd.apply_gradients(std::vector<Tensor>{ones({1})}, std::vector<Variable>{other}), ValueError);
  EXPECT_EQ(sgd.iterations(), 0);
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Optimizer, RefusesSettingsThatMakeNoSense) {
  EXPECT_THROW(optimizers::SGD({.momentum = 2}), ValueError);
  EXPECT_THROW(optimizers::SGD({.clipnorm = 1, .clipvalue = 1}), ValueError);
  EXPECT_THROW(optimizers::Adam({.gradient_accumulation_steps = 1}), ValueError);
  EXPECT_THROW(optimizers::Adam({.learning_rate = schedules::ExponentialDecay(1, 1, 1)}).set_learning_rate(1),
               ValueError);
}

TEST(Optimizer, LeavesSnapshotsAlone) {
  const Variable w({1.0, 2.0});
  const Tensor before = w.value();
  optimizers::Adam({.learning_rate = 0.5}).apply_gradients({ones({2})}, {w});
  EXPECT_EQ(before.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_NEAR(w(0).item<float>(), 0.5, 1e-5);
}

TEST(Optimizer, IsInvisibleToTapes) {
  const Variable w(2.0);
  const optimizers::SGD sgd({.learning_rate = 0.5});
  GradientTape tape;
  const Tensor y = w * w;
  sgd.apply_gradients(std::vector<Tensor>{constant(1.0)}, {w});
  EXPECT_EQ(tape.gradient(y, w).item<float>(), 4);
  EXPECT_EQ(w.item<float>(), 1.5f);
}

TEST(Optimizer, TouchesOnlyTheRowsOfARowSparseGradient) {
  const Variable table(ones({4, 2}));
  GradientTape tape;
  const Tensor y = reduce_sum(embedding_lookup(table, constant({1, 3, 1})));
  const Tensor gradient = tape.gradient(y, table);
  ASSERT_TRUE(gradient.is_row_sparse());
  optimizers::SGD({.learning_rate = 0.25}).apply_gradients(std::vector<Tensor>{gradient}, std::vector<Variable>{table});
  EXPECT_EQ(table.to_vector<float>(), (std::vector<float>{1, 1, 0.5, 0.5, 1, 1, 0.75, 0.75}));
}

TEST(Optimizer, UpdatesVectorsOfEveryLength) {
  for (const std::int64_t n : {1, 3, 16, 17, 100, 70000}) {
    const Variable w(zeros({n}));
    const Variable v(zeros({n}));
    const Tensor g = range(static_cast<double>(n)) + 1;
    const optimizers::SGD sgd({.learning_rate = 0.5, .momentum = 0.5});
    sgd.apply_gradients(std::vector<Tensor>{g}, std::vector<Variable>{w});
    EXPECT_TRUE(equal_tensors(w.value(), -0.5 * g)) << n;
    // The first step of Adam is the rate, whatever the gradient.
    const optimizers::Adam adam({.learning_rate = 0.5});
    adam.apply_gradients(std::vector<Tensor>{g}, std::vector<Variable>{v});
    EXPECT_LT(reduce_max(abs(v + 0.5)).item<double>(), 1e-4) << n;
  }
}

TEST(Optimizer, StepsAreTheSameWithAnyNumberOfThreads) {
  const Tensor start = random::normal({100001}, 0, 1, float32, 5);
  const Tensor g = random::normal({100001}, 0, 1, float32, 6);
  std::vector<Tensor> results;
  const int before = num_threads();
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    const Variable w(start);
    const optimizers::Adam adam;
    for (int i = 0; i < 3; ++i) adam.apply_gradients(std::vector<Tensor>{g}, std::vector<Variable>{w});
    results.push_back(w.value());
  }
  set_num_threads(before);
  EXPECT_TRUE(equal_tensors(results[0], results[1]));
}

TEST(Schedule, InverseTimeDecayIsThatOfTheTutorial) {
  const schedules::InverseTimeDecay rate(1e-3, 1, 4e-5);
  EXPECT_EQ(static_cast<float>(rate(0)), .001f);
  EXPECT_NEAR(rate(936), .0009639112395, 1e-10);
  EXPECT_NEAR(rate(23424), .0005162729649, 1e-10);
  EXPECT_THROW(schedules::InverseTimeDecay(1, 0, 1), ValueError);
}

}  // namespace
}  // namespace capstan
