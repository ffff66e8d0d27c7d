#include "capstan/layers.h"

#include <gtest/gtest.h>

#include <optional>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

// Layers of a user.
class Scale : public LayerBody {
 public:
  void build(const Shape& input_shape) override {
    factor_ = add_weight({.name = "factor", .shape = {input_shape[-1]}, .initializer = "ones"});
  }
  Tensor call(const Tensor& x, const CallOptions& options) override {
    trained = options.training;
    return x * factor_;
  }
  bool trained = false;

 private:
  Variable factor_;
};

class TwoLayers : public LayerBody {
 public:
  Tensor call(const Tensor& x, const CallOptions&) override { return second(first(x)); }
  LayerOf<Scale> first;
  layers::Dense second{3};
};

TEST(Layer, OfAUserMakesItsWeightsAtTheFirstCall) {
  const LayerOf<Scale> layer;
  EXPECT_TRUE(layer.weights().empty());
  EXPECT_EQ(layer(ones({2, 3})).shape(), (Shape{2, 3}));
  ASSERT_EQ(layer.weights().size(), 1u);
  EXPECT_EQ(layer.weights()[0].name(), "factor");
  EXPECT_EQ(layer.weights()[0].path(), layer.name() + "/factor");
  EXPECT_EQ(layer.count_params(), 3);
  layer(ones({2, 3}));
  EXPECT_EQ(layer.weights().size(), 1u);
}

TEST(Layer, IsNamedAfterItsClass) {
  const LayerOf<Scale> a;
  const LayerOf<Scale> b;
  EXPECT_TRUE(a.name().starts_with("scale")) << a.name();
  EXPECT_TRUE(b.name().starts_with("scale_")) << b.name();
  EXPECT_EQ(a.type_name(), "Scale");
  const layers::MaxPooling2D pooling(2);
  EXPECT_TRUE(pooling.name().starts_with("max_pooling2d"));
  EXPECT_EQ(layers::Dense(1, {.name = "head"}).name(), "head");
  EXPECT_THROW(layers::Dense(1, {.name = "a/b"}), ValueError);
}

TEST(Layer, FindsSublayersWhenTheyAreCalled) {
  const LayerOf<TwoLayers> layer;
  layer(ones({2, 2}));
  ASSERT_EQ(layer.sublayers().size(), 2u);
  ASSERT_EQ(layer.weights().size(), 3u);
  EXPECT_EQ(layer.weights()[0].path(), layer.name() + "/" + layer->first.name() + "/factor");
  EXPECT_EQ(layer.weights()[1].path(), layer.name() + "/" + layer->second.name() + "/kernel");
  layer(ones({2, 2}));
  EXPECT_EQ(layer.sublayers().size(), 2u);
}

TEST(Layer, PassesTrainingOnToSublayers) {
  LayerOf<TwoLayers> layer;
  layer(ones({2, 2}), {.training = true});
  EXPECT_TRUE(layer->first->trained);
  layer(ones({2, 2}));
  EXPECT_FALSE(layer->first->trained);
}

TEST(Layer, FreezesItsWeights) {
  const LayerOf<TwoLayers> layer;
  layer(ones({2, 2}));
  EXPECT_EQ(layer.trainable_variables().size(), 3u);
  layer.set_trainable(false);
  EXPECT_TRUE(layer.trainable_variables().empty());
  EXPECT_EQ(layer.non_trainable_variables().size(), 3u);
  EXPECT_FALSE(layer->second.weights()[0].trainable());
  layer.set_trainable(true);
  EXPECT_EQ(layer.trainable_variables().size(), 3u);
}

TEST(Layer, ChecksWeightsBeforeItSetsThem) {
  const layers::Dense dense(2, {.name = "d"});
  dense(ones({1, 3}));
  EXPECT_NE(message_of<ValueError>([&] {
              dense.set_weights({ones({3, 2})});
            }).find("d has 2 weights, the list 1"),
            std::string::npos);
  const std::vector<Tensor> before = dense.get_weights();
  EXPECT_NE(message_of<ShapeError>([&] {
              dense.set_weights({zeros({3, 2}), zeros({3})});
            }).find("\"d/bias\" has shape [2], the value [3]"),
            std::string::npos);
  EXPECT_TRUE(equal_tensors(before[0], dense.get_weights()[0]));
  EXPECT_THROW(layers::Dense(2).count_params(), ValueError);
}

TEST(Layer, ConvertsFloatingInputs) {
  EXPECT_EQ(layers::Dense(2)(ones({1, 3}, float64)).dtype(), float32);
  EXPECT_EQ(layers::Dense(2, {.dtype = float64})(ones({1, 3})).dtype(), float64);
}

TEST(Dense, SaysWhatIsWrong) {
  EXPECT_NE(message_of<ValueError>([] { layers::Dense(0); }).find("\"units\" must be at least 1, not 0"),
            std::string::npos);
  const layers::Dense dense(2, {.name = "d"});
  EXPECT_NE(message_of<ShapeError>([&] { dense(ones({3})); }).find("must have rank 2 or more, not 1"),
            std::string::npos);
  EXPECT_TRUE(dense.weights().empty());
  dense(ones({1, 3}));
  EXPECT_NE(message_of<ShapeError>([&] { dense(ones({1, 4})); }).find("must have length 3, not 4"), std::string::npos);
}

