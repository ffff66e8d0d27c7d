// Loops over rows: map_fn, scan, foldl, foldr.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/control_flow.h"
#include "tests/transforms/control_cases.h"

namespace capstan {
namespace {

using testing::expect_same_everywhere;
using testing::message_of;
using testing::numbers;
using testing::vector64;
using List = std::vector<Tensor>;

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  return sin(cast(reshape(range(0, rows * columns), {rows, columns}), float64));
}

TEST(MapFn, StacksWhatTheFunctionGives) {
  expect_same_everywhere(
      [](const List& in) { return map_fn([](const Tensor& row) { return reduce_sum(row * row); }, in[0]); },
      {matrix(3, 2)});
  // Pairs of rows, and a captured tensor.
  expect_same_everywhere(
      [](const List& in) {
        return map_fn([&](const Tensor& a, const Tensor& b) { return a * reduce_sum(b) + in[2]; },
                      std::tuple(in[0], in[1]));
      },
      {matrix(3, 2), matrix(3, 4), vector64({1.0, 2.0})});
  auto f = function([](const Tensor& x) { return map_fn([](const Tensor& row) { return row + 1; }, x); });
  EXPECT_EQ(numbers(f(constant({1.0, 2.0}))), (std::vector<double>{2, 3}));
  EXPECT_EQ(numbers(f(constant({1.0}))), (std::vector<double>{2}));
}

TEST(MapFn, TakesAndReturnsStructures) {
  using Named = std::map<std::string, Tensor>;
  const auto f = [](const Tensor& x) {
    return map_fn([](const Named& row) { return std::pair(row.at("a") * 2, List{cast(row.at("b"), int32)}); },
                  Named{{"a", x}, {"b", x + 0.5}});
  };
  for (const bool traced : {false, true}) {
    const auto [doubled, whole] = traced ? function(f)(constant({1.0, 2.75})) : f(constant({1.0, 2.75}));
    EXPECT_EQ(numbers(doubled), (std::vector<double>{2, 5.5}));
    EXPECT_EQ(numbers(whole[0]), (std::vector<double>{1, 3}));
    EXPECT_EQ(whole[0].dtype(), int32);
  }
}

TEST(MapFn, OfNoRows) {
  const auto f = [](const Tensor& x) {
    return map_fn([](const Tensor& row) { return std::pair(reduce_sum(row), cast(row, int32)); }, x);
  };
  for (const bool traced : {false, true}) {
    const Tensor x = zeros({0, 2}, float64);
    GradientTape tape;
    tape.watch(x);
    const auto [sums, casts] = traced ? function(f)(x) : f(x);
    EXPECT_EQ(sums.shape(), (Shape{0}));
    EXPECT_EQ(sums.dtype(), float64);
    EXPECT_EQ(casts.shape(), (Shape{0, 2}));
    EXPECT_EQ(casts.dtype(), int32);
    EXPECT_FALSE(tape.gradient(sums, x).has_value());
  }
}

TEST(MapFn, OfNoRowsMakesLayers) {
  layers::Dense dense(3);
  EXPECT_EQ(map_fn([&](const Tensor& row) { return dense(row); }, zeros({0, 4, 5})).shape(), (Shape{0, 4, 3}));
  EXPECT_EQ(dense(zeros({4, 5})).shape(), (Shape{4, 3}));
}

TEST(MapFn, GradientsInTheFunction) {
  expect_same_everywhere(
      [](const List& in) {
        return map_fn(
            [](const Tensor& row) {
              GradientTape tape;
              tape.watch(row);
              return tape.gradient(reduce_sum(sin(row) * row), row);
            },
            in[0]);
      },
      {matrix(2, 3)});
}

TEST(Scan, CarriesOnFromRowToRow) {
  for (const bool reverse : {false, true}) {
    expect_same_everywhere(
        [&](const List& in) {
          return scan([&](const Tensor& a, const Tensor& t) { return tanh(a * in[2] + t); }, in[0], in[1],
                      {.reverse = reverse});
        },
        {matrix(4, 2), vector64({0.1, 0.2}), vector64({0.5, -0.8})});
  }
  const auto sums = [](const Tensor& x) {
    return scan([](const Tensor& a, const Tensor& t) { return a + t; }, x, constant(10.0), {.reverse = true});
  };
  EXPECT_EQ(numbers(sums(constant({1.0, 2.0, 4.0}))), (std::vector<double>{17, 16, 14}));
  EXPECT_EQ(numbers(function(sums)(constant({1.0, 2.0, 4.0}))), (std::vector<double>{17, 16, 14}));
  EXPECT_EQ(function(sums)(zeros({0})).shape(), (Shape{0}));
  EXPECT_EQ(sums(zeros({0})).shape(), (Shape{0}));
}

TEST(Scan, BeginsWithTheFirstRow) {
  for (const bool reverse : {false, true}) {
    const auto products = [&](const List& in) {
      return scan([](const Tensor& a, const Tensor& t) { return a * t; }, in[0], {.reverse = reverse});
    };
    expect_same_everywhere(products, {matrix(4, 2)});
    expect_same_everywhere(products, {matrix(1, 2)});
    EXPECT_EQ(numbers(products({constant({1.0, 2.0, 4.0})})),
              reverse ? (std::vector<double>{8, 8, 4}) : (std::vector<double>{1, 2, 8}));
  }
}

TEST(Scan, ReadsRowsOfATable) {
  expect_same_everywhere(
      [](const List& in) {
        return scan([&](const Tensor& h, const Tensor& k) { return tanh(h + gather(in[0], k)); },
                    constant({2, 0, 2, 1}), in[1]);
      },
      {matrix(3, 2), vector64({0.1, 0.2})});
}

TEST(Scan, OfStructures) {
  const auto f = [](const Tensor& x) {
    return scan(
        [](const std::pair<Tensor, Tensor>& state, const std::tuple<Tensor, Tensor>& row) {
          return std::pair(state.first + std::get<0>(row), state.second * std::get<1>(row));
        },
        std::tuple(x, x + 1), std::pair(constant(0.0), constant(1.0)));
  };
  for (const bool traced : {false, true}) {
    const auto [sums, products] = traced ? function(f)(constant({1.0, 2.0})) : f(constant({1.0, 2.0}));
    EXPECT_EQ(numbers(sums), (std::vector<double>{1, 3}));
    EXPECT_EQ(numbers(products), (std::vector<double>{2, 6}));
  }
}

TEST(Fold, FromEitherEnd) {
  const auto step = [](const Tensor& a, const Tensor& t) { return a / 2 + t * t; };
  const Tensor zero = constant(0.0, float64);
  expect_same_everywhere([&](const List& in) { return foldl(step, in[0], zero); }, {vector64({1.6, -0.8, 0.6, 0.7})});
  expect_same_everywhere([&](const List& in) { return foldr(step, in[0], zero); }, {vector64({1.6, -0.8, 0.6, 0.7})});
  expect_same_everywhere([&](const List& in) { return foldl(step, in[0]); }, {matrix(3, 2)});
  expect_same_everywhere([&](const List& in) { return foldr(step, in[0]); }, {matrix(3, 2)});
  const auto append = [](const Tensor& a, const Tensor& t) { return a * 10 + t; };
  EXPECT_EQ(foldl(append, constant({1, 2, 3})).item<int>(), 123);
  EXPECT_EQ(foldr(append, constant({1, 2, 3})).item<int>(), 321);
  EXPECT_EQ(foldr(append, constant({1, 2, 3}), constant(9)).item<int>(), 9321);
  EXPECT_EQ(foldl(append, zeros({0}, int32), constant(9)).item<int>(), 9);
}

TEST(Rows, OneNodeWhateverTheirNumber) {
  int runs = 0;
  auto f = function([&](const Tensor& x) {
    return scan([&](const Tensor& a, const Tensor& t) { return ++runs, a + t; }, x, constant(0.0));
  });
  EXPECT_EQ(f(ones({100}))(-1).item<double>(), 100);
  EXPECT_EQ(f(ones({100}) * 2)(-1).item<double>(), 200);
  EXPECT_EQ(runs, 1);
  EXPECT_NE(graph_text(f).find("scan(0:float32, %0, rows=100) float32[] float32[100]\n  body("), std::string::npos)
      << graph_text(f);
}

TEST(Rows, SayWhatIsWrong) {
  const auto row = [](const Tensor& a) { return a; };
  const auto rows = [](const Tensor& a, const Tensor&) { return a; };
  const Tensor two = constant({1.0, 2.0}), three = constant({1.0, 2.0, 3.0}), scalar = constant(1.0);
  EXPECT_NE(message_of([&] { map_fn(rows, std::pair(two, three)); }).find("map_fn: the elements have 2 and 3 rows"),
            std::string::npos);
  EXPECT_THROW(function([&](const Tensor& x) { return map_fn(rows, std::pair(x, three)); })(two), ShapeError);
  EXPECT_NE(message_of([&] { map_fn(row, scalar); }).find("map_fn: tensor 0 of the elements is a scalar"),
            std::string::npos);
  EXPECT_THROW(scan(rows, scalar), ShapeError);
  EXPECT_THROW(scan(rows, scalar, scalar), ShapeError);
  EXPECT_THROW(map_fn([](const List& a) { return a; }, List{}), ValueError);
  EXPECT_NE(message_of([&] {
              scan(rows, zeros({0, 2}));
            }).find("scan: the elements have no rows, and there is no"),
            std::string::npos);
  EXPECT_THROW(foldl(rows, zeros({0})), ValueError);
  const auto wider = [](const Tensor& a, const Tensor&) { return cast(a, float64); };
  const auto longer = [](const Tensor& a, const Tensor&) { return stack({a, a}); };
  EXPECT_NE(message_of([&] { scan(wider, two, scalar); }).find("scan: loop variable 0 is float32 before the body"),
            std::string::npos);
  EXPECT_NE(message_of([&] { foldl(longer, two, scalar); }).find("foldl: loop variable 0 has shape [] before"),
            std::string::npos);
  EXPECT_THROW(function([&](const Tensor& x) { return scan(longer, x, scalar); })(two), ShapeError);
  EXPECT_THROW(function([&](const Tensor& x) { return foldr(wider, x, scalar); })(two), DTypeError);
  int calls = 0;
  EXPECT_NE(message_of([&] {
              map_fn([&](const Tensor& a) { return ++calls == 1 ? a : stack({a, a}); }, two);
            }).find("map_fn: result 0 of row 1 has shape [2], that of row 0 []"),
            std::string::npos);
  EXPECT_THROW(map_fn([](const Tensor&) { return Tensor(); }, two), ValueError);
  EXPECT_THROW(function([](const Tensor& x) { return map_fn([](const Tensor&) { return Tensor(); }, x); })(two),
               ValueError);
}

}  // namespace
}  // namespace capstan
