// What elements of datasets can be: numbers, texts, structures, types of users.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {

struct Point {
  double x = 0;
  std::string name;
};
struct Points {
  std::vector<Point> all;
};
template <>
struct DatasetTraits<Point> {
  using Batch = Points;
  static Points batch(const std::vector<Point>& items) { return {items}; }
  static std::vector<Tensor> save(const Point& point) {
    const std::vector<std::int64_t> name(point.name.begin(), point.name.end());
    return {constant(point.x, float64), constant(name)};
  }
  static Point restore(const std::vector<Tensor>& tensors) {
    Point point{tensors.at(0).item<double>(), ""};
    for (const std::int64_t letter : tensors.at(1).to_vector<std::int64_t>()) point.name += static_cast<char>(letter);
    return point;
  }
};
template <>
struct DatasetTraits<Points> {
  using Item = Point;
  static std::vector<Point> unbatch(const Points& points) { return points.all; }
};

struct Sample {
  Tensor image, label;
};
template <>
struct Structure<Sample> : Members<&Sample::image, &Sample::label> {};

namespace {

using testing::elements_of;
using testing::Words;

// Copied, and nothing else.
struct Opaque {
  explicit Opaque(int value) : value(value) {}
  int value;
};

TEST(ElementTypes, NumbersAreNumbersAndTheirBatchesTensors) {
  static_assert(std::is_same_v<decltype(datasets::range(3)), Dataset<std::int64_t>>);
  static_assert(std::is_same_v<decltype(datasets::range(3).batch(2)), Dataset<Tensor>>);
  EXPECT_EQ(elements_of(datasets::range(3).batch(2)), (Words{"int64[2][0 1]", "int64[1][2]"}));
  const auto mixed = from_range(std::vector<std::tuple<bool, float, std::uint8_t>>{{true, 0.5F, 7}, {false, 1.5F, 8}});
  static_assert(std::is_same_v<decltype(mixed), const Dataset<bool, float, std::uint8_t>>);
  const auto [a, b, c] = mixed.batch(2).get_single_element();
  EXPECT_EQ(a.dtype(), bool_);
  EXPECT_EQ(a.to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0.5F, 1.5F}));
  EXPECT_EQ(c.dtype(), uint8);
}

TEST(ElementTypes, BatchesOfTextsAreTexts) {
  const auto words = from_tensor_slices(Texts{"a", "bc", "d"});
  static_assert(std::is_same_v<decltype(words), const Dataset<std::string>>);
  static_assert(std::is_same_v<decltype(words.batch(2)), Dataset<Texts>>);
  EXPECT_EQ(elements_of(words), (Words{"\"a\"", "\"bc\"", "\"d\""}));
  EXPECT_EQ(elements_of(words.batch(2)), (Words{"a,bc,;", "d,;"}));
  EXPECT_EQ(elements_of(words.batch(2).batch(2)), (Words{"a,bc,;d,;"}));
  EXPECT_EQ(elements_of(words.batch(2).unbatch()), elements_of(words));
  EXPECT_EQ(elements_of(words.batch(2).rebatch(3)), (Words{"a,bc,d,;"}));
  EXPECT_EQ(elements_of(words.batch(2).batch(2).unbatch()), Words{"error: unbatch: texts of rank 2 are no list"});
  EXPECT_EQ(elements_of(from_range(std::vector<const char*>{"x"})), Words{"\"x\""});
}

TEST(ElementTypes, TextsStandBesideTensors) {
  const auto pairs = from_tensor_slices(std::vector<std::string>{"a", "b"}, constant({1, 2}));
  static_assert(std::is_same_v<decltype(pairs), const Dataset<std::string, Tensor>>);
  EXPECT_EQ(elements_of(pairs), (Words{"\"a\"|int32[]1|", "\"b\"|int32[]2|"}));
  EXPECT_EQ(pairs.size(), 2);
  EXPECT_EQ(testing::message_of<ShapeError>([] {
              from_tensor_slices(Texts{"a"}, constant({1, 2}));
            }),
            "from_tensor_slices: numbers of rows differ, 1 and 2");
  EXPECT_EQ(testing::message_of<ShapeError>([] { from_tensor_slices(Texts("a"), constant({1})); }),
            "from_tensor_slices: texts of rank 0 are no list");
}

TEST(ElementTypes, StructuresOfTensorsKeepTheirForm) {
  using Map = std::map<std::string, Tensor>;
  const auto maps = from_tensor_slices(Map{{"a", constant({1, 2, 3})}, {"b", constant({{1.0}, {2.0}, {3.0}})}});
  static_assert(std::is_same_v<decltype(maps.batch(2)), Dataset<Map>>);
  EXPECT_EQ(maps.size(), 3);
  EXPECT_EQ(elements_of(maps.take(1)), (Words{"a:int32[]1 b:float32[1][1.] "}));
  EXPECT_EQ(elements_of(maps.batch(2).skip(1)), (Words{"a:int32[1][3] b:float32[1, 1][[3.]] "}));
  EXPECT_EQ(elements_of(maps.batch(2).unbatch()), elements_of(maps));

  const auto samples = from_tensor_slices(Sample{zeros({4, 2}), constant({0, 1, 2, 3})}).batch(3);
  const Sample first = *samples.begin().next();
  EXPECT_EQ(first.image.shape(), (Shape{3, 2}));
  EXPECT_EQ(first.label.to_vector<int>(), (std::vector<int>{0, 1, 2}));
  EXPECT_THROW(from_tensor_slices(Sample{zeros({4, 2}), constant({0, 1})}), ShapeError);
}

