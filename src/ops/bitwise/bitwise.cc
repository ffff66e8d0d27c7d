// Functions on the bits of numbers.
//
// They are no formulas, which know arithmetic only, so their loops are written out. One table serves every instruction
// set: the compiler's own vectors do for integers.
#include "capstan/ops/bitwise.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include "capstan/ops/array.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/with_type.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

struct And {
  template <class T>
  static T f(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct Or {
  template <class T>
  static T f(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct Xor {
  template <class T>
  static T f(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
// A shift by the width of the type or more is undefined in C++, and so is one by a negative number.
template <class T>
int shift_of(T places) {
  constexpr T kMost = 8 * sizeof(T) - 1;
  return static_cast<int>(places < T{0} ? T{0} : places > kMost ? kMost : places);
}
struct LeftShift {
  template <class T>
  static T f(T x, T y) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << shift_of(y));
  }
};
struct RightShift {
  template <class T>
  static T f(T x, T y) {
    return static_cast<T>(x >> shift_of(y));
  }
};
struct NextAfter {
  template <class T>
  static T f(T x, T y) {
    return std::nextafter(x, y);
  }
};

template <class F, class T>
void binary_loop(const LoopArgs& args) {
  auto* out = static_cast<T*>(args.out);
  const auto* x = static_cast<const T*>(args.in[0]);
  const auto* y = static_cast<const T*>(args.in[1]);
  const std::int64_t step_x = (args.scalars & 1) != 0 ? 0 : 1;
  const std::int64_t step_y = (args.scalars & 2) != 0 ? 0 : 1;
  for (std::int64_t i = 0; i < args.n; ++i) out[i] = F::f(x[i * step_x], y[i * step_y]);
}

template <class T>
void invert_loop(const LoopArgs& args) {
  auto* out = static_cast<T*>(args.out);
  const auto* x = static_cast<const T*>(args.in[0]);
  const std::int64_t step = (args.scalars & 1) != 0 ? 0 : 1;
  for (std::int64_t i = 0; i < args.n; ++i) out[i] = static_cast<T>(~x[i * step]);
}

// The cotangent itself for input 0, nothing for input 1.
template <class T, int input>
void nextafter_vjp_loop(const LoopArgs& args) {
  auto* out = static_cast<T*>(args.out);
  const auto* g = static_cast<const T*>(args.in[0]);
  const std::int64_t step = (args.scalars & 1) != 0 ? 0 : 1;
  for (std::int64_t i = 0; i < args.n; ++i) {
    const T own = input == 0 ? g[i * step] : T(0);
    out[i] = args.accumulate ? out[i] + own : own;
  }
}

template <class F>
constexpr LoopTable kIntegerLoops = [] {
  LoopTable table{};
  table.forward[static_cast<int>(DType::kInt32)] = &binary_loop<F, std::int32_t>;
  table.forward[static_cast<int>(DType::kInt64)] = &binary_loop<F, std::int64_t>;
  table.forward[static_cast<int>(DType::kUInt8)] = &binary_loop<F, std::uint8_t>;
  return table;
}();
constexpr LoopTable kInvertTable = [] {
  LoopTable table{};
  table.forward[static_cast<int>(DType::kInt32)] = &invert_loop<std::int32_t>;
  table.forward[static_cast<int>(DType::kInt64)] = &invert_loop<std::int64_t>;
  table.forward[static_cast<int>(DType::kUInt8)] = &invert_loop<std::uint8_t>;
  return table;
}();
constexpr LoopTable kNextAfterTable = [] {
  LoopTable table{};
  constexpr int f32 = static_cast<int>(DType::kFloat32);
  constexpr int f64 = static_cast<int>(DType::kFloat64);
  table.forward[f32] = &binary_loop<NextAfter, float>;
  table.forward[f64] = &binary_loop<NextAfter, double>;
  table.vjp[0][f32] = &nextafter_vjp_loop<float, 0>;
  table.vjp[0][f64] = &nextafter_vjp_loop<double, 0>;
  table.vjp[1][f32] = &nextafter_vjp_loop<float, 1>;
  table.vjp[1][f64] = &nextafter_vjp_loop<double, 1>;
  return table;
}();

// One table per instruction set.
template <class F>
constexpr const LoopTable* kLoopsOf[] = {&kIntegerLoops<F>, &kIntegerLoops<F>, &kIntegerLoops<F>};
constexpr const LoopTable* kInvertLoops[] = {&kInvertTable, &kInvertTable, &kInvertTable};
constexpr const LoopTable* kNextAfterLoops[] = {&kNextAfterTable, &kNextAfterTable, &kNextAfterTable};

template <class F>
constexpr OpDef integer_op(std::string_view name, std::string_view text) {
  return {.name = name,
          .text = text,
          .kind = OpKind::kElementwise,
          .flags = kNotDifferentiable,
          .inputs = "x, y",
          .loops = kLoopsOf<F>};
}

constexpr OpDef kBitwiseAnd = integer_op<And>("bitwise_and", "The bits that are set in both.");
constexpr OpDef kBitwiseOr = integer_op<Or>("bitwise_or", "The bits that are set in one or both.");
constexpr OpDef kBitwiseXor = integer_op<Xor>("bitwise_xor", "The bits that are set in exactly one.");
constexpr OpDef kLeftShift = integer_op<LeftShift>("left_shift", "The bits of x moved to the left by y places.");
constexpr OpDef kRightShift = integer_op<RightShift>("right_shift", "The bits of x moved to the right by y places.");
constexpr OpDef kInvert = {
    .name = "invert",
    .text = "Bitwise NOT.",
    .kind = OpKind::kElementwise,
    .flags = kNotDifferentiable,
    .loops = kInvertLoops,
};
constexpr OpDef kPopulationCount = {
    .name = "population_count",
    .text = "How many bits are set.",
    .flags = kNotDifferentiable,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& x = call.input(0);
          CAPSTAN_CHECK(is_integer(x.dtype()), DTypeError, "population_count: dtype ", x.dtype(), " is not supported",
                        arguments({{"x", x}}));
          outputs.add(DType::kUInt8, x.shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const TensorRef& x = call.input(0);
          auto* out = mutable_data<std::uint8_t>(outputs[0]);
          with_real_type(x.dtype(), [&]<class T>(T) {
            if constexpr (std::is_integral_v<T>) {
              const T* in = x.data<T>();
              for (std::int64_t i = 0; i < x.size(); ++i) {
                out[i] = static_cast<std::uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(in[i])));
              }
            }
          });
        },
    .batch = batch_leading,
};
constexpr OpDef kNextAfter = {
    .name = "nextafter",
    .text = "The next number after x1 in the direction of x2.",
    .kind = OpKind::kElementwise,
    .inputs = "x1, x2",
    .loops = kNextAfterLoops,
    .reads = {kReadsCotangent, kReadsCotangent, 0},
    .passes = 1,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(0)) cotangents[0] = call.cotangent();
          if (call.needs(1)) cotangents[1] = zeros_like(call.cotangent());
        },
};

}  // namespace

Tensor bitwise_and(Operand x, Operand y) { return apply(kBitwiseAnd, x, y); }
Tensor bitwise_or(Operand x, Operand y) { return apply(kBitwiseOr, x, y); }
Tensor bitwise_xor(Operand x, Operand y) { return apply(kBitwiseXor, x, y); }
Tensor invert(Operand x) { return apply(kInvert, x); }
Tensor left_shift(Operand x, Operand y) { return apply(kLeftShift, x, y); }
Tensor right_shift(Operand x, Operand y) { return apply(kRightShift, x, y); }
Tensor population_count(Operand x) { return apply(kPopulationCount, x); }
Tensor nextafter(Operand x1, Operand x2) { return apply(kNextAfter, x1, x2); }

CAPSTAN_OPS(bitwise, &kBitwiseAnd, &kBitwiseOr, &kBitwiseXor, &kInvert, &kLeftShift, &kRightShift, &kPopulationCount,
            &kNextAfter);

}  // namespace capstan
