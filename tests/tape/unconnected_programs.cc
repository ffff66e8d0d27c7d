// Programs: a missing gradient, zeros, or numbers.
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/diagonals.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

constexpr GradientOptions zero_mode() { return {.unconnected_gradients = UnconnectedGradients::kZero}; }

void none_and_zero(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  t.watch(std::vector{x, y});
  const Tensor z = y * y;
  r.out("none", t.gradient(z, {x, y}));
  r.out("zero", t.gradient(z, {x, y}, zero_mode()));
}

void zeros_for_variables_and_integers(Recorder& r) {
  const Variable v = r.v("v"), w = r.v("w");
  const Tensor i = r.x("i");
  GradientTape t({.persistent = true});
  const Tensor z = pow(w, 2);
  r.out("zero", t.gradient(z, {v, w}, zero_mode()));
  r.out("none", t.gradient(z, {v, w}));
  r.out("integer", t.gradient(z, i, zero_mode()));
  r.out("integer_none", t.gradient(z, i));
}

Tensor no_indices() { return zeros({0}, int32); }

}  // namespace

Programs unconnected_programs() {
  Programs list = {
      {"none_and_zero", none_and_zero},
      {"zeros_for_variables_and_integers", zeros_for_variables_and_integers},
  };
  const auto none_or_zero = [&](const std::string& name, const std::function<Tensor(const Tensor&)>& f) {
    list.emplace("none_or_zero: " + name, [f](Recorder& r) {
      const Tensor x = r.x("x");
      GradientTape t;
      t.watch(x);
      const Tensor y = f(x);
      r.out("g", t.gradient(y, x));
    });
  };
  using T = const Tensor&;
  none_or_zero("cast to int32 and back", [](T x) { return x * cast(cast(x, int32), float64); });
  none_or_zero("only through int32", [](T x) { return cast(cast(x, int32), float64); });
  none_or_zero("floor", [](T x) { return floor(x); });
  none_or_zero("round", [](T x) { return round(x); });
  none_or_zero("ceil", [](T x) { return ceil(x); });
  none_or_zero("sign", [](T x) { return sign(x); });
  none_or_zero("floordiv", [](T x) { return floordiv(x, 2.0); });
  none_or_zero("x > 0", [](T x) { return cast(x > 0, float64); });
  none_or_zero("argmax", [](T x) { return cast(argmax(x), float64); });
  none_or_zero("zeros_like", [](T x) { return zeros_like(x); });
  none_or_zero("ones_like", [](T x) { return ones_like(x); });
  none_or_zero("shape", [](T x) { return cast(shape(x), float64); });
  none_or_zero("one_hot of argmax", [](T x) { return one_hot(argmax(x), 2, 1, 0, -1, float64); });
  none_or_zero("relu of a negative number", [](T x) { return relu(-abs(x)); });
  none_or_zero("where never selects it", [](T x) { return where(constant({false, false}), x, 3.0 * ones_like(x)); });
  none_or_zero("maximum that it loses", [](T x) { return maximum(x, number(100)); });
  none_or_zero("times zero", [](T x) { return x * 0.0; });
  none_or_zero("stop_gradient", [](T x) { return stop_gradient(x); });
  none_or_zero("x - stop_gradient(x)", [](T x) { return x - stop_gradient(x); });
  none_or_zero("first of two parts, only the second holds it", [](T x) {
    return split(concat({ones_like(x), x}, 0), 2)[0];
  });
  none_or_zero("slice that leaves it out", [](T x) { return concat({ones_like(x), x}, 0)(slice(0, 2)); });
  none_or_zero("clip that it exceeds", [](T x) { return clip_by_value(x + 100.0, -1.0, 1.0); });
  none_or_zero("x to the power 0", [](T x) { return pow(x, 0.0); });
  none_or_zero("floormod", [](T x) { return x % 2.0; });
  none_or_zero("gather nothing", [](T x) { return gather(x, no_indices()); });
  none_or_zero("empty reduce_sum", [](T x) { return reduce_sum(x(slice(0, 0))); });
  none_or_zero("is_nan", [](T x) { return cast(is_nan(x), float64); });
  none_or_zero("linspace", [](T x) { return linspace(x(0), x(1), 3); });
  none_or_zero("range", [](T x) { return range(x(1), x(0), 1.0); });
  none_or_zero("unstack, other part", [](T x) { return unstack(stack({ones_like(x), x}))[0]; });
  none_or_zero("cast to bool", [](T x) { return cast(cast(x, bool_), float64); });
  none_or_zero("equal", [](T x) { return cast(equal(x, x), float64); });
  none_or_zero("size", [](T x) { return cast(size(x), float64); });
  none_or_zero("rank", [](T x) { return cast(rank(x), float64); });
  none_or_zero("random_uniform_like", [](T x) { return random::uniform(x.shape(), 0, 1, float64) * 0.0; });
  none_or_zero("fill", [](T) { return fill({2}, number(1)); });
  none_or_zero("eye", [](T) { return eye(2, {}, float64); });
  none_or_zero("boolean_mask of nothing", [](T x) { return boolean_mask(x, constant({false, false})); });
  none_or_zero("reduce_any of comparisons", [](T x) { return cast(reduce_any(x > 0), float64); });
  none_or_zero("count_nonzero", [](T x) { return cast(count_nonzero(x), float64); });
  none_or_zero("top_k indices", [](T x) { return cast(top_k(x, 1).indices, float64); });
  none_or_zero("bincount", [](T x) { return cast(bincount(cast(abs(x), int32)), float64); });
  none_or_zero("searchsorted", [](T x) { return cast(searchsorted(x, x), float64); });
  none_or_zero("histogram", [](T x) { return cast(histogram_fixed_width(x, 0, 1, 2), float64); });
  none_or_zero("sort", [](T x) { return sort(x); });
  none_or_zero("band_part that drops it", [](T x) { return band_part(reshape(x, {1, 2}), 0, 0)(slice(), 1); });
  return list;
}

}  // namespace capstan::testing
