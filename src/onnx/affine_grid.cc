// AffineGrid: where the points of an image come from under a map of the plane or of space.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// The places of n points from -1 to 1: from the first to the last, or from the middle of the first to that of the last.
std::vector<double> places(std::int64_t n, bool align_corners) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(i), count = static_cast<double>(n);
    all.push_back(!align_corners ? (2 * x + 1) / count - 1 : n == 1 ? -1 : 2 * x / (count - 1) - 1);
  }
  return all;
}

void affine_grid(NodeCall& call) {
  const Tensor theta = call.tensor(0);
  const std::vector<std::int64_t> size = call.integers_of(1);
  const bool align_corners = call.integer("align_corners", 0) != 0;
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  CAPSTAN_CHECK((axes == 2 || axes == 3) && theta.rank() == 3 && theta.dim(1) == axes && theta.dim(2) == axes + 1,
                ShapeError, "onnx: maps of shape ", theta.shape(), " do not fit a size of ", size.size(), " lengths");
  Shape whole;
  std::int64_t count = 1;
  for (std::size_t i = 2; i < size.size(); ++i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    CAPSTAN_CHECK(size[i] >= 0 && (size[i] == 0 || count <= kMost / size[i]), ShapeError,
                  "onnx: a grid with an axis of ", size[i], " points cannot be made");
    count *= size[i];
    whole.push_back(size[i]);
  }
  // The coordinates of all points, the last axis first, and ones: [points, axes + 1].
  std::vector<Tensor> columns;
  for (auto i = static_cast<int>(axes); i-- > 0;) {
    Shape one;
    for (int k = 0; k < static_cast<int>(axes); ++k) one.push_back(k == i ? whole[i] : 1);
    const Tensor along = cast(constant(places(whole[i], align_corners), one), theta.dtype());
    columns.push_back(reshape(broadcast_to(along, whole), {count}));
  }
  columns.push_back(ones({count}, theta.dtype()));
  const Tensor grid = matmul(stack(columns, 1), theta, {.transpose_b = true});
  Shape shape = {theta.dim(0)};
  for (const std::int64_t length : whole) shape.push_back(length);
  shape.push_back(axes);
  call.give(reshape(grid, shape));
}

constexpr Operator kAffineGridOperators[] = {{"AffineGrid", affine_grid}};

}  // namespace

std::span<const Operator> affine_grid_operators() { return kAffineGridOperators; }

}  // namespace capstan::onnx
