// Tensors on a device, of which the tests have one (tests/support/guarded_device.h).
#include "src/core/backend.h"

#include <gtest/gtest.h>

#include <sstream>

#include "capstan/capstan.h"
#include "tests/support/guarded_device.h"
#include "tests/support/message_of.h"

namespace capstan::testing {
namespace {

Tensor on_device(const Tensor& tensor) { return copy_to(guarded_device(), tensor); }
Tensor vector_on_device() { return on_device(constant({1.0f, -2.0f, 3.0f})); }

TEST(Backend, ATensorKnowsItsDevice) {
  EXPECT_EQ(constant(1.0f).device(), "CPU:0");
  EXPECT_EQ(vector_on_device().device(), "GUARDED:0");
  EXPECT_EQ((vector_on_device() * 2).device(), "GUARDED:0");
  EXPECT_EQ(copy_to_host(vector_on_device()).device(), "CPU:0");
}

TEST(Backend, ElementsAreReadByCopiesAndByNothingElse) {
  const Tensor x = vector_on_device();
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, -2, 3}));
  EXPECT_EQ(x[1].item<float>(), -2);
  std::ostringstream text;
  text << x;
  EXPECT_EQ(text.str(), "[ 1. -2.  3.]");
  const std::string message = message_of<ValueError>([&] { static_cast<void>(x.data<float>()); });
  EXPECT_NE(message.find("the elements are in the memory of GUARDED:0"), std::string::npos) << message;
  EXPECT_THROW(static_cast<void>(x.raw_data()), ValueError);
}

TEST(BackendDeathTest, TheHostCannotTouchTheMemory) {
  const Tensor x = vector_on_device();
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile const float*>(x.block()->data)), "");
}

TEST(Backend, OperandsOfTheHostGoWhereTheOthersAre) {
  const Tensor x = vector_on_device();
  const Tensor y = constant({10.0f, 20.0f, 30.0f});
  for (const Tensor& sum : {x + y, y + x, x + 10, maximum(y, x), where(x > 0, y, x), concat({y, x}, 0)})
    EXPECT_EQ(sum.device(), "GUARDED:0");
  EXPECT_EQ((x + y).to_vector<float>(), (std::vector<float>{11, 18, 33}));
  EXPECT_EQ(matmul(reshape(x, {1, 3}), reshape(y, {3, 1})).item<float>(), 60);
}

TEST(Backend, TwoDevicesInOneCallAreRefused) {
  static GuardedDevice other("GUARDED:1");
  static const bool added = (add_backend(other), true);
  EXPECT_TRUE(added);
  const Tensor x = vector_on_device();
  const Tensor y = copy_to(other, x);
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  const std::string message = message_of<ValueError>([&] { static_cast<void>(x + y); });
  EXPECT_NE(message.find("argument 1 is on GUARDED:1, another one on GUARDED:0"), std::string::npos) << message;
}

TEST(Backend, AnOpWithoutAKernelIsAnErrorThatNamesTheDevice) {
  GuardedDevice& device = guarded_device();
  device.lacking = {"cumsum"};
  const Tensor x = vector_on_device();
  const std::string message = message_of<Error>([&] { static_cast<void>(cumsum(x)); });
  const std::string in_function =
      message_of<Error>([&] { static_cast<void>(function([](const Tensor& a) { return cumsum(a); })(x)); });
  device.lacking.clear();
  EXPECT_NE(message.find("cumsum: there is no kernel for GUARDED:0"), std::string::npos) << message;
  EXPECT_NE(in_function.find("cumsum: there is no kernel for GUARDED:0"), std::string::npos) << in_function;
}

TEST(Backend, GradientsAreMadeThere) {
  const Tensor host = constant({1.0f, -2.0f, 3.0f});
  const auto gradients = [](const Tensor& x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = reduce_sum(tanh(x) * x + exp(x) / (1 + x * x));
    const Tensor first = inner.gradient(y, x);
    return std::vector<Tensor>{first, outer.gradient(first, x)};
  };
  const std::vector<Tensor> wanted = gradients(host), got = gradients(on_device(host));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(got[i].device(), "GUARDED:0");
    EXPECT_EQ(got[i].to_vector<float>(), wanted[i].to_vector<float>());
  }
}

