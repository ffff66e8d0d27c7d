// Samples and references of the ops in src/ops/conv/conv.cc.
#include <vector>

#include "tests/op_samples/conv_reference.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

AttributeValue pair_of(int a, int b) { return {std::vector<AttributeValue>{a, b}}; }
AttributeValue four(int a, int b, int c, int d) { return {std::vector<AttributeValue>{a, b, c, d}}; }

std::vector<OpSample> conv_samples() {
  const AttributeValue pads(std::vector<AttributeValue>{pair_of(0, 0), pair_of(1, 0), pair_of(0, 2), pair_of(0, 0)});
  return {
      {.inputs = {{.shape = {1, 4, 4, 2}}, {.shape = {3, 3, 2, 2}}}},
      {.inputs = {{.shape = {2, 4, 3, 1}}, {.shape = {2, 2, 1, 2}}},
       .attributes = {{"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 5, 4, 1}}, {.shape = {3, 2, 1, 3}}}, .attributes = {{"strides", pair_of(2, 1)}}},
      {.inputs = {{.shape = {1, 3, 4, 1}}, {.shape = {2, 2, 1, 2}}}, .attributes = {{"padding", pads}}},
      {.inputs = {{.shape = {0, 3, 3, 1}}, {.shape = {2, 2, 1, 1}}}},
      // Dilations: general and depthwise.
      {.inputs = {{.shape = {1, 5, 6, 2}}, {.shape = {2, 3, 2, 2}}}, .attributes = {{"dilations", 2}}},
      {.inputs = {{.shape = {2, 4, 5, 3}}, {.shape = {2, 2, 1, 3}}},
       .attributes = {{"dilations", pair_of(1, 2)}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 3, 2}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"strides", 2}, {"dilations", pair_of(2, 1)}, {"padding", "SAME"}}},
      // Groups: of two channels, and of one with one and two filters each.
      {.inputs = {{.shape = {2, 3, 3, 4}}, {.shape = {2, 2, 2, 4}}}},
      {.inputs = {{.shape = {1, 4, 9, 3}}, {.shape = {3, 3, 1, 3}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 3, 5, 2}}, {.shape = {2, 2, 1, 4}}},
       .attributes = {{"strides", pair_of(1, 2)}, {"padding", pads}}},
      {.inputs = {{.shape = {1, 3, 2, 4}}, {.shape = {1, 1, 2, 2}}}},
      // The window exceeds the image.
      {.inputs = {{.shape = {1, 2, 2, 1}}, {.shape = {3, 3, 1, 1}}}},
      {.inputs = {{.shape = {1, 2, 2, 2}}, {.shape = {2, 2, 1, 2}}}, .attributes = {{"dilations", 3}}},
      // For every item: with filters of its own, with its own filters alone, depthwise, with its own images alone.
      {.inputs = {{.shape = {2, 2, 3, 3, 2}}, {.shape = {2, 2, 2, 2, 1}}}, .attributes = {{"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 3, 2}}, {.shape = {3, 2, 2, 2, 2}}}, .attributes = {{"strides", 2}}},
      {.inputs = {{.shape = {2, 1, 3, 3, 2}}, {.shape = {2, 2, 2, 1, 2}}}},
      {.inputs = {{.shape = {2, 1, 3, 3, 1}}, {.shape = {2, 2, 1, 1}}}},
      {.inputs = {{.shape = {2, 1, 3, 3, 1}}, {.shape = {3, 2, 2, 1, 1}}},
       .error = "the first axes differ, 2 and 3 items"},
      {.inputs = {{.shape = {1, 4, 4, 3}}, {.shape = {2, 2, 2, 1}}}, .error = "images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {1, 4, 4, 4}}, {.shape = {2, 2, 2, 3}}}, .error = "3 filters do not divide into 2 groups"},
      {.inputs = {{.shape = {4, 3}}, {.shape = {2, 2, 3, 1}}}, .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"strides", 0}},
       .error = "strides must be 1 or more, not 0 and 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"padding", "FULL"}},
       .error = "\"FULL\" is neither \"SAME\" nor \"VALID\""},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"dilations", pair_of(1, 0)}},
       .error = "dilations must be 1 or more, not 1 and 0"},
  };
}
std::vector<OpSample> backprop_input_samples() {
  return {
      {.inputs = {{.shape = {2, 2, 1, 2}}, {.shape = {1, 3, 3, 2}}}, .attributes = {{"input_sizes", four(1, 4, 4, 1)}}},
      {.inputs = {{.shape = {3, 3, 2, 1}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"input_sizes", four(2, 4, 3, 2)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 2, 1}}, {.shape = {1, 2, 3, 1}}},
       .attributes = {{"input_sizes", four(1, 4, 5, 2)}, {"dilations", 2}}},
      {.inputs = {{.shape = {2, 2, 2, 2}}, {.shape = {1, 2, 1, 2}}}, .attributes = {{"input_sizes", four(1, 3, 2, 4)}}},
      {.inputs = {{.shape = {2, 2, 1, 4}}, {.shape = {2, 2, 2, 4}}},
       .attributes = {{"input_sizes", four(2, 4, 3, 2)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 2}}, {.shape = {2, 1, 2, 2, 2}}},
       .attributes = {{"input_sizes", four(1, 3, 3, 1)}}},
      {.inputs = {{.shape = {2, 2, 2, 1, 2}}, {.shape = {1, 2, 2, 2}}},
       .attributes = {{"input_sizes", four(1, 3, 3, 1)}}},
      {.inputs = {{.shape = {2, 2, 1, 1}}, {.shape = {1, 2, 2, 1}}},
       .attributes = {{"input_sizes", four(1, 4, 4, 1)}},
       .error = "out_backprop has shape [1, 2, 2, 1] where [1, 3, 3, 1] is expected"},
  };
}
std::vector<OpSample> backprop_filter_samples() {
  return {
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 2}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 2)}}},
      {.inputs = {{.shape = {2, 4, 3, 2}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"filter_sizes", four(3, 3, 2, 1)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 5, 2}}, {.shape = {1, 2, 3, 1}}},
       .attributes = {{"filter_sizes", four(2, 2, 2, 1)}, {"dilations", 2}}},
      {.inputs = {{.shape = {1, 3, 2, 4}}, {.shape = {1, 2, 1, 2}}},
       .attributes = {{"filter_sizes", four(2, 2, 2, 2)}}},
      {.inputs = {{.shape = {2, 4, 3, 2}}, {.shape = {2, 2, 2, 4}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 4)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 3, 3, 1}}, {.shape = {2, 2, 2, 2, 2}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 2)}}},
      {.inputs = {{.shape = {1, 3, 3, 2}}, {.shape = {3, 1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", four(2, 2, 2, 1)}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", four(2, 2, 1, 1)}},
       .error = "out_backprop has shape [1, 2, 2, 1] where [1, 3, 3, 1] is expected"},
  };
}

const OpTests kConvTests = {
    {"conv2d", {.samples = conv_samples, .reference = by_items<2, conv_reference<2>>}},
    {"conv2d_backprop_input",
     {.samples = backprop_input_samples, .reference = by_items<2, backprop_input_reference<2>>}},
    {"conv2d_backprop_filter",
     {.samples = backprop_filter_samples, .reference = by_items<2, backprop_filter_reference<2>>}},
};

}  // namespace

}  // namespace capstan::testing
