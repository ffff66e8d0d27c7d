// Blocks of pixels as channels or as images: each is one transpose between two reshapes.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/rearrange.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

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

std::vector<PadWidth> pairs_of(std::string_view op, std::span<const std::int64_t> list) {
  CAPSTAN_CHECK(list.size() % 2 == 0, ShapeError, op, ": ", list.size(), " widths are not pairs");
  std::vector<PadWidth> pairs;
  for (std::size_t i = 0; i < list.size(); i += 2) pairs.push_back({list[i], list[i + 1]});
  return pairs;
}

// By name the widths are one list, before and after, axis by axis.
Tensor space_to_batch_by_name(Operand x, std::span<const std::int64_t> block_shape,
                              std::span<const std::int64_t> paddings) {
  return space_to_batch(x, block_shape, pairs_of("space_to_batch", paddings));
}
Tensor batch_to_space_by_name(Operand x, std::span<const std::int64_t> block_shape,
                              std::span<const std::int64_t> crops) {
  return batch_to_space(x, block_shape, pairs_of("batch_to_space", crops));
}

// --- The ops ---

constexpr OpDef kSpaceToDepth = composite<&space_to_depth, "x, block_size">(
    "space_to_depth", "Blocks of pixels as one pixel with the channels of all.", kCheapAgain);
constexpr OpDef kDepthToSpace = composite<&depth_to_space, "x, block_size">(
    "depth_to_space", "The channels of a pixel as a block of pixels.", kCheapAgain);
constexpr OpDef kSpaceToBatch = composite<&space_to_batch_by_name, "x, block_shape, paddings">(
    "space_to_batch", "Each place in the blocks of a padded image as an image of its own.");
constexpr OpDef kBatchToSpace = composite<&batch_to_space_by_name, "x, block_shape, crops">(
    "batch_to_space", "Images of places in blocks as one image, cropped.");

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

CAPSTAN_OPS(block, &kSpaceToDepth, &kDepthToSpace, &kSpaceToBatch, &kBatchToSpace);

}  // namespace capstan
