#include "src/ops/math/products.h"

#include <cmath>
#include <vector>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/op_for_programs.h"
#include "src/kernels/linalg/gemm.h"

namespace capstan {

namespace {

void multiply(const Call& call, std::span<Tensor> outputs) {
  const auto& sides = call.attributes<ProductSides>();
  std::vector<GemmItem> items(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorRef& other = call.inputs[i + 1];
    const TensorRef& a = sides.same_right ? other : call.inputs[0];
    const TensorRef& b = sides.same_right ? call.inputs[0] : other;
    const GemmShape shape{.m = outputs[i].dim(0),
                          .n = outputs[i].dim(1),
                          .k = a.dim(sides.transpose_a ? 0 : 1),
                          .lda = a.dim(1),
                          .ldb = b.dim(1),
                          .ldc = outputs[i].dim(1),
                          .transpose_a = sides.transpose_a,
                          .transpose_b = sides.transpose_b};
    items[i] = {shape, a.block()->data, b.block()->data, mutable_raw_data(outputs[i])};
  }
  if (outputs[0].dtype() == DType::kFloat32) return gemm_together<float>(items);
  gemm_together<double>(items);
}

// The inner length follows from [m, k], [k, n] and [m, n].
Cost products_cost(std::span<const Shape> inputs, std::span<const Shape> outputs) {
  double work = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t operands = inputs[0].size() * inputs[i + 1].size();
    work += std::sqrt(static_cast<double>(operands) * static_cast<double>(outputs[i].size()));
  }
  return {work, static_cast<double>(kGemmParallelWork)};
}
constexpr OpForPrograms kProductsForPrograms{.cost = products_cost};

}  // namespace

constinit const OpDef kProducts = {
    .name = "products",
    .text = "Products of matrices with one operand in common; made in programs alone.",
    .flags = kNotDifferentiable | kCostlyAgain,
    .outputs = kVariadic,
    .inputs = {"operands", kVariadic},
    .attributes = &attribute_table<ProductSides, "transpose_a, transpose_b, same_right">,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const auto& sides = call.attributes<ProductSides>();
          for (int i = 1; i < call.input_count(); ++i) {
            const TensorRef& a = call.input(sides.same_right ? i : 0);
            const TensorRef& b = call.input(sides.same_right ? 0 : i);
            outputs.add(a.dtype(), {a.dim(sides.transpose_a ? 1 : 0), b.dim(sides.transpose_b ? 0 : 1)});
          }
        },
    .kernel = multiply,
    .programs = &kProductsForPrograms,
};

}  // namespace capstan
