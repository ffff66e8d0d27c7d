#include "capstan/io.h"

#include <gtest/gtest.h>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "tests/io/file_samples.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

TEST(Load, MakesTensorsOfEveryElementType) {
  TemporaryDirectory directory;
  write_zip(directory.file("a.npz"), {{"b.npy", npy_bytes("|b1", "(2,)", std::string("\x01\x00", 2))},
                                      {"u.npy", npy_bytes("|u1", "(2,)", "\x05\xff")},
                                      {"i.npy", npy_bytes("<i4", "(2,)", bytes_of<int32_t>({-3, 4}))},
                                      {"l.npy", npy_bytes("<i8", "(1,)", bytes_of<int64_t>({-5'000'000'000}))},
                                      {"f.npy", npy_bytes("<f4", "(2, 1)", bytes_of<float>({0.5f, -1.0f}))},
                                      {"d.npy", npy_bytes("<f8", "()", bytes_of<double>({0.1}))}});
  const std::map<std::string, Tensor> tensors = load_npz(directory.file("a.npz"));
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_EQ(tensors.at("b").dtype(), bool_);
  EXPECT_EQ(tensors.at("b").to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(tensors.at("u").dtype(), uint8);
  EXPECT_EQ(tensors.at("u").to_vector<uint8_t>(), (std::vector<uint8_t>{5, 255}));
  EXPECT_EQ(tensors.at("i").dtype(), int32);
  EXPECT_EQ(tensors.at("i").to_vector<int32_t>(), (std::vector<int32_t>{-3, 4}));
  EXPECT_EQ(tensors.at("l").dtype(), int64);
  EXPECT_EQ(tensors.at("l").item<int64_t>(), -5'000'000'000);
  EXPECT_EQ(tensors.at("f").dtype(), float32);
  EXPECT_EQ(tensors.at("f").shape(), (Shape{2, 1}));
  EXPECT_EQ(tensors.at("f").to_vector<float>(), (std::vector<float>{0.5f, -1.0f}));
  EXPECT_EQ(tensors.at("d").dtype(), float64);
  EXPECT_EQ(tensors.at("d").rank(), 0);
  EXPECT_EQ(tensors.at("d").item<double>(), 0.1);
}

TEST(Load, ReadsNpyAndIdx) {
  TemporaryDirectory directory;
  const Tensor npy = load_npy(directory.write("a.npy", npy_bytes("<i4", "(3,)", bytes_of<int32_t>({1, 2, 3}))));
  EXPECT_EQ(npy.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3}));
  const Tensor idx = load_idx(directory.write("a", gzipped(idx_bytes(0x08, {2, 2}, "\x01\x02\x03\x04"))));
  EXPECT_EQ(idx.shape(), (Shape{2, 2}));
  EXPECT_EQ(idx.to_vector<uint8_t>(), (std::vector<uint8_t>{1, 2, 3, 4}));
}

TEST(Load, RefusesAnAxisThatNoTensorHas) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a.npy", npy_bytes("|u1", "(0, 4294967296)", ""));
  expect_io_error([&] { load_npy(path); },
                  {"an axis is longer than 4294967294: U8[0, 4294967296]", "\n  file: " + path});
}

TEST(LoadNpy, WidensTypesThatTensorsLack) {
  TemporaryDirectory directory;
  const auto load = [&](const char* descr, const std::string& bytes, std::size_t size, bool fortran_order = false) {
    const std::string shape = "(2, " + std::to_string(bytes.size() / size / 2) + ")";
    return load_npy(directory.write("a.npy", npy_bytes(descr, shape, bytes, fortran_order)));
  };
  const auto expect = [](const Tensor& tensor, DType dtype, const std::vector<double>& values) {
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.shape(), (Shape{2, static_cast<std::int64_t>(values.size()) / 2}));
    EXPECT_EQ(cast(tensor, float64).to_vector<double>(), values);
  };
  expect(load("|i1", bytes_of<std::int8_t>({-128, 127}), 1), int32, {-128, 127});
  expect(load("<i2", bytes_of<std::int16_t>({-32768, 32767}), 2), int32, {-32768, 32767});
  expect(load("<u2", bytes_of<std::uint16_t>({0, 65535}), 2), int32, {0, 65535});
  expect(load("<u4", bytes_of<std::uint32_t>({1, 4294967295}), 4), int64, {1, 4294967295});
  expect(load("<u8", bytes_of<std::uint64_t>({1, 1ULL << 62}), 8), int64, {1, 0x1p62});
  expect_io_error(
      [&] {
        load("<u8", bytes_of<std::uint64_t>({1, 1ULL << 63}), 8);
      },
      {"its element 9223372036854775808 does not fit into int64"});
  expect(load("<f2", bytes_of<std::uint16_t>({0x3c00, 0xc400}), 2), float32, {1, -4});
  // The highest byte first, and the first axis fastest.
  expect(load(">i2", std::string("\x00\x01\xff\xfe\x00\x03\x01\x00", 8), 2), int32, {1, -2, 3, 256});
  expect(load(">f4", std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8), 4), float32, {1, -2});
  expect(load("<u2", bytes_of<std::uint16_t>({1, 4, 2, 5, 3, 6}), 2, true), int32, {1, 2, 3, 4, 5, 6});
  const Tensor complex = load("<c8", bytes_of<float>({1, 2, 3, 4}), 8);
  EXPECT_EQ(complex.dtype(), complex64);
  EXPECT_EQ(imag(complex).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(real(load(">c8", std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00", 16), 8))
                .to_vector<float>(),
            (std::vector<float>{1, 2}));
  for (const char* descr : {"|u2", "=i4", "<f16", "<U4", "|O", "|S3", "<M8", "i4", "<"}) {
    expect_io_error([&] { load(descr, "abcdefgh", 1); }, {"dtype \"" + std::string(descr) + "\" is not supported"});
  }
}

// Without elements they cost no byte of the file.
TEST(Load, RefusesLengthsWhoseProductOverflows) {
  TemporaryDirectory directory;
  constexpr uint32_t kLong = 0xffffffff;
  for (const std::vector<uint32_t>& lengths : std::vector<std::vector<uint32_t>>{{0, kLong, kLong, kLong},
                                                                                 {kLong, kLong, 0},
                                                                                 {0, kLong, 0x7fffffff},
                                                                                 {kLong, 0, 0x7fffffff, 4},
                                                                                 {kLong, kLong, kLong, kLong},
                                                                                 {0, kLong, kLong, 0, kLong, kLong}}) {
    for (const uint8_t code : {0x08, 0x0e}) {
      const std::string path = directory.write("a", idx_bytes(code, lengths, ""));
      try {
        const Tensor tensor = load_idx(path);
        EXPECT_EQ(tensor.size(), 0);
      } catch (const IoError& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("load_idx: ")) << error.what();
      }
    }
  }
  const std::string path = directory.write("a.npy", npy_bytes("|u1", "(0, 4294967295, 4294967295, 4294967295)", ""));
  EXPECT_THROW(load_npy(path), IoError);
}

TEST(LoadNpz, SaysWhichArraysThereAre) {
  TemporaryDirectory directory;
  const std::string path = directory.file("a.npz");
  write_zip(path, {{"x.npy", npy_bytes("|u1", "(1,)", "a")}, {"y.npy", npy_bytes("|u1", "(1,)", "b")}});
  const NamedArrays data = load_npz(path);
  EXPECT_EQ(data.at("y").item<int>(), 'b');
  try {
    data.at("foo");
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_EQ(std::string(error.what()), "load_npz: " + path + " has no array \"foo\"; it has \"x\", \"y\"");
  }
}

}  // namespace
}  // namespace capstan::io
