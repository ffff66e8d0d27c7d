// Samples and references of the ops in src/ops/math/trigonometry.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTests kTrigonometryTests = {
    {"tan", {.domain = {-1.2, 1.2}}},   {"asin", {.domain = {-0.9, 0.9}}},  {"acos", {.domain = {-0.9, 0.9}}},
    {"acosh", {.domain = {1.25, 4.0}}}, {"atanh", {.domain = {-0.9, 0.9}}},
};

}  // namespace

}  // namespace capstan::testing
