// Checks of values, at every call of a traced function.
#include "capstan/debugging.h"

#include <limits>
#include <sstream>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/ops/debugging/effect.h"

namespace capstan {

namespace {

using debugging::AssertOptions;

// A relation of x and y, or of x alone; further operands are shown.
struct Check {
  std::string name;
  std::string relation;  // "x < y"
  std::string message;
  int compared;  // so many operands
  Tensor (*holds)(const Check& check, const Tensor& x, const Tensor& y);
  double rtol = 0;
  double atol = 0;
};

std::string position_text(const Shape& shape, std::int64_t element) {
  std::string text;
  for (int i = shape.rank(); i-- > 0;) {
    text.insert(0, std::to_string(element % shape[i]).append(text.empty() ? "" : ", "));
    element /= shape[i];
  }
  return "[" + text + "]";
}

std::string element_text(const Tensor& x, const Shape& shape, std::int64_t element) {
  const Tensor all = reshape(broadcast_to(x, shape), {-1});
  return reshape(gather(all, constant(element)), {}).to_string();
}

[[noreturn, gnu::cold]] void fail(const Call& call, const Check& check, const Tensor& holds) {
  std::vector<Tensor> operands;
  for (int i = 0; i < call.input_count(); ++i) operands.push_back(share(call.input(i).block()));
  const std::vector<bool> all = holds.to_vector<bool>();
  std::int64_t wrong = 0;
  std::int64_t first = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]) continue;
    ++wrong;
    if (first < 0) first = static_cast<std::int64_t>(i);
  }
  std::ostringstream text;
  text << check.name << ": " << check.message << (check.message.empty() ? "" : ": ") << check.relation
       << " does not hold";
  const Shape shape = holds.shape();
  if (shape.rank() > 0) {
    text << " for " << wrong << " of " << all.size() << " elements, the first at " << position_text(shape, first);
  }
  for (int i = 0; i < check.compared; ++i) {
    text << (i == 0 ? ": " : " and ") << element_text(operands[static_cast<std::size_t>(i)], shape, first);
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_data = static_cast<int>(i) >= check.compared;
    text << "\n  " << (is_data ? "data" : i == 0 ? "x" : "y") << ": " << describe(operands[i]);
    if (is_data) text << " " << operands[i].to_string();
  }
  throw ValueError(text.str());
}

void run_check(const Call& call, std::span<Tensor> outputs) {
  const Check& check = *call.attributes<EffectAttributes<Check>>().job;
  const Tensor x = share(call.input(0).block());
  const Tensor holds = check.holds(check, x, check.compared > 1 ? share(call.input(1).block()) : Tensor());
  if (!reduce_all(holds).item<bool>()) fail(call, check, holds);
  write_token(outputs);
}

void infer_check(const Call& call, OutputSpecs& outputs) {
  const Check& check = *call.attributes<EffectAttributes<Check>>().job;
  const TensorRef& x = call.input(0);
  if (check.compared > 1) {
    const TensorRef& y = call.input(1);
    CAPSTAN_CHECK(x.dtype() == y.dtype(), DTypeError, check.name, ": dtypes differ, ", x.dtype(), " and ", y.dtype(),
                  arguments({{"x", x}, {"y", y}}), help("convert one with cast(x, dtype)"));
    broadcast_shapes(check.name, x.shape(), y.shape());
  }
  add_token(outputs);
}

constinit const OpDef kAssert =
    effect_op<Check>("assert", "Throws if a condition does not hold.", infer_check, run_check);

using Relation = Tensor (*)(const Check& check, const Tensor& x, const Tensor& y);

// A number among the operands takes the dtype of the other.
void compare(const char* name, const char* relation, const Operand& x, const Operand& y, const AssertOptions& options,
             Relation holds) {
  const PauseObservers pause;
  const Tensor left = x.is_literal() && !y.is_literal() ? Tensor() : to_tensor(x);
  const Tensor right = left.has_value() ? to_tensor(y, left.dtype()) : to_tensor(y);
  const Tensor operands[] = {left.has_value() ? left : to_tensor(x, right.dtype()), right};
  run_effect(kAssert, {operands[0], operands[1]}, Check{name, relation, options.message, 2, holds});
}

void check_one(const char* name, const char* relation, const Operand& x, const AssertOptions& options, Relation holds) {
  const PauseObservers pause;
  const Tensor operand = to_tensor(x);
  run_effect(kAssert, {operand}, Check{name, relation, options.message, 1, holds});
}

double ten_steps(DType dtype) {
  return 10 * (dtype == DType::kFloat64    ? std::numeric_limits<double>::epsilon()
               : dtype == DType::kBFloat16 ? 0x1p-7
                                           : double{std::numeric_limits<float>::epsilon()});
}

std::string lead(const AssertOptions& options) { return options.message.empty() ? "" : options.message + ": "; }

}  // namespace

