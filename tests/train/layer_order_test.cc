// The order of sublayers and of the seeds of their weights: that of construction, whatever is called first. C++ leaves
// open which of the calls in `a(x) + b(x)` that is, and compilers differ.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"

namespace capstan {
namespace {

using Names = std::vector<std::string>;

Names names_of(const Layer& layer) {
  Names names;
  for (const Layer& sublayer : layer.sublayers()) names.push_back(sublayer.name());
  return names;
}

Names paths_of(const Layer& layer) {
  Names paths;
  for (const Variable& variable : layer.weights()) paths.push_back(variable.path());
  return paths;
}

// A layer of a user, whose weights are drawn in build().
class Own : public LayerBody {
 public:
  explicit Own(const std::string& name) : LayerBody({.name = name}) {}
  void build(const Shape& shape) override { w_ = add_weight({.name = "w", .shape = {shape[-1], 2}}); }
  Tensor call(const Tensor& x, const CallOptions&) override { return x + reduce_sum(w_); }

 private:
  Variable w_;
};

template <class L>
class Two : public ModelBody {
 public:
  explicit Two(bool second_first) : ModelBody({.name = "two"}), second_first_(second_first) {}
  Tensor call(const Tensor& x, const CallOptions&) override {
    if (second_first_) {
      const Tensor y = b(x);
      return a(x) + y;
    }
    const Tensor y = a(x);
    return y + b(x);
  }

 private:
  bool second_first_;

 public:
  L a{make("a")}, b{make("b")};

 private:
  static L make(const char* name) {
    if constexpr (std::is_same_v<L, LayerOf<Own>>) {
      return L(name);
    } else {
      return L(2, {.name = name});
    }
  }
};

TEST(LayerOrder, IsThatOfTheMembers) {
  for (const bool second_first : {false, true}) {
    const ModelOf<Two<layers::Dense>> model(second_first);
    model(ones({1, 3}));
    EXPECT_EQ(names_of(model), (Names{"a", "b"}));
    EXPECT_EQ(paths_of(model), (Names{"two/a/kernel", "two/a/bias", "two/b/kernel", "two/b/bias"}));
  }
}

template <class L>
std::vector<std::vector<float>> weights_drawn(bool second_first) {
  set_seed(7);
  const ModelOf<Two<L>> model(second_first);
  model(ones({1, 3}));
  std::vector<std::vector<float>> values;
  for (const Variable& variable : model.weights()) values.push_back(variable.to_vector<float>());
  return values;
}

TEST(LayerOrder, DecidesTheSeeds) {
  EXPECT_EQ(weights_drawn<layers::Dense>(false), weights_drawn<layers::Dense>(true));
  EXPECT_EQ(weights_drawn<LayerOf<Own>>(false), weights_drawn<LayerOf<Own>>(true));
  EXPECT_NE(weights_drawn<LayerOf<Own>>(false)[0], weights_drawn<LayerOf<Own>>(false)[1]);
}

// An expression in which compilers call in different orders.
TEST(LayerOrder, DoesNotDependOnTheOrderWithinAnExpression) {
  class Sum : public ModelBody {
   public:
    Sum() : ModelBody({.name = "sum"}) {}
    Tensor call(const Tensor& x, const CallOptions&) override { return a(x) + b(x) + c(x); }
    layers::Dense a{1, {.name = "a"}}, b{1, {.name = "b"}}, c{1, {.name = "c"}};
  };
  const ModelOf<Sum> model;
  model(ones({1, 1}));
  EXPECT_EQ(names_of(model), (Names{"a", "b", "c"}));
}

TEST(LayerOrder, PutsTrackedLayersFirst) {
  class Tracking : public ModelBody {
   public:
    Tracking() { track({c, a}); }
    Tensor call(const Tensor& x, const CallOptions&) override { return d(x) + b(x) + a(x) + c(x); }
    layers::Dense a{1, {.name = "a"}}, b{1, {.name = "b"}}, c{1, {.name = "c"}}, d{1, {.name = "d"}};
  };
  const ModelOf<Tracking> model;
  EXPECT_EQ(names_of(model), (Names{"c", "a"}));
  model(ones({1, 1}));
  EXPECT_EQ(names_of(model), (Names{"c", "a", "b", "d"}));
}

TEST(LayerOrder, OfASequentialIsThatOfAdd) {
  const layers::Dense first(1, {.name = "first"});
  const layers::Dense second(1, {.name = "second"});
  Sequential model;
  model.add(second);
  model.add(first);
  model(ones({1, 1}));
  EXPECT_EQ(names_of(model), (Names{"second", "first"}));
}

TEST(LayerOrder, OfLayersMadeInACallIsThatOfTheirMaking) {
  class Lazy : public ModelBody {
   public:
    Tensor call(const Tensor& x, const CallOptions&) override {
      if (made_.empty()) {
        made_.push_back(layers::Dense(1, {.name = "late_0"}));
        made_.push_back(layers::Dense(1, {.name = "late_1"}));
      }
      const Tensor y = made_[1](x);
      return made_[0](x) + early(y);
    }
    layers::Dense early{1, {.name = "early"}};

   private:
    std::vector<layers::Dense> made_;
  };
  const ModelOf<Lazy> model;
  model(ones({1, 1}));
  EXPECT_EQ(names_of(model), (Names{"early", "late_0", "late_1"}));
}

// A handle is the layer: a copy has its place.
TEST(LayerOrder, OfCopiesIsThatOfTheOriginal) {
  class Copies : public ModelBody {
   public:
    Tensor call(const Tensor& x, const CallOptions&) override { return late(x) + b(x); }
    layers::Dense a{1, {.name = "a"}}, b{1, {.name = "b"}};
    layers::Dense late = a;
  };
  const ModelOf<Copies> model;
  model(ones({1, 1}));
  EXPECT_EQ(names_of(model), (Names{"a", "b"}));
}

}  // namespace
}  // namespace capstan
