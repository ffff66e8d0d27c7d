// Samples and references of the ops in src/ops/activation/hard_activation.cc.
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

const OpTests kHardActivationTests = {
    {"hard_tanh", {.domain = {-0.9, 0.9}}},      {"hard_shrink", {.domain = {0.75, 2.0}}},
    {"soft_shrink", {.domain = {0.75, 2.0}}},    {"threshold", {.domain = {0.25, 2.0}}},
    {"sparse_sigmoid", {.domain = {-0.9, 0.9}}},
};

}  // namespace

}  // namespace capstan::testing
