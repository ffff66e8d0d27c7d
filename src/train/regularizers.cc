// Regularizers.
#include "capstan/regularizers.h"

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/train/known_names.h"

namespace capstan {

namespace {

using Make = Regularizer (*)();

constexpr detail::Named<Make> kNamed[] = {
    {"l1", [] { return regularizers::L1(); }, "L1"},
    {"l2", [] { return regularizers::L2(); }, "L2"},
    {"l1l2", [] { return regularizers::L1L2(); }, "L1L2"},
    {"orthogonal_regularizer", [] { return regularizers::OrthogonalRegularizer(); }, "OrthogonalRegularizer"},
};

}  // namespace

Regularizer::Regularizer(std::string_view name) {
  *this = detail::find_named<Make>("regularizer", name, kNamed, "pass a function of a tensor for one of your own")();
}

namespace regularizers {

namespace {

void check_factor(double factor) {
  CAPSTAN_CHECK(factor >= 0 && factor < 1e300, ValueError,
                "regularizer: the factor must be finite and not negative, not ", factor);
}

}  // namespace

Regularizer L1(double factor) {
  check_factor(factor);
  return [factor](const Tensor& w) { return factor * reduce_sum(abs(w)); };
}

Regularizer L2(double factor) {
  check_factor(factor);
  return [factor](const Tensor& w) { return factor * reduce_sum(square(w)); };
}

Regularizer L1L2(double l1, double l2) {
  check_factor(l1);
  check_factor(l2);
  if (l1 == 0 && l2 == 0) {
    return [](const Tensor& w) { return zeros({}, w.dtype()); };
  }
  if (l1 == 0) return L2(l2);
  if (l2 == 0) return L1(l1);
  return [l1, l2](const Tensor& w) { return l1 * reduce_sum(abs(w)) + l2 * reduce_sum(square(w)); };
}

Regularizer OrthogonalRegularizer(double factor, std::string_view mode) {
  check_factor(factor);
  CAPSTAN_CHECK(mode == "rows" || mode == "columns", ValueError,
                "regularizer: mode must be \"rows\" or \"columns\", not \"", mode, "\"");
  return [factor, rows = mode == "rows"](const Tensor& w) {
    CAPSTAN_CHECK(w.rank() == 2, ShapeError, "regularizer: the orthogonal one takes a matrix",
                  arguments({{"weight", w}}));
    const Tensor unit = l2_normalize(w, rows ? 1 : 0);
    const std::int64_t n = unit.dim(rows ? 0 : 1);
    const Tensor products =
        rows ? matmul(unit, unit, {.transpose_b = true}) : matmul(unit, unit, {.transpose_a = true});
    const Tensor between = products * (1 - eye(n, -1, w.dtype()));
    // A single row makes no pair, and 0 / 0 is no penalty.
    const double pairs = n > 1 ? static_cast<double>(n) * static_cast<double>(n - 1) / 2 : 1;
    return factor * 0.5 * reduce_sum(abs(between)) / pairs;
  };
}

}  // namespace regularizers
}  // namespace capstan
