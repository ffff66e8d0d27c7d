// Samples and references of the ops in src/ops/special/guarded_math.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTests kGuardedMathTests = {
    {"hypot", {.domain = {0.25, 2.0}}},
    {"reciprocal_no_nan", {.domain = {0.25, 4.0}}},
};

}  // namespace

}  // namespace capstan::testing
