#include "src/core/step_loop.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/apply.h"
#include "src/emit/fused_loop.h"
#include "tests/support/compare.h"
#include "tests/support/traced.h"

namespace capstan {
namespace {

using testing::filled;
using testing::same_bits;

// Two slots; `factor` is a constant of the formula.
StepFormula formula(double factor) {
  return [factor](std::span<const Tensor> slots, const Tensor& g, std::span<const Tensor> numbers,
                  std::span<Tensor> after) {
    after[1] = maximum(slots[1] * factor, abs(g));
    after[0] = slots[0] - where(g > 0.0, numbers[0] * g / after[1], sqrt(after[1]));
  };
}

RecordedStep record(const Shape& shape, const StepFormula& f, DType dtype = float32) {
  return record_step("test", dtype, shape, 2, 1, f);
}

TEST(StepLoop, HasTheBitsOfTheFormulaOpByOp) {
  for (const bool emits : {true, false}) {
    // Different constants do not make different loops, so each way gets a formula of its own.
    emit_machine_code(emits);
    const StepFormula f = [&, base = formula(0.75)](auto slots, const Tensor& g, auto numbers,
                                                    std::span<Tensor> after) {
      base(slots, g, numbers, after);
      if (!emits) after[0] = after[0] + slots[1];
    };
    for (const DType dtype : {float32, float64}) {
      for (const std::int64_t n : {1, 7, 64, 1000, 5000}) {
        const Tensor w = filled({n}, 1, dtype), u = abs(filled({n}, 2, dtype)) + 0.5, g = filled({n}, 3, dtype);
        const Tensor rate = scalar(0.3, dtype);
        const RecordedStep step = record({n}, f, dtype);
        ASSERT_NE(step.loop, nullptr);
        ASSERT_EQ(step.loop->numbers, 1 + step.constants.size());
        for (const bool has_gradient : {true, false}) {
          const Tensor values[] = {w, u};
          Tensor after[] = {w, u};
          f(values, has_gradient ? g : zeros_like(g), std::span(&rate, 1), after);
          const Variable first(w), second(u);
          std::vector<const void*> numbers{rate.raw_data()};
          for (const Tensor& constant : step.constants) numbers.push_back(constant.raw_data());
          void* slots[] = {const_cast<void*>(first.value().raw_data()), const_cast<void*>(second.value().raw_data())};
          step.loop->run(slots, has_gradient ? g.raw_data() : nullptr, numbers.data(), n);
          EXPECT_TRUE(same_bits(first.value(), after[0])) << n << emits << has_gradient;
          EXPECT_TRUE(same_bits(second.value(), after[1])) << n << emits << has_gradient;
        }
      }
    }
  }
  emit_machine_code(true);
}

TEST(StepLoop, IsSharedByFormulasThatDifferInNumbersOnly) {
  const RecordedStep a = record({3}, formula(0.5));
  const RecordedStep b = record({2, 5}, formula(0.25));
  const RecordedStep scalar = record({}, formula(0.125));
  EXPECT_EQ(a.loop, b.loop);
  EXPECT_EQ(a.loop, scalar.loop);
  EXPECT_EQ(a.constants[0].item<float>(), 0.5f);
  EXPECT_EQ(b.constants[0].item<float>(), 0.25f);
  EXPECT_NE(a.loop, record({3}, formula(0.5), float64).loop);
}

TEST(StepLoop, IsNoneOfAFormulaThatIsMore) {
  using Slots = std::span<const Tensor>;
  using After = std::span<Tensor>;
  const Variable state(ones({4}));
  const std::vector<StepFormula> formulas = {
      [](Slots s, const Tensor& g, Slots, After after) { after[0] = s[0] - g / reduce_sum(g); },
      [](Slots s, const Tensor& g, Slots, After after) { after[0] = s[0] - reverse(g, {0}); },
      [](Slots, const Tensor& g, Slots, After after) { after[0] = g; },  // nothing is computed
      [](Slots s, const Tensor&, Slots, After after) {
        after[0] = s[0] + constant({1.0, 2.0, 3.0, 4.0});
      },
      [&](Slots s, const Tensor& g, Slots, After after) {
        state.assign_add(g);
        after[0] = s[0] - g;
      },
      [&](Slots s, const Tensor& g, Slots, After after) { after[0] = s[0] - g * state; },
      [](Slots s, const Tensor& g, Slots, After after) { after[0] = s[0] - g * random::normal({4}); },
      [](Slots s, const Tensor& g, Slots, After after) { after[0] = s[0] - g * host_value([] { return 1.0; }); },
      [](Slots s, const Tensor& g, Slots, After after) { after[0] = s[0] - cast(cast(g, float64), float32); },
  };
  for (std::size_t i = 0; i < formulas.size(); ++i) EXPECT_EQ(record({4}, formulas[i]).loop, nullptr) << i;
  EXPECT_EQ(record({0}, formula(0.5)).loop, nullptr);
  EXPECT_TRUE(same_bits(state.value(), ones({4})));
}

}  // namespace
}  // namespace capstan
