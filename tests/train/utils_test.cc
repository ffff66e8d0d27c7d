#include "capstan/utils.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

#include "capstan/capstan.h"

namespace capstan {
namespace {

TEST(Names, AreNumberedFromTheBeginningAfterClearSession) {
  clear_session();
  EXPECT_EQ(auto_name("block"), "block");
  EXPECT_EQ(auto_name("block"), "block_1");
  EXPECT_EQ(layers::Dense(1).name(), "dense");
  const layers::Dense second(1);
  EXPECT_EQ(second.name(), "dense_1");
  clear_session();
  EXPECT_EQ(second.name(), "dense_1") << "what is there keeps its name";
  EXPECT_EQ(layers::Dense(1).name(), "dense");
  EXPECT_EQ(auto_name("block"), "block");
}

TEST(ToCategorical, MakesOneHotRows) {
  EXPECT_EQ(to_categorical(constant({2, 0}), 3).to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(to_categorical(constant({2, 0})).shape(), (Shape{2, 3}));
  EXPECT_EQ(to_categorical(constant({{1}, {0}})).shape(), (Shape{2, 2}));
  EXPECT_EQ(to_categorical(constant({-1}), 3).to_vector<float>(), (std::vector<float>{0, 0, 1}));
  EXPECT_EQ(to_categorical(constant({1}, uint8), 2, float64).dtype(), float64);
  EXPECT_THROW(to_categorical(constant({3}), 3), IndexError);
  EXPECT_THROW(to_categorical(constant(std::vector<std::int64_t>{INT64_MAX}, {1})), IndexError);
  EXPECT_THROW(to_categorical(constant({true})), DTypeError);
}

TEST(Progress, PrintsOneLineWhereThereIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int steps = 0;
  for (const Tensor& x : progress(from_tensor_slices(zeros({7})), {.label = "epoch 1", .file_descriptor = ends[1]})) {
    steps += x.rank() == 0 ? 1 : 0;
  }
  close(ends[1]);
  char text[200] = {};
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  EXPECT_EQ(steps, 7);
  ASSERT_GT(length, 0);
  EXPECT_TRUE(std::string(text).starts_with("epoch 1 7/7 [==============================] ")) << text;
  EXPECT_EQ(std::string(text).find('\r'), std::string::npos);
  EXPECT_EQ(text[length - 1], '\n');
}

TEST(Progress, PrintsNothingForAnEmptyLoop) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const Tensor& x : progress(from_tensor_slices(zeros({0})), {.file_descriptor = ends[1]}))
    ADD_FAILURE() << x.to_string();
  close(ends[1]);
  char text[10];
  EXPECT_EQ(read(ends[0], text, sizeof text), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace capstan
