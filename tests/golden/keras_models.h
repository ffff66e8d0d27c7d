// Models, and what compile() and fit() take, from the cases of tests/golden/keras.
#pragma once

#include <map>
#include <string>

#include "tests/golden/keras_cases.h"

namespace capstan::testing {

// A chain or a graph of layers, whose layers have the names that they have in the first model of a program. Throws
// Lacking. `counts`: how many layers of a class the program has made before, by the name of the first.
Model make_model(const Json& model, const std::string& dtype = "float32", const std::string& name = "",
                 std::map<std::string, int> counts = {});

bool is_tensor(const Json& json);

// A structure of tensors: one, a list or a map of them.
Nest nest_from_json(const Json& json);

CompileOptions compile_options(const Json& compile);

// What both of them are: a list of {"path", "value"}, by position.
void set_weights(const Model& model, const Json& weights);
void expect_weights(const Model& model, const Json& weights, const std::string& what, Tolerance tolerance);

}  // namespace capstan::testing
