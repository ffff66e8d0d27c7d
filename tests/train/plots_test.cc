// Curves, confusion matrices and grids of images.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

History history_of(std::map<std::string, std::vector<double>> values) {
  History history;
  history.history = std::move(values);
  for (std::size_t i = 0; i < history.history.begin()->second.size(); ++i) {
    history.epoch.push_back(static_cast<std::int64_t>(i));
  }
  return history;
}

// Every element is closed, in the right order.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != svg.npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, svg.npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    EXPECT_EQ(count_of(tag, "\"") % 2, 0u) << tag;
    EXPECT_EQ(tag.find('<'), tag.npos) << tag;
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Curves, OfATextAreTheseCharacters) {
  const History history = history_of({{"loss", {4, 2, 1, 0}}, {"val_loss", {0, 1, 2, 4}}});
  EXPECT_EQ(plots::curves_text(history, {.title = "a title", .width = 28, .height = 5}),
            "a title\n"
            "* loss, o val_loss\n"
            "       4.2 |**            oo\n"
            "           | ***        ooo\n"
            "         2 |    ****@ooo\n"
            "           |  oooooo******\n"
            "      -0.2 |ooo          ***\n"
            "           +----------------\n"
            "     epoch  1              4\n");
}

TEST(Curves, OfATraining) {
  const Tensor x = random::normal({32, 3}, 0, 1, float32, 1), y = random::normal({32, 1}, 0, 1, float32, 2);
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(), .loss = "mse", .metrics = {"mae"}});
  const History history = model.fit(x, y, {.epochs = 3, .verbose = 0, .validation_split = 0.25});
  const std::string svg = plots::curves_svg(history);
  expect_well_formed(svg);
  // Two panels with two lines each, of three points.
  EXPECT_EQ(count_of(svg, "<polyline"), 4u);
  EXPECT_EQ(count_of(svg, "stroke-dasharray"), 2u);
  EXPECT_EQ(count_of(svg, "<circle"), 12u);
  EXPECT_EQ(count_of(svg, ">val_loss<"), 1u);
  EXPECT_EQ(count_of(plots::curves_svg(history, {.names = {"loss"}}), "<polyline"), 2u);
  EXPECT_NE(plots::curves_text(history).find("o val_mae"), std::string::npos);
}

TEST(Curves, AreDrawnWhereTheyBelong) {
  const History history = history_of({{"loss", {0, 10}}});
  const std::string svg = plots::curves_svg(history, {.width = 280, .height = 168});
  // The lines have 200 x 100 pixels, with margins of a twentieth of the range.
  EXPECT_NE(svg.find("points=\"64.00,123.45 264.00,32.55\""), svg.npos) << svg;
}

TEST(Curves, LeaveGapsAndEscapeNames) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const History history = history_of({{"a<b & \"c\"", {1, 2, nan, 3, infinite, 4}}});
  const std::string svg = plots::curves_svg(history, {.title = "x > y\x01"});
  expect_well_formed(svg);
  EXPECT_EQ(count_of(svg, "<polyline"), 3u);
  EXPECT_EQ(count_of(svg, "nan"), 0u);
  EXPECT_EQ(count_of(svg, "inf"), 0u);
  EXPECT_NE(svg.find(">a&lt;b &amp; &quot;c&quot;<"), svg.npos);
  EXPECT_NE(svg.find(">x &gt; y <"), svg.npos);
  EXPECT_NE(plots::curves_text(history).find("* a<b"), std::string::npos);
}

TEST(Curves, TakeExtremeNumbers) {
  const double most = std::numeric_limits<double>::max();
  for (const std::vector<double>& values :
       {std::vector<double>{-most, most}, {5e-324, 0}, {7}, {0, 0, 0}, {1e300, 1e-300}}) {
    const History history = history_of({{"loss", values}});
    const std::string svg = plots::curves_svg(history);
    expect_well_formed(svg);
    EXPECT_EQ(count_of(svg, "nan"), 0u) << values[0];
    EXPECT_GT(plots::curves_text(history).size(), 100u);
  }
  History late = history_of({{"loss", {1, 2}}});
  late.epoch = {std::numeric_limits<std::int64_t>::max() - 1, std::numeric_limits<std::int64_t>::max()};
  EXPECT_GT(plots::curves_svg(late).size(), 100u);
  EXPECT_GT(plots::curves_text(late).size(), 100u);
}

