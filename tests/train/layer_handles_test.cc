// Handles of layers: however they are copied, moved, stored and passed, before and after the weights are there, they
// are the same layer, which was built once.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

// A layer of a user.
class Scale : public LayerBody {
 public:
  explicit Scale(double start = 1) : start_(start) {}
  int builds = 0;
  int calls = 0;

 private:
  void build(const Shape& shape) override {
    ++builds;
    factor_ = add_weight({.name = "factor", .shape = {shape[-1]}, .initializer = initializers::Constant(start_)});
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    ++calls;
    return x * factor_;
  }

  double start_;
  Variable factor_;
};

// A model of a user.
class Linear : public ModelBody {
 public:
  layers::Dense dense{3};
  LayerOf<Scale> scale;

 private:
  Tensor call(const Tensor& x, const CallOptions&) override { return scale(dense(x)); }
};

static_assert(!std::is_copy_constructible_v<Scale> && !std::is_move_constructible_v<Scale>);
static_assert(std::is_nothrow_move_constructible_v<Layer> && std::is_nothrow_move_constructible_v<LayerOf<Scale>>);
static_assert(std::is_convertible_v<LayerOf<Scale>, Layer> && std::is_convertible_v<ModelOf<Linear>, Model>);
static_assert(!std::is_convertible_v<Layer, LayerOf<Scale>> && !std::is_convertible_v<LayerOf<Scale>, Model>);
static_assert(!std::is_constructible_v<LayerOf<Scale>, const char*>);
static_assert(!std::is_convertible_v<double, LayerOf<Scale>>);

template <class Handle>
Handle make() {
  if constexpr (std::is_same_v<Handle, layers::Dense>) {
    return layers::Dense(3);
  } else if constexpr (std::is_same_v<Handle, Sequential>) {
    return Sequential({layers::Dense(2), layers::Dense(3)});
  } else if constexpr (std::is_same_v<Handle, layers::BatchNormalization>) {
    return layers::BatchNormalization();
  } else {
    return Handle();
  }
}

template <class Handle>
class LayerHandles : public ::testing::Test {};
using Kinds = ::testing::Types<layers::Dense, layers::BatchNormalization, Sequential, LayerOf<Scale>, ModelOf<Linear>>;
TYPED_TEST_SUITE(LayerHandles, Kinds);

Layer by_value(Layer layer) { return layer; }
const Layer& by_reference(const Layer& layer) { return layer; }

// All the ways to have a layer once more.
template <class Handle>
std::vector<Layer> others_of(const Handle& original) {
  std::vector<Layer> all;
  all.push_back(original);
  all.emplace_back(original);
  Handle copy = original;
  all.push_back(copy);
  Handle moved = std::move(copy);
  all.push_back(moved);
  Handle assigned = make<Handle>();
  assigned = moved;
  all.push_back(assigned);
  Handle move_assigned = make<Handle>();
  move_assigned = std::move(assigned);
  all.push_back(move_assigned);
  Layer plain = layers::Flatten();
  plain = original;
  all.push_back(by_value(std::move(plain)));
  all.push_back(by_reference(original));
  const std::map<std::string, Layer> named = {{"it", original}};
  all.push_back(named.at("it"));
  const std::vector<Handle> same_kind(2, original);
  all.push_back(same_kind[1]);
  const auto kept = [original] { return original; };
  all.push_back(kept());
  all.push_back(*std::make_shared<Handle>(original));
  return all;
}

TYPED_TEST(LayerHandles, AreTheSameLayerWheneverTheyAreTaken) {
  const TypeParam original = make<TypeParam>();
  const std::vector<Layer> before = others_of(original);
  const Tensor x = random::normal({4, 3});
  const Tensor y = original(x);
  std::vector<Layer> all = others_of(original);
  all.insert(all.end(), before.begin(), before.end());
  for (const Layer& layer : all) {
    EXPECT_EQ(layer.name(), original.name());
    EXPECT_EQ(layer.type_name(), original.type_name());
    EXPECT_TRUE(layer.is_built());
    EXPECT_EQ(layer.weights().size(), original.weights().size());
    EXPECT_EQ(layer.sublayers().size(), original.sublayers().size());
    EXPECT_TRUE(equal_tensors(layer(x), y));
    layer.set_trainable(false);
    EXPECT_FALSE(original.trainable());
    original.set_trainable(true);
    EXPECT_TRUE(layer.trainable());
  }
  std::vector<Tensor> values;
  for (const Variable& weight : original.weights()) values.push_back(zeros(weight.shape()));
  original.set_weights(values);
  for (const Layer& layer : all) {
    std::vector<Tensor> moved;
    for (const Tensor& value : layer.get_weights()) moved.push_back(value + 1);
    layer.set_weights(moved);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(equal_tensors(original.get_weights()[i], values[i] + static_cast<double>(all.size()))) << i;
  }
}

