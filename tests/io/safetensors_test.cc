// .safetensors files, read and written.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
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

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

const std::string kTwoZeros(8, '\0');

struct Refused {
  std::string content;
  std::string reason;
};

TEST(LoadSafetensors, RefusesWhatIsDamagedOrLies) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  std::string nested = "{\"a\":";
  for (int i = 0; i < 5000; ++i) nested += '[';
  const Refused cases[] = {
      {"", "should be 8 bytes"},
      {little_endian(1000) + "{}", "would be 1000 bytes long"},
      {little_endian(std::numeric_limits<std::uint64_t>::max() - 3) + "{}", "would be 18446744073709551612"},
      {file_of("not JSON", ""), "expected '{' at byte 0"},
      {file_of(nested, ""), "expected '{'"},
      {file_of("{" + a + "," + a + "}", kTwoZeros), "\"a\" stands there twice"},
      {file_of("{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", kTwoZeros + "0123"),
       "\"b\" begins at byte 4 of the data, where the one before it ends at 8"},
      {file_of("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", kTwoZeros + kTwoZeros),
       "\"b\" begins at byte 12"},
      {file_of("{" + a + "}", kTwoZeros + "more"), "take 8 bytes, but the file has 12"},
      {file_of("{" + a + "}", "less"), "take 8 bytes, but the file has 4"},
      {file_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", kTwoZeros), "are not those of F32[3]"},
      {file_of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", ""),
       "are not those of F32[4294967296, 4294967296]"},
      {file_of(R"({"a":{"dtype":"F32","shape":[0,4294967295],"data_offsets":[0,0]}})", ""), "an axis is longer"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", kTwoZeros), "run backwards"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", kTwoZeros), "not negative"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", kTwoZeros), "expected ']'"},
      {file_of(R"({"a":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}})", kTwoZeros), "begins with 0"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]}})", kTwoZeros),
       "does not fit into 64 bits"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", kTwoZeros),
       "more than 8 axes"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2]}})", kTwoZeros), "is missing of \"a\""},
      {file_of(R"({"a":{"dtype":"X7","shape":[8],"data_offsets":[0,8]}})", kTwoZeros), "dtype \"X7\""},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", kTwoZeros), "\"more\""},
      {file_of(R"({"__metadata__":{"k":1}})", ""), "expected a text under \"k\""},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})", ""), "twice"},
      {file_of("{\"\xff\":{}}", ""), "no character"},
      {file_of(R"({"\ud800":{}})", ""), "half of a character"},
      {file_of(R"({"a)", ""), "no end"},
      {file_of("{} {}", ""), "unexpected"},
      {file_of(R"({"a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})", std::string(8, '\xff')),
       "18446744073709551615 does not fit into int64"},
  };
  const TemporaryDirectory directory;
  for (const Refused& refused : cases) {
    const std::string path = directory.write("bad.safetensors", refused.content);
    const std::string message = message_of<IoError>([&] { load_safetensors(path); });
    EXPECT_NE(message.find(refused.reason), std::string::npos) << refused.reason << "\n" << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_EQ(message_of<IoError>([&] { load_safetensors(path, {.map = true}); }), message);
  }
  EXPECT_NE(message_of<IoError>([&] { load_safetensors(directory.file("none")); }).find("No such file"),
            std::string::npos);
}

// A header whose length has the two bytes that begin a gzip file.
TEST(LoadSafetensors, TakesNoLengthForGzip) {
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize(0x8b1f, ' ');
  const TemporaryDirectory directory;
  const NamedArrays arrays = load_safetensors(directory.write("x.safetensors", file_of(header, kTwoZeros)));
  EXPECT_EQ(arrays.at("a").to_vector<float>(), (std::vector<float>{0, 0}));
}

// Elements of a mapped file lie in it, but for those at an odd address and those that become other ones.
TEST(LoadSafetensors, MapsAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("w.safetensors");
  const Tensor kernel = reshape(range(12.0f), {3, 4}), mask = constant({true, false});
  save_safetensors(path, {{"kernel", kernel}, {"mask", mask}, {"none", zeros({0, 2})}, {"step", constant(7L, int64)}});
  NamedArrays arrays = load_safetensors(path, {.map = true});
  // Replaced and removed files stay as they were for who has mapped them.
  save_safetensors(path, {{"kernel", zeros({3, 4})}});
  std::filesystem::remove(path);
  EXPECT_EQ(arrays.at("kernel").to_vector<float>(), kernel.to_vector<float>());
  EXPECT_EQ(arrays.at("mask").to_vector<bool>(), mask.to_vector<bool>());
  EXPECT_EQ(arrays.at("none").shape(), (Shape{0, 2}));
  EXPECT_EQ(arrays.at("step").item<std::int64_t>(), 7);
  const auto address = [&](const char* name) { return static_cast<const std::byte*>(arrays.at(name).raw_data()); };
  EXPECT_EQ(address("kernel") - address("step"), 8);
  const Tensor row = arrays.at("kernel")(1);
  arrays.clear();
  EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{4, 5, 6, 7}));

  const std::string odd = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("w":{"dtype":"I32","shape":[1],"data_offsets":[1,5]}})";
  const NamedArrays few =
      load_safetensors(directory.write("odd.safetensors", file_of(odd, std::string("\5\7\0\0\0", 5))), {.map = true});
  EXPECT_EQ(few.at("b").item<int>(), 5);
  EXPECT_EQ(few.at("w").item<int>(), 7);
}

