// Printing: what NumPy prints for the same array.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "capstan/ops/array.h"
#include "capstan/tape.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {
namespace {

TEST(Print, GivesAScalarItsShortestDigits) {
  EXPECT_EQ(constant(3.0).to_string(), "3.0");
  EXPECT_EQ(constant(0.1).to_string(), "0.1");
  EXPECT_EQ(constant(1e-5).to_string(), "1e-05");
  EXPECT_EQ(constant(1.5e20, float64).to_string(), "1.5e+20");
  EXPECT_EQ(constant(-7).to_string(), "-7");
  EXPECT_EQ(constant(true).to_string(), "True");
  EXPECT_EQ(constant(std::nan("")).to_string(), "nan");
}

TEST(Print, AlignsTheNumbersOfAnArray) {
  EXPECT_EQ(constant({1.0, 2.0, 3.0}).to_string(), "[1. 2. 3.]");
  EXPECT_EQ(constant({0.1, 0.25}).to_string(), "[0.1  0.25]");
  EXPECT_EQ(constant({-1.0, 10.5}).to_string(), "[-1.  10.5]");
  EXPECT_EQ(constant({{1, -20}, {300, 4}}).to_string(), "[[  1 -20]\n [300   4]]");
  EXPECT_EQ(constant({true, false}).to_string(), "[ True False]");
}

TEST(Print, RoundsToEightDigitsAfterThePoint) {
  EXPECT_EQ(constant({1.0 / 3, 2.0 / 3}, float64).to_string(), "[0.33333333 0.66666667]");
}

TEST(Print, TurnsToExponentsWhereNumbersDifferTooMuch) {
  EXPECT_EQ(constant({0.001, 10.0}).to_string(), "[1.e-03 1.e+01]");
  EXPECT_EQ(constant({1e-5, 1.25e-5}, float64).to_string(), "[1.00e-05 1.25e-05]");
  EXPECT_EQ(constant({1e8, 0.0}, float64).to_string(), "[1.e+08 0.e+00]");
  EXPECT_EQ(constant({1.0, 1e100}, float64).to_string(), "[1.e+000 1.e+100]");
}

TEST(Print, ShowsWhatIsNotANumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(constant({1.0, std::nan(""), -infinity}, float64).to_string(), "[  1.  nan -inf]");
}

TEST(Print, ElidesAboveAThousandElements) {
  EXPECT_EQ(range(1001).to_string(), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(zeros({2, 600}, int32).to_string(), "[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]]");
  EXPECT_EQ(range(1000).to_string().find("..."), std::string::npos);
  EXPECT_EQ(zeros({1001, 1}, int32).to_string(), "[[0]\n [0]\n [0]\n ...\n [0]\n [0]\n [0]]");
}

TEST(Print, BreaksLinesAt75Columns) {
  EXPECT_EQ(range(30).to_string(),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29]");
}

TEST(Print, SeparatesMatricesByAnEmptyLine) {
  EXPECT_EQ(reshape(range(8), {2, 2, 2}).to_string(), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
}

TEST(Print, SaysWhenThereIsNothingToShow) {
  EXPECT_EQ(zeros({0, 3}).to_string(), "[]");
  EXPECT_EQ(Tensor().to_string(), "nothing");
}

TEST(Print, ShowsTheRowsOfARowSparseTensor) {
  const Tensor table = constant({{1.0, 2.0}, {3.0, 4.0}});
  GradientTape tape;
  tape.watch(table);
  const Tensor gradient = tape.gradient(gather(table, constant({1})), table);
  EXPECT_EQ(gradient.to_string(), "rows of float32[2, 2]\nindices: [1]\nvalues: [[1. 1.]]");
}

TEST(Print, WritesToStreams) {
  std::ostringstream text;
  text << constant({1.0, 2.0}) << " " << Variable(3.0) << " " << Tensor() << " " << Shape({2, 3}) << " " << int32;
  EXPECT_EQ(text.str(), "[1. 2.] 3.0 nothing [2, 3] int32");
}

}  // namespace
}  // namespace capstan
