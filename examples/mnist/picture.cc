#include "examples/mnist/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "capstan/error.h"

namespace mnist {
namespace {

constexpr int kSide = 28;
constexpr int kGlyphWidth = 5, kGlyphHeight = 7;
constexpr int kLetterStep = kGlyphWidth + 1;
constexpr int kMargin = 4;

struct Colour {
  uint8_t red, green, blue;
};
constexpr Colour kPaper{24, 26, 30}, kText{200, 204, 210}, kRight{110, 200, 120}, kWrong{240, 110, 90};

// Seven rows of five pixels.
struct Glyph {
  char character;
  std::array<std::string_view, kGlyphHeight> rows;
};

constexpr Glyph kFont[] = {
    {'0', {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "}},
    {'1', {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "}},
    {'2', {" ### ", "#   #", "    #", "  ## ", " #   ", "#    ", "#####"}},
    {'3', {" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "}},
    {'4', {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "}},
    {'5', {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "}},
    {'6', {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "}},
    {'7', {"#####", "    #", "   # ", "   # ", "  #  ", "  #  ", "  #  "}},
    {'8', {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "}},
    {'9', {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "}},
    {'>', {"     ", " #   ", "  #  ", "   # ", "  #  ", " #   ", "     "}},
    {'%', {"##  #", "##  #", "   # ", "  #  ", " #   ", "#  ##", "#  ##"}},
    {'a', {"     ", "     ", " ### ", "    #", " ####", "#   #", " ####"}},
    {'e', {"     ", "     ", " ### ", "#   #", "#####", "#    ", " ### "}},
    {'i', {"  #  ", "     ", " ##  ", "  #  ", "  #  ", "  #  ", " ### "}},
    {'k', {"#    ", "#    ", "#  # ", "# #  ", "##   ", "# #  ", "#  # "}},
    {'m', {"     ", "     ", "## # ", "# # #", "# # #", "# # #", "# # #"}},
    {'n', {"     ", "     ", "# ## ", "##  #", "#   #", "#   #", "#   #"}},
    {'o', {"     ", "     ", " ### ", "#   #", "#   #", "#   #", " ### "}},
    {'s', {"     ", "     ", " ####", "#    ", " ### ", "    #", "#### "}},
    {'t', {" #   ", " #   ", "###  ", " #   ", " #   ", " #  #", "  ## "}},
};

class Canvas {
 public:
  Canvas(int width, int height) {
    picture_.width = width;
    picture_.height = height;
    picture_.pixels.resize(static_cast<size_t>(width) * height * 3);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) set(x, y, kPaper);
    }
  }

  void set(int x, int y, Colour colour) {
    uint8_t* pixel = &picture_.pixels[(static_cast<size_t>(y) * picture_.width + x) * 3];
    pixel[0] = colour.red;
    pixel[1] = colour.green;
    pixel[2] = colour.blue;
  }

  // Characters that the font lacks leave a space. Returns where the next text begins.
  int write(int x, int y, std::string_view text, Colour colour) {
    for (char c : text) {
      const auto glyph =
          std::find_if(std::begin(kFont), std::end(kFont), [c](const Glyph& g) { return g.character == c; });
      for (int row = 0; glyph != std::end(kFont) && row < kGlyphHeight; ++row) {
        for (int column = 0; column < kGlyphWidth; ++column) {
          if (glyph->rows[row][column] == '#') set(x + column, y + row, colour);
        }
      }
      x += kLetterStep;
    }
    return x;
  }

  // Between pixel centres the digit is interpolated, so that it looks like ink and not like bricks.
  void draw_digit(int left, int top, int zoom, const uint8_t* image) {
    auto ink = [image](int x, int y) {
      return static_cast<float>(image[std::clamp(y, 0, kSide - 1) * kSide + std::clamp(x, 0, kSide - 1)]);
    };
    for (int y = 0; y < kSide * zoom; ++y) {
      for (int x = 0; x < kSide * zoom; ++x) {
        const float u = (static_cast<float>(x) + 0.5f) / static_cast<float>(zoom) - 0.5f;
        const float v = (static_cast<float>(y) + 0.5f) / static_cast<float>(zoom) - 0.5f;
        const int column = static_cast<int>(std::floor(u)), row = static_cast<int>(std::floor(v));
        const float right = u - static_cast<float>(column), down = v - static_cast<float>(row);
        const float upper = (1 - right) * ink(column, row) + right * ink(column + 1, row);
        const float lower = (1 - right) * ink(column, row + 1) + right * ink(column + 1, row + 1);
        const auto grey = static_cast<uint8_t>(std::lround((1 - down) * upper + down * lower));
        set(left + x, top + y, {grey, grey, grey});
      }
    }
  }

  Picture take() { return std::move(picture_); }

 private:
  Picture picture_;
};

void check(const Predictions& p, const MistakesOptions& options) {
  const size_t n = p.labels.size();
  if (p.images.size() != n * kSide * kSide || p.predicted.size() != n || p.confidence.size() != n) {
    throw capstan::ValueError("draw_mistakes: the lengths differ, " + std::to_string(n) + " labels, " +
                              std::to_string(p.predicted.size()) + " predicted, " +
                              std::to_string(p.confidence.size()) + " confidences and " +
                              std::to_string(p.images.size()) + " bytes of images of 784 each");
  }
  for (size_t i = 0; i < n; ++i) {
    if (p.labels[i] > 9 || p.predicted[i] > 9) {
      throw capstan::ValueError("draw_mistakes: digit " + std::to_string(i) + " is " + std::to_string(p.labels[i]) +
                                " and predicted as " + std::to_string(p.predicted[i]) + ", expected 0 to 9");
    }
  }
  constexpr int kMost = 100;
  for (int value : {options.columns, options.rows, options.zoom}) {
    if (value < 1 || value > kMost) {
      throw capstan::ValueError("draw_mistakes: columns, rows and zoom are " + std::to_string(options.columns) + ", " +
                                std::to_string(options.rows) + " and " + std::to_string(options.zoom) +
                                ", expected 1 to " + std::to_string(kMost));
    }
  }
}

// The mistakes, the surest first. A confidence that is no number counts as none, so that the order
// is total.
std::vector<size_t> worst_mistakes(const Predictions& p, size_t most) {
  std::vector<size_t> mistakes;
  for (size_t i = 0; i < p.labels.size(); ++i) {
    if (p.labels[i] != p.predicted[i]) mistakes.push_back(i);
  }
  auto sure = [&](size_t i) { return p.confidence[i] >= 0 ? p.confidence[i] : 0.0f; };
  std::stable_sort(mistakes.begin(), mistakes.end(), [&](size_t a, size_t b) { return sure(a) > sure(b); });
  mistakes.resize(std::min(mistakes.size(), most));
  return mistakes;
}

std::string percent(float confidence) {
  const float shown = confidence >= 0 ? std::min(confidence, 1.0f) : 0.0f;
  return std::to_string(std::lround(100 * shown)) + "%";
}

}  // namespace

Picture draw_mistakes(const Predictions& predictions, const MistakesOptions& options, size_t* shown) {
  check(predictions, options);
  const auto mistakes = worst_mistakes(predictions, static_cast<size_t>(options.columns) * options.rows);
  if (shown != nullptr) *shown = mistakes.size();
  const std::string_view none = "no mistakes";
  if (mistakes.empty()) {
    Canvas canvas(static_cast<int>(none.size()) * kLetterStep + 2 * kMargin, kGlyphHeight + 2 * kMargin);
    canvas.write(kMargin, kMargin, none, kText);
    return canvas.take();
  }

  constexpr int kLongestCaption = 8;  // "4>9 100%"
  const int digit = kSide * options.zoom;
  const int cell_width = std::max(digit, kLongestCaption * kLetterStep) + kMargin;
  const int cell_height = kGlyphHeight + kMargin + digit + 2 * kMargin;
  const int count = static_cast<int>(mistakes.size());
  const int columns = std::min(options.columns, count);
  const int rows = (count + columns - 1) / columns;
  Canvas canvas(columns * cell_width + kMargin, rows * cell_height + kMargin);
  for (int i = 0; i < count; ++i) {
    const size_t at = mistakes[i];
    const int left = kMargin + i % columns * cell_width, top = kMargin + i / columns * cell_height;
    int x = canvas.write(left, top, std::to_string(predictions.labels[at]), kRight);
    x = canvas.write(x, top, ">", kText);
    x = canvas.write(x, top, std::to_string(predictions.predicted[at]), kWrong);
    canvas.write(x + kLetterStep, top, percent(predictions.confidence[at]), kText);
    canvas.draw_digit(left, top + kGlyphHeight + kMargin, options.zoom, &predictions.images[at * kSide * kSide]);
  }
  return canvas.take();
}

}  // namespace mnist
