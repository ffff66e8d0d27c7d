// Copies of models: the same layers in the same places with weights of their own.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "capstan/model_graph.h"
#include "tests/support/compare.h"

namespace capstan::testing {
namespace {

void expect_same_layers(const Model& a, const Model& b) {
  ASSERT_EQ(a.layers().size(), b.layers().size());
  for (std::size_t i = 0; i < a.layers().size(); ++i) {
    EXPECT_EQ(a.layers()[i].name(), b.layers()[i].name());
    EXPECT_EQ(a.layers()[i].type_name(), b.layers()[i].type_name());
  }
  ASSERT_EQ(a.weights().size(), b.weights().size());
  for (std::size_t i = 0; i < a.weights().size(); ++i) {
    EXPECT_EQ(a.weights()[i].path(), b.weights()[i].path());
    EXPECT_EQ(a.weights()[i].shape(), b.weights()[i].shape());
    EXPECT_EQ(a.weights()[i].trainable(), b.weights()[i].trainable());
  }
}

// The copy computes the same with the same weights, and its own weights are others.
void expect_clone(const Model& model, const Nest& x) {
  const Nest y = model(x);
  const Model copy = clone_model(model);
  if (!copy.is_built()) copy(x);
  expect_same_layers(model, copy);
  copy.set_weights(model.get_weights());
  const std::vector<Tensor> want = y.tensors(), got = copy(x).tensors();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i]));
  for (const Variable& weight : copy.weights()) weight.assign(zeros(weight.shape(), weight.dtype()));
  const std::vector<Tensor> again = model(x).tensors();
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_TRUE(same_bits(again[i], want[i]));
}

TEST(CloneModel, OfASequential) {
  const layers::Dense frozen(4, {.activation = "relu", .input_shape = {3}});
  frozen.set_trainable(false);
  const Sequential model({frozen, layers::BatchNormalization(), layers::Dense(1)}, "chain");
  EXPECT_TRUE(clone_model(model).is_built());
  EXPECT_EQ(clone_model(model).name(), "chain");
  expect_clone(model, ones({2, 3}));
  expect_clone(Sequential({layers::Dense(2)}), ones({2, 3}));
  expect_clone(Sequential({layers::InputLayer({5}), layers::Dense(2)}), ones({2, 5}));
}

TEST(CloneModel, OfAFunctionalModelWithSharedLayersSeveralInputsAndOutputs) {
  const Tensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const layers::Dense shared(4);
  const Tensor x = shared(a), y = shared(b);
  const Tensor joined = layers::Concatenate()({x, y});
  const Sequential inner({layers::Dense(3), layers::Dense(2)}, "inner");
  const Model model({a, b}, {inner(joined), layers::Dense(1)(x)}, "two");
  expect_clone(model, {ones({2, 3}), 2 * ones({2, 3})});
  EXPECT_EQ(clone_model(model).get_layer("inner").weights().size(), 4);
}

TEST(CloneModel, OfAPartOfAModelStartsAtAnInputOfItsOwn) {
  const Tensor a = Input({3});
  const Tensor h = layers::Dense(4)(a);
  const Model tail(h, layers::Dense(2)(h));
  const Model copy = clone_model(tail);
  EXPECT_EQ(copy(ones({5, 4})).shape(), Shape({5, 2}));
}

TEST(CloneModel, TakesCopiesFromTheFunction) {
  const Sequential model({layers::Dense(4, {.name = "first", .input_shape = {3}}), layers::Dense(1)});
  const Model copy = clone_model(model, [](const Layer& layer) {
    return layer.name() == "first" ? Layer(layers::Dense(7)) : layer_from(serialize(layer));
  });
  EXPECT_EQ(copy(ones({2, 3})).shape(), Shape({2, 1}));
  EXPECT_EQ(copy.weights()[0].shape(), Shape({3, 7}));
}

TEST(CloneModel, OfALayerWithoutAConfigurationIsAnError) {
  const Sequential model({layers::Lambda([](const Nest& x, const CallOptions&) { return x; })});
  EXPECT_THROW((void)clone_model(model), ValueError);
  EXPECT_THROW((void)clone_model(Sequential({layers::Dense(1)}), [](const Layer&) { return Layer(); }), ValueError);
}

}  // namespace
}  // namespace capstan::testing
