#include "src/io/idx.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/io/file_samples.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

constexpr uint8_t kUint8Code = 0x08, kInt32Code = 0x0c, kFloat32Code = 0x0d, kFloat64Code = 0x0e;

TEST(ReadIdx, ReadsBytes) {
  TemporaryDirectory directory;
  const RawArray array = read_idx(directory.write("a", idx_bytes(kUint8Code, {2, 3}, "abcdef")));
  EXPECT_EQ(array.description(), "uint8[2, 3]");
  EXPECT_EQ(array.count(), 6);
  EXPECT_EQ(array.values<uint8_t>()[0], 'a');
  EXPECT_EQ(array.values<uint8_t>()[5], 'f');
}

TEST(ReadIdx, TellsGzipByContentNotByName) {
  TemporaryDirectory directory;
  const std::string content = idx_bytes(kUint8Code, {4}, "wxyz");
  const RawArray packed = read_idx(directory.write("plain_name", gzipped(content)));
  const RawArray plain = read_idx(directory.write("name.gz", content));
  EXPECT_EQ(packed.data, plain.data);
  EXPECT_EQ(packed.description(), "uint8[4]");
}

TEST(ReadIdx, SwapsBigEndianElements) {
  TemporaryDirectory directory;
  const RawArray ints =
      read_idx(directory.write("i", idx_bytes(kInt32Code, {2}, big_endian(7) + big_endian(0xfffffffe))));
  EXPECT_EQ(ints.type, ElementType::kInt32);
  EXPECT_EQ(ints.values<int32_t>()[0], 7);
  EXPECT_EQ(ints.values<int32_t>()[1], -2);

  const RawArray floats = read_idx(directory.write("f", idx_bytes(kFloat32Code, {1}, big_endian(0x3fc00000))));
  EXPECT_EQ(floats.values<float>()[0], 1.5f);

  const RawArray doubles =
      read_idx(directory.write("d", idx_bytes(kFloat64Code, {1}, big_endian(0xc0040000) + big_endian(0))));
  EXPECT_EQ(doubles.values<double>()[0], -2.5);
}

TEST(ReadIdx, ReadsAnEmptyArray) {
  TemporaryDirectory directory;
  const RawArray array = read_idx(directory.write("a", idx_bytes(kUint8Code, {0, 28, 28}, "")));
  EXPECT_EQ(array.description(), "uint8[0, 28, 28]");
  EXPECT_TRUE(array.data.empty());
}

TEST(ReadIdx, ReadsMoreThanOneStepOfTheReader) {
  TemporaryDirectory directory;
  std::string elements;
  elements.resize(10'000'001);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * 7);
  const std::string content = idx_bytes(kUint8Code, {static_cast<uint32_t>(elements.size())}, elements);
  for (const std::string& bytes : {content, gzipped(content)}) {
    const RawArray array = read_idx(directory.write("big", bytes));
    ASSERT_EQ(array.data.size(), elements.size());
    EXPECT_EQ(std::memcmp(array.data.data(), elements.data(), elements.size()), 0);
  }
}

TEST(ReadIdx, NamesTheFileThatIsMissing) {
  expect_io_error([] { read_idx("/nowhere/labels"); },
                  {"load_idx: cannot open the file, No such file or directory", "\n  file: /nowhere/labels"});
}

TEST(ReadIdx, RefusesADirectory) {
  TemporaryDirectory directory;
  expect_io_error([&] { read_idx(directory.path()); }, {"not a regular file", directory.path()});
}

TEST(ReadIdx, RefusesAnotherMagicNumber) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a", "\x89PNG and so on");
  expect_io_error([&] { read_idx(path); },
                  {"begins with two zero bytes, this one with 137 and 80", "\n  file: " + path, "\n  help: "});
}

TEST(ReadIdx, WidensNarrowIntegers) {
  TemporaryDirectory directory;
  const RawArray bytes = read_idx(directory.write("a", idx_bytes(0x09, {2}, "\x7f\x80")));
  EXPECT_EQ(bytes.description(), "int32[2]");
  EXPECT_EQ(bytes.values<int32_t>()[0], 127);
  EXPECT_EQ(bytes.values<int32_t>()[1], -128);
  const RawArray shorts = read_idx(directory.write("b", idx_bytes(0x0b, {1, 2}, "\x01\x64\xff\xf1")));
  EXPECT_EQ(shorts.description(), "int32[1, 2]");
  EXPECT_EQ(shorts.values<int32_t>()[0], 356);
  EXPECT_EQ(shorts.values<int32_t>()[1], -15);
  const std::string path = directory.write("c", idx_bytes(0x0b, {3}, "abcd"));
  expect_io_error([&] { read_idx(path); }, {"the data should be 6 bytes, but the file ends after 4"});
}

TEST(ReadIdx, RefusesAnUnknownElementCode) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a", idx_bytes(0x0a, {2}, "abcd"));
  expect_io_error([&] { read_idx(path); }, {"element code 10 is not supported, expected 8 (uint8)"});
}

