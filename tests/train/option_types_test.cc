// Initializers, regularizers, constraints, activations, dtype policies and shapes as options: in code, and in
// configurations there and back.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

struct ThingOptions {
  ActivationFunction activation = {};
  Initializer initializer = "glorot_uniform";
  Regularizer regularizer = {};
  Constraint constraint = {};
  DTypePolicy dtype = "float32";
  Shape shape = {};
  InputShape input_shape = {};
  Seed seed = {};
  static std::span<const OptionField> fields() {
    using O = ThingOptions;
    static constexpr OptionField all[] = {option<&O::activation>("activation"),
                                          option<&O::initializer>("initializer"),
                                          option<&O::regularizer>("regularizer"),
                                          option<&O::constraint>("constraint"),
                                          option<&O::dtype>("dtype"),
                                          option<&O::shape>("shape"),
                                          option<&O::input_shape>("input_shape"),
                                          option<&O::seed>("seed")};
    return all;
  }
};

const ClassInfo kThing{"thing", "keras.things", "Thing", "A thing.", ThingOptions::fields};

ThingOptions read(const std::string& json) {
  ThingOptions options;
  set_options(kThing, &options, AttributeValue::from_json(json));
  return options;
}

std::string refusal(const std::string& json) {
  return message_of<ValueError>([&] { read(json); });
}

TEST(OptionTypes, AreWrittenAsKerasDoes) {
  const ThingOptions defaults;
  EXPECT_EQ(
      config_of(kThing, &defaults).to_json(),
      R"({"activation": "linear", "initializer": {"module": "keras.initializers", "class_name": )"
      R"("GlorotUniform", "config": {"seed": null, "input_axes": null, "output_axes": null}, "registered_name": null}, )"
      R"("regularizer": null, )"
      R"("constraint": null, "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": )"
      R"({"name": "float32"}, "registered_name": null}, "shape": [], "input_shape": null, "seed": null})");
  const ThingOptions given{.activation = "softmax",
                           .initializer = initializers::Constant(2),
                           .regularizer = regularizers::L1L2(0.5, 0.25),
                           .constraint = constraints::MaxNorm({.max_value = 3, .axis = {0, 1}}),
                           .dtype = "mixed_bfloat16",
                           .shape = {2, 3},
                           .input_shape = {-1, 4},
                           .seed = 7};
  const std::string json = config_of(kThing, &given).to_json();
  EXPECT_EQ(json,
            R"({"activation": "softmax", "initializer": {"module": "keras.initializers", "class_name": "Constant", )"
            R"("config": {"value": 2.0}, "registered_name": null}, "regularizer": {"module": "keras.regularizers", )"
            R"("class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.25}, "registered_name": null}, "constraint": )"
            R"({"module": "keras.constraints", "class_name": "MaxNorm", "config": {"max_value": 3.0, "axis": [0, 1]}, )"
            R"("registered_name": null}, "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": )"
            R"({"name": "mixed_bfloat16"}, "registered_name": null}, "shape": [2, 3], "input_shape": [null, 4], )"
            R"("seed": 7})");
  const ThingOptions again = read(json);
  EXPECT_EQ(config_of(kThing, &again).to_json(), json);
  EXPECT_EQ(again.dtype.compute_dtype(), bfloat16);
  EXPECT_EQ(again.initializer({1}).item<float>(), 2);
}

TEST(OptionTypes, AreReadFromNames) {
  const ThingOptions options = read(R"({"activation": "relu", "initializer": "ones", "regularizer": "l2",
      "constraint": "non_neg", "dtype": "float64"})");
  EXPECT_EQ(options.activation.name(), "relu");
  EXPECT_EQ(options.initializer({1}).item<float>(), 1);
  EXPECT_FLOAT_EQ(options.regularizer(ones({1})).item<float>(), 0.01f);
  EXPECT_EQ(options.constraint(constant({-1.0f})).item<float>(), 0);
  EXPECT_EQ(options.dtype.variable_dtype(), float64);
  const ThingOptions none = read(R"({"activation": null, "regularizer": null, "constraint": null,
      "input_shape": null})");
  EXPECT_FALSE(none.activation.has_value() || none.regularizer.has_value() || none.constraint.has_value() ||
               none.input_shape.is_given());
}

