// Arguments at the borders of what there is: axes that no int holds, the longest axis, sizes without memory, and
// matrices that have a value but no derivative.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "capstan/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/ops/random_calls.h"
#include "tests/support/compare.h"
#include "tests/support/limits.h"

namespace capstan::testing {
namespace {

TEST(Axes, OfEveryOpAreNotCutToAnInt) {
  int tried = 0;
  for (const OpDef* op : ops_with_samples()) {
    for (int i = 0; op->attributes != nullptr && i < op->attributes->field_count; ++i) {
      const std::string name(op->attributes->fields[i].name);
      if (name != "axis" && name != "seq_axis" && name != "batch_axis") continue;
      for (const std::int64_t axis : {INT64_MAX, (std::int64_t{1} << 32) - 1, std::int64_t{1} << 32,
                                      -(std::int64_t{1} << 62), (std::int64_t{1} << 32) + 1}) {
        ++tried;
        Sample sample = samples_of(*op, dtypes_of(*op)[0])[0];
        sample.attributes[name] = axis;
        EXPECT_THROW(run(*op, sample), IndexError) << op->name << ", " << name << " " << axis;
      }
    }
  }
  EXPECT_GT(tried, 100);
}

TEST(Lengths, HaveOneLimitWithAndWithoutElements) {
  constexpr std::int64_t kMost = 4294967294;
  const Tensor none = zeros({0, kMost});
  EXPECT_EQ(none.shape(), Shape({0, kMost}));
  EXPECT_EQ(reshape(none, {kMost, 0}).shape(), Shape({kMost, 0}));
  EXPECT_EQ(expand_dims(none, 0).rank(), 3);
  EXPECT_THROW(zeros({0, kMost + 1}), ShapeError);
  EXPECT_THROW(reshape(none, {kMost + 1, 0}), ShapeError);
  EXPECT_THROW(broadcast_to(zeros({0, 1}), {0, kMost + 1}), ShapeError);
  EXPECT_THROW(concat({none, zeros({0, 1})}, 1), ShapeError);
  EXPECT_THROW(tile(zeros({0, 1}), {1, kMost + 1}), ShapeError);
  EXPECT_THROW(pad(none, {{0, 0}, {0, 1}}), ShapeError);
  EXPECT_THROW(random::uniform({0, kMost + 1}), ShapeError);
  EXPECT_THROW(one_hot(zeros({0}, int32), kMost + 1), Error);
  auto f = function([](const Tensor& x) { return concat({x, x}, 1); });
  EXPECT_THROW(f(none), ShapeError);
}

// Nothing is done for each of the four thousand million rows of no elements.
TEST(Lengths, OfAxesOfTensorsWithoutElementsCostNothing) {
  constexpr std::int64_t kMost = 4294967294;
  for (const Shape& shape : {Shape{kMost, 0}, Shape{0, kMost}}) {
    SCOPED_TRACE(shape.to_string());
    const Tensor none = zeros(shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      EXPECT_EQ(softmax(none, axis).shape(), shape);
      EXPECT_EQ(cumsum(none, axis).shape(), shape);
      EXPECT_EQ(sort(none, axis).shape(), shape);
      EXPECT_EQ(linear_recurrence(none, none, axis).shape(), shape);
      EXPECT_EQ(stack({none, none}, axis).size(), 0);
    }
    EXPECT_EQ(reduce_sum(none).item<float>(), 0);
  }
  EXPECT_THROW(diag(zeros({2}), {.k = kMost}), ShapeError);
}

TEST(Memory, ThatIsNotThereIsAnErrorOfTheLibrary) {
  const Tensor x = constant({1.0f, 2.0f, 3.0f});
  quantiles(x, 4);
  const MemoryLimit limit;
  try {
    quantiles(x, 1 << 24);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("memory"), std::string::npos);
  }
}

bool all_nan(const Tensor& x) { return reduce_all(is_nan(x)).item<bool>(); }
bool all_finite(const Tensor& x) { return reduce_all(is_finite(x)).item<bool>(); }

TEST(SingularMatrices, HaveARootWithoutADerivative) {
  const Tensor a = constant(std::vector<double>{4, 0, 0, 9, 0, 0, 0, 1}, {2, 2, 2});
  GradientTape tape;
  tape.watch(a);
  const Tensor g = tape.gradient(sqrtm(a), a);
  EXPECT_TRUE(all_nan(g(1)));
  const std::vector<double> regular = g(0).to_vector<double>();
  const double want[] = {0.25, 0.2, 0.2, 1.0 / 6};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(regular[i], want[i], 1e-14);
}

TEST(SingularMatrices, HaveNoDerivativeAndLeaveTheOthersTheirs) {
  const Tensor a = constant({{{1.0, 2.0}, {2.0, 4.0}}, {{2.0, 0.5}, {-1.0, 1.5}}}, float64);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor log = slogdet(a).log_abs_determinant;
  const QrFactors factors = qr(a * constant({{{1.0, 0.0}, {1.0, 0.0}}, {{1.0, 1.0}, {1.0, 1.0}}}, float64));
  const Tensor of_log = tape.gradient(log, a);
  EXPECT_TRUE(all_nan(of_log(0)));
  EXPECT_TRUE(all_finite(of_log(1)));
  const Tensor of_r = tape.gradient(factors.r, a);
  EXPECT_TRUE(all_finite(of_r(1)));
  EXPECT_FALSE(all_finite(of_r(0)));
}

TEST(Diagonals, BesideTheMatrixHaveZeroCotangents) {
  const auto gradient_of = [](const Tensor& x, const DiagOptions& options) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(diag(x, options), x);
  };
  EXPECT_EQ(gradient_of(zeros({0}), {.k = 3}).shape(), Shape({0}));
  const Tensor x = ones({2, 1});
  EXPECT_TRUE(same_bits(gradient_of(x, {.k = {0, 1}}), constant({{0.0f}, {1.0f}})));
}

TEST(Dropout, OfManyItemsDropsWhatIsNotFinite) {
  const Tensor x = fill({2, 64}, std::numeric_limits<float>::infinity());
  const Tensor mapped = vectorized_map([](const Tensor& row) { return keyed_dropout(row, 0.5, 7); }, x);
  EXPECT_TRUE(same_bits(mapped(0), keyed_dropout(x(0), 0.5, 7)));
}

TEST(Functions, GiveANaNTheBitsOfThePlainOp) {
  const Tensor x = constant({-1.0f, -0.0f, 2.0f, -std::numeric_limits<float>::infinity(), 3.0f, 1.0f, -5.0f, 0.5f});
  for (const DType dtype : {float32, float64}) {
    const Tensor y = cast(x, dtype);
    EXPECT_TRUE(same_bits(function([](const Tensor& t) { return log(t); })(y), log(y)));
    EXPECT_TRUE(same_bits(function([](const Tensor& t) { return log1p(t); })(y), log1p(y)));
    EXPECT_TRUE(same_bits(function([](const Tensor& t) { return xlogy(t, t); })(y), xlogy(y, y)));
  }
}

}  // namespace
}  // namespace capstan::testing
