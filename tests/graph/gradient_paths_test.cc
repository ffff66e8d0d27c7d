#include "src/graph/gradient_paths.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/vectorized_map.h"

namespace capstan {
namespace {

using Numbers = std::vector<double>;

TEST(GradientPaths, LeadGradientsOfManyItems) {
  const Tensor rows = constant({{1.0, 2.0}, {3.0, 4.0}}, float64);
  const Tensor begin = constant({7.0, 8.0}, float64);
  GradientTape tape({.persistent = true});
  tape.watch(std::tie(rows, begin));
  const Tensor again = vectorized_map([&](const Tensor& row) { return square(reread(row, begin)); }, rows);
  EXPECT_EQ(again.to_vector<double>(), (Numbers{1, 4, 9, 16}));
  const auto [by_rows, by_begin] = tape.gradient(again, std::tuple(rows, begin));
  EXPECT_FALSE(by_rows.has_value());
  EXPECT_EQ(by_begin.to_vector<double>(), (Numbers{8, 12}));

  const Tensor others[] = {begin};
  const Tensor depends = vectorized_map([&](const Tensor& row) { return also_depends_on(square(row), others); }, rows);
  const auto [by_value, by_other] = tape.gradient(depends, std::tuple(rows, begin));
  EXPECT_EQ(by_value.to_vector<double>(), (Numbers{2, 4, 6, 8}));
  EXPECT_EQ(by_other.to_vector<double>(), (Numbers{0, 0}));

  // A value that is the same for all items, led to what differs.
  const Tensor led = vectorized_map([&](const Tensor& row) { return square(reread(begin, row)); }, rows);
  EXPECT_EQ(led.to_vector<double>(), (Numbers{49, 64, 49, 64}));
  EXPECT_EQ(tape.gradient(led, rows).to_vector<double>(), (Numbers{14, 16, 14, 16}));
}

}  // namespace
}  // namespace capstan
