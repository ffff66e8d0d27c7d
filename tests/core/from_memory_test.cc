// Tensors over memory of others.
#include "capstan/memory.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/variable.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

// Numbers that tell when the last owner is gone, and a tensor of them.
struct Lent {
  bool is_freed = false;
  std::vector<float> values = {1, 2, 3, 4, 5, 6};

  Tensor tensor(const Shape& shape = {2, 3}, std::size_t first = 0) {
    std::shared_ptr<const void> memory(values.data() + first, [this](const void*) { is_freed = true; });
    return from_memory(std::move(memory), float32, shape);
  }
};

TEST(FromMemory, IsATensorWithoutACopy) {
  Lent lent;
  const Tensor x = lent.tensor();
  EXPECT_EQ(x.raw_data(), lent.values.data());
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(reduce_sum(x * x).item<float>(), 91);
  EXPECT_EQ(matmul(x, x, {.transpose_b = true}).to_vector<float>(), (std::vector<float>{14, 32, 32, 77}));
}

TEST(FromMemory, IsSharedByAllThatRefersToTheElements) {
  Lent lent;
  Tensor x = lent.tensor(), row = x(1), flat = reshape(x, {6});
  x = {};
  EXPECT_FALSE(lent.is_freed);
  EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{4, 5, 6}));
  row = {};
  EXPECT_FALSE(lent.is_freed);
  EXPECT_EQ(flat(5).item<float>(), 6);
  flat = {};
  EXPECT_TRUE(lent.is_freed);
}

// A temporary whose buffer an op takes for its result, values of variables that are updated, parts of a function.
TEST(FromMemory, IsNeverWritten) {
  Lent lent;
  const std::vector<float> before = lent.values;
  EXPECT_EQ(reduce_sum(exp(lent.tensor() * 0.0f) + 1.0f).item<float>(), 12);
  EXPECT_EQ((lent.tensor() + 1.0f)(0, 0).item<float>(), 2);
  Variable v(lent.tensor());
  v.assign_add(ones({2, 3}));
  v.assign(lent.tensor());
  v.assign_sub(ones({2, 3}));
  EXPECT_EQ(v.value()(0, 0).item<float>(), 0);
  const Tensor x = lent.tensor();
  auto f = function([&](const Tensor& y) {
    Tensor z = y * 2.0f + x;
    v.assign(z);
    v.assign_add(z);
    return z + 1.0f;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(lent.tensor())(1, 2).item<float>(), 19);
  EXPECT_EQ(v.value()(1, 2).item<float>(), 36);
  EXPECT_EQ(lent.values, before);
}

TEST(FromMemory, HasGradients) {
  Lent lent;
  const Tensor x = lent.tensor();
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reduce_sum(x * x);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST(FromMemory, TakesAnyAddressOfAnElement) {
  Lent lent;
  for (std::size_t first = 0; first < 6; ++first) {
    const Tensor x = lent.tensor({static_cast<std::int64_t>(6 - first)}, first);
    EXPECT_EQ((x * 2.0f)(0).item<float>(), 2 * lent.values[first]);
  }
}

TEST(FromMemory, OfNoElementsNeedsNoMemory) {
  const Tensor x = from_memory(nullptr, float64, {0, 4});
  EXPECT_EQ(x.shape(), (Shape{0, 4}));
  EXPECT_EQ(reduce_sum(x).item<double>(), 0);
}

TEST(FromMemory, RefusesNoMemoryAndOddAddresses) {
  EXPECT_EQ(message_of<ValueError>([] { from_memory(nullptr, float32, {2}); }),
            "from_memory: there is no memory for [2]");
  Lent lent;
  const auto* const bytes = reinterpret_cast<const std::byte*>(lent.values.data());
  const std::string message = message_of<ValueError>([&] {
    from_memory({std::shared_ptr<void>(), bytes + 2}, float32, {2});
  });
  EXPECT_NE(message.find("is no multiple of 4, the alignment of float32"), std::string::npos) << message;
  EXPECT_THROW(from_memory({std::shared_ptr<void>(), bytes}, float32, {-1}), ShapeError);
}

}  // namespace
}  // namespace capstan
