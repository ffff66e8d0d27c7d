// HDF5 files of h5py, damaged ones among them.
#include "src/io/hdf5_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "src/io/hdf5_bytes.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"

namespace capstan::io {
namespace {

using capstan::testing::Json;

std::map<std::string, Tensor> read(std::string_view bytes) {
  const auto content = std::as_bytes(std::span(bytes));
  return read_hdf5(*open_memory("read_hdf5", "file.h5", content), content);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Smaller types become wider ones.
Tensor expected(Json json) {
  for (const auto& [narrow, wide] : {std::pair{"float16", "float32"}, {"int16", "int32"}, {"int8", "int32"}}) {
    if (json.at("dtype") == narrow) json["dtype"] = wide;
  }
  return capstan::testing::tensor_from_json(json);
}

void expect_tensors(const std::map<std::string, Tensor>& got, const Json& want) {
  EXPECT_EQ(got.size(), want.size());
  for (const auto& [path, value] : want.items()) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(got.contains(path));
    if (value.contains("raw")) {  // bfloat16
      EXPECT_EQ(got.at(path).dtype(), bfloat16);
      const std::string bytes = capstan::testing::bytes_of_hex(value["raw"]);
      EXPECT_EQ(std::memcmp(got.at(path).raw_data(), bytes.data(), bytes.size()), 0);
    } else {
      EXPECT_TRUE(capstan::testing::same_bits(got.at(path), expected(value))) << got.at(path).to_string();
    }
  }
}

TEST(ReadHdf5, ReadsWhatH5pyAndKerasWrote) {
  int files = 0;
  for (const char* folder : {"hdf5", "models"}) {
    for (const Json& sample : capstan::testing::samples_of(folder)) {
      SCOPED_TRACE(sample.at("file"));
      if (sample.at("file") == "legacy_model.h5") continue;
      expect_tensors(read(content_of(sample.at("path"))), sample.at("hdf5").at("datasets"));
      ++files;
    }
  }
  EXPECT_GE(files, 16);
}

// h5py wrote it with libver="latest": the enumeration is of another version than the integers that it is made of.
TEST(ReadHdf5, ReadsTruthValuesOfTheLatestForm) {
  const auto got = read(content_of(CAPSTAN_SOURCE_DIR "/tests/fuzz/corpus/hdf5/truth_values_latest.h5"));
  EXPECT_TRUE(capstan::testing::same_bits(got.at("bool"), constant({false, true, true})));
}

TEST(ReadHdf5, RefusesWhatIsDamagedOrLies) {
  for (const Json& sample : capstan::testing::samples_of("hostile/hdf5")) {
    SCOPED_TRACE(sample.at("file"));
    const std::string bytes = content_of(sample.at("path"));
    const std::string must = sample.at("must");
    try {
      const std::map<std::string, Tensor> got = read(bytes);
      EXPECT_NE(must, "fail");
      if (sample.contains("value")) expect_tensors(got, sample["value"]);
    } catch (const IoError& error) {
      EXPECT_NE(must, "load") << error.what();
      EXPECT_NE(std::string(error.what()).find("file.h5"), std::string::npos) << error.what();
    }
  }
}

// A changed byte or another end is an error, or a file of other numbers, but never anything else.
TEST(ReadHdf5, TakesEveryByteForALie) {
  for (const char* file : {"hdf5/gzip_shuffle_latest.h5", "hdf5/fletcher32.h5", "models/dense_bfloat16.weights.h5",
                           "hdf5/big_endian.h5", "hdf5/contiguous_latest.h5"}) {
    const std::string bytes = content_of(capstan::testing::sample_path(file));
    const auto check = [](const std::string& changed) {
      try {
        read(changed);
      } catch (const IoError&) {
      }
    };
    const std::size_t step = bytes.size() / 4096 + 1;
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      if (i % 8 == 0) check(bytes.substr(0, i));
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(changed[i] ^ change);
        check(changed);
      }
    }
  }
}

// From the authors' documentation of lookup3, and of Fletcher's sum in the HDF Group's library.
TEST(Hdf5Checksums, AreThoseOfTheFormat) {
  EXPECT_EQ(hdf5::metadata_checksum(""), 0xdeadbeefU);
  EXPECT_EQ(hdf5::metadata_checksum("Four score and seven years ago"), 0x17770551U);
  EXPECT_EQ(hdf5::fletcher32(""), 0U);
  EXPECT_EQ(hdf5::fletcher32(std::string_view("\1\2", 2)), 0x01020102U);
}

}  // namespace
}  // namespace capstan::io
