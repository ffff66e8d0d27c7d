// What a layer of one's own may do in its constructor, in build() and in call().
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

TEST(LayerBody, MakesWeightsInItsConstructorToo) {
  class Shift : public LayerBody {
   public:
    Shift() : LayerBody({.name = "shift_by_one"}) { by_ = add_weight({.name = "by", .initializer = "ones"}); }
    Tensor call(const Tensor& x, const CallOptions&) override { return x + by_; }

   private:
    Variable by_;
  };
  const LayerOf<Shift> shift;
  ASSERT_EQ(shift.weights().size(), 1u);
  EXPECT_EQ(shift.weights()[0].path(), "shift_by_one/by");
  EXPECT_EQ(shift(zeros({1})).item<float>(), 1);
  EXPECT_EQ(shift.weights().size(), 1u);
}

TEST(LayerBody, IsNamedWhenItIsMade) {
  class NamedInOrder : public LayerBody {
    Tensor call(const Tensor& x, const CallOptions&) override { return x; }
  };
  const LayerOf<NamedInOrder> first;
  const LayerOf<NamedInOrder> second;
  EXPECT_EQ(second.name(), "named_in_order_1");
  EXPECT_EQ(first.name(), "named_in_order");
}

template <class T>
std::string name_of_a_local_class() {
  class LocalGain : public LayerBody {
    Tensor call(const Tensor& x, const CallOptions&) override { return x; }
  };
  return LayerOf<LocalGain>().type_name();
}

template <class T>
class GainOf : public LayerBody {
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};

TEST(LayerBody, IsNamedAfterItsClassWithoutArguments) {
  EXPECT_EQ(name_of_a_local_class<std::vector<int>>(), "LocalGain");
  EXPECT_EQ(LayerOf<GainOf<std::vector<int>>>().type_name(), "GainOf");
  EXPECT_TRUE(LayerOf<GainOf<int>>().name().starts_with("gain_of"));
}

TEST(LayerBody, MakesNoWeightsInACall) {
  class Late : public LayerBody {
   public:
    Late() : LayerBody({.name = "late"}) {}
    Tensor call(const Tensor& x, const CallOptions&) override { return x + add_weight({.name = "w"}); }
    void add() { add_weight({.name = "v"}); }
  };
  const LayerOf<Late> late;
  EXPECT_EQ(message_of<Error>([&] { late->add(); }),
            "late: the weight \"v\" cannot be added to a layer that is not being built\n  help: make weights in "
            "build(), which the layer's first call runs, or in a constructor");
  EXPECT_TRUE(message_of<Error>([&] {
                late(ones({1}));
              }).starts_with("late: the weight \"w\" cannot be added to a layer that is built"));
}

// Makes two weights, and refuses some inputs between them.
class Picky : public LayerBody {
 public:
  explicit Picky(const char* name) : LayerBody({.name = name}) {}
  int builds = 0;

 private:
  void build(const Shape& input_shape) override {
    ++builds;
    first_ = add_weight({.name = "first", .shape = {input_shape[-1]}});
    if (input_shape[-1] != 3) throw ShapeError("picky: three, please");
    second_ = add_weight({.name = "second", .shape = {input_shape[-1]}});
  }
  Tensor call(const Tensor& x, const CallOptions&) override { return x * first_ + second_; }

  Variable first_, second_;
};

TEST(LayerBody, IsAsNewAfterABuildThatFailed) {
  const LayerOf<Picky> layer("picky_a");
  const Layer copy = layer;
  EXPECT_THROW(layer(ones({1, 2})), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([&] { copy.build({-1, 4}); }), "picky: three, please\n  layer: picky_a");
  EXPECT_FALSE(copy.is_built());
  EXPECT_TRUE(layer.weights().empty());
  EXPECT_THROW(layer.count_params(), ValueError);
  copy(ones({1, 3}));
  ASSERT_EQ(layer.weights().size(), 2u);
  EXPECT_EQ(layer.weights()[0].shape(), Shape({3}));
  EXPECT_EQ(layer->builds, 3);
}

TEST(LayerBody, OfAModelIsAsNewAfterABuildThatFailed) {
  const LayerOf<Picky> inner("picky_b");
  const Sequential model({layers::Dense(2), inner}, "m");
  EXPECT_EQ(message_of<ShapeError>([&] { model.build({-1, 5}); }), "picky: three, please\n  layer: m/picky_b");
  EXPECT_TRUE(inner.weights().empty());
  EXPECT_FALSE(inner.is_built());
}

TEST(LayerBody, OfAModelIsAsNewAfterAFirstCallThatFailed) {
  const LayerOf<Picky> inner("picky_c");
  Sequential model({layers::Dense(2, {.name = "two"}), inner}, "m");
  EXPECT_THROW(model(ones({1, 5})), ShapeError);
  EXPECT_FALSE(model.is_built());
  EXPECT_THROW(model.count_params(), ValueError);
  model.add(layers::Flatten());
  const Sequential other({layers::Dense(3), inner});
  other(ones({1, 5}));
  EXPECT_EQ(inner.weights().size(), 2u);
  EXPECT_TRUE(other.is_built());
  EXPECT_THROW(other(ones({1, 4})), ShapeError);
  EXPECT_TRUE(other.is_built()) << "only a first call builds";

  class Throwing : public ModelBody {
   public:
    Tensor call(const Tensor&, const CallOptions&) override { throw 3; }
  };
  const ModelOf<Throwing> throwing;
  EXPECT_THROW(throwing(ones({1})), int);
  EXPECT_FALSE(throwing.is_built());
}