// A gradient function of a program may give what lies on the host.
TEST(Backend, AGradientOfAnotherPlaceIsBroughtThere) {
  const Tensor x = vector_on_device();
  auto constant_gradient = custom_gradient([](const Tensor& a) {
    return std::pair(a * 1.0f, [](const Tensor&) { return constant({1.0f, 2.0f, 3.0f}); });
  });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = constant_gradient(x * x);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{2, -8, 18}));
  const Tensor z = x * x;
  const Tensor gradient = tape.gradient(z, x, {.output_gradients = {constant({1.0f, 2.0f, 3.0f})}});
  EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{2, -8, 18}));
}

TEST(Backend, VariablesStayThere) {
  const Variable v(vector_on_device());
  v.assign_add(constant({1.0f, 1.0f, 1.0f}));
  EXPECT_EQ(v.value().device(), "GUARDED:0");
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{2, -1, 4}));
  v.assign(vector_on_device() * 2);
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{2, -4, 6}));
}

TEST(Backend, FunctionsRunThereWithTheirFusedLoops) {
  GuardedDevice& device = guarded_device();
  const Variable w(on_device(constant({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}})));
  auto step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = reduce_sum(square(tanh(matmul(x, w) + 1)));
    const Tensor gradient = tape.gradient(y, w);
    w.assign_sub(0.1f * gradient);
    return y;
  });
  const Tensor x = constant({{0.1f, 0.2f}, {0.3f, -0.4f}});
  const std::int64_t groups = device.groups(), kernels = device.kernels();
  const Tensor y = step(on_device(x));
  EXPECT_EQ(y.device(), "GUARDED:0");
  EXPECT_GT(device.groups(), groups);
  EXPECT_GT(device.kernels(), kernels);
  EXPECT_EQ(w.value().device(), "GUARDED:0");

  const Variable same(constant({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}}));
  GradientTape tape;
  const Tensor wanted = reduce_sum(square(tanh(matmul(x, same) + 1)));
  const Tensor gradient = tape.gradient(wanted, same);
  same.assign_sub(0.1f * gradient);
  EXPECT_EQ(y.to_vector<float>(), wanted.to_vector<float>());
  EXPECT_EQ(w.value().to_vector<float>(), same.value().to_vector<float>());
}

TEST(Backend, AnOptimizerStepsThere) {
  const auto trained = [](const Tensor& begin) {
    const Variable w(begin);
    optimizers::Adam adam({.learning_rate = 0.1});
    for (int i = 0; i < 3; ++i) {
      GradientTape tape;
      const Tensor y = reduce_sum(square(w - 1));
      adam.apply_gradients({tape.gradient(y, w)}, {w});
    }
    return w.value();
  };
  const Tensor host = constant({1.0f, -2.0f, 3.0f});
  const Tensor there = trained(on_device(host));
  EXPECT_EQ(there.device(), "GUARDED:0");
  EXPECT_EQ(there.to_vector<float>(), trained(host).to_vector<float>());
}

// One program serves both; a variable of the host follows the operands.
TEST(Backend, AFunctionRunsWhereItsOperandsAre) {
  const Variable sum(constant({0.0f, 0.0f, 0.0f}));
  auto add = function([&](const Tensor& x) {
    sum.assign_add(x * x);
    return sum.value() + 1;
  });
  const Tensor host = constant({1.0f, 2.0f, 3.0f});
  EXPECT_EQ(add(host).device(), "CPU:0");
  EXPECT_EQ(add(on_device(host)).device(), "GUARDED:0");
  EXPECT_EQ(sum.value().device(), "GUARDED:0");
  EXPECT_EQ(add(host).to_vector<float>(), (std::vector<float>{4, 13, 28}));
}

TEST(Backend, MemoryGoesBack) {
  const std::int64_t before = guarded_device().allocations();
  {
    const Tensor x = vector_on_device();
    const Tensor view = reshape(x, {3, 1});
    GradientTape tape({.persistent = true});
    tape.watch(view);
    const Tensor y = view * view;
    EXPECT_TRUE(tape.gradient(y, view).has_value());
    EXPECT_GT(guarded_device().allocations(), before);
  }
  EXPECT_EQ(guarded_device().allocations(), before);
}

}  // namespace
}  // namespace capstan::testing
