// What a functional model was made of: its inputs, its outputs, and what its layers gave.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

struct Two {
  Tensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  Tensor sum =
      layers::Add({.name = "sum"})({layers::Dense(4, {.name = "one"})(a), layers::Dense(4, {.name = "two"})(b)});
  Model model =
      Model({a, b}, std::map<std::string, Nest>{{"last", layers::Dense(2, {.name = "last"})(sum)}, {"sum", sum}});
};

TEST(InnerOutputs, EndAModelAnywhere) {
  const Two two;
  const Model features(two.model.inputs(), two.model.output_of("sum"));
  const Tensor x = random::uniform({5, 3}), y = random::uniform({5, 3});
  const Tensor sum = features(Nest{x, y}).tensor();
  EXPECT_EQ(sum.to_vector<float>(), two.model(Nest{x, y})["sum"].tensor().to_vector<float>());
  // The weights are shared.
  EXPECT_EQ(features.weights().size(), 4U);
  // The same structures as given.
  EXPECT_EQ(two.model.inputs().tensors().size(), 2U);
  EXPECT_EQ(two.model.outputs()["last"].tensor().shape(), (Shape{1, 2}));
  const Model again(two.model.inputs(), two.model.outputs());
  EXPECT_EQ(again(Nest{x, y})["last"].tensor().to_vector<float>(),
            two.model(Nest{x, y})["last"].tensor().to_vector<float>());
  // Also of the input layers, and within a gradient.
  EXPECT_EQ(two.model.output_of("a").tensor().shape(), (Shape{1, 3}));
  GradientTape tape;
  const Tensor loss = reduce_sum(features(Nest{x, y}).tensor());
  EXPECT_TRUE(tape.gradient(loss, features.trainable_variables())[0].has_value());
}

TEST(InnerOutputs, AreThoseOfOneCall) {
  const Two two;
  EXPECT_NE(message_of([&] { two.model.output_of("three"); }).find("\"three\""), std::string::npos);
  const Tensor a = Input({3});
  const layers::Dense shared(3, {.name = "shared"});
  const Model twice(a, shared(shared(a)));
  EXPECT_NE(message_of([&] { twice.output_of("shared"); }).find("calls \"shared\" several times"), std::string::npos);
  const Sequential chain({layers::Dense(1)});
  EXPECT_NE(message_of([&] { chain.inputs(); }).find("is no functional model"), std::string::npos);
  EXPECT_NE(message_of([&] { chain.outputs(); }).find("is no functional model"), std::string::npos);
  EXPECT_NE(message_of([&] { chain.output_of("dense"); }).find("is no functional model"), std::string::npos);
}

// An inner model is one layer of the outer one.
TEST(InnerOutputs, OfAModelInAModel) {
  const Tensor a = Input({3});
  const Model inner(a, layers::Dense(2, {.name = "deep"})(a), "inner");
  const Tensor b = Input({3});
  const Model outer(b, layers::Dense(1)(inner(b)));
  EXPECT_EQ(outer.output_of("inner").tensor().shape(), (Shape{1, 2}));
  EXPECT_THROW(outer.output_of("deep"), ValueError);
  EXPECT_EQ(inner.output_of("deep").tensor().shape(), (Shape{1, 2}));
}

}  // namespace
}  // namespace capstan
