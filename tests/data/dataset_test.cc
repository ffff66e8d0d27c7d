#include "capstan/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor counting(std::int64_t n) {
  Ints values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return constant(values);
}

template <class D>
Ints elements(const D& dataset) {
  Ints all;
  for (const Tensor& x : dataset) {
    for (std::int64_t value : x.template to_vector<std::int64_t>()) all.push_back(value);
  }
  return all;
}

TEST(Dataset, GivesPairsOfRows) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  const Tensor y = constant({10, 20, 30});
  int i = 0;
  for (const auto& [a, b] : from_tensor_slices(x, y)) {
    EXPECT_TRUE(equal_tensors(a, x(i)));
    EXPECT_EQ(b.item<int>(), 10 * ++i);
  }
  EXPECT_EQ(i, 3);
  EXPECT_THROW(from_tensor_slices(x, constant({1, 2})), ShapeError);
  EXPECT_THROW(from_tensor_slices(constant(1.0)), ShapeError);
}

TEST(Dataset, BatchesWithAShortLastOne) {
  const auto dataset = from_tensor_slices(counting(7));
  std::vector<Shape> shapes;
  for (const Tensor& x : dataset.batch(3)) shapes.push_back(x.shape());
  EXPECT_EQ(shapes, (std::vector<Shape>{{3}, {3}, {1}}));
  EXPECT_EQ(dataset.batch(3).size(), 3);
  EXPECT_EQ(dataset.batch(3, {.drop_remainder = true}).size(), 2);
  EXPECT_EQ(elements(dataset.batch(3, {.drop_remainder = true})), (Ints{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(elements(dataset.take(4).batch(2).batch(2)), (Ints{0, 1, 2, 3}));
  EXPECT_THROW(elements(dataset.batch(3).batch(3)), ShapeError);
  EXPECT_THROW(dataset.batch(0), ValueError);
}

TEST(Dataset, ShufflesEveryElementOnce) {
  const auto dataset = from_tensor_slices(counting(100)).shuffle(30, {.seed = 4});
  const Ints order = elements(dataset);
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, elements(from_tensor_slices(counting(100))));
  EXPECT_NE(order, sorted);
  // No element comes earlier than the buffer allows.
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_LE(order[i], static_cast<std::int64_t>(i) + 29);
}

// Rows of some kilobytes, and of bytes, in batches that several threads copy and in ones that they do not; also runs of
// rows, of which a batch has few.
TEST(Dataset, BatchesWholeRowsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    for (const std::int64_t width : {1, 7, 1000}) {
      const Tensor wide = reshape(counting(1000 * width), {1000, width});
      const Tensor narrow = cast(counting(1000), int32);
      for (const std::int64_t batch : {3, 64, 1000}) {
        const auto rows = from_tensor_slices(wide, narrow);
        Ints seen;
        const auto check = [&](const Tensor& xs, const Tensor& ys) {
          const Ints x = xs.to_vector<std::int64_t>();
          const auto y = ys.to_vector<std::int32_t>();
          ASSERT_EQ(x.size(), y.size() * static_cast<std::size_t>(width));
          for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_EQ(x[i], y[i / static_cast<std::size_t>(width)] * width + static_cast<std::int64_t>(i) % width);
          }
          for (const std::int32_t one : y) seen.push_back(one);
        };
        for (const auto& [x, y] : rows.shuffle(400, {.seed = 3}).batch(batch).prefetch(1)) check(x, y);
        for (const auto& [x, y] : rows.shuffle(400, {.seed = 3}).batch(batch)) check(x, y);
        for (const auto& [x, y] : rows.shard(2, 0).concatenate(rows.shard(2, 1)).batch(batch)) check(x, y);
        for (const auto& [x, y] : rows.take(900).repeat(2).batch(batch)) check(x, y);
        std::sort(seen.begin(), seen.end());
        Ints want;
        for (std::int64_t i = 0; i < 1000; ++i) want.insert(want.end(), i < 900 ? 5 : 3, i);
        EXPECT_EQ(seen, want) << threads << " " << width << " " << batch;
      }
    }
  }
  set_num_threads(before);
}

TEST(Dataset, ShufflesAnewInEveryPassButTheSameInEveryRun) {
  const auto make = [] { return from_tensor_slices(counting(50)).shuffle(50, {.seed = 4}); };
  const auto a = make();
  const auto b = make();
  const Ints first = elements(a);
  const Ints second = elements(a);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, elements(b));
  EXPECT_EQ(second, elements(b));
  const auto fixed = from_tensor_slices(counting(50)).shuffle(50, {.seed = 4, .reshuffle_each_iteration = false});
  EXPECT_EQ(elements(fixed), elements(fixed));
}

TEST(Dataset, FollowsTheProcessSeed) {
  const auto run = [] {
    set_seed(9);
    return elements(from_tensor_slices(counting(50)).shuffle(50));
  };
  EXPECT_EQ(run(), run());
}