TEST(Conv2D, SaysWhatIsWrong) {
  EXPECT_THROW(layers::Conv2D(0, 3), ValueError);
  EXPECT_THROW(layers::Conv2D(1, 0), ValueError);
  EXPECT_THROW(layers::Conv2D(1, 3, {.strides = 0}), ValueError);
  EXPECT_THROW(layers::Conv2D(1, 3, {.dilation_rate = 0}), ValueError);
  EXPECT_THROW(layers::Conv2D(1, 3, {.strides = 2, .dilation_rate = 2}), ValueError);
  EXPECT_THROW(layers::Conv2D(3, 3, {.groups = 2}), ValueError);
  EXPECT_THROW(layers::Conv2D(2, 3, {.groups = 0}), ValueError);
  EXPECT_THROW(layers::Conv2D(2, 3, {.groups = 2})(ones({1, 4, 4, 3})), ShapeError);
  EXPECT_THROW(layers::Conv2D(1, 3, {.dilation_rate = 2})(ones({1, 4, 4, 1})), ShapeError);
  EXPECT_THROW(layers::Conv2D(1, 3, {.padding = "causal"}), ValueError);
  EXPECT_THROW(layers::Conv2D(1, 3)(ones({1, 2, 2, 1})), ShapeError);
  EXPECT_THROW(layers::Conv2D(1, 3)(ones({1, 2, 2})), ShapeError);
  EXPECT_THROW(layers::MaxPooling2D(3)(ones({1, 2, 2, 1})), ShapeError);
}

TEST(Dropout, DropsOnlyWhenTraining) {
  set_seed(1);
  const layers::Dropout dropout(0.5);
  const Tensor x = ones({1000});
  EXPECT_TRUE(same_tensor(dropout(x), x));
  const Tensor a = dropout(x, {.training = true});
  const Tensor b = dropout(x, {.training = true});
  const double zeros_in_a = 1000 - reduce_sum(a).item<double>() / 2;
  EXPECT_NEAR(zeros_in_a, 500, 80);
  EXPECT_FALSE(equal_tensors(a, b));
  EXPECT_THROW(layers::Dropout(1.5), ValueError);
}

TEST(Dropout, RepeatsWithItsSeed) {
  const Tensor x = ones({50});
  const auto draw = [&] { return layers::Dropout(0.5, {.seed = 3})(x, {.training = true}); };
  EXPECT_TRUE(equal_tensors(draw(), draw()));
  const layers::Dropout rows(0.5, {.noise_shape = Shape{-1, 1}, .seed = 3});
  const Tensor y = rows(ones({40, 3}), {.training = true});
  EXPECT_TRUE(equal_tensors(y(slice(), 0), y(slice(), 2)));
}

TEST(BatchNormalization, LeavesItsAveragesAloneUnlessTraining) {
  const layers::BatchNormalization layer;
  const Tensor x = constant({{1.0}, {3.0}});
  layer(x);
  EXPECT_EQ(layer.weights()[2].item<float>(), 0);
  layer(x, {.training = true});
  EXPECT_NEAR(layer.weights()[2].item<float>(), 0.02, 1e-6);
  EXPECT_NEAR(layer.weights()[3].item<float>(), 0.99 + 0.01, 1e-6);
  layer.set_trainable(false);
  layer(x, {.training = true});
  EXPECT_NEAR(layer.weights()[2].item<float>(), 0.02, 1e-6);
}

TEST(Layers, AreMadeInAFirstTrace) {
  std::optional<Sequential> model;
  auto f = function([&](const Tensor& x) {
    if (!model) model.emplace(Sequential({layers::Dense(8), layers::Dropout(0.5)}));
    return (*model)(x, {.training = true});
  });
  const Tensor x = ones({20, 3}), first = f(x), second = f(x);
  EXPECT_EQ(model->weights().size(), 2U);
  EXPECT_FALSE(reduce_all(equal(first, second)).item<bool>()) << "dropout draws at every call";
  // What an initializer draws in a trace would be a number of the trace.
  auto drawn = function([](const Tensor& y) { return y + initializers::GlorotUniform()({2, 2}); });
  EXPECT_THROW(drawn(zeros({2, 2})), TraceError);
}

TEST(Layers, TakeTextsOfOptionsInAnyCase) {
  const layers::Conv2D conv(2, 3, {.padding = "SAME", .data_format = "Channels_Last"});
  EXPECT_EQ(conv(ones({1, 4, 4, 1})).shape(), (Shape{1, 4, 4, 2}));
  EXPECT_EQ(conv.get_config().find("padding")->text, "same");
  EXPECT_EQ(layers::MaxPooling2D(2, {.padding = "Same"})(ones({1, 3, 3, 1})).shape(), (Shape{1, 2, 2, 1}));
  EXPECT_EQ(layers::GlobalAveragePooling2D({.data_format = "CHANNELS_FIRST"})(ones({1, 3, 2, 2})).shape(),
            (Shape{1, 3}));
  EXPECT_THROW(layers::Conv2D(2, 3, {.padding = "some"}), ValueError);
}

}  // namespace
}  // namespace capstan