TEST(ReadIdx, RefusesRanksThatNoTensorHas) {
  TemporaryDirectory directory;
  const std::string scalar = directory.write("a", idx_bytes(kUint8Code, {}, "a"));
  expect_io_error([&] { read_idx(scalar); }, {"rank 0 is not supported, expected 1 to 8"});
  const std::string deep = directory.write("b", idx_bytes(kUint8Code, std::vector<uint32_t>(9, 1), "a"));
  expect_io_error([&] { read_idx(deep); }, {"rank 9 is not supported, expected 1 to 8"});
}

TEST(ReadIdx, RefusesAFileThatIsCutOffAnywhere) {
  TemporaryDirectory directory;
  const std::string content = idx_bytes(kUint8Code, {2, 3}, "abcdef");
  const std::string packed = gzipped(content);
  for (size_t size = 0; size < content.size(); ++size) {
    const std::string path = directory.write("a", content.substr(0, size));
    expect_io_error([&] { read_idx(path); }, {"bytes", path, "fetch the file again"});
  }
  for (size_t size = 0; size < packed.size(); ++size) {
    const std::string path = directory.write("a", packed.substr(0, size));
    expect_io_error([&] { read_idx(path); }, {path});
  }
}

TEST(ReadIdx, SaysThatAGzipStreamEndsTooEarly) {
  TemporaryDirectory directory;
  const std::string packed = gzipped(idx_bytes(kUint8Code, {6}, "abcdef"));
  const std::string path = directory.write("a", packed.substr(0, packed.size() - 6));
  expect_io_error([&] { read_idx(path); }, {"the gzip data are damaged, it ends too early"});
}

TEST(ReadIdx, VerifiesTheChecksumOfGzip) {
  TemporaryDirectory directory;
  std::string packed = gzipped(idx_bytes(kUint8Code, {6}, "abcdef"));
  packed[packed.size() - 8] ^= 1;
  const std::string path = directory.write("a", packed);
  expect_io_error([&] { read_idx(path); }, {"the gzip data are damaged"});
}

TEST(ReadIdx, RefusesTrailingBytes) {
  TemporaryDirectory directory;
  const std::string content = idx_bytes(kUint8Code, {3}, "abcd");
  for (const std::string& bytes : {content, gzipped(content)}) {
    const std::string path = directory.write("a", bytes);
    expect_io_error([&] { read_idx(path); }, {"goes on after the last element"});
  }
}

TEST(ReadIdx, RefusesSizesWhoseProductOverflows) {
  TemporaryDirectory directory;
  const uint32_t huge = 0xffffffff;
  const std::string path = directory.write("a", idx_bytes(kUint8Code, {huge, huge, huge}, "abc"));
  expect_io_error([&] { read_idx(path); }, {"the header announces uint8[4294967295, 4294967295, "
                                            "4294967295], but the file cannot hold more"});
  const std::string hidden = directory.write("b", idx_bytes(kUint8Code, {0, huge, huge, huge}, ""));
  expect_io_error([&] { read_idx(hidden); }, {"cannot hold more than"});
}

TEST(ReadIdx, TakesNoMemoryForAHeaderThatLies) {
  TemporaryDirectory directory;
  // 17 TB in a file of 50 bytes: an attempt to allocate it would throw something else than IoError.
  const std::string content = idx_bytes(kUint8Code, {0xffffffff, 4096}, "abc");
  for (const std::string& bytes : {content, gzipped(content)}) {
    const std::string path = directory.write("a", bytes);
    expect_io_error([&] { read_idx(path); }, {"the header announces uint8[4294967295, 4096]"});
  }
}

TEST(ReadIdx, StopsReadingABombWhereItsHeaderEnds) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a", gzipped(idx_bytes(kUint8Code, {2}, std::string(1 << 24, '\0'))));
  expect_io_error([&] { read_idx(path); }, {"goes on after the last element"});
}

TEST(ReadIdx, GivesAnArrayOrAnIoErrorForDamagedFiles) {
  const std::string content = idx_bytes(kInt32Code, {2, 1, 3}, std::string(24, 'x'));
  Mutator mutator(1);
  int arrays = 0, errors = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = mutator.damaged(content);
    try {
      const RawArray array = read_idx(*open_memory("read_idx", "memory", std::as_bytes(std::span(bytes))));
      ASSERT_EQ(array.data.size(), static_cast<size_t>(array.count()) * element_size(array.type));
      ++arrays;
    } catch (const IoError&) {
      ++errors;
    }
  }
  EXPECT_GT(arrays, 1000);
  EXPECT_GT(errors, 1000);
}

TEST(ReadIdx, GivesAnArrayOrAnIoErrorForDamagedGzipFiles) {
  TemporaryDirectory directory;
  const std::string packed = gzipped(idx_bytes(kUint8Code, {4, 16}, std::string(64, 'x')));
  Mutator mutator(2);
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string path = directory.write("a", mutator.damaged(packed));
    try {
      const RawArray array = read_idx(path);
      ASSERT_EQ(array.data.size(), static_cast<size_t>(array.count()) * element_size(array.type));
    } catch (const IoError&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace capstan::io