namespace debugging {

void assert_true(Operand condition, const std::vector<Tensor>& data, const AssertOptions& options) {
  const PauseObservers pause;
  const Tensor value = to_tensor(condition);
  CAPSTAN_CHECK(value.dtype() == DType::kBool, DTypeError, "assert_true: the condition must be bool, not ",
                value.dtype(), arguments({{"condition", value}}));
  std::vector<Operand> operands{value};
  operands.insert(operands.end(), data.begin(), data.end());
  run_effect(
      kAssert, std::move(operands),
      Check{"assert_true", "x", options.message, 1, [](const Check&, const Tensor& x, const Tensor&) { return x; }});
}

void assert_equal(Operand x, Operand y, const AssertOptions& options) {
  compare("assert_equal", "x == y", x, y, options,
          [](const Check&, const Tensor& a, const Tensor& b) { return equal(a, b); });
}
void assert_none_equal(Operand x, Operand y, const AssertOptions& options) {
  compare("assert_none_equal", "x != y", x, y, options,
          [](const Check&, const Tensor& a, const Tensor& b) { return not_equal(a, b); });
}
void assert_less(Operand x, Operand y, const AssertOptions& options) {
  compare("assert_less", "x < y", x, y, options,
          [](const Check&, const Tensor& a, const Tensor& b) { return less(a, b); });
}
void assert_less_equal(Operand x, Operand y, const AssertOptions& options) {
  compare("assert_less_equal", "x <= y", x, y, options,
          [](const Check&, const Tensor& a, const Tensor& b) { return less_equal(a, b); });
}
void assert_greater(Operand x, Operand y, const AssertOptions& options) {
  compare("assert_greater", "x > y", x, y, options,
          [](const Check&, const Tensor& a, const Tensor& b) { return greater(a, b); });
}
void assert_greater_equal(Operand x, Operand y, const AssertOptions& options) {
  compare("assert_greater_equal", "x >= y", x, y, options,
          [](const Check&, const Tensor& a, const Tensor& b) { return greater_equal(a, b); });
}

void assert_near(Operand x, Operand y, const AssertNearOptions& options) {
  const PauseObservers pause;
  const DType dtype = x.is_literal() && !y.is_literal() ? to_tensor(y).dtype() : to_tensor(x).dtype();
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, "assert_near: dtype ", dtype, " is not floating",
                help("use assert_equal for integers"));
  Check check{"assert_near", "|x - y| <= atol + rtol * |y|", options.message, 2,
              [](const Check& c, const Tensor& a, const Tensor& b) {
                return less_equal(abs(a - b), abs(b) * c.rtol + c.atol);
              }};
  check.rtol = options.rtol.value_or(ten_steps(dtype));
  check.atol = options.atol.value_or(ten_steps(dtype));
  check.relation = detail::join("|x - y| <= ", check.atol, " + ", check.rtol, " * |y|");
  const Tensor operands[] = {x.is_literal() ? to_tensor(x, dtype) : to_tensor(x),
                             y.is_literal() ? to_tensor(y, dtype) : to_tensor(y)};
  run_effect(kAssert, {operands[0], operands[1]}, std::move(check));
}

void assert_positive(Operand x, const AssertOptions& options) {
  check_one("assert_positive", "x > 0", x, options,
            [](const Check&, const Tensor& a, const Tensor&) { return greater(a, zeros_like(a)); });
}
void assert_negative(Operand x, const AssertOptions& options) {
  check_one("assert_negative", "x < 0", x, options,
            [](const Check&, const Tensor& a, const Tensor&) { return less(a, zeros_like(a)); });
}
void assert_non_positive(Operand x, const AssertOptions& options) {
  check_one("assert_non_positive", "x <= 0", x, options,
            [](const Check&, const Tensor& a, const Tensor&) { return less_equal(a, zeros_like(a)); });
}
void assert_non_negative(Operand x, const AssertOptions& options) {
  check_one("assert_non_negative", "x >= 0", x, options,
            [](const Check&, const Tensor& a, const Tensor&) { return greater_equal(a, zeros_like(a)); });
}
void assert_all_finite(Operand x, const AssertOptions& options) {
  const PauseObservers pause;
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(is_floating(value.dtype()), DTypeError, "assert_all_finite: dtype ", value.dtype(), " is not floating",
                arguments({{"x", value}}));
  check_one("assert_all_finite", "x is finite", value, options,
            [](const Check&, const Tensor& a, const Tensor&) { return is_finite(a); });
}

void assert_rank(const Tensor& x, int rank, const AssertOptions& options) {
  CAPSTAN_CHECK(x.rank() == rank, ShapeError, "assert_rank: ", lead(options), "the rank is ", x.rank(), ", not ", rank,
                arguments({{"x", x}}));
}
void assert_type(const Tensor& x, DType dtype, const AssertOptions& options) {
  CAPSTAN_CHECK(x.dtype() == dtype, DTypeError, "assert_type: ", lead(options), "the dtype is ", x.dtype(), ", not ",
                dtype, arguments({{"x", x}}));
}
void assert_shape(const Tensor& x, const TensorSpec& spec, const AssertOptions& options) {
  CAPSTAN_CHECK(x.dtype() == spec.dtype, DTypeError, "assert_shape: ", lead(options), "the dtype is ", x.dtype(),
                ", not ", spec.dtype, arguments({{"x", x}}));
  CAPSTAN_CHECK(spec.fits(x.dtype(), x.shape()), ShapeError, "assert_shape: ", lead(options), x.shape(),
                " does not fit ", spec.to_string(), arguments({{"x", x}}));
}

}  // namespace debugging
}  // namespace capstan
