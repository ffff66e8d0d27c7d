// Regularizers and constraints against values of Keras.
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

void run_regularizers_case(const Json&, const Json& one) {
  const Tensor weight = tensor_from_json(one.at("input"));
  if (one.contains("constraint")) {
    const Constraint constraint = make_constraint(one.at("constraint"), one.at("options"));
    // The original adds 1e-7 in float32.
    expect_close(constraint(weight), one.at("output"), "output");
    return;
  }
  const Regularizer regularizer = make_regularizer(one.at("regularizer"), one.at("options"));
  Tolerance tolerance = golden_tolerance(weight.dtype());
  // The original's default factors are float32.
  if (weight.dtype() == float64) tolerance.relative = 1e-7;
  GradientTape tape;
  tape.watch(weight);
  const Tensor value = regularizer(weight);
  expect_close(value, one.at("value"), "value", tolerance);
  const Json& gradient = one.at("gradient");
  const bool is_missing = gradient.at("dtype") == "string";
  expect_close(tape.gradient(value, weight), is_missing ? Json() : gradient, "gradient", tolerance);
}

const KerasFile regularizers_constraints_file("regularizers_constraints", run_regularizers_case,
                                              {"constraint", "gradient", "input", "options", "output", "regularizer",
                                               "value"});

}  // namespace
}  // namespace capstan::testing
