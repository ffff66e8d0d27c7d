// Streams of random numbers: those that this library shares with TensorFlow and Keras.
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

constexpr const char* kOwnStream = "a stream of the library's own";

// Uniform draws and the dropout of layers have the original's bits; other distributions have streams of their own.
void run_case(const Json&, const Json& one) {
  const std::string operation = one.at("operation");
  if (operation == "stateless_uniform" || operation == "stateless_uniform_float64") {
    const auto shape = one.at("shape").get<std::vector<std::int64_t>>();
    const DType dtype = operation.ends_with("float64") ? float64 : float32;
    expect_close(
        random::stateless_uniform(Shape(shape), one.at("seed").get<std::array<std::int64_t, 2>>(), 0, 1, dtype),
        one.at("value"), operation);
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
  } else {
    throw Lacking{kOwnStream};
  }
}

const KerasFile random_file("random", run_case,
                            {"config", "draws", "global_seed", "initializer", "input", "operation", "operation_seed",
                             "rate", "seed", "shape", "state_after", "value"},
                            {{"stateless_normal/", kOwnStream},
                             {"stateless_truncated_normal/", kOwnStream},
                             {"stateless_normal_float64/", kOwnStream},
                             {"stateless_uniform_int32_10_100/", kOwnStream},
                             {"stateless_uniform_int64_0_7/", kOwnStream},
                             {"generator/", kOwnStream},
                             {"set_seed/", kOwnStream},
                             {"keras.random.normal/", kOwnStream},
                             {"keras.random.truncated_normal/", kOwnStream},
                             {"keras.random.randint/", kOwnStream},
                             {"initializer/", kOwnStream}});

}  // namespace
}  // namespace capstan::testing