TEST(Curves, HaveALogarithmicScale) {
  const History history = history_of({{"loss", {100, 10, 1, 0}}});
  const std::string svg = plots::curves_svg(history, {.log_scale = true});
  EXPECT_EQ(count_of(svg, "<circle"), 3u);
  EXPECT_EQ(message_of([] {
              plots::curves_svg(history_of({{"loss", {0, -1}}}), {.log_scale = true});
            }),
            "curves_svg: \"loss\" has no number that can be drawn on a logarithmic scale");
}

TEST(Curves, SayWhatIsWrong) {
  EXPECT_EQ(message_of<ValueError>([] { plots::curves_svg(History{}); }).substr(0, 40),
            "curves_svg: the history has no values\n  ");
  EXPECT_THROW(plots::curves_text(History{}), ValueError);
  EXPECT_THROW(plots::curves_text(history_of({{"loss", {}}})), ValueError);
  const History history = history_of({{"loss", {1, 2}}});
  EXPECT_EQ(message_of<ValueError>([&] { plots::curves_text(history, {.names = {"los"}}); }),
            "curves_text: the history has no \"los\"");
  for (const std::int64_t wrong : {-1, 3, 20000}) {
    EXPECT_THROW(plots::curves_svg(history, {.width = wrong}), ValueError);
    EXPECT_THROW(plots::curves_svg(history, {.height = wrong}), ValueError);
    EXPECT_THROW(plots::curves_text(history, {.width = wrong}), ValueError);
    EXPECT_THROW(plots::curves_text(history, {.height = wrong}), ValueError);
  }
}

TEST(Confusion, OfATextIsATable) {
  const Tensor matrix = confusion_matrix(constant({0, 0, 1, 1, 1, 2}), constant({0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(plots::confusion_text(matrix, {.classes = {"cat", "dog", "a bird"}, .title = "animals"}),
            "animals\n"
            "  true | predicted\n"
            "       |    cat    dog a bird\n"
            "-------+---------------------\n"
            "   cat |      1      1      0   50.0%\n"
            "   dog |      1      2      0   66.7%\n"
            "a bird |      0      0      1  100.0%\n");
  EXPECT_EQ(plots::confusion_text(constant({{0.0, 0.0}, {0.5, 1.5}})),
            "true | predicted\n"
            "     |   0   1\n"
            "-----+--------\n"
            "   0 |   0   0      -\n"
            "   1 | 0.5 1.5   75.0%\n");
}

TEST(Confusion, OfAnImageIsDarkWhereTheSharesAreLarge) {
  const std::string svg =
      plots::confusion_svg(constant({{3, 1}, {0, 0}}), {.classes = {"<a>", "b"}, .title = "title", .cell = 20});
  expect_well_formed(svg);
  EXPECT_EQ(count_of(svg, "<rect"), 5u);                     // the cells and what is behind them
  EXPECT_EQ(count_of(svg, "fill=\"rgb(70,100,144)\""), 1u);  // three quarters
  EXPECT_EQ(count_of(svg, "fill=\"rgb(193,203,218)\""), 1u);
  EXPECT_EQ(count_of(svg, "fill=\"rgb(255,255,255)\""), 2u);
  EXPECT_EQ(count_of(svg, "&lt;a&gt;"), 2u);
}

TEST(Confusion, SaysWhatIsWrong) {
  for (const auto draw : {plots::confusion_svg, plots::confusion_text}) {
    EXPECT_THROW(draw(zeros({2, 3}), {}), ShapeError);
    EXPECT_THROW(draw(zeros({4}), {}), ShapeError);
    EXPECT_THROW(draw(zeros({0, 0}), {}), ShapeError);
    EXPECT_THROW(draw(zeros({2, 2}, complex64), {}), DTypeError);
    EXPECT_THROW(draw(constant({{1, 0}, {-1, 0}}), {}), ValueError);
    EXPECT_THROW(draw(fill({1, 1}, NAN), {}), ValueError);
    EXPECT_THROW(draw(zeros({2, 2}), {.classes = {"one"}}), ValueError);
    EXPECT_THROW(draw(zeros({2, 2}), {.cell = 3}), ValueError);
  }
  EXPECT_NE(message_of([] {
              plots::confusion_text(constant({{1, 0}, {-1, 0}}));
            }).find("element [1, 0] is -1"),
            std::string::npos);
}

TEST(ImageGrid, PutsImagesBesideAndBelowEachOther) {
  const Tensor images = reshape(constant({0.0f, 1.0f, 0.5f, 2.0f, -1.0f, NAN}), {6, 1, 1, 1});
  const Tensor grid = plots::image_grid(images, {.columns = 4, .gap = 1, .background = 7});
  EXPECT_EQ(grid.shape(), Shape({5, 9, 1}));
  EXPECT_EQ(grid.dtype(), uint8);
  EXPECT_EQ(grid(1).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{7, 0, 7, 255, 7, 128, 7, 255, 7}));
  // Behind the last image there is background.
  EXPECT_EQ(grid(3).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{7, 0, 7, 0, 7, 7, 7, 7, 7}));
  EXPECT_EQ(grid(0).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>(9, 7)));
}

