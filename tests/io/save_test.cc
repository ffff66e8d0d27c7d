// Texts and images in files.
#include <gtest/gtest.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using testing::message_of;

// A folder of its own, which is gone at the end.
class Save : public ::testing::Test {
 protected:
  Save() : folder_(fs::temp_directory_path() / ("capstan_save_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Save() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(Save, PngHoldsEveryPixel) {
  for (const Shape& shape :
       {Shape({3, 5, 1}), Shape({3, 5, 2}), Shape({3, 5, 3}), Shape({3, 5, 4}), Shape({3, 5}), Shape({1, 1, 1})}) {
    const Tensor image = cast(random::uniform(shape, 0, 256, float32, 3), uint8);
    const std::string file = path("image.png");
    io::save_png(file, image);
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    ASSERT_NE(png_image_begin_read_from_file(&header, file.c_str()), 0) << header.message;
    EXPECT_EQ(header.height, shape[0]);
    EXPECT_EQ(header.width, shape[1]);
    const std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
    const auto format = static_cast<png_uint_32>(channels == 1   ? PNG_FORMAT_GRAY
                                                 : channels == 2 ? PNG_FORMAT_GA
                                                 : channels == 3 ? PNG_FORMAT_RGB
                                                                 : PNG_FORMAT_RGBA);
    EXPECT_EQ(header.format, format);
    std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(header));
    ASSERT_NE(png_image_finish_read(&header, nullptr, pixels.data(), 0, nullptr), 0) << header.message;
    EXPECT_EQ(pixels, image.to_vector<std::uint8_t>());
  }
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(Save, TextReplacesWhatWasThereAndKeepsItsPermissions) {
  const std::string file = path("text");
  io::save_text(file, "first");
  EXPECT_EQ(content(file), "first");
  chmod(file.c_str(), 0600);
  io::save_text(file, std::string("a\0b", 3));
  EXPECT_EQ(content(file), std::string("a\0b", 3));
  struct stat status;
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  io::save_text(file, "");
  EXPECT_EQ(content(file), "");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(Save, ALinkStaysOne) {
  io::save_text(path("target"), "old");
  fs::create_symlink("target", path("link"));
  io::save_text(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "new");
}

TEST_F(Save, WhatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  const std::string missing = path("no/such/folder/file.svg");
  EXPECT_EQ(message_of<IoError>([&] { io::save_text(missing, "x"); }),
            "save_text: cannot write the file, No such file or directory\n  file: " + missing);
  EXPECT_THROW(io::save_png(missing, zeros({1, 1, 1}, uint8)), IoError);
  EXPECT_THROW(io::save_text("", "x"), IoError);
  // A folder is no file.
  EXPECT_THROW(io::save_text(folder_.string(), "x"), IoError);
  fs::create_directory(path("inner"));
  EXPECT_THROW(io::save_text(path("inner"), "x"), IoError);
  EXPECT_EQ(file_count(), 1u);
  EXPECT_TRUE(fs::is_directory(path("inner")));
  // What was there stays when the disk is full.
  if (fs::exists("/dev/full")) {
    EXPECT_THROW(io::save_text("/dev/full", "x"), IoError);
  }
}

TEST_F(Save, ImagesThatAreNoneAreRefused) {
  const auto refuse = [&](const Tensor& image) { io::save_png(path("image.png"), image); };
  EXPECT_THROW(refuse(zeros({2, 2, 5}, uint8)), ShapeError);
  EXPECT_THROW(refuse(zeros({1, 2, 2, 1}, uint8)), ShapeError);
  EXPECT_THROW(refuse(zeros({0, 2, 1}, uint8)), ShapeError);
  EXPECT_THROW(refuse(zeros({1, 1000001, 1}, uint8)), ShapeError);
  EXPECT_NE(message_of<DTypeError>([&] { refuse(zeros({2, 2, 1})); }).find("image_grid"), std::string::npos);
  EXPECT_EQ(file_count(), 0u);
}

}  // namespace
}  // namespace capstan
