#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

using namespace debugging;

TEST(Print, PrintsTextsNumbersTensorsAndLists) {
  std::ostringstream out;
  const Variable v(3.0f);
  print({.stream = &out}, "x is", constant({1.0, 2.0}), "and v", v, 4, 0.5, true, 'c');
  EXPECT_EQ(out.str(), "x is [1. 2.] and v 3.0 4 0.5 true c\n");
  out.str("");
  print({.stream = &out, .separator = "", .end = "!"}, "list ", std::vector<Tensor>{constant(1.0), constant(2)},
        std::vector<int>{3, 4}, " ", Tensor());
  EXPECT_EQ(out.str(), "list [1.0, 2][3, 4] none!");
  std::string text;
  print({.sink = [&](std::string_view t) { text += t; }}, "to a sink");
  EXPECT_EQ(text, "to a sink\n");
  EXPECT_THROW(print({.stream = &out, .sink = [](std::string_view) {}}, "both"), ValueError);
  ::testing::internal::CaptureStderr();
  print("a", 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "a 1\n");
}

TEST(Print, PrintsAtEveryCallInProgramOrder) {
  std::ostringstream out;
  const Variable v(1.0f);
  int traces = 0;
  auto f = function([&](const Tensor& x) {
    ++traces;
    print({.stream = &out}, "begin");
    v.assign_add(x);
    print({.stream = &out}, "v", v);
    print({.stream = &out}, "unused", x * 2);
    print({.stream = &out}, "begin");
    return v.value();
  });
  EXPECT_EQ(f(constant(1.0)).item<double>(), 2);
  EXPECT_EQ(out.str(), "begin\nv 2.0\nunused 2.0\nbegin\n");
  out.str("");
  EXPECT_EQ(f(constant(5.0)).item<double>(), 7);
  EXPECT_EQ(out.str(), "begin\nv 7.0\nunused 10.0\nbegin\n");
  EXPECT_EQ(traces, 1);
  EXPECT_NE(graph_text(f).find("= print("), std::string::npos);
}

TEST(Print, HappensOnceInACallThatIsDifferentiated) {
  std::ostringstream out;
  auto f = function([&](const Tensor& x) {
    print({.stream = &out}, "x", x);
    return x * x;
  });
  auto outer = function([&](const Tensor& x) {
    const Tensor first = f(x);
    return first + f(x + 1);
  });
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(tape.gradient(y, x).item<double>(), 6);
  EXPECT_EQ(out.str(), "x 3.0\n");
  out.str("");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(outer(x).item<double>(), 25);
  EXPECT_EQ(out.str(), "x 3.0\nx 4.0\nx 3.0\nx 4.0\n");
}

TEST(Print, ServesManyLengths) {
  std::ostringstream out;
  auto f = function([&](const Tensor& x) { print({.stream = &out}, x); }, {.input_signature = {TensorSpec({-1})}});
  for (int n : {2, 3, 4}) f(ones({n}));
  EXPECT_EQ(out.str(), "[1. 1.]\n[1. 1. 1.]\n[1. 1. 1. 1.]\n");
}