TEST(OptionTypes, ThatDoNotFitAreRefusedByName) {
  EXPECT_EQ(refusal(R"({"initializer": "glorot"})").substr(0, 120),
            "Thing: option \"initializer\" must be an initializer, not \"glorot\"; initializer: there is none with the "
            "name \"glorot\"; the");
  EXPECT_TRUE(refusal(R"({"initializer": null})").starts_with("Thing: option \"initializer\" must be an initializer, "))
      << refusal(R"({"initializer": null})");
  EXPECT_TRUE(refusal(R"({"regularizer": {"class_name": "L2", "config": {"l2": -1}}})")
                  .ends_with("; L2: option \"l2\" must be at least 0.0 and at most 1.7976931348623157e+308, not -1.0"));
  EXPECT_TRUE(refusal(R"({"regularizer": "l1_l2"})").starts_with("regularizer: there is none with the name \"l1_l2\""));
  EXPECT_TRUE(
      refusal(R"({"constraint": 3})").starts_with("Thing: option \"constraint\" must be a constraint, not 3; "));
  EXPECT_TRUE(refusal(R"({"activation": {"class_name": "elu", "config": {"beta": 1}}})")
                  .starts_with("Thing: option \"activation\" must be an activation, not {"));
  EXPECT_TRUE(refusal(R"({"dtype": "mixed_float16"})")
                  .starts_with("Thing: option \"dtype\" must be a dtype policy, not \"mixed_float16\"; "));
  EXPECT_TRUE(refusal(R"({"dtype": "int32"})").starts_with("Thing: option \"dtype\" must be a dtype policy, "));
  EXPECT_TRUE(refusal(R"({"dtype": 3})").starts_with("Thing: option \"dtype\" must be a dtype policy: a name, or "));
  EXPECT_EQ(refusal(R"({"input_shape": [1.5]})"), "Thing: option \"input_shape\" must be a list of lengths, not [1.5]");
  EXPECT_EQ(refusal(R"({"input_shape": [-2]})"), "Thing: option \"input_shape\" must be a list of lengths, not [-2]");
  EXPECT_EQ(refusal(R"({"shape": 3})"), "Thing: attribute \"shape\" must be a list of lengths, not 3");
  EXPECT_EQ(refusal(R"({"seed": -1})"), "Thing: attribute \"seed\" must be an integer that is not negative, not -1");
  const ThingOptions large{.seed = std::numeric_limits<std::uint64_t>::max()};
  EXPECT_THROW(config_of(kThing, &large), ValueError);
}

TEST(OptionTypes, ThatAreFunctionsHaveNoConfiguration) {
  const auto same = [](const Tensor& x) { return x; };
  EXPECT_THROW(get_field(Regularizer(same)), ValueError);
  EXPECT_THROW(get_field(Constraint(same)), ValueError);
  EXPECT_THROW(get_field(ActivationFunction(same)), ValueError);
  EXPECT_THROW(get_field(Initializer([](const Shape& shape, DType dtype) { return ones(shape, dtype); })), ValueError);
}

struct CubeOptions {
  double factor = 2;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&CubeOptions::factor>("factor").above(0)};
    return all;
  }
};

struct Cube : Configured<Cube, RegularizerBody, CubeOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Cube", kText = "The sum of cubes.";
  Tensor penalty(const Tensor& w) const override { return options.factor * reduce_sum(pow(abs(w), 3)); }
};

TEST(OptionTypes, OfTheProgramAreKnownOnceTheyAreRegistered) {
  register_class<Cube>();
  const Regularizer cube = "cube";
  EXPECT_EQ(cube(constant({-2.0f})).item<float>(), 16);
  EXPECT_EQ(get_field(cube).to_json(),
            R"({"module": null, "class_name": "Cube", "config": {"factor": 2.0}, "registered_name": "Custom>Cube"})");
}

// Named like one of the library's.
struct OwnL2 : Configured<OwnL2, RegularizerBody, CubeOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "L2", kText = "Another one.";
  Tensor penalty(const Tensor& w) const override { return options.factor * reduce_sum(w); }
};
struct OtherL2 : OwnL2 {
  using OwnL2::OwnL2;
  static const ClassInfo& info() {
    static const ClassInfo info{RegularizerBody::kKind, RegularizerBody::kModule, "l2", "", CubeOptions::fields};
    return info;
  }
};