TEST(ElementTypes, TypesOfUsersHaveTheBatchesThatTheyName) {
  const auto points = from_range(std::vector<Point>{{1, "a"}, {2, "b"}, {3, "c"}});
  const auto batches = points.batch(2);
  static_assert(std::is_same_v<decltype(batches), const Dataset<Points>>);
  auto iterator = batches.begin();
  EXPECT_EQ(iterator.next()->all[1].name, "b");
  EXPECT_EQ(iterator.next()->all.size(), 1U);
  EXPECT_FALSE(iterator.next().has_value());
  std::string names;
  for (const Point& point : batches.unbatch().shuffle(1)) names += point.name;
  EXPECT_EQ(names, "abc");
}

TEST(ElementTypes, AnythingThatIsCopiedGoesThrough) {
  const auto opaque = datasets::range(4).map([](std::int64_t x) { return Opaque(static_cast<int>(x)); });
  int sum = 0;
  for (const Opaque& one : opaque.shuffle(4).repeat(2).take(8).cache().prefetch(1)) sum += one.value;
  EXPECT_EQ(sum, 12);
}

TEST(ElementTypes, FunctionsGetPartsAndGiveTuples) {
  const auto squares =
      datasets::range(3).map([](std::int64_t x) { return std::tuple(x, std::string(3, 'x'), Variable(2.0F)); });
  static_assert(std::is_same_v<decltype(squares), const Dataset<std::int64_t, std::string, Tensor>>);
  EXPECT_EQ(elements_of(squares.take(1)), Words{"0|\"xxx\"|float32[]2.0|"});
  const auto back = squares.map(
      [](std::int64_t x, const std::string& s, const Tensor&) { return x + static_cast<std::int64_t>(s.size()); });
  EXPECT_EQ(elements_of(back), (Words{"3", "4", "5"}));
}

TEST(ElementTypes, ErrorsOfBatchesSayWhy) {
  const auto ragged = datasets::range(1, 4).map([](std::int64_t n) { return zeros({n}); });
  EXPECT_EQ(elements_of(ragged.batch(2)),
            (Words{"error: batch: element 1 is float32[2], the first float32[1]", "float32[1, 3][[0. 0. 0.]]"}));
  const auto empty = datasets::range(1).map([](std::int64_t) { return Tensor(); });
  EXPECT_EQ(elements_of(empty.batch(1)),
            Words{"error: batch: a tensor is empty\n  help: a missing gradient is an empty tensor; test it with "
                  "has_value()"});
  const auto deep = from_tensors(zeros({1, 1, 1, 1, 1, 1, 1, 1})).batch(1);
  EXPECT_EQ(elements_of(deep), Words{"error: batch: elements of rank 8 cannot be joined, the highest rank is 8"});
}

// An object that counts its copies.
struct Counted {
  Counted(int n, int* count) : number(n), copies(count) {}
  Counted(const Counted& other) : number(other.number), copies(other.copies) { ++*copies; }
  Counted(Counted&& other) noexcept : number(std::exchange(other.number, -1)), copies(other.copies) {}
  Counted& operator=(const Counted&) = delete;
  int number;
  int* copies;
};

// A loop gets an object that nothing else holds without a copy, and one of its own where a source or a buffer keeps it.
TEST(ElementTypes, ObjectsAreCopiedOnlyWhereTheyAreKept) {
  int copies = 0;
  const auto numbers_of = [](const auto& dataset) {
    std::vector<int> numbers;
    auto iterator = dataset.begin();
    while (auto element = iterator.next()) numbers.push_back(element->number);
    return numbers;
  };
  const auto made = datasets::range(3).map([&](std::int64_t x) { return Counted(static_cast<int>(x), &copies); });
  EXPECT_EQ(numbers_of(made), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(numbers_of(made.shuffle(1)), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(copies, 0);
  for (const auto& kept :
       {made.cache().repeat(2),
        from_range(std::vector{Counted(0, &copies), Counted(1, &copies), Counted(2, &copies)}).repeat(2)}) {
    copies = 0;
    EXPECT_EQ(numbers_of(kept), (std::vector<int>{0, 1, 2, 0, 1, 2}));
    EXPECT_GE(copies, 3);
    EXPECT_EQ(numbers_of(kept), (std::vector<int>{0, 1, 2, 0, 1, 2}));
  }
}

}  // namespace
}  // namespace capstan