TEST(Assertions, PassOrSayWhatIsWrong) {
  const Tensor x = constant({1.0, 2.0, 3.0});
  assert_equal(x, x);
  assert_equal(constant({2, 2}), 2);
  assert_none_equal(x, 5);
  assert_less(x, 3.5);
  assert_less(0.5, x);
  assert_less_equal(x, 3);
  assert_greater(x, 0);
  assert_greater_equal(x, 1);
  assert_near(x, x + 1e-7);
  assert_near(x, x + 0.1, {.atol = 0.2});
  assert_positive(x);
  assert_negative(-x);
  assert_non_positive(-x * 0.0);
  assert_non_negative(x);
  assert_all_finite(x);
  assert_true(x > 0);
  assert_true(true);
  assert_equal(zeros({0}), ones({0}));
  assert_rank(x, 1);
  assert_type(x, float32);
  assert_shape(x, TensorSpec({-1}));
  EXPECT_EQ(message_of([&] {
              assert_less(x, constant({2.0, 2.0, 2.0}), {.message = "too large"});
            }),
            "assert_less: too large: x < y does not hold for 2 of 3 elements, the first at [1]: 2.0 and 2.0\n"
            "  x: float32[3]\n"
            "  y: float32[3]");
  EXPECT_EQ(message_of([&] { assert_equal(constant(1.0), 2); }),
            "assert_equal: x == y does not hold: 1.0 and 2.0\n  x: float32[]\n  y: float32[]");
  EXPECT_EQ(message_of([&] {
              assert_positive(constant({{1, 1}, {0, 1}}));
            }),
            "assert_positive: x > 0 does not hold for 1 of 4 elements, the first at [1, 0]: 0\n  x: int32[2, 2]");
  EXPECT_EQ(message_of([&] {
              assert_true(constant({true, false}), {x});
            }),
            "assert_true: x does not hold for 1 of 2 elements, the first at [1]: False\n  x: bool[2]\n"
            "  data: float32[3] [1. 2. 3.]");
  EXPECT_THROW(assert_near(x, x + 0.1), ValueError);
  EXPECT_THROW(assert_all_finite(x / 0.0), ValueError);
  EXPECT_THROW(assert_none_equal(x, 2), ValueError);
  EXPECT_THROW(assert_greater(x, 1), ValueError);
  EXPECT_THROW(assert_greater_equal(x, 2), ValueError);
  EXPECT_THROW(assert_less_equal(x, 2), ValueError);
  EXPECT_THROW(assert_negative(x), ValueError);
  EXPECT_THROW(assert_non_negative(-x), ValueError);
  EXPECT_THROW(assert_non_positive(x), ValueError);
  EXPECT_THROW(assert_rank(x, 2), ShapeError);
  EXPECT_THROW(assert_type(x, int32), DTypeError);
  EXPECT_THROW(assert_shape(x, TensorSpec({-1, 2})), ShapeError);
}

TEST(Assertions, RefuseWhatCannotBeCompared) {
  const Tensor x = ones({3});
  EXPECT_THROW(assert_equal(x, ones({2})), ShapeError);
  EXPECT_THROW(assert_equal(x, ones({3}, int32)), DTypeError);
  EXPECT_THROW(assert_true(x), DTypeError);
  EXPECT_THROW(assert_near(ones({3}, int32), 1), DTypeError);
  EXPECT_THROW(assert_all_finite(ones({3}, int32)), DTypeError);
  EXPECT_THROW(assert_equal(Tensor(), x), Error);
}

TEST(Assertions, HoldAtEveryCallAndAFailureChangesNoVariable) {
  const Variable v(1.0f);
  std::ostringstream out;
  auto f = function([&](const Tensor& x) {
    v.assign_add(x);
    print({.stream = &out}, "before");
    assert_greater(x, 0.0, {.message = "x must be positive"});
    print({.stream = &out}, "after");
    return v.value();
  });
  EXPECT_EQ(f(constant(2.0)).item<double>(), 3);
  EXPECT_EQ(message_of([&] { f(constant(-2.0)); }),
            "assert_greater: x must be positive: x > y does not hold: -2.0 and 0.0\n  x: float32[]\n  y: float32[]");
  EXPECT_EQ(v.item<double>(), 3);
  EXPECT_EQ(out.str(), "before\nafter\nbefore\n");
  EXPECT_EQ(f(constant(4.0)).item<double>(), 7);
  EXPECT_EQ(tracing_count(f), 1);
  auto mismatch = function([](const Tensor& x) { assert_equal(x, ones({2})); });
  EXPECT_THROW(mismatch(ones({3})), ShapeError);  // while it is traced
}

TEST(Assertions, AreNotRecorded) {
  const Variable v(1.0f);
  GradientTape tape;
  const Tensor x = v * 2;
  assert_positive(x);
  print({.sink = [](std::string_view) {}}, x);
  EXPECT_EQ(tape.gradient(x, v).item<double>(), 2);
}

