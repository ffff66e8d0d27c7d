// Images, compared with what TensorFlow decodes.
#include "capstan/image_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using testing::Json;
using testing::message_of;

// The largest difference; 256 for another shape.
int levels_apart(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return 256;
  const auto x = a.to_vector<std::uint8_t>(), y = b.to_vector<std::uint8_t>();
  int most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(int{x[i]} - int{y[i]}));
  return most;
}

TEST(LoadImage, ReadsWhatTensorFlowReads) {
  int png = 0, jpeg = 0;
  for (const Json& entry : testing::samples_of("images")) {
    const std::string path = entry.at("path");
    const bool is_png = entry.at("kind") == "png";
    for (const auto& [channels, expected] : entry.at("decoded_by_channels").items()) {
      SCOPED_TRACE(path + " " + channels);
      const LoadImageOptions options = {.channels = std::stoi(channels)};
      const Tensor wanted = testing::tensor_from_json(expected);
      const Tensor found = is_png ? load_png(path, options) : load_jpeg(path, options);
      // Decoders of JPEG differ in how they round.
      EXPECT_LE(levels_apart(found, wanted), is_png ? 0 : 2);
      EXPECT_EQ(levels_apart(load_image(path, options), found), 0);
      ++(is_png ? png : jpeg);
    }
  }
  EXPECT_GE(png, 12);
  EXPECT_GE(jpeg, 10);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DecodeImage, GivesWhatTheFileGives) {
  int count = 0;
  for (const Json& entry : testing::samples_of("images")) {
    const std::string path = entry.at("path");
    SCOPED_TRACE(path);
    EXPECT_EQ(levels_apart(decode_image(text_of(path)), load_image(path)), 0);
    EXPECT_EQ(levels_apart(decode_image(text_of(path), {.channels = 1}), load_image(path, {.channels = 1})), 0);
    ++count;
  }
  EXPECT_GE(count, 20);
}

TEST(DecodeImage, ReadsWhatWasEncoded) {
  const Tensor image = cast(reshape(range(2.0 * 3 * 3), {2, 3, 3}), DType::kUInt8);
  EXPECT_EQ(levels_apart(decode_image(encode_png(image)), image), 0);
  EXPECT_LE(levels_apart(decode_image(encode_jpeg(image, {.quality = 100, .chroma_downsampling = false})), image), 4);
  EXPECT_NE(encode_jpeg(image, {.quality = 100}), encode_jpeg(image, {.quality = 10}));
}

TEST(DecodeImage, RefusesOtherBytes) {
  EXPECT_NE(message_of<IoError>([] { decode_image("no image"); }).find("no PNG or JPEG image"), std::string::npos);
  EXPECT_NE(message_of<IoError>([] { decode_image(""); }).find("decode_image"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { decode_image("no image", {.channels = 5}); }).find("not 5"), std::string::npos);
  EXPECT_NE(message_of<ShapeError>([] { encode_png(zeros({3}, DType::kUInt8)); }).find("encode_png"),
            std::string::npos);
  EXPECT_NE(message_of<DTypeError>([] { encode_jpeg(zeros({2, 2, 3})); }).find("encode_jpeg"), std::string::npos);
  const std::string whole = encode_png(zeros({4, 4}, DType::kUInt8));
  EXPECT_THROW(decode_image(whole.substr(0, whole.size() - 20)), IoError);
}

TEST(LoadImage, RefusesWhatIsDamaged) {
  int refused = 0, loaded = 0;
  for (const char* folder : {"hostile/png", "hostile/jpeg"}) {
    for (const Json& entry : testing::samples_of(folder)) {
      const std::string path = entry.at("path");
      SCOPED_TRACE(path);
      if (entry.contains("value")) {
        EXPECT_EQ(levels_apart(load_image(path), testing::tensor_from_json(entry.at("value"))), 0);
        ++loaded;
        continue;
      }
      const std::string text = message_of<IoError>([&] { load_image(path); });
      EXPECT_NE(text.find("\n  file: " + path), std::string::npos) << text;
      ++refused;
    }
  }
  EXPECT_EQ(refused, 16);
  EXPECT_EQ(loaded, 2);
}