TEST(OptionTypes, OfTheProgramMayHaveTheNameOfOneOfTheLibrary) {
  register_class<OwnL2>("mine");
  EXPECT_EQ(deserialize("regularizer", "L2")->class_info().text, regularizers::L2().body()->class_info().text);
  const OwnL2 own({.factor = 3});
  EXPECT_EQ(&deserialize("regularizer", serialize(own))->class_info(), &OwnL2::info());
  EXPECT_EQ(&deserialize("regularizer", "mine>L2")->class_info(), &OwnL2::info());
  register_class<OwnL2>("mine");  // once more changes nothing
  EXPECT_TRUE(message_of([] {
                register_class<OtherL2>("mine");
              }).starts_with("register_class: there is regularizer \"L2\" already"));
}

TEST(Activations, KeepTheirNamesAsFunctions) {
  const ThingOptions options{.activation = activations::gelu};
  EXPECT_EQ(options.activation.name(), "gelu");
  EXPECT_EQ(get_field(options.activation).text, "gelu");
  EXPECT_FALSE(ActivationFunction(activations::linear).has_value());
  EXPECT_EQ(ActivationFunction(capstan::relu).name(), "function");
  EXPECT_EQ(ActivationFunction([](const Tensor& x) { return x; }).name(), "function");
  EXPECT_EQ(ActivationFunction("swish").name(), "silu");
}

TEST(Activations, TakeOptions) {
  const ThingOptions options{.activation = {"leaky_relu", {{"negative_slope", 0.5}}}};
  EXPECT_EQ(options.activation(constant({-2.0f})).item<float>(), -1);
  const AttributeValue config = get_field(options.activation);
  EXPECT_EQ(config.to_json(), R"({"module": "keras.activations", "class_name": "leaky_relu", "config": )"
                              R"({"negative_slope": 0.5}, "registered_name": null})");
  EXPECT_EQ(activations::get(config)(constant({-2.0f})).item<float>(), -1);
  EXPECT_EQ(get_field(ActivationFunction("leaky_relu", {{"negative_slope", 0.2}})).text, "leaky_relu");
  EXPECT_EQ(activations::get(AttributeValue::from_json(R"({"class_name": "function", "config": "elu"})")).name(),
            "elu");
  EXPECT_THROW(ActivationFunction("relu", {{"slope", 1.0}}), ValueError);
  EXPECT_THROW(ActivationFunction("relu", {{"threshold", -1.0}}), ValueError);
  EXPECT_THROW(ActivationFunction("threshold"), ValueError);
}

TEST(Initializers, HaveFansAlongTheAxesThatTheyAreGiven) {
  const initializers::GlorotUniform draw(3);
  const auto largest = [](const Tensor& x) { return reduce_max(abs(x)).item<float>(); };
  const Initializer other = draw.with_axes({0}, {1, 2});
  // sqrt(6 / (32 + 16)) instead of sqrt(6 / (32 * (2 + 8))).
  EXPECT_NEAR(largest(other({32, 2, 8})), std::sqrt(6.0 / 48), 0.01);
  EXPECT_NEAR(largest(other({32, 2, 8})) / largest(draw({32, 2, 8})), std::sqrt(320.0 / 48), 1e-5);
  EXPECT_EQ(other.with_axes({1}, {2}).body(), other.body());
  EXPECT_EQ(Initializer("ones").with_axes({0}, {1})({1}).item<float>(), 1);
  EXPECT_THROW(other({4}), IndexError);
}

TEST(Initializers, AreOrthogonalBeyondABlock) {
  for (const Shape& shape : {Shape{70, 70}, Shape{100, 2, 40}, Shape{33, 90}}) {
    const Tensor w = reshape(initializers::Orthogonal(2)(shape, float64), {-1, shape[-1]});
    const bool is_tall = w.dim(0) >= w.dim(1);
    const Tensor gram = is_tall ? matmul(w, w, {.transpose_a = true}) : matmul(w, w, {.transpose_b = true});
    EXPECT_LT(reduce_max(abs(gram - 4 * eye(gram.dim(0), {}, float64))).item<double>(), 1e-13);
  }
  EXPECT_EQ(initializers::Orthogonal()({0, 3}).shape(), (Shape{0, 3}));
  EXPECT_THROW(initializers::Orthogonal()({3}), ShapeError);
}

