// Samples and references of the ops in src/ops/math/arithmetic.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTests kArithmeticTests = {
    {"divide", {.domain = {0.5, 3.0}}},   {"divide_no_nan", {.domain = {0.5, 3.0}}},
    {"floordiv", {.domain = {1.0, 9.0}}}, {"truncatediv", {.domain = {1.0, 9.0}}},
    {"floormod", {.domain = {1.1, 1.9}}}, {"truncatemod", {.domain = {1.1, 1.9}}},
    {"pow", {.domain = {0.5, 2.5}}},      {"atan2", {.domain = {0.5, 2.0}}},
    {"xlogy", {.domain = {0.5, 3.0}}},    {"xlog1py", {.domain = {0.5, 3.0}}},
    {"xdivy", {.domain = {0.5, 3.0}}},
};

}  // namespace

}  // namespace capstan::testing