TEST(Dataset, ShufflesBatchesOrExamples) {
  const auto examples = from_tensor_slices(counting(64));
  EXPECT_EQ(examples.batch(32).shuffle(500).size(), 2);
  int whole = 0;
  for (const Tensor& x : examples.batch(32).shuffle(500, {.seed = 1})) {
    whole += x(0).item<int>() % 32 == 0 && x(31).item<int>() == x(0).item<int>() + 31 ? 1 : 0;
  }
  EXPECT_EQ(whole, 2);
}

TEST(Dataset, RepeatsTakesAndSkips) {
  const auto dataset = from_tensor_slices(counting(5));
  EXPECT_EQ(elements(dataset.repeat(2)), (Ints{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  EXPECT_EQ(elements(dataset.repeat(0)), Ints{});
  EXPECT_EQ(elements(dataset.take(3)), (Ints{0, 1, 2}));
  EXPECT_EQ(elements(dataset.take(-1)), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(elements(dataset.skip(3)), (Ints{3, 4}));
  EXPECT_EQ(elements(dataset.skip(-1)), Ints{});
  EXPECT_EQ(dataset.skip(3).size(), 2);
  EXPECT_EQ(elements(dataset.prefetch(2)), elements(dataset));
}

TEST(Dataset, CanBeLargerThanAnyCount) {
  const std::int64_t many = std::int64_t{1} << 62;
  const auto dataset = from_tensor_slices(counting(3)).repeat(many);
  EXPECT_EQ(dataset.size(), INT64_MAX);
  EXPECT_EQ(dataset.batch(INT64_MAX).size(), 1);
  EXPECT_EQ(elements(dataset.take(4)), (Ints{0, 1, 2, 0}));
  // Nothing, however often.
  EXPECT_EQ(elements(from_tensor_slices(zeros({0}, int64)).repeat(many)), Ints{});
  EXPECT_EQ(elements(from_tensor_slices(counting(3)).take(0).repeat(many)), Ints{});
}

// A gradient with rows only is a tensor like any other.
TEST(Dataset, TakesRowSparseTensors) {
  const Tensor table = ones({3, 2});
  GradientTape tape;
  tape.watch(table);
  const Tensor gradient = tape.gradient(gather(table, constant({1})), table);
  ASSERT_TRUE(gradient.is_row_sparse());
  float sum = 0;
  for (const Tensor& row : from_tensor_slices(gradient)) sum += reduce_sum(row).item<float>();
  EXPECT_EQ(sum, 2);
}

TEST(Dataset, LoopsOutliveTheDataset) {
  auto dataset = std::make_unique<Dataset<Tensor>>(from_tensor_slices(counting(4)).shuffle(4, {.seed = 1}).batch(2));
  auto iterator = dataset->begin();
  dataset = nullptr;
  int count = 0;
  for (; iterator != std::default_sentinel; ++iterator) ++count;
  EXPECT_EQ(count, 2);
}

TEST(Dataset, RefusesAnIteratorPastTheEnd) {
  const auto refusal = [](const auto& use) { return testing::message_of<IndexError>(use); };
  const std::string text =
      "dataset: the iterator is past the last element\n  help: compare it with end() before it is read or moved on";
  const auto dataset = from_tensor_slices(counting(2), counting(2));
  auto iterator = dataset.begin();
  ++iterator;
  iterator++;
  EXPECT_TRUE(iterator == dataset.end());
  EXPECT_EQ(refusal([&] { ++iterator; }), text);
  EXPECT_EQ(refusal([&] { iterator++; }), text);
  EXPECT_EQ(refusal([&] { *iterator; }), text);
  const auto nothing = from_tensor_slices(zeros({0}));
  EXPECT_EQ(refusal([&] { *nothing.begin(); }), text);
  EXPECT_EQ(refusal([&] { *Dataset<Tensor>::Iterator(); }), text);
  EXPECT_EQ(refusal([&] { ++Dataset<Tensor>::Iterator(); }), text);
}

TEST(Dataset, RefusesAnEmptyTensor) {
  EXPECT_EQ(testing::message_of<ValueError>([] { from_tensor_slices(Tensor()); }),
            "from_tensor_slices: a tensor is empty\n  help: a missing gradient is an empty tensor; test it with "
            "has_value()");
}

// Its rows do not exist before the function is called.
TEST(Dataset, IsNotMadeOfTensorsOfATrace) {
  EXPECT_EQ(testing::message_of<TraceError>([] {
              function([](const Tensor& x) {
                from_tensor_slices(x);
                return x;
              })(ones({2}));
            }),
            "from_tensor_slices: float32[2] stands for a value of the traced function \"function\", which exists only "
            "when the function is called\n  help: return it from the function and read it there; choose by values with "
            "where() or cond()");
}

}  // namespace
}  // namespace capstan