class Pair : public ModelBody {
 public:
  explicit Pair(const char* name) : ModelBody({.name = name}) {}
  Tensor call(const Tensor& x, const CallOptions&) override { return b(a(x)); }
  layers::Dense a{4, {.name = "a"}}, b{2, {.name = "b"}};
};

TEST(LayerBody, OfAModelIsBuiltFromAShape) {
  const ModelOf<Pair> pair("pair_one");
  pair.build({-1, 3});
  EXPECT_TRUE(pair.is_built());
  EXPECT_EQ(pair.count_params(), 3 * 4 + 4 + 4 * 2 + 2);
  EXPECT_EQ(pair.weights()[2].path(), "pair_one/b/kernel");
  EXPECT_THROW(pair.build({}), ShapeError) << "also of a layer that is built";
}

TEST(LayerBody, MayCallTheBuildOfItsBase) {
  class Polite : public LayerBody {
   public:
    void build(const Shape& shape) override {
      ++builds;
      w_ = add_weight({.shape = {shape[-1]}, .initializer = "ones"});
      LayerBody::build(shape);
    }
    Tensor call(const Tensor& x, const CallOptions&) override { return x + w_; }
    int builds = 0;

   private:
    Variable w_;
  };
  const LayerOf<Polite> layer;
  layer.build({-1, 2});
  layer(ones({1, 2}));
  EXPECT_EQ(layer->builds, 1);
  EXPECT_EQ(layer.count_params(), 2);
  EXPECT_THROW(LayerOf<Polite>().build({-1, 2, -1}), Error);
}

TEST(LayerBody, MayBuildSublayersInBuild) {
  class Eager : public LayerBody {
   public:
    Eager() : LayerBody({.name = "eager"}) {}
    void build(const Shape& shape) override {
      late.build(shape);
      early.build(shape);
      pair.build(shape);
    }
    Tensor call(const Tensor& x, const CallOptions&) override { return early(x) + late(x); }
    layers::Dense early{2, {.name = "early"}}, late{2, {.name = "late"}};
    ModelOf<Pair> pair{"pair"};
  };
  const LayerOf<Eager> eager;
  eager.build({-1, 3});
  std::vector<std::string> paths;
  for (const Variable& variable : eager.weights()) paths.push_back(variable.path());
  const std::vector<std::string> wanted = {"eager/early/kernel",  "eager/early/bias",    "eager/late/kernel",
                                           "eager/late/bias",     "eager/pair/a/kernel", "eager/pair/a/bias",
                                           "eager/pair/b/kernel", "eager/pair/b/bias"};
  EXPECT_EQ(paths, wanted);
}

TEST(LayerBody, HasAHandleToItself) {
  class Penalized : public ModelBody {
   public:
    Tensor call(const Tensor& x, const CallOptions&) override {
      const Tensor y = dense(x);
      for (const Variable& weight : self().trainable_variables()) add_loss(reduce_sum(square(weight)));
      return y;
    }
    layers::Dense dense{2, {.kernel_initializer = "ones"}};
  };
  const ModelOf<Penalized> model;
  model(ones({1, 3}));
  ASSERT_EQ(model.losses().size(), 2u);
  EXPECT_EQ(model.losses()[0].item<float>(), 6);

  class TooEarly : public LayerBody {
   public:
    TooEarly() { self(); }
    Tensor call(const Tensor& x, const CallOptions&) override { return x; }
  };
  EXPECT_EQ(message_of<ValueError>([] { LayerOf<TooEarly>(); }),
            "TooEarly: self() is for build() and call(), not for constructors");
}

TEST(LayerBody, ReadsItsWeightsInTheDtypeOfItsPolicy) {
  class Gain : public LayerBody {
   public:
    Gain() : LayerBody({.dtype = "mixed_bfloat16"}) {}
    void build(const Shape& shape) override { w_ = add_weight({.shape = {shape[-1]}, .initializer = "ones"}); }
    Tensor call(const Tensor& x, const CallOptions&) override { return x * value_of(w_); }

   private:
    Variable w_;
  };
  const LayerOf<Gain> gain;
  EXPECT_EQ(gain(ones({1, 3})).dtype(), bfloat16);
  EXPECT_EQ(gain.weights()[0].dtype(), float32);
}

// A layer whose weights come from elsewhere, as those of bindings do.
class Holder : public LayerBody {
 public:
  using LayerBody::track;
  Tensor call(const Tensor& x, const CallOptions&) override { return x * held; }
  Variable held{2.0f};
};

TEST(LayerBody, TracksVariablesThatThereAre) {
  const LayerOf<Holder> layer;
  EXPECT_TRUE(layer.weights().empty());
  layer->track(layer->held);
  layer->track(layer->held);
  ASSERT_EQ(layer.trainable_variables().size(), 1u);
  EXPECT_EQ(layer.trainable_variables()[0], layer->held);
  EXPECT_EQ(layer(constant({3.0})).to_vector<float>()[0], 6);
  layer.set_trainable(false);
  EXPECT_TRUE(layer.trainable_variables().empty());
}

}  // namespace
}  // namespace capstan