TEST(LoadSafetensors, WidensTypesThatTensorsLack) {
  const std::string header = R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"I8","shape":[2],"data_offsets":[8,10]},)"
                             R"("w":{"dtype":"U16","shape":[1],"data_offsets":[10,12]},)"
                             R"("u":{"dtype":"U32","shape":[1],"data_offsets":[12,16]}})";
  // 1.5, the smallest number above 0, the largest, -infinity.
  const std::string halves("\x00\x3e\x01\x00\xff\x7b\x00\xfc", 8);
  const TemporaryDirectory directory;
  const NamedArrays arrays =
      load_safetensors(directory.write("x", file_of(header, halves + "\x80\x7f\xff\xff\xff\xff\xff\xff")));
  EXPECT_EQ(arrays.at("h").to_vector<float>(),
            (std::vector<float>{1.5f, 0x1p-24f, 65504, -std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(arrays.at("b").to_vector<std::int32_t>(), (std::vector<std::int32_t>{-128, 127}));
  EXPECT_EQ(arrays.at("w").item<std::int32_t>(), 65535);
  EXPECT_EQ(arrays.at("u").item<std::int64_t>(), 4294967295);
}

TEST(SaveSafetensors, WritesWhatTheReferenceWriterWrites) {
  const TemporaryDirectory directory;
  save_safetensors(directory.file("x"), {{"a", zeros({2})}});
  EXPECT_EQ(content_of(directory.file("x")),
            file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )", kTwoZeros));
}

TEST(SaveSafetensors, KeepsEveryTypeNameAndText) {
  std::map<std::string, Tensor> tensors = {{"scalar", constant(2.5f)}, {"none", zeros({0, 3})}};
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    tensors.emplace("of/" + std::string(name_of(dtype)), cast(constant({{1.0, 0.0, 3.0}}), dtype));
  }
  const std::string odd = "\"quoted\" \\ \n \x01 \xc3\xa9 \xf0\x9f\x98\x80";
  tensors.emplace(odd, constant(1));
  const TemporaryDirectory directory;
  const std::string path = directory.file("all.safetensors");
  save_safetensors(path, tensors, {.metadata = {{"format", "pt"}, {odd, odd}}});
  const NamedArrays read = load_safetensors(path);
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& other = read.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(other.shape(), tensor.shape()) << name;
    EXPECT_EQ(other.to_string(), tensor.to_string()) << name;
  }
  EXPECT_EQ(read.metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {odd, odd}}));
  const std::string message = message_of<IndexError>([&] { read.at("other"); });
  EXPECT_NE(message.find("load_safetensors"), std::string::npos) << message;
}

// Large files get their place on the disk first; it is not longer than they are.
TEST(SaveSafetensors, WritesLargeFiles) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("large.safetensors");
  const Tensor values = range(10'000'001);
  save_safetensors(path, {{"values", values}, {"flags", ones({3, 7}, bool_)}});
  std::uint64_t header = 0;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  EXPECT_EQ(std::filesystem::file_size(path), sizeof header + header + 40'000'004 + 21);
  EXPECT_EQ(load_safetensors(path).at("values").to_vector<std::int32_t>(), values.to_vector<std::int32_t>());
}

TEST(SaveSafetensors, RefusesWhatCannotStandInAFileAndLeavesTheOldOne) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("x", "old");
  EXPECT_NE(message_of<ValueError>([&] {
              save_safetensors(path, {{"a", Tensor()}});
            }).find("is empty"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] {
              save_safetensors(path, {{"", zeros({1})}});
            }).find("no name"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] {
              save_safetensors(path, {{"\xc3", zeros({1})}});
            }).find("no UTF-8"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] {
              save_safetensors(path, {{"__metadata__", zeros({1})}});
            }).find("metadata"),
            std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] {
              save_safetensors(path, {}, {.metadata = {{"k", "\xff"}}});
            }).find("no UTF-8"),
            std::string::npos);
  EXPECT_EQ(content_of(path), "old");
  EXPECT_NE(message_of<IoError>([&] { save_safetensors(directory.file("none/x"), {}); }).find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan::io
