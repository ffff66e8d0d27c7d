// Samples and references of the ops in src/ops/math/math.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTests kMathTests = {
    {"abs", {.domain = {0.25, 2.0}}},    {"sign", {.domain = {0.25, 2.0}}},       {"sqrt", {.domain = {0.1, 4.0}}},
    {"rsqrt", {.domain = {0.1, 4.0}}},   {"reciprocal", {.domain = {0.25, 4.0}}}, {"log", {.domain = {0.25, 4.0}}},
    {"log1p", {.domain = {-0.75, 4.0}}},
};

}  // namespace

}  // namespace capstan::testing
