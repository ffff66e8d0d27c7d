// Layers that take and give several tensors, masks that travel, and functional models.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

class Gate : public LayerBodyOf<Tensor(std::pair<Tensor, Tensor>)> {
  void build(const std::vector<Shape>& shapes) override {
    factor_ = add_weight({.name = "factor", .shape = {shapes[1][-1]}, .initializer = "ones"});
  }
  Tensor call(const std::pair<Tensor, Tensor>& inputs, const CallOptions&) override {
    return inputs.first * (inputs.second * factor_);
  }
  Variable factor_;
};

class Split : public LayerBodyOf<std::map<std::string, Tensor>(Tensor)> {
  std::map<std::string, Tensor> call(const Tensor& x, const CallOptions&) override {
    return {{"double", x * 2.0}, {"half", x * 0.5}};
  }
};

class Halves : public LayerBodyOf<std::tuple<Tensor, Tensor>(Tensor)> {
  std::tuple<Tensor, Tensor> call(const Tensor& x, const CallOptions&) override { return {x + 1.0, x - 1.0}; }
};

TEST(NestLayers, TakeAndGiveStructures) {
  const Tensor x = constant({{1.0f, 2.0f}}), z = constant({{3.0f, 4.0f}});
  const LayerOf<Gate> gate;
  const Tensor y = gate({x, z});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 8}));
  EXPECT_EQ(gate.weights().size(), 1u);
  const Layer any = gate;
  EXPECT_EQ(any({x, z}).tensor().to_vector<float>(), (std::vector<float>{3, 8}));
  const LayerOf<Split> split;
  const std::map<std::string, Tensor> parts = split(x);
  EXPECT_EQ(parts.at("half").to_vector<float>(), (std::vector<float>{0.5, 1}));
  EXPECT_EQ(Layer(split)(Nest(x))["double"].tensor().to_vector<float>(), (std::vector<float>{2, 4}));
  const auto [up, down] = LayerOf<Halves>()(x);
  EXPECT_EQ(up.to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(down.to_vector<float>(), (std::vector<float>{0, 1}));
}

