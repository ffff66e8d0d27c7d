// Layers, losses and optimizers made from the configurations in tests/golden/keras, and what runs its cases.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/golden_json.h"

namespace capstan::testing {

// A layer from its class and arguments, under a given name ("" for an automatic one). Throws Lacking.
Layer make_layer(const std::string& type, const Json& config, const std::string& dtype, const std::string& name);

// A loss and a metric from their classes and arguments.
Loss make_loss(const std::string& type, const Json& options, const Json& reduction = "sum_over_batch_size");
Metric make_metric(const std::string& type, const Json& options);

// An optimizer from its class and arguments; numbers are first rounded to float32 if asked for.
Optimizer make_optimizer(const std::string& type, const Json& config, bool float32_numbers = false);

Schedule make_schedule(const std::string& type, const Json& config);

// A class ("optimizers.SGD" or "SGD") and its arguments as serialize() writes them.
AttributeValue as_serialized(const std::string& type, const Json& config);

// An initializer from its class and arguments, with this seed if it draws.
Initializer make_initializer(const std::string& type, const Json& config, std::uint64_t seed);

ActivationFunction make_activation(const std::string& name, const Json& options);

Regularizer make_regularizer(const std::string& type, const Json& config);

// A constraint from its class and arguments; null makes none.
Constraint make_constraint(const Json& json);
Constraint make_constraint(const std::string& type, const Json& config);

DTypePolicy dtype_of(const std::string& name);

// The cases of one file of tests/golden/keras and what runs them: a global object in the file that knows how.
// keras_test.cc makes a test of each, and golden_check finds the one for a file by its name.
struct KerasFile {
  // Compares one case, with GoogleTest's checks. Throws Lacking.
  using Run = void (*)(const Json& document, const Json& one);

  // `fields`: what `run` compares or uses of a case. One that holds anything else fails, so that a case that passes was
  // compared as a whole; a name, a note and the like aside. `lacking`: the reasons by the name of the case;
  // a name that ends in '/' stands for all cases that begin with it.
  KerasFile(std::string name, Run run, std::set<std::string> fields, std::map<std::string, std::string> lacking = {});

  // Compares one case, with the floatx of a new program.
  void compare(const Json& document, const Json& one) const;

  // The key in `lacking` for a case, or an empty text.
  std::string lacking_key(const std::string& case_name) const;

  static const std::vector<const KerasFile*>& all();

  std::string name;  // without ".json"
  Run run;
  std::set<std::string> fields;
  std::map<std::string, std::string> lacking;
};

// The name of a case; a network of keras.applications is named by its function.
std::string case_name(const Json& one);

// Compares, and reports what differs under `what`.
void expect_close(const Tensor& got, const Json& want, const std::string& what);
void expect_close(const Tensor& got, const Json& want, const std::string& what, Tolerance tolerance);

}  // namespace capstan::testing
