// The program mnist has no library, so the test takes its source in.
#include "examples/mnist/png.cc"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace mnist {
namespace {

TEST(WriteMistakesPng, WritesWhatIsDrawn) {
  const std::vector<uint8_t> images(2 * 784, 90), labels = {4, 5}, predicted = {9, 5};
  const std::vector<float> confidence = {0.8f, 0.9f};
  const Predictions predictions{images, labels, predicted, confidence};
  const Picture drawn = draw_mistakes(predictions);

  capstan::io::TemporaryDirectory directory;
  const std::string path = directory.file("mistakes.png");
  EXPECT_EQ(write_mistakes_png(path, predictions), 1u);

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  EXPECT_EQ(image.width, static_cast<unsigned>(drawn.width));
  EXPECT_EQ(image.height, static_cast<unsigned>(drawn.height));
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
  EXPECT_EQ(pixels, drawn.pixels);
}

TEST(WriteMistakesPng, NamesTheFileThatCannotBeWritten) {
  try {
    write_mistakes_png("/nowhere/mistakes.png", {});
    FAIL() << "expected an IoError";
  } catch (const capstan::IoError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("write_png: cannot write the picture, ", 0), 0u) << text;
    EXPECT_NE(text.find("\n  file: /nowhere/mistakes.png"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace mnist
