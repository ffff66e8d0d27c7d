// The program mnist has no library, so the test takes its source in.
#include "examples/mnist/picture.cc"

#include <gtest/gtest.h>

#include <limits>

namespace mnist {
namespace {

// Digit i is a flat grey of 10 * i, so that a pixel of the picture tells which digit it shows.
struct Set {
  std::vector<uint8_t> images, labels, predicted;
  std::vector<float> confidence;

  void add(uint8_t label, uint8_t prediction, float sure) {
    images.insert(images.end(), kSide * kSide, static_cast<uint8_t>(10 * labels.size()));
    labels.push_back(label);
    predicted.push_back(prediction);
    confidence.push_back(sure);
  }
  operator Predictions() const { return {images, labels, predicted, confidence}; }
};

constexpr int kZoom = 3;
constexpr int kCellWidth = kSide * kZoom + kMargin;
constexpr int kCellHeight = kGlyphHeight + kMargin + kSide * kZoom + 2 * kMargin;

const uint8_t* pixel(const Picture& picture, int x, int y) {
  return &picture.pixels[(static_cast<size_t>(y) * picture.width + x) * 3];
}

// The grey in the middle of a cell.
int shown_at(const Picture& picture, int column, int row) {
  return *pixel(picture, kMargin + column * kCellWidth + 42, kMargin + row * kCellHeight + 11 + 42);
}

// The character whose glyph stands at a place, whatever its colour; '?' if none does.
char read_character(const Picture& picture, int x, int y) {
  for (const Glyph& glyph : kFont) {
    bool same = true;
    for (int row = 0; row < kGlyphHeight; ++row) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        const bool inked = *pixel(picture, x + column, y + row) != kPaper.red;
        same = same && inked == (glyph.rows[row][column] == '#');
      }
    }
    if (same) return glyph.character;
  }
  return '?';
}

std::string caption_at(const Picture& picture, int column, int row, int length) {
  std::string text;
  for (int i = 0; i < length; ++i) {
    text += read_character(picture, kMargin + column * kCellWidth + i * kLetterStep, kMargin + row * kCellHeight);
  }
  return text;
}

TEST(DrawMistakes, ShowsTheSurestFirst) {
  Set set;
  set.add(1, 1, 0.99f);
  set.add(4, 9, 0.50f);
  set.add(7, 2, 0.97f);
  set.add(3, 8, std::numeric_limits<float>::quiet_NaN());
  set.add(5, 6, 0.75f);
  size_t shown = 0;
  const Picture picture = draw_mistakes(set, {}, &shown);
  EXPECT_EQ(shown, 4u);
  EXPECT_EQ(shown_at(picture, 0, 0), 20);
  EXPECT_EQ(shown_at(picture, 1, 0), 40);
  EXPECT_EQ(shown_at(picture, 2, 0), 10);
  EXPECT_EQ(shown_at(picture, 3, 0), 30);
  EXPECT_EQ(picture.width, 4 * kCellWidth + kMargin);
  EXPECT_EQ(picture.height, kCellHeight + kMargin);
  EXPECT_EQ(picture.pixels.size(), static_cast<size_t>(picture.width) * picture.height * 3);
}

TEST(DrawMistakes, WritesTrueAndPredictedAndConfidence) {
  Set set;
  set.add(4, 9, 0.974f);
  set.add(0, 3, 1.0f);
  const Picture picture = draw_mistakes(set);
  EXPECT_EQ(caption_at(picture, 0, 0, 3), "0>3");
  EXPECT_EQ(caption_at(picture, 0, 0, 8).substr(4), "100%");
  EXPECT_EQ(caption_at(picture, 1, 0, 3), "4>9");
  EXPECT_EQ(caption_at(picture, 1, 0, 7).substr(4), "97%");
}

TEST(DrawMistakes, FillsRowsAndStopsWhereTheGridEnds) {
  Set set;
  for (int i = 0; i < 9; ++i) set.add(1, 2, 0.9f - 0.1f * static_cast<float>(i));
  size_t shown = 0;
  const Picture picture = draw_mistakes(set, {.columns = 3, .rows = 2}, &shown);
  EXPECT_EQ(shown, 6u);
  EXPECT_EQ(picture.width, 3 * kCellWidth + kMargin);
  EXPECT_EQ(picture.height, 2 * kCellHeight + kMargin);
  EXPECT_EQ(shown_at(picture, 2, 0), 20);
  EXPECT_EQ(shown_at(picture, 0, 1), 30);
}

TEST(DrawMistakes, SaysThatThereAreNone) {
  Set set;
  set.add(4, 4, 0.9f);
  size_t shown = 7;
  const Picture picture = draw_mistakes(set, {}, &shown);
  EXPECT_EQ(shown, 0u);
  std::string text;
  for (int i = 0; i < 11; ++i) text += read_character(picture, kMargin + i * kLetterStep, kMargin);
  EXPECT_EQ(text.substr(0, 2) + text.substr(3), "nomistakes");
}

std::string error_of(const Predictions& predictions, const MistakesOptions& options = {}) {
  try {
    draw_mistakes(predictions, options);
  } catch (const capstan::ValueError& error) {
    return error.what();
  }
  return "";
}

TEST(DrawMistakes, RefusesWhatDoesNotFit) {
  Set set;
  set.add(4, 9, 0.9f);
  Set short_set = set;
  short_set.confidence.clear();
  EXPECT_NE(error_of(short_set).find("the lengths differ, 1 labels, 1 predicted, 0 confidences"), std::string::npos);
  set.add(1, 10, 0.5f);
  EXPECT_NE(error_of(set).find("digit 1 is 1 and predicted as 10, expected 0 to 9"), std::string::npos);
  EXPECT_NE(error_of({}, {.columns = 0}).find("columns, rows and zoom are 0, 6 and 3"), std::string::npos);
}

}  // namespace
}  // namespace mnist
