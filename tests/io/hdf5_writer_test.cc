// HDF5 files that are written, read again by the reader of the library.
#include <gtest/gtest.h>

#include <filesystem>

#include "capstan/hdf5_files.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using capstan::testing::message_of;
using Tensors = std::map<std::string, Tensor>;

Tensors written_and_read(const Tensors& tensors) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("x.h5");
  save_hdf5(path, tensors);
  return load_hdf5(path);
}

void expect_same(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(b.contains(name));
    EXPECT_EQ(b.at(name).dtype(), tensor.dtype());
    EXPECT_EQ(b.at(name).shape(), tensor.shape());
    EXPECT_TRUE(capstan::testing::same_bits(b.at(name), tensor));
  }
}

TEST(SaveHdf5, KeepsEveryTypeAndShape) {
  Tensors tensors = {{"scalar", constant(1.5f)},
                     {"deep/er/and/deeper", constant({1.0, -2.0, 1e300})},
                     {"deep/er/x", constant({-1L, 1L << 62}, int64)},
                     {"deep/none", zeros({0, 3})},
                     {"mask", constant({true, false, true})},
                     {"bytes", cast(range(256), uint8)},
                     {"half", cast(constant({{1.5f}, {-3.0f}}), bfloat16)},
                     {"waves", complex(constant({1.0f, -2.0f}), constant({0.5f, 4.0f}))},
                     {"deep/waves", complex(constant(1.0, float64), constant(1e-300, float64))},
                     {"half too", cast(constant(2.0f), bfloat16)},
                     {"many axes", reshape(range(24), {1, 2, 3, 1, 1, 4, 1, 1})}};
  expect_same(tensors, written_and_read(tensors));
}

// Leaves of 8 names, nodes of 32 leaves, and a level above.
TEST(SaveHdf5, GroupsHoldAnyNumberOfNames) {
  for (const int count : {0, 1, 8, 9, 255, 256, 257, 2000}) {
    SCOPED_TRACE(count);
    Tensors tensors;
    for (int i = 0; i < count; ++i) tensors.emplace("group/" + std::to_string(i * 7919 % 100003), constant(i));
    expect_same(tensors, written_and_read(tensors));
  }
}

TEST(SaveHdf5, RefusesWhatCannotStandInAFileAndLeavesTheOldOne) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("x.h5", "old");
  const auto message = [&](const Tensors& tensors) {
    return message_of<ValueError>([&] { save_hdf5(path, tensors); });
  };
  const Tensor x = constant(1.0f);
  EXPECT_EQ(message({{"a//b", x}}), "save_hdf5: the name \"a//b\" has an empty part");
  EXPECT_EQ(message({{"a/", x}}), "save_hdf5: the name \"a/\" has an empty part");
  EXPECT_EQ(message({{"a", x}, {"a/b", x}}), "save_hdf5: \"a\" is a tensor, and another one lies in it");
  EXPECT_EQ(message({{"a", Tensor()}}), "save_hdf5: the tensor \"a\" is empty");
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
}

}  // namespace
}  // namespace capstan::io