TYPED_TEST(LayerHandles, MayMakeTheWeightsByAnyOfThem) {
  const TypeParam original = make<TypeParam>();
  const std::vector<Layer> others = others_of(original);
  const Tensor x = random::normal({4, 3});
  const Tensor y = others[3](x);
  EXPECT_TRUE(equal_tensors(original(x), y));
  EXPECT_EQ(original.weights().size(), others[0].weights().size());
}

TYPED_TEST(LayerHandles, KeepTheLayerAlive) {
  auto original = std::make_unique<TypeParam>(make<TypeParam>());
  const std::vector<Layer> others = others_of(*original);
  const Tensor x = random::normal({4, 3});
  const Tensor y = (*original)(x);
  original.reset();
  for (const Layer& layer : others) EXPECT_TRUE(equal_tensors(layer(x), y));
}

TYPED_TEST(LayerHandles, MayBeAssignedToThemselves) {
  TypeParam layer = make<TypeParam>();
  const Tensor x = ones({2, 3});
  const Tensor y = layer(x);
  TypeParam& same = layer;
  layer = same;
  EXPECT_TRUE(equal_tensors(layer(x), y));
  layer = std::move(same);
  EXPECT_TRUE(equal_tensors(layer(x), y));
}

TYPED_TEST(LayerHandles, ThatAreEmptySaySo) {
  TypeParam layer = make<TypeParam>();
  const TypeParam kept = std::move(layer);
  EXPECT_FALSE(layer.has_value());  // NOLINT(bugprone-use-after-move): what this is about
  EXPECT_TRUE(kept.has_value());
  const std::string text = "layer: this handle is empty\n  help: it was moved from, or no layer was assigned to it";
  EXPECT_EQ(message_of<ValueError>([&] { layer(ones({1, 3})); }), text);
  EXPECT_EQ(message_of<ValueError>([&] { layer.name(); }), text);
  EXPECT_EQ(message_of<ValueError>([&] { layer.weights(); }), text);
  EXPECT_EQ(message_of<ValueError>([&] { layer.build({1, 3}); }), text);
  EXPECT_EQ(message_of<ValueError>([&] { layer.set_trainable(false); }), text);
  EXPECT_EQ(message_of<ValueError>([&] { Sequential().add(layer); }), text);
  EXPECT_EQ(message_of<ValueError>([&] { Sequential({layers::Dense(1), layer}); }), text);
  layer = kept;
  EXPECT_EQ(layer(ones({1, 3})).dim(0), 1);
}

TEST(LayerHandle, WithoutALayerSaysSo) {
  EXPECT_FALSE(Layer().has_value());
  EXPECT_FALSE(Model().has_value());
  EXPECT_THROW(Layer()(ones({1})), ValueError);
  EXPECT_THROW(Model().compile({.loss = "mse"}), ValueError);
  LayerOf<Scale> scale;
  const LayerOf<Scale> kept = std::move(scale);
  EXPECT_EQ(message_of<ValueError>([&] { scale->calls = 1; }),  // NOLINT(bugprone-use-after-move)
            "layer: this handle is empty\n  help: it was moved from, or no layer was assigned to it");
}

TEST(LayerHandle, LeadsToTheMembersOfItsClass) {
  LayerOf<Scale> scale(2.0);
  const LayerOf<Scale> copy = scale;
  const Layer plain = scale;
  EXPECT_EQ(copy(ones({1, 2})).to_vector<float>(), (std::vector<float>{2, 2}));
  plain(ones({1, 2}));
  EXPECT_EQ(scale->calls, 2);
  EXPECT_EQ(copy->calls, 2);
  (*scale).calls = 7;
  EXPECT_EQ(copy->calls, 7);
}

TEST(LayerHandle, BuildsOnce) {
  const LayerOf<Scale> scale;
  const std::vector<Layer> others = others_of(scale);
  scale.build({-1, 2});
  scale.build({-1, 2});
  for (const Layer& layer : others) {
    layer.build({-1, 2});
    layer(ones({1, 2}));
  }
  EXPECT_EQ(scale->builds, 1);
  EXPECT_EQ(scale.weights().size(), 1u);
}

TEST(LayerHandle, TakesWhatTheConstructorTakes) {
  class Holder : public LayerBody {
   public:
    Holder(std::unique_ptr<int> value, Layer& inner, const std::string& name)
        : LayerBody({.name = name}), value(std::move(value)), inner(inner) {}
    Tensor call(const Tensor& x, const CallOptions&) override { return inner(x); }
    std::unique_ptr<int> value;
    Layer& inner;
  };
  Layer inner = layers::Flatten();
  LayerOf<Holder> holder(std::make_unique<int>(3), inner, "holder_of_three");
  EXPECT_EQ(*holder->value, 3);
  EXPECT_EQ(&holder->inner, &inner);
  EXPECT_EQ(holder.name(), "holder_of_three");
  // A layer around another of the same class is no copy of it.
  class Around : public LayerBody {
   public:
    Around() = default;
    explicit Around(Layer inner) : inner_(std::move(inner)) {}
    Tensor call(const Tensor& x, const CallOptions&) override { return inner_.has_value() ? inner_(x) * 2 : x; }

   private:
    Layer inner_;
  };
  LayerOf<Around> core;
  const LayerOf<Around> outer{Layer(core)};
  const LayerOf<Around> copy(core);
  EXPECT_EQ(copy.name(), core.name());
  EXPECT_NE(outer.name(), core.name());
  EXPECT_EQ(outer(ones({1})).item<float>(), 2);
}

