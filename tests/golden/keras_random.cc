// Streams of random numbers: those that this library shares with TensorFlow and Keras.
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

constexpr const char* kOwnStream = "a stream of the library's own";

Tensor stateless(const std::string& operation, const Shape& shape, const random::Seeds& seed) {
  const DType dtype = operation.ends_with("float64") ? float64 : float32;
  if (operation.starts_with("stateless_truncated_normal"))
    return random::stateless_truncated_normal(shape, seed, 0, 1, dtype);
  if (operation.starts_with("stateless_normal")) return random::stateless_normal(shape, seed, 0, 1, dtype);
  if (operation == "stateless_uniform_int32_10_100") return random::stateless_integers(shape, seed, 10, 100, int32);
  if (operation == "stateless_uniform_int64_0_7") return random::stateless_integers(shape, seed, 0, 7);
  return random::stateless_uniform(shape, seed, 0, 1, dtype);
}

// Stateless draws, generators and the dropout of layers have the original's bits; draws with the state of the process
// and initializers have streams of their own.
void run_random_case(const Json&, const Json& one) {
  const std::string operation = one.at("operation");
  if (operation.starts_with("stateless_")) {
    const auto shape = one.at("shape").get<std::vector<std::int64_t>>();
    expect_close(stateless(operation, Shape(shape), one.at("seed").get<std::array<std::int64_t, 2>>()), one.at("value"),
                 operation);
  } else if (operation == "uniform") {
    const Json& value = one.at("value");
    expect_close(random::stateless_uniform(tensor_from_json(value).shape(), {one.at("seed").get<std::int64_t>(), 0}),
                 value, operation);
  } else if (operation == "SeedGenerator") {
    const std::int64_t seed = one.at("seed");
    std::int64_t counter = 0;
    for (const Json& draw : one.at("draws")) {
      expect_close(random::stateless_uniform(tensor_from_json(draw).shape(), {seed, counter++}), draw, operation);
    }
    EXPECT_EQ(one.at("state_after").at("data"), Json::array({seed, counter}));
  } else if (operation == "dropout") {
    const layers::Dropout layer(one.at("rate"), {.seed = one.at("seed").get<std::uint64_t>()});
    const Json& value = one.at("value");
    ASSERT_EQ(one.at("input"), "ones");
    expect_close(layer(ones(tensor_from_json(value).shape()), {.training = true}), value, operation);
  } else if (operation == "normal" || operation == "truncated_normal") {
    const Json& value = one.at("value");
    expect_close(
        stateless("stateless_" + operation, tensor_from_json(value).shape(), {one.at("seed").get<std::int64_t>(), 0}),
        value, operation);
  } else if (operation == "randint") {
    const Json& value = one.at("value");
    expect_close(random::stateless_integers(tensor_from_json(value).shape(), {one.at("seed").get<std::int64_t>(), 0}, 0,
                                            10, int32),
                 value, operation);
  } else if (operation == "initializer") {
    AttributeValue config = AttributeValue::map();
    config.set("class_name", one.at("initializer").get<std::string>());
    config.set("config", AttributeValue::from_json(one.at("config").dump()));
    const auto shape = one.at("shape").get<std::vector<std::int64_t>>();
    expect_close(initializers::get(config)(Shape(shape), float32), one.at("value"), operation);
  } else if (operation == "Generator.from_seed") {
    const random::Generator generator = random::Generator::from_seed(one.at("seed"));
    for (const Json& draw : one.at("draws")) {
      const bool is_normal = draw.contains("normal");
      const Json& value = draw.at(is_normal ? "normal" : "uniform");
      const Shape shape = tensor_from_json(value).shape();
      expect_close(is_normal ? generator.normal(shape) : generator.uniform(shape), value, operation);
    }
  } else {
    throw Lacking{kOwnStream};
  }
}

const KerasFile random_file("random", run_random_case,
                            {"config", "draws", "global_seed", "initializer", "input", "operation", "operation_seed",
                             "rate", "seed", "shape", "state_after", "value"},
                            {{"set_seed/", kOwnStream}});

}  // namespace
}  // namespace capstan::testing