TEST(Initializers, OfAShortTimeFourierTransformAreItsKernel) {
  const Tensor x = random::normal({16}, 0, 1, float64, 1);
  const Tensor want = stft(x, 16, 1, {.fft_length = 16});
  for (const std::string side : {"real", "imag"}) {
    const Initializer make = initializers::STFTInitializer({.side = side, .scaling = {}, .periodic = true});
    const Tensor kernel = reshape(make({16, 1, 9}, float64), {16, 9});
    const Tensor got = reduce_sum(expand_dims(x, 1) * kernel, 0);
    const Tensor part = side == "real" ? real(want) : imag(want);
    EXPECT_LT(reduce_max(abs(got - reshape(part, {9}))).item<double>(), 1e-13) << side;
  }
  // Of a constant signal, the first band is the sum of the window over its scale.
  const auto first = [](const std::string& scaling) {
    return reduce_sum(initializers::STFTInitializer({.window = "hamming", .scaling = scaling})({5, 1, 3}), {0, 1})
        .to_vector<float>()[0];
  };
  EXPECT_FLOAT_EQ(first("spectrum"), 1);
  EXPECT_FLOAT_EQ(first("density"), 2.24f / std::sqrt(0.08f * 0.08f * 2 + 0.54f * 0.54f * 2 + 1));
  EXPECT_THROW(initializers::STFTInitializer({.side = "left"}), ValueError);
  EXPECT_THROW(initializers::STFTInitializer()({5, 2, 3}), ShapeError);
  EXPECT_THROW(initializers::STFTInitializer()({5, 1, 1}), ShapeError);
}

TEST(Initializers, WithoutASeedTakeTheNextOneWhenTheyAreMade) {
  set_seed(5);
  const Initializer first = "he_normal";
  const Initializer second = "he_normal";
  set_seed(5);
  const Initializer again = initializers::HeNormal();
  const auto values = [](const Initializer& draw) { return draw({4}).to_vector<float>(); };
  EXPECT_EQ(values(first), values(again));
  EXPECT_EQ(values(first), values(first));
  EXPECT_NE(values(first), values(second));
  EXPECT_THROW(Initializer{Initializer::Function{}}, ValueError);
}

// Members of bases, behind others of all sizes, in a struct with a table of virtual functions.
struct Numbered {
  char letter = 'a';
  double first = 1;
};
struct Named {
  std::string second = "b";
};
struct MixedOptions : Numbered, Named {
  virtual ~MixedOptions() = default;
  bool third = false;
  std::vector<std::int64_t> fourth = {};
  std::int64_t fifth = 5;
  static std::span<const OptionField> fields() {
    using O = MixedOptions;
    // Half of what is written.
    static constexpr FieldType kHalved = {
        [](void* member, const AttributeValue& value, std::string_view owner, std::string_view name) {
          set_field(*static_cast<std::int64_t*>(member), value, owner, name);
          *static_cast<std::int64_t*>(member) /= 2;
        },
        [](const void* member) { return get_field(2 * *static_cast<const std::int64_t*>(member)); }};
    static constexpr OptionField all[] = {option<&O::first, O>("first"), option<&O::second, O>("second"),
                                          option<&O::third>("third"), option<&O::fourth>("fourth"),
                                          option<&O::fifth>("fifth").with_type(kHalved)};
    return all;
  }
};

TEST(OptionTypes, AreFoundWhereverTheyLie) {
  static const ClassInfo info{"thing", "keras.things", "Mixed", "Members in bases.", MixedOptions::fields};
  MixedOptions options;
  EXPECT_EQ(config_of(info, &options).to_json(),
            R"({"first": 1.0, "second": "b", "third": false, "fourth": [], "fifth": 10})");
  set_options(info, &options,
              AttributeValue::from_json(R"({"first": 2, "second": "c", "third": true, "fourth": [3, 4], "fifth": 8})"));
  EXPECT_EQ(options.letter, 'a');
  EXPECT_EQ(options.first, 2);
  EXPECT_EQ(options.second, "c");
  EXPECT_TRUE(options.third);
  EXPECT_EQ(options.fourth, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(options.fifth, 4);
  EXPECT_EQ(config_of(info, &options).find("fifth")->to_json(), "8");
}

}  // namespace
}  // namespace capstan
