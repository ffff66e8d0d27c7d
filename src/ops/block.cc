// Blocks of pixels as channels or as images: each is one transpose between two reshapes.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/rearrange.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/families.h"
#include "src/ops/indices.h"
#include "src/ops/reference.h"

namespace capstan {

namespace {

struct BlockAttributes {
  std::int64_t block_size = 2;
};
constexpr AttributeType kBlockAttributes =
    attribute_type<BlockAttributes>({field<&BlockAttributes::block_size>("block_size", true)});

struct BatchAttributes {
  IntList block_shape;
  IntList widths;  // before and after, axis by axis
};
constexpr AttributeType kSpaceToBatchAttributes = attribute_type<BatchAttributes>(
    {field<&BatchAttributes::block_shape>("block_shape", true), field<&BatchAttributes::widths>("paddings", true)});
constexpr AttributeType kBatchToSpaceAttributes = attribute_type<BatchAttributes>(
    {field<&BatchAttributes::block_shape>("block_shape", true), field<&BatchAttributes::widths>("crops", true)});

void check_image(std::string_view op, const Tensor& x, std::int64_t block) {
  CAPSTAN_CHECK(x.rank() == 4, ShapeError, op, ": x must be [batch, height, width, channels], not of rank ", x.rank(),
                arguments({{"x", x}}));
  CAPSTAN_CHECK(block >= 2 && block <= UINT16_MAX, ValueError, op, ": block_size is ", block, ", not from 2 to 65535");
}

// The blocks of the axes after the first, and their paddings or crops, once they are found to fit x.
void check_blocks(std::string_view op, const Tensor& x, std::span<const std::int64_t> blocks,
                  std::span<const PadWidth> widths) {
  CAPSTAN_CHECK(!blocks.empty() && blocks.size() == widths.size(), ShapeError, op, ": ", blocks.size(), " blocks and ",
                widths.size(), " pairs of widths", arguments({{"x", x}}));
  CAPSTAN_CHECK(static_cast<std::size_t>(x.rank()) > blocks.size(), ShapeError, op, ": ", blocks.size(), " blocks for ",
                x.rank() - 1, " axes after the first", arguments({{"x", x}}));
  CAPSTAN_CHECK(static_cast<std::size_t>(x.rank()) + blocks.size() <= kMaxRank, ShapeError, op, ": rank ", x.rank(),
                " with ", blocks.size(), " blocks is not supported", arguments({{"x", x}}));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CAPSTAN_CHECK(blocks[i] > 0 && blocks[i] <= UINT32_MAX, ValueError, op, ": block ", i, " has length ", blocks[i],
                  ", not at least 1");
    CAPSTAN_CHECK(widths[i].before >= 0 && widths[i].after >= 0 && widths[i].before <= UINT32_MAX &&
                      widths[i].after <= UINT32_MAX,
                  ValueError, op, ": widths ", widths[i].before, " and ", widths[i].after, " of axis ", i + 1,
                  " are negative or too long");
  }
}

std::vector<PadWidth> pairs_of(std::string_view op, const IntList& list) {
  CAPSTAN_CHECK(list.size() % 2 == 0, ShapeError, op, ": ", list.size(), " widths are not pairs");
  std::vector<PadWidth> pairs;
  for (std::size_t i = 0; i < list.size(); i += 2) pairs.push_back({list[i], list[i + 1]});
  return pairs;
}

// --- Samples and references ---

#if CAPSTAN_TESTING
using reference::ints;
using reference::Position;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

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
const OpTest kSpaceToDepthTest = {
    .samples = space_to_depth_samples, .reference = space_to_depth_reference, .dtypes = reference::kEveryDType};
const OpTest kDepthToSpaceTest = {
    .samples = depth_to_space_samples, .reference = depth_to_space_reference, .dtypes = reference::kEveryDType};

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
const OpTest kSpaceToBatchTest = {
    .samples = space_to_batch_samples, .reference = space_to_batch_reference, .dtypes = reference::kEveryNumber};
const OpTest kBatchToSpaceTest = {
    .samples = batch_to_space_samples, .reference = batch_to_space_reference, .dtypes = reference::kEveryNumber};
#endif

// --- The ops ---

constexpr OpDef kSpaceToDepth = {
    .name = "space_to_depth",
    .text = "Blocks of pixels as one pixel with the channels of all.",
    .kind = OpKind::kComposite,
    .flags = kCheapAgain,
    .attributes = &kBlockAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          outputs.push_back(space_to_depth(inputs[0], static_cast<const BlockAttributes*>(data)->block_size));
        },
    .test = CAPSTAN_OP_TEST(kSpaceToDepthTest),
};
constexpr OpDef kDepthToSpace = {
    .name = "depth_to_space",
    .text = "The channels of a pixel as a block of pixels.",
    .kind = OpKind::kComposite,
    .flags = kCheapAgain,
    .attributes = &kBlockAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          outputs.push_back(depth_to_space(inputs[0], static_cast<const BlockAttributes*>(data)->block_size));
        },
    .test = CAPSTAN_OP_TEST(kDepthToSpaceTest),
};
constexpr OpDef kSpaceToBatch = {
    .name = "space_to_batch",
    .text = "Each place in the blocks of a padded image as an image of its own.",
    .kind = OpKind::kComposite,
    .attributes = &kSpaceToBatchAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const BatchAttributes*>(data);
          outputs.push_back(space_to_batch(inputs[0], a.block_shape.span(), pairs_of("space_to_batch", a.widths)));
        },
    .test = CAPSTAN_OP_TEST(kSpaceToBatchTest),
};
constexpr OpDef kBatchToSpace = {
    .name = "batch_to_space",
    .text = "Images of places in blocks as one image, cropped.",
    .kind = OpKind::kComposite,
    .attributes = &kBatchToSpaceAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const BatchAttributes*>(data);
          outputs.push_back(batch_to_space(inputs[0], a.block_shape.span(), pairs_of("batch_to_space", a.widths)));
        },
    .test = CAPSTAN_OP_TEST(kBatchToSpaceTest),
};

}  // namespace