// Dropout draws in a function what it draws without.
TEST(DropoutInFunctions, DropsWhatItDropsWithoutThem) {
  const Tensor x = random::normal({5, 8}, 0, 1, float32, 3);
  const auto run = [&](const auto& make, bool traced) {
    set_seed(11);
    layers::Dropout layer = make();
    const auto drop = [&](const Tensor& t) { return layer(t, {.training = true}); };
    auto compiled = function(drop);
    std::vector<float> all;
    for (int i = 0; i < 3; ++i) {
      for (const float value : (traced ? compiled(x) : drop(x)).template to_vector<float>()) all.push_back(value);
    }
    // One key more for a call outside.
    for (const float value : layer(x, {.training = true}).template to_vector<float>()) all.push_back(value);
    return all;
  };
  for (const auto& options : std::vector<layers::DropoutOptions>{
           {}, {.seed = 5}, {.noise_shape = Shape{-1, 1}}, {.noise_shape = Shape{-1, 1}, .seed = 5}}) {
    const auto make = [&] { return layers::Dropout(0.4, options); };
    EXPECT_EQ(run(make, true), run(make, false));
  }
  const auto direct = [&](bool traced) {
    set_seed(12);
    const auto drop = [](const Tensor& t) { return dropout(t, 0.4); };
    auto compiled = function(drop);
    drop(x);
    return (traced ? compiled(x) : drop(x)).template to_vector<float>();
  };
  EXPECT_EQ(direct(true), direct(false));
}

TEST(DropoutInFunctions, ItsGradientDropsTheSame) {
  const layers::Dropout layer(0.5, {.seed = 7});
  auto inside = function([&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = layer(x, {.training = true});
    return std::pair(y, tape.gradient(y, x));
  });
  auto outside = function([&](const Tensor& x) { return layer(x, {.training = true}); });
  const Tensor x = ones({50});
  const auto [y, slope] = inside(x);
  EXPECT_EQ(y.to_vector<float>(), slope.to_vector<float>());
  GradientTape tape;
  tape.watch(x);
  const Tensor z = outside(x);
  EXPECT_EQ(tape.gradient(z, x).to_vector<float>(), z.to_vector<float>());
  EXPECT_NE(z.to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(tracing_count(outside), 1);
}

TEST(DropoutInFunctions, ServesManyLengths) {
  const layers::Dropout rows(0.5, {.noise_shape = Shape{-1, 1}, .seed = 7});
  const layers::Dropout cells(0.5);
  auto f = function([&](const Tensor& x) { return cells(rows(x, {.training = true}), {.training = true}); },
                    {.input_signature = {TensorSpec({-1, 3})}});
  for (int n : {2, 3, 4, 5}) EXPECT_EQ(f(ones({n, 3})).shape(), (Shape{n, 3}));
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(HostDropoutMask, RefusesWhatMakesNoSense) {
  const Tensor x = ones({2, 3});
  EXPECT_THROW(host_dropout_mask(x, nullptr, {.rate = 1}), ValueError);
  EXPECT_THROW(host_dropout_mask(x, nullptr, {.rate = 0.5, .noise_shape = Shape{3}}), ShapeError);
  EXPECT_THROW(host_dropout_mask(ones({2}, int32), nullptr, {.rate = 0.5}), DTypeError);
}

TEST(HostUniform, DrawsWithTheSeedsOfEachCall) {
  const Tensor x = ones({2, 3});
  std::int64_t calls = 0;
  const auto seeds = [&] { return std::array<std::int64_t, 2>{4, calls++}; };
  auto traced = function([&](const Tensor& like) { return host_uniform(like, seeds, {.stateless = true}); });
  for (std::int64_t call = 0; call < 3; ++call) {
    const Tensor want = random::stateless_uniform({2, 3}, {4, call});
    EXPECT_EQ((call == 1 ? host_uniform(x, seeds, {.stateless = true}) : traced(x)).to_vector<float>(),
              want.to_vector<float>());
  }
  const auto one = [] { return std::array<std::int64_t, 2>{9, 0}; };
  EXPECT_EQ(host_uniform(x, one).to_vector<float>(), random::uniform({2, 3}, 0, 1, float32, 9).to_vector<float>());
  EXPECT_THROW(host_uniform(ones({2}, int32), nullptr), DTypeError);
  EXPECT_THROW(host_normal(ones({2}, int32), nullptr), DTypeError);
}

}  // namespace
}  // namespace capstan