TEST(NestLayers, WorkInFunctionsAndUnderTapes) {
  const LayerOf<Gate> gate;
  const Tensor x = constant({{1.0f, 2.0f}}), z = constant({{3.0f, 4.0f}});
  gate({x, z});
  auto step = function([&](const Nest& inputs) {
    GradientTape tape;
    tape.watch(inputs);
    const Tensor y = Layer(gate)(inputs).tensor();
    return Nest{y, tape.gradient(y, inputs)};
  });
  const Nest result = step(Nest{x, z});
  EXPECT_EQ(result.form(), "[_, [_, _]]");
  EXPECT_EQ(result[1][0].tensor().to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(result[1][1].tensor().to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(NestLayers, ErrorsNameWhatWasExpected) {
  const LayerOf<Gate> gate;
  const Tensor x = constant({{1.0f, 2.0f}});
  EXPECT_NE(message_of<ValueError>([&] {
              (void)Layer(gate)({x, x, x});
            }).find("2 items were expected"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] { Layer(LayerOf<Split>())(x); }).find("one tensor was expected"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] { layers::Dense(2)({x, x}); }).find("one tensor"), std::string::npos);
}

// Gives a mask of its own.
class Positive : public LayerBody {
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
  Nest compute_mask(const Nest& inputs, const Nest&) override { return reduce_all(inputs.tensor() > 0.0, -1); }
};

class SeesMask : public LayerBody {
  Tensor call(const Tensor& x, const CallOptions& options) override {
    seen = options.mask.tensor_or_empty();
    return x * 1.0;
  }

 public:
  Tensor seen;
};

TEST(Masks, TravelWithTensors) {
  const Tensor x = constant({{{1.0f}, {-1.0f}, {2.0f}}});
  const LayerOf<Positive> positive;
  const LayerOf<SeesMask> reader;
  const layers::Dense dense(2);
  const Tensor y = positive(x);
  EXPECT_FALSE(mask_of(x).has_value());
  EXPECT_EQ(mask_of(y).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  const Tensor z = dense(y);
  EXPECT_EQ(mask_of(z).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(mask_of(reader(z)).has_value()) << "it does not pass masks on";
  EXPECT_EQ(reader->seen.to_vector<bool>(), (std::vector<bool>{true, false, true}));
  reader(z * 1.0f);
  EXPECT_FALSE(reader->seen.has_value()) << "an op in between loses it";
  reader(z, {.mask = constant({{false, true, true}})});
  EXPECT_EQ(reader->seen.to_vector<bool>(), (std::vector<bool>{false, true, true}));
  auto traced = function([&](const Tensor& in) {
    const Tensor out = dense(positive(in));
    return std::pair(out, mask_of(out));
  });
  EXPECT_EQ(traced(x).second.to_vector<bool>(), (std::vector<bool>{true, false, true}));
  const Sequential model({positive, layers::Dense(3), reader});
  model(x);
  EXPECT_TRUE(reader->seen.has_value());
  EXPECT_THROW(with_mask(x, constant(1.0f)), DTypeError);
  EXPECT_THROW(with_mask(x, constant({{true, false}})), ShapeError);
}

TEST(Masks, DoNotCutGradients) {
  const Tensor x = constant({{1.0f, 2.0f}});
  const Tensor mask = constant({{true, false}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor watched = with_mask(x, mask), computed = with_mask(x * 3.0f, mask);
  EXPECT_FALSE(mask_of(x).has_value());
  EXPECT_EQ(tape.gradient(watched * watched, x).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(tape.gradient(computed, x).to_vector<float>(), (std::vector<float>{3, 3}));
}

TEST(FunctionalModel, SharesLayersAndHasSeveralInputsAndOutputs) {
  const Tensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const layers::Dense shared(4, {.activation = "tanh", .name = "shared"});
  const LayerOf<Gate> gate;
  const Tensor h = gate({shared(a), shared(b)});
  const Tensor y = layers::Dense(2, {.name = "head"})(h);
  const Model model({a, b}, {y, h});
  EXPECT_EQ(model.layers().size(), 5u);
  EXPECT_EQ(model.weights().size(), 5u);
  const Tensor x = random::normal({5, 3}, 0, 1, float32, 1), z = random::normal({5, 3}, 0, 1, float32, 2);
  const Nest result = model({x, z});
  const Tensor plain = Layer(gate)({shared(x), shared(z)}).tensor();
  EXPECT_EQ(result[1].tensor().to_vector<float>(), plain.to_vector<float>());
  EXPECT_EQ(result[0].tensor().shape(), Shape({5, 2}));
  // By the names of its inputs.
  const Nest named = model(Nest(std::map<std::string, Tensor>{{"a", x}, {"b", z}}));
  EXPECT_EQ(named[1].tensor().to_vector<float>(), plain.to_vector<float>());
  // Features of an inner layer, and a model in a model.
  const Model features({a, b}, h);
  EXPECT_EQ(Layer(features)({x, z}).tensor().to_vector<float>(), plain.to_vector<float>());
  const Tensor c = Input({3});
  const Model nested(c, layers::Dense(1)(Layer(features)({c, c}).tensor()));
  EXPECT_EQ(nested(x).shape(), Shape({5, 1}));
  EXPECT_EQ(nested.weights().size(), 5u);
  GradientTape tape;
  const Tensor loss = reduce_sum(nested(x));
  for (const Tensor& gradient : tape.gradient(loss, nested.trainable_variables())) EXPECT_TRUE(gradient.has_value());
}

TEST(FunctionalModel, LeavesLengthsOpen) {
  const Tensor x = Input({-1, 4});
  const LayerOf<Positive> positive;
  const Model model(x, layers::Dense(2)(positive(x)));
  EXPECT_EQ(model(zeros({3, 7, 4})).shape(), Shape({3, 7, 2}));
  EXPECT_EQ(model(zeros({1, 2, 4})).shape(), Shape({1, 2, 2}));
  EXPECT_EQ(mask_of(model(ones({1, 2, 4}))).to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_THROW(model(zeros({3, 7, 5})), ShapeError);
}

TEST(FunctionalModel, Errors) {
  const Tensor x = Input({4});
  const layers::Dense dense(4);
  EXPECT_NE(message_of<ValueError>([&] { Model(x, dense(x) + 1.0f); }).find("layers alone"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] { Model(zeros({1, 4}), dense(x)); }).find("Input(shape)"), std::string::npos);
  const Tensor z = Input({4}, {.name = "z"});
  const LayerOf<Gate> gate;
  EXPECT_NE(message_of<ValueError>([&] { Model(x, gate({x, z})); }).find("\"z\""), std::string::npos);
  EXPECT_THROW(Input({0}), ShapeError);
  const Model model(x, dense(x));
  EXPECT_NE(message_of<ValueError>([&] { model({zeros({1, 4}), zeros({1, 4})}); }).find("1 inputs"), std::string::npos);
  EXPECT_THROW(Model(static_cast<const Layer&>(dense)), ValueError);
}

TEST(LayerConfigurations, GoThereAndBack) {
  const layers::Dense dense(3, {.activation = "relu", .kernel_regularizer = "l2", .name = "head"});
  const AttributeValue config = dense.get_config();
  EXPECT_EQ(config.find("units")->integer, 3);
  EXPECT_EQ(config.find("name")->text, "head");
  const Layer again = layer_from(serialize(dense));
  EXPECT_EQ(again.get_config().to_json(), config.to_json());
  EXPECT_EQ(again.type_name(), "Dense");
  EXPECT_NE(message_of<ValueError>([] {
              layer_from(AttributeValue::from_json(R"({"class_name": "Dense", "config": {"units": 0}})"));
            }).find("\"units\""),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] { LayerOf<Positive>().get_config(); }).find("ConfiguredLayer"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