TEST(LoadImage, ConvertsBetweenChannels) {
  const TemporaryDirectory folder;
  const Tensor image = cast(random::uniform({5, 7, 4}, 0, 256, float32, 3), uint8);
  const std::string path = folder.file("image.png");
  save_png(path, image);
  EXPECT_EQ(levels_apart(load_png(path), image), 0);
  EXPECT_EQ(levels_apart(load_png(path, {.channels = 3}), image(ellipsis, slice(0, 3))), 0);
  EXPECT_EQ(load_png(path, {.channels = 2}).shape(), Shape({5, 7, 2}));
  const Tensor grey = image(ellipsis, slice(0, 1));
  save_png(path, grey);
  EXPECT_EQ(levels_apart(load_png(path, {.channels = 3}), concat({grey, grey, grey}, 2)), 0);
  EXPECT_EQ(levels_apart(load_png(path, {.channels = 2}), concat({grey, cast(fill({5, 7, 1}, 255), uint8)}, 2)), 0);
}

TEST(LoadImage, ErrorsSayWhat) {
  const TemporaryDirectory folder;
  const std::string text = folder.write("text", "no image");
  EXPECT_EQ(message_of<IoError>([&] { load_image(text); }),
            "load_image: the file is no PNG or JPEG image\n  file: " + text);
  const std::string png = testing::sample_path("images/rgb.png"), jpeg = testing::sample_path("images/gray.jpg");
  EXPECT_EQ(message_of<IoError>([&] { load_jpeg(png); }), "load_jpeg: the file is no JPEG image\n  file: " + png);
  EXPECT_THROW(load_png(jpeg), IoError);
  EXPECT_THROW(load_png(folder.file("none")), IoError);
  for (const int channels : {-1, 5}) EXPECT_THROW(load_png(png, {.channels = channels}), ValueError);
  EXPECT_THROW(load_jpeg(jpeg, {.channels = 4}), ValueError);
  EXPECT_THROW(load_image(jpeg, {.channels = 2}), ValueError);
}

TEST(LoadImage, EveryCutIsAnError) {
  const TemporaryDirectory folder;
  for (const char* name : {"images/rgb.png", "images/gray.jpg", "images/progressive.jpg"}) {
    const std::string whole = content_of(testing::sample_path(name));
    // Behind the picture there are a few bytes that say that it ends.
    for (std::size_t size = 0; size + 16 < whole.size(); ++size) {
      EXPECT_THROW(load_image(folder.write("cut", whole.substr(0, size))), IoError) << name << " " << size;
    }
  }
}

// Whatever a byte becomes, there is an image or an error.
TEST(LoadImage, AnyDamageIsAnErrorOrAnImage) {
  const TemporaryDirectory folder;
  for (const char* name : {"images/palette.png", "images/rgb_420.jpg", "images/progressive.jpg"}) {
    const std::string whole = content_of(testing::sample_path(name));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      try {
        EXPECT_EQ(load_image(folder.write("damaged", damaged)).dtype(), uint8);
      } catch (const IoError&) {
      }
    }
  }
}

TEST(SaveJpeg, IsCloseToTheImage) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("image.jpg");
  const Tensor ramp = cast(reshape(range(0, 256), {16, 16, 1}), uint8);
  save_jpeg(path, ramp, {.quality = 100});
  EXPECT_LE(levels_apart(load_jpeg(path), ramp), 3);
  save_jpeg(path, reshape(ramp, {16, 16}), {.quality = 100});
  EXPECT_LE(levels_apart(load_jpeg(path), ramp), 3);
  const Tensor colours = concat({ramp, transpose(ramp, {1, 0, 2}), cast(fill({16, 16, 1}, 100), uint8)}, 2);
  save_jpeg(path, colours, {.quality = 100, .chroma_downsampling = false});
  EXPECT_LE(levels_apart(load_jpeg(path), colours), 6);
  const auto fine = std::filesystem::file_size(path);
  save_jpeg(path, colours, {.quality = 10});
  EXPECT_LT(std::filesystem::file_size(path), fine);
  EXPECT_EQ(load_jpeg(path).shape(), colours.shape());
}

TEST(SaveJpeg, ErrorsSayWhat) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("image.jpg");
  EXPECT_THROW(save_jpeg(path, zeros({2, 2, 2}, uint8)), ShapeError);
  EXPECT_THROW(save_jpeg(path, zeros({0, 2, 1}, uint8)), ShapeError);
  EXPECT_THROW(save_jpeg(path, zeros({1, 65536, 1}, uint8)), ShapeError);
  EXPECT_THROW(save_jpeg(path, zeros({2, 2, 3})), DTypeError);
  EXPECT_THROW(save_jpeg(path, zeros({2, 2, 3}, uint8), {.quality = 101}), ValueError);
  EXPECT_THROW(save_jpeg(folder.file("no/such/folder.jpg"), zeros({2, 2, 3}, uint8)), IoError);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace capstan::io