Tensor space_to_depth(Operand x, std::int64_t block_size) try {
  const Tensor image = to_tensor(x);
  check_image("space_to_depth", image, block_size);
  const Shape shape = image.shape();
  CAPSTAN_CHECK(shape[1] % block_size == 0 && shape[2] % block_size == 0, ShapeError, "space_to_depth: ", shape[1],
                " x ", shape[2], " pixels do not divide into blocks of ", block_size, arguments({{"x", image}}));
  const std::int64_t rows = shape[1] / block_size;
  const std::int64_t columns = shape[2] / block_size;
  const Tensor blocks = reshape(image, {shape[0], rows, block_size, columns, block_size, shape[3]});
  return reshape(transpose(blocks, {0, 1, 3, 2, 4, 5}), {shape[0], rows, columns, shape[3] * block_size * block_size});
} catch (const Error&) {
  rethrow_as("space_to_depth");
}

Tensor depth_to_space(Operand x, std::int64_t block_size) try {
  const Tensor image = to_tensor(x);
  check_image("depth_to_space", image, block_size);
  const Shape shape = image.shape();
  CAPSTAN_CHECK(shape[3] % (block_size * block_size) == 0, ShapeError, "depth_to_space: ", shape[3],
                " channels do not divide into blocks of ", block_size, " x ", block_size, arguments({{"x", image}}));
  const std::int64_t depth = shape[3] / (block_size * block_size);
  const Tensor blocks = reshape(image, {shape[0], shape[1], shape[2], block_size, block_size, depth});
  return reshape(transpose(blocks, {0, 1, 3, 2, 4, 5}),
                 {shape[0], shape[1] * block_size, shape[2] * block_size, depth});
} catch (const Error&) {
  rethrow_as("depth_to_space");
}

