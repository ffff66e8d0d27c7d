// Samples and references of the ops in src/ops/rearrange/block.cc.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;
using reference::Position;

std::vector<OpSample> space_to_depth_samples() {
  return {
      {.inputs = {{.shape = {2, 4, 2, 3}}}, .attributes = {{"block_size", 2}}},
      {.inputs = {{.shape = {1, 3, 3, 1}}}, .attributes = {{"block_size", 3}}},
      {.inputs = {{.shape = {0, 2, 2, 1}}}, .attributes = {{"block_size", 2}}},
      {.inputs = {{.shape = {1, 3, 2, 1}}}, .attributes = {{"block_size", 2}}, .error = "3 x 2 pixels do not divide"},
      {.inputs = {{.shape = {1, 2, 2, 1}}}, .attributes = {{"block_size", 1}}, .error = "block_size is 1"},
      {.inputs = {{.shape = {2, 2, 1}}}, .attributes = {{"block_size", 2}}, .error = "not of rank 3"}};
}
void space_to_depth_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t block = attributes.at("block_size").integer;
  const Shape from = in[0].shape;
  out = {reference::build(
      in[0].dtype, {from[0], from[1] / block, from[2] / block, from[3] * block * block}, [&](const Position& at) {
        const std::int64_t place = at[3] / from[3];
        return reference::at(in[0],
                             {at[0], at[1] * block + place / block, at[2] * block + place % block, at[3] % from[3]});
      })};
}
std::vector<OpSample> depth_to_space_samples() {
  return {
      {.inputs = {{.shape = {2, 1, 2, 8}}}, .attributes = {{"block_size", 2}}},
      {.inputs = {{.shape = {1, 2, 1, 9}}}, .attributes = {{"block_size", 3}}},
      {.inputs = {{.shape = {1, 2, 2, 3}}}, .attributes = {{"block_size", 2}}, .error = "3 channels do not divide"}};
}
void depth_to_space_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t block = attributes.at("block_size").integer;
  const Shape from = in[0].shape;
  const std::int64_t depth = from[3] / (block * block);
  out = {reference::build(in[0].dtype, {from[0], from[1] * block, from[2] * block, depth}, [&](const Position& at) {
    const std::int64_t place = at[1] % block * block + at[2] % block;
    return reference::at(in[0], {at[0], at[1] / block, at[2] / block, place * depth + at[3]});
  })};
}
AttributeValue pairs(std::initializer_list<std::pair<int, int>> widths) {
  std::vector<AttributeValue> list;
  for (const auto& [before, after] : widths) list.push_back(ints({before, after}));
  return AttributeValue(std::move(list));
}
std::vector<OpSample> space_to_batch_samples() {
  return {{.inputs = {{.shape = {2, 4, 2, 1}}},
           .attributes = {{"block_shape", ints({2, 2})}, {"paddings", pairs({{0, 0}, {0, 0}})}}},
          {.inputs = {{.shape = {1, 3, 3, 2}}},
           .attributes = {{"block_shape", ints({2, 3})}, {"paddings", pairs({{1, 0}, {0, 3}})}}},
          {.inputs = {{.shape = {2, 4}}}, .attributes = {{"block_shape", ints({2})}, {"paddings", pairs({{1, 1}})}}},
          {.inputs = {{.shape = {1, 3}}},
           .attributes = {{"block_shape", ints({2})}, {"paddings", pairs({{0, 0}})}},
           .error = "padded length 3 of axis 1 does not divide into blocks of 2"},
          {.inputs = {{.shape = {1, 2}}},
           .attributes = {{"block_shape", ints({0})}, {"paddings", pairs({{0, 0}})}},
           .error = "block 0 has length 0"},
          {.inputs = {{.shape = {4}}},
           .attributes = {{"block_shape", ints({2})}, {"paddings", pairs({{0, 0}})}},
           .error = "1 blocks for 0 axes"}};
}
void space_to_batch_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Position blocks = reference::integers(attributes, "block_shape");
  const Position widths = reference::integers(attributes, "paddings");
  Shape shape = in[0].shape;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const int axis = static_cast<int>(i) + 1;
    shape.set(0, shape[0] * blocks[i]);
    shape.set(axis, (shape[axis] + widths[2 * i] + widths[2 * i + 1]) / blocks[i]);
  }
  out = {reference::build(in[0].dtype, shape, [&](Position at) {
    std::int64_t place = at[0] / in[0].shape[0];
    at[0] %= in[0].shape[0];
    for (std::size_t i = blocks.size(); i-- > 0;) {
      at[i + 1] = at[i + 1] * blocks[i] + place % blocks[i] - widths[2 * i];
      place /= blocks[i];
      if (at[i + 1] < 0 || at[i + 1] >= in[0].shape[static_cast<int>(i) + 1]) return 0.0;
    }
    return reference::at(in[0], at);
  })};
}
std::vector<OpSample> batch_to_space_samples() {
  return {{.inputs = {{.shape = {4, 2, 1, 2}}},
           .attributes = {{"block_shape", ints({2, 2})}, {"crops", pairs({{0, 0}, {0, 0}})}}},
          {.inputs = {{.shape = {6, 2, 2, 1}}},
           .attributes = {{"block_shape", ints({3, 2})}, {"crops", pairs({{1, 2}, {0, 1}})}}},
          {.inputs = {{.shape = {3, 2}}},
           .attributes = {{"block_shape", ints({2})}, {"crops", pairs({{0, 0}})}},
           .error = "3 images do not divide into blocks of 2"},
          {.inputs = {{.shape = {2, 2}}},
           .attributes = {{"block_shape", ints({2})}, {"crops", pairs({{3, 2}})}},
           .error = "crops 3 and 2 exceed the length 4 of axis 1"}};
}
void batch_to_space_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Position blocks = reference::integers(attributes, "block_shape");
  const Position widths = reference::integers(attributes, "crops");
  Shape shape = in[0].shape;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const int axis = static_cast<int>(i) + 1;
    shape.set(0, shape[0] / blocks[i]);
    shape.set(axis, shape[axis] * blocks[i] - widths[2 * i] - widths[2 * i + 1]);
  }
  out = {reference::build(in[0].dtype, shape, [&](Position at) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::int64_t pixel = at[i + 1] + widths[2 * i];
      place = place * blocks[i] + pixel % blocks[i];
      at[i + 1] = pixel / blocks[i];
    }
    at[0] += place * shape[0];
    return reference::at(in[0], at);
  })};
}

const OpTests kBlockTests = {
    {"space_to_depth",
     {.samples = space_to_depth_samples, .reference = space_to_depth_reference, .dtypes = reference::kEveryDType}},
    {"depth_to_space",
     {.samples = depth_to_space_samples, .reference = depth_to_space_reference, .dtypes = reference::kEveryDType}},
    {"space_to_batch",
     {.samples = space_to_batch_samples, .reference = space_to_batch_reference, .dtypes = reference::kEveryNumber}},
    {"batch_to_space",
     {.samples = batch_to_space_samples, .reference = batch_to_space_reference, .dtypes = reference::kEveryNumber}},
};

}  // namespace

}  // namespace capstan::testing
