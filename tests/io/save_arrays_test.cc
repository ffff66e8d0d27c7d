// .npy and .npz files, written and read back.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "capstan/io.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "tests/io/file_samples.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using capstan::testing::message_of;

constexpr DType kWritten[] = {bool_, uint8, int32, int64, float32, float64};

TEST(SaveNpy, WritesTheBytesOfNumpy) {
  const TemporaryDirectory directory;
  save_npy(directory.file("x.npy"), constant({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}}));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(0x76 - 1, ' ');
  EXPECT_EQ(content_of(directory.file("x.npy")), npy_with_header(header, bytes_of<float>({1, 2, 3, 4, 5, 6})));
}

TEST(SaveNpy, IsReadBack) {
  const TemporaryDirectory directory;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{0, 2}, Shape{2, 1, 2, 1, 1, 1, 1, 2}}) {
    for (const DType dtype : kWritten) {
      const Tensor array = cast(fill(shape, 3), dtype);
      save_npy(directory.file("x.npy"), array);
      const Tensor read = load_npy(directory.file("x.npy"));
      EXPECT_EQ(read.dtype(), dtype);
      EXPECT_EQ(read.shape(), shape);
      EXPECT_EQ(read.to_string(), array.to_string());
    }
  }
  const std::string message = message_of<DTypeError>([&] { save_npy("x.npy", zeros({1}, bfloat16)); });
  EXPECT_NE(message.find("is bfloat16, which is none of"), std::string::npos) << message;
}

TEST(SaveNpz, IsReadBackAndTheSameAtAnyTime) {
  const TemporaryDirectory directory;
  for (const bool compressed : {false, true}) {
    std::map<std::string, Tensor> arrays = {{"layers/dense/kernel", reshape(range(6000), {2, 3000})}};
    for (const DType dtype : kWritten) arrays.emplace(name_of(dtype), cast(constant({{1.0, 0.0, 2.0}}), dtype));
    const std::string path = directory.file("x.npz");
    save_npz(path, arrays, {.compressed = compressed});
    const NamedArrays read = load_npz(path);
    ASSERT_EQ(read.size(), arrays.size());
    for (const auto& [name, array] : arrays) {
      EXPECT_EQ(read.at(name).dtype(), array.dtype());
      EXPECT_EQ(read.at(name).to_string(), array.to_string()) << name;
    }
    const std::string first = content_of(path);
    EXPECT_EQ(first.size() < 6000 * 4, compressed);
    save_npz(path, arrays, {.compressed = compressed});
    EXPECT_EQ(content_of(path), first);
  }
}

TEST(SaveNpz, RefusesWhatItCannotWrite) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("x.npz", "old");
  EXPECT_NE(message_of<ValueError>([&] { save_npz(path, {}); }).find("no arrays"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] {
              save_npz(path, {{std::string(2, '\0'), zeros({1})}});
            }).find("byte 0"),
            std::string::npos);
  EXPECT_NE(message_of<DTypeError>([&] {
              save_npz(path, {{"a", zeros({1}, complex64)}});
            }).find("\"a\" is complex64"),
            std::string::npos);
  EXPECT_EQ(content_of(path), "old");
}

}  // namespace
}  // namespace capstan::io
