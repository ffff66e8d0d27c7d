// Complex numbers beyond what every op's samples say: literals, reading, printing, and where real and complex meet.
#include <gtest/gtest.h>

#include <complex>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {
namespace {

using Single = std::complex<float>;
using Double = std::complex<double>;

TEST(Complex, ConstantsTakeThePrecisionOfTheirNumbers) {
  EXPECT_EQ(constant(Single(1, 2)).dtype(), complex64);
  EXPECT_EQ(constant(Double(1, 2)).dtype(), complex128);
  EXPECT_EQ(constant({Single(1, 2), 3}).dtype(), complex64);
  EXPECT_EQ(constant({Single(1, 2), Double(3)}).dtype(), complex128);
  EXPECT_EQ(constant(2.5, complex64).item<Single>(), Single(2.5f));
  EXPECT_EQ(constant(std::vector<Double>{{1, 2}, {3, 4}}).shape(), Shape{2});
  EXPECT_THROW(constant(Double(1, 2), float64), DTypeError);
}

TEST(Complex, NumbersMeetTensors) {
  const Tensor z = constant({Double(1, 2), Double(3, -1)});
  EXPECT_EQ((z * Double(0, 1)).to_vector<Double>(), (std::vector<Double>{{-2, 1}, {1, 3}}));
  EXPECT_EQ((Single(0, 1) + z).to_vector<Double>(), (std::vector<Double>{{1, 3}, {3, 0}}));
  EXPECT_EQ((2 * z).to_vector<Double>(), (std::vector<Double>{{2, 4}, {6, -2}}));
  EXPECT_EQ((z - 0.5).to_vector<Double>(), (std::vector<Double>{{0.5, 2}, {2.5, -1}}));
  EXPECT_EQ(add(Double(1, 1), 2).item<Double>(), Double(3, 1));
  EXPECT_THROW(constant(1.0) * Double(0, 1), DTypeError);
  EXPECT_THROW(constant({1.0}) + z, DTypeError);
}

TEST(Complex, ReadingDropsNoImaginaryPartUnasked) {
  const Tensor z = constant(Single(1, 2));
  EXPECT_EQ(z.item<Double>(), Double(1, 2));
  EXPECT_THROW(z.item<float>(), DTypeError);
  EXPECT_THROW(z.to_vector<double>(), DTypeError);
  EXPECT_EQ(constant(3).item<Single>(), Single(3));
  EXPECT_EQ(cast(z, float64).item<double>(), 1);
}

TEST(Complex, PrintsAsNumPyDoes) {
  EXPECT_EQ(constant(Double(1, 2)).to_string(), "(1+2j)");
  EXPECT_EQ(constant(Double(0, -2.5)).to_string(), "-2.5j");
  EXPECT_EQ(constant(Single(0.1f, -0.25f)).to_string(), "(0.1-0.25j)");
  EXPECT_EQ(constant({Double(1, 2), Double(3, -1.5)}).to_string(), "[1.+2.j  3.-1.5j]");
  EXPECT_EQ(constant({Double(-1, 10), Double(10, 0)}).to_string(), "[-1.+10.j 10. +0.j]");
}

TEST(Complex, OrderIsNotDefined) {
  const Tensor z = constant({Double(1, 2), Double(3, -1)});
  EXPECT_THROW(less(z, z), DTypeError);
  EXPECT_THROW(maximum(z, z), DTypeError);
  EXPECT_THROW(reduce_max(z), DTypeError);
  EXPECT_THROW(argmax(z), DTypeError);
  EXPECT_THROW(floor(z), DTypeError);
}

TEST(Complex, GradientsOfARealResultAreThoseOfBothParts) {
  const Tensor z = constant(Double(3, 4));
  GradientTape tape;
  tape.watch(z);
  const Tensor length = abs(z);
  EXPECT_EQ(length.item<double>(), 5);
  EXPECT_EQ(tape.gradient(length, z).item<Double>(), Double(0.6, 0.8));
}

TEST(Complex, GradientsOfAnalyticFunctionsAreConjugateDerivatives) {
  const Tensor z = constant(Double(1, 2));
  GradientTape tape;
  tape.watch(z);
  EXPECT_EQ(tape.gradient(z * z, z).item<Double>(), Double(2, -4));
}

TEST(Complex, VariablesAreWatched) {
  const Variable z(constant(Double(1, 2)));
  GradientTape tape;
  const Tensor y = reduce_sum(real(z * conj(z)));
  EXPECT_EQ(tape.gradient(y, z).item<Double>(), Double(2, 4));
}

TEST(Complex, AdjointsAreConjugateTransposes) {
  const Tensor a = constant({{Double(1, 2), Double(0, 1)}});
  EXPECT_EQ(matmul(a, a, {.adjoint_b = true}).item<Double>(), Double(6, 0));
  EXPECT_EQ(transpose(a, {}, {.conjugate = true}).to_vector<Double>(), (std::vector<Double>{{1, -2}, {0, -1}}));
  EXPECT_THROW(matmul(a, a, {.transpose_b = true, .adjoint_b = true}), ValueError);
}

}  // namespace
}  // namespace capstan