TEST(ImageGrid, TakesColoursRangesAndIntegers) {
  const Tensor images = reshape(cast(range(5 * 2 * 3 * 3), uint8), {5, 2, 3, 3});
  const Tensor grid = plots::image_grid(images);
  EXPECT_EQ(grid.shape(), Shape({2 * 4 + 2, 3 * 5 + 2, 3}));  // about square: 3 columns
  EXPECT_TRUE(equal_tensors(grid(Slice{2, 4}, Slice{2, 5}), images(0)));
  EXPECT_TRUE(equal_tensors(grid(Slice{6, 8}, Slice{7, 10}), images(4)));
  const Tensor signs = reshape(constant({-1.0f, 0.0f, 1.0f}), {1, 1, 3, 1});
  EXPECT_EQ(plots::image_grid(signs, {.gap = 0, .value_range = {-1, 1}}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 128, 255}));
  EXPECT_EQ(plots::image_grid(constant({{{{-5}, {300}}}}), {.gap = 0}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 255}));
}

TEST(ImageGrid, SaysWhatIsWrong) {
  EXPECT_THROW(plots::image_grid(zeros({3, 3, 1})), ShapeError);
  EXPECT_THROW(plots::image_grid(zeros({0, 3, 3, 1})), ShapeError);
  EXPECT_THROW(plots::image_grid(zeros({1, 3, 0, 1})), ShapeError);
  EXPECT_THROW(plots::image_grid(zeros({1, 3, 3, 2})), ShapeError);
  EXPECT_THROW(plots::image_grid(zeros({1, 3, 3, 1}, complex64)), DTypeError);
  const Tensor image = zeros({2, 3, 3, 1});
  EXPECT_THROW(plots::image_grid(image, {.columns = -1}), ValueError);
  EXPECT_THROW(plots::image_grid(image, {.gap = -1}), ValueError);
  EXPECT_THROW(plots::image_grid(image, {.value_range = {1, 1}}), ValueError);
  EXPECT_THROW(plots::image_grid(image, {.value_range = {0, NAN}}), ValueError);
  EXPECT_NE(message_of<ValueError>([&] {
              plots::image_grid(image, {.gap = std::numeric_limits<std::int64_t>::max()});
            }).find("too large"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