TEST(LayerHandle, StoredAsALayerIsCalledAsItsClass) {
  std::vector<Layer> stack;
  stack.push_back(LayerOf<Scale>(2.0));
  stack.push_back(layers::Dense(3, {.kernel_initializer = "ones"}));
  stack.push_back(ModelOf<Linear>());
  stack.push_back(Sequential({LayerOf<Scale>(3.0)}));
  Tensor x = ones({1, 2});
  for (const Layer& layer : stack) x = layer(x);
  EXPECT_EQ(x.shape(), (Shape{1, 3}));
  EXPECT_EQ(stack[0].type_name(), "Scale");
  EXPECT_EQ(stack[1].type_name(), "Dense");
  EXPECT_EQ(stack[2].type_name(), "Linear");
  EXPECT_EQ(stack[3].type_name(), "Sequential");
  EXPECT_EQ(stack[2].weights().size(), 3u);
}

TEST(LayerHandle, OfAModelIsAModel) {
  const ModelOf<Linear> linear;
  const Model model = linear;
  model.compile({.loss = "mse"});
  const Tensor x = random::normal({5, 2});
  const Tensor y = random::normal({5, 3});
  EXPECT_EQ(linear.evaluate(x, y).loss, model.evaluate(x, y).loss);
  EXPECT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.summary(), linear.summary());
}

TEST(LayerHandle, WorksInFunctions) {
  const LayerOf<Scale> scale(3.0);
  const Sequential model({scale, layers::Dense(1)});
  auto f = function([model, scale](const Tensor& x) { return model(x) + reduce_sum(scale(x)); });
  const Tensor x = ones({2, 2});
  const Tensor y = f(x);
  EXPECT_EQ(scale->builds, 1);
  EXPECT_TRUE(equal_tensors(model(x) + reduce_sum(scale(x)), y));
  scale.set_weights({zeros({2})});
  EXPECT_TRUE(equal_tensors(f(x), model(x)));
  EXPECT_EQ(scale->builds, 1);
}

TEST(LayerHandle, TwiceInAModelIsOneLayer) {
  class Tied : public ModelBody {
   public:
    Tensor call(const Tensor& x, const CallOptions&) override { return again(scale(x)) + scale(x); }
    LayerOf<Scale> scale{3.0};
    Layer again = scale;
  };
  const ModelOf<Tied> model;
  GradientTape tape;
  const Tensor y = model(ones({1, 1}));
  EXPECT_EQ(y.item<float>(), 12);  // w^2 + w
  EXPECT_EQ(model.sublayers().size(), 1u);
  ASSERT_EQ(model.weights().size(), 1u);
  EXPECT_EQ(model->scale->builds, 1);
  EXPECT_EQ(tape.gradient(y, model.weights()[0]).item<float>(), 7);
}

TEST(LayerHandle, OfASublayerOutlivesTheModel) {
  Layer inner;
  {
    const ModelOf<Linear> model;
    model(ones({1, 2}));
    inner = model.get_layer(1);
  }
  EXPECT_EQ(inner(ones({1, 3})).to_vector<float>(), (std::vector<float>{1, 1, 1}));
}

// The handle that is called may be gone when the call ends.
TEST(LayerHandle, MayBeMovedByTheCall) {
  class Growing : public LayerBody {
   public:
    explicit Growing(std::vector<Layer>& list) : list_(&list) {}
    Tensor call(const Tensor& x, const CallOptions&) override {
      for (int i = 0; i < 100; ++i) list_->push_back(layers::Flatten());
      return x + 1;
    }

   private:
    std::vector<Layer>* list_;
  };
  std::vector<Layer> list;
  list.push_back(LayerOf<Growing>(list));
  EXPECT_EQ(list[0](ones({1})).item<float>(), 2);
  EXPECT_EQ(list.size(), 101u);
}

TEST(LayerHandle, OfAModelIsNotPutIntoItself) {
  const Sequential inner({layers::Dense(1)}, "inner_one");
  const Sequential outer({inner}, "outer_one");
  EXPECT_EQ(message_of<ValueError>([&] { inner.add(outer); }),
            "sequential: outer_one cannot be added to inner_one, which it contains");
  EXPECT_THROW(inner.add(inner), ValueError);
}

}  // namespace
}  // namespace capstan
