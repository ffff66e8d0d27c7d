// Products of matrices, what attention makes of them, and normalisation over the last axes.
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "src/onnx/export.h"

namespace capstan::onnx {
namespace {

// The matrices of a tensor the other way round.
std::string turned(const OpCall& c, const std::string& x, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return c.transposed(x, order);
}

void write_matmul(OpCall& c) {
  const auto operand = [&](std::size_t i, std::string_view transpose, std::string_view adjoint) {
    return c.truth(transpose) || c.truth(adjoint) ? turned(c, c.in(i), c.rank(i)) : c.in(i);
  };
  c.give(c.node("MatMul", {operand(0, "transpose_a", "adjoint_a"), operand(1, "transpose_b", "adjoint_b")}));
}

void write_add_n(OpCall& c) {
  std::string sum = c.in(0);
  for (std::size_t i = 1; i < c.input_count(); ++i) sum = c.node("Add", {sum, c.in(i)});
  c.give(sum);
}

void write_layer_normalization(OpCall& c) {
  c.give(c.node("LayerNormalization", {c.in(0), c.in(1), c.in(2)},
                {attribute("axis", -c.integer("axes")), attribute("epsilon", c.number("epsilon"))}));
}

// [queries, keys]: which keys a query sees if it sees none after its own place.
std::string causal_mask(const OpCall& c) {
  const Shape first = {c.shape(0)[-2], c.shape(1)[-2]}, second = {c.second_shape(0)[-2], c.second_shape(1)[-2]};
  const Tensor one = constant({1}, float32);
  const std::string ones = c.node("ConstantOfShape", {c.lengths_of(first, second)}, {attribute("value", one)});
  return c.cast_to(c.node("Trilu", {ones}, {attribute("upper", 0)}), DType::kBool);
}

void write_attention(OpCall& c) {
  if (c.number("dropout") != 0) c.refuse("dropout draws, which only training does");
  const AttributeValue given = c.value("scale");
  const double scale = given.has_value() ? given.number : 1 / std::sqrt(static_cast<double>(c.shape(0)[-1]));
  const std::string query = c.node("Mul", {c.in(0), c.scalar(scale)});
  std::string scores = c.node("MatMul", {query, turned(c, c.in(1), c.rank(1))});
  std::string seen;
  if (c.truth("causal")) seen = causal_mask(c);
  if (c.input_count() > 3 && c.dtype(3) == DType::kBool) {
    seen = seen.empty() ? c.in(3) : c.node("And", {seen, c.in(3)});
  } else if (c.input_count() > 3) {
    scores = c.node("Add", {scores, c.in(3)});
  }
  if (seen.empty()) {
    c.give(c.node("MatMul", {c.node("Softmax", {scores}, {attribute("axis", -1)}), c.in(2)}));
    return;
  }
  // A number that is below all others, but finite: a query that sees no key gets zeros.
  scores = c.node("Where", {seen, scores, c.scalar(-1e30)});
  std::string weights = c.node("Softmax", {scores}, {attribute("axis", -1)});
  if (c.input_count() > 3) weights = c.node("Where", {seen, weights, c.scalar(0)});
  c.give(c.node("MatMul", {weights, c.in(2)}));
}

constexpr ExportRow kProductRows[] = {
    {"add_n", write_add_n},
    {"det", write_direct, "Det"},
    {"layer_normalization", write_layer_normalization},
    {"matmul", write_matmul},
    {"scaled_dot_product_attention", write_attention},
};

}  // namespace

std::span<const ExportRow> product_rows() { return kProductRows; }

}  // namespace capstan::onnx
