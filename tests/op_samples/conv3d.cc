// Samples and references of the ops in src/ops/conv/conv3d.cc.
#include <vector>

#include "tests/op_samples/conv_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;

std::vector<OpSample> conv3d_samples() {
  return {
      {.inputs = {{.shape = {1, 2, 3, 3, 1}}, {.shape = {2, 2, 2, 1, 2}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 3, 2, 3, 2}}, {.shape = {2, 1, 2, 2, 1}}}},
      {.inputs = {{.shape = {1, 4, 3, 3, 1}}, {.shape = {2, 2, 2, 1, 1}}},
       .attributes = {{"strides", ints({2, 1, 2})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 3, 3, 4, 1}}, {.shape = {2, 2, 2, 1, 1}}},
       .attributes = {{"dilations", ints({1, 2, 1})}}},
      {.inputs = {{.shape = {1, 2, 2, 3, 4}}, {.shape = {1, 2, 2, 2, 2}}}},
      {.inputs = {{.shape = {1, 2, 2, 2, 2}}, {.shape = {2, 2, 1, 1, 2}}}},
      // A window of one in depth: the planes are a longer batch.
      {.inputs = {{.shape = {2, 2, 3, 2, 1}}, {.shape = {1, 2, 2, 1, 2}}}},
      {.inputs = {{.shape = {0, 2, 2, 2, 1}}, {.shape = {2, 2, 2, 1, 1}}}},
      {.inputs = {{.shape = {1, 1, 2, 2, 1}}, {.shape = {2, 2, 2, 1, 1}}}},
      // For every item, with filters of its own.
      {.inputs = {{.shape = {2, 1, 2, 2, 3, 1}}, {.shape = {2, 2, 1, 2, 1, 2}}}},
      {.inputs = {{.shape = {1, 2, 2, 2, 3}}, {.shape = {1, 1, 1, 2, 1}}},
       .error = "images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {2, 2, 2, 1}}, {.shape = {1, 1, 1, 1, 1}}}, .error = "images need rank 5"},
      {.inputs = {{.shape = {1, 2, 2, 2, 1}}, {.shape = {1, 1, 0, 1, 1}}},
       .error = "filters need a length along every axis"},
      {.inputs = {{.shape = {1, 2, 2, 2, 1}}, {.shape = {1, 1, 1, 1, 1}}},
       .attributes = {{"strides", ints({1, 0, 1})}},
       .error = "strides must be 1 or more, not 1, 0 and 1"},
  };
}
std::vector<OpSample> backprop_input3d_samples() {
  return {
      {.inputs = {{.shape = {2, 2, 2, 1, 2}}, {.shape = {1, 1, 2, 1, 2}}},
       .attributes = {{"input_sizes", ints({1, 2, 3, 2, 1})}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 1}}, {.shape = {1, 1, 2, 2, 1}}},
       .attributes = {{"input_sizes", ints({1, 2, 4, 2, 1})}, {"strides", ints({2, 2, 1})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 1, 2, 1, 2}}, {.shape = {2, 1, 1, 2, 2, 2}}},
       .attributes = {{"input_sizes", ints({1, 2, 2, 3, 1})}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 1}}, {.shape = {1, 2, 2, 2, 1}}},
       .attributes = {{"input_sizes", ints({1, 9, 9, 9, 1})}, {"strides", 2}},
       .error = "out_backprop has shape [1, 2, 2, 2, 1] where [1, 4, 4, 4, 1] is expected"},
  };
}
std::vector<OpSample> backprop_filter3d_samples() {
  return {
      {.inputs = {{.shape = {1, 2, 3, 2, 2}}, {.shape = {1, 1, 2, 1, 1}}},
       .attributes = {{"filter_sizes", ints({2, 2, 2, 2, 1})}}},
      {.inputs = {{.shape = {1, 2, 4, 2, 1}}, {.shape = {1, 1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", ints({2, 2, 2, 1, 1})}, {"strides", ints({2, 2, 1})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 1, 2, 2, 3, 1}}, {.shape = {2, 1, 1, 2, 2, 2}}},
       .attributes = {{"filter_sizes", ints({2, 1, 2, 1, 2})}}},
      {.inputs = {{.shape = {1, 2, 3, 2, 1}}, {.shape = {1, 1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", ints({2, 2, 2, 1, 1})}},
       .error = "out_backprop has shape [1, 1, 2, 2, 1] where [1, 1, 2, 1, 1] is expected"},
  };
}

const OpTests kConv3dTests = {
    {"conv3d", {.samples = conv3d_samples, .reference = by_items<3, conv_reference<3>>}},
    {"conv3d_backprop_input",
     {.samples = backprop_input3d_samples, .reference = by_items<3, backprop_input_reference<3>>}},
    {"conv3d_backprop_filter",
     {.samples = backprop_filter3d_samples, .reference = by_items<3, backprop_filter_reference<3>>}},
};

}  // namespace

}  // namespace capstan::testing