Tensor space_to_batch(Operand x, std::span<const std::int64_t> block_shape, std::span<const PadWidth> paddings) try {
  const Tensor given = to_tensor(x);
  check_blocks("space_to_batch", given, block_shape, paddings);
  const auto blocks = static_cast<int>(block_shape.size());
  std::vector<PadWidth> widths(static_cast<std::size_t>(given.rank()));
  Shape result{given.dim(0)};
  Shape cut{given.dim(0)};
  std::vector<int> order;
  for (int i = 0; i < blocks; ++i) {
    const auto k = static_cast<std::size_t>(i);
    widths[k + 1] = paddings[k];
    const std::int64_t length = given.dim(i + 1) + paddings[k].before + paddings[k].after;
    CAPSTAN_CHECK(length % block_shape[k] == 0, ShapeError, "space_to_batch: the padded length ", length, " of axis ",
                  i + 1, " does not divide into blocks of ", block_shape[k], arguments({{"x", given}}));
    cut.push_back(length / block_shape[k]);
    cut.push_back(block_shape[k]);
    std::int64_t images = 0;
    CAPSTAN_CHECK(!__builtin_mul_overflow(result[0], block_shape[k], &images), ShapeError,
                  "space_to_batch: too many images", arguments({{"x", given}}));
    result.set(0, images);
    result.push_back(length / block_shape[k]);
    order.push_back(2 * i + 2);
  }
  order.push_back(0);
  for (int i = 0; i < blocks; ++i) order.push_back(2 * i + 1);
  for (int i = blocks + 1; i < given.rank(); ++i) {
    cut.push_back(given.dim(i));
    result.push_back(given.dim(i));
    order.push_back(blocks + i);
  }
  const Tensor padded = pad(given, widths);
  return reshape(transpose(reshape(padded, cut), Axes(std::span<const int>(order))), result);
} catch (const Error&) {
  rethrow_as("space_to_batch");
}

Tensor batch_to_space(Operand x, std::span<const std::int64_t> block_shape, std::span<const PadWidth> crops) try {
  const Tensor given = to_tensor(x);
  check_blocks("batch_to_space", given, block_shape, crops);
  const auto blocks = static_cast<int>(block_shape.size());
  std::int64_t images = given.dim(0);
  Shape cut;
  for (std::int64_t block : block_shape) {
    CAPSTAN_CHECK(images % block == 0, ShapeError, "batch_to_space: ", given.dim(0),
                  " images do not divide into blocks of ", block, arguments({{"x", given}}));
    images /= block;
    cut.push_back(block);
  }
  cut.push_back(images);
  for (int i = 1; i < given.rank(); ++i) cut.push_back(given.dim(i));
  std::vector<int> order = {blocks};
  Shape joined{images};
  std::vector<Index> kept = {Slice{}};
  for (int i = 0; i < blocks; ++i) {
    const auto k = static_cast<std::size_t>(i);
    order.push_back(blocks + 1 + i);
    order.push_back(i);
    const std::int64_t length = given.dim(i + 1) * block_shape[k];
    joined.push_back(length);
    CAPSTAN_CHECK(crops[k].before + crops[k].after <= length, ShapeError, "batch_to_space: crops ", crops[k].before,
                  " and ", crops[k].after, " exceed the length ", length, " of axis ", i + 1,
                  arguments({{"x", given}}));
    kept.emplace_back(Slice{crops[k].before, length - crops[k].after});
  }
  for (int i = blocks + 1; i < given.rank(); ++i) {
    order.push_back(blocks + i);
    joined.push_back(given.dim(i));
  }
  return getitem(reshape(transpose(reshape(given, cut), Axes(std::span<const int>(order))), joined), kept);
} catch (const Error&) {
  rethrow_as("batch_to_space");
}

OpFamily block_ops() {
  static constexpr const OpDef* ops[] = {&kSpaceToDepth, &kDepthToSpace, &kSpaceToBatch, &kBatchToSpace};
  return ops;
}

}  // namespace capstan
