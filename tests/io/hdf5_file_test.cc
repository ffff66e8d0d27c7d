// HDF5 files of h5py, damaged ones among them.
#include "src/io/hdf5_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/io/hdf5_bytes.h"
#include "src/io/hdf5_writer.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"

namespace capstan::io {
namespace {

using capstan::testing::expected_tensor;
using capstan::testing::Json;

std::map<std::string, Tensor> read(std::string_view bytes) {
  const auto content = std::as_bytes(std::span(bytes));
  return read_hdf5(*open_memory("read_hdf5", "file.h5", content), content);
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
      EXPECT_TRUE(capstan::testing::same_bits(got.at(path), expected_tensor(value))) << got.at(path).to_string();
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

constexpr const char* kLaterForms[] = {"links_in_heap.h5",  "growing_arrays.h5", "arrays_of_chunks.h5",
                                       "array_in_pages.h5", "tree_of_chunks.h5", "tree_of_deflated_chunks.h5"};

std::string corpus_path(const std::string& file) { return CAPSTAN_SOURCE_DIR "/tests/fuzz/corpus/hdf5/" + file; }

// As hdf5_samples.py writes them.
TEST(ReadHdf5, ReadsTheFormsOfLaterVersions) {
  constexpr int kLinks = 12;
  std::map<std::string, Tensor> got;
  for (const char* file : kLaterForms) {
    const std::string path = corpus_path(file);
    for (auto& [name, tensor] : read(content_of(path))) got.emplace(name, tensor);
    // From the disk only what is looked at is read.
    for (auto& [name, tensor] : load_hdf5_file("load_hdf5", path)) {
      EXPECT_TRUE(capstan::testing::same_bits(tensor, got.at(name))) << name;
    }
  }
  for (int i = 0; i < kLinks; ++i) {
    EXPECT_EQ(got.at("group/d" + std::to_string(i)).to_vector<int>(), (std::vector<int>{i, i + 1, i + 2}));
  }
  const std::map<std::string, Shape> shapes = {{"grows", {210}},
                                               {"grows_deflated", {50}},
                                               {"grows_in_the_middle", {4, 9, 3}},
                                               {"longer_than_shape", {5, 6}},
                                               {"pages", {1100}},
                                               {"plain", {24, 22}},
                                               {"deflated", {7, 9, 5}},
                                               {"longer_and_deflated", {5, 6}}};
  for (const auto& [name, shape] : shapes) {
    SCOPED_TRACE(name);
    const Tensor& tensor = got.at(name);
    EXPECT_EQ(tensor.shape(), shape);
    std::vector<int> counted(static_cast<std::size_t>(shape.size()));
    std::iota(counted.begin(), counted.end(), 0);
    EXPECT_EQ(tensor.to_vector<int>(), counted);
  }
  EXPECT_EQ(got.at("never_written").to_vector<int>(), std::vector<int>(7, 0));
  EXPECT_EQ(got.size(), kLinks + shapes.size() + 1);
}

TEST(ReadHdf5, ADatasetMayHaveSeveralNames) {
  const auto got = read(content_of(corpus_path("two_names.h5")));
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got.at("group/second").to_vector<int>(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(got.at("group/second").raw_data(), got.at("first").raw_data());
}

// Datasets that all lie at one place would take much more memory than the file has.
void expect_problem(const char* file, const char* problem) {
  const std::string text = capstan::testing::message_of<IoError>([&] { read(content_of(corpus_path(file))); });
  EXPECT_NE(text.find(problem), std::string::npos) << text;
}

TEST(ReadHdf5, FollowsSoftLinks) {
  for (const char* file : {"soft_links.h5", "soft_links_latest.h5"}) {
    SCOPED_TRACE(file);
    const auto got = read(content_of(corpus_path(file)));
    EXPECT_EQ(got.size(), 7U);
    for (const char* name :
         {"group/inner/d", "absolute", "group/relative", "link_to_link", "inner/d", "through_link"}) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(got.contains(name));
      EXPECT_EQ(got.at(name).to_vector<int>(), (std::vector<int>{0, 1, 2, 3}));
    }
    EXPECT_TRUE(got.contains("group/e"));
  }
  expect_problem("soft_link_to_nothing.h5", "the link \"a\" leads to \"nothing\", which is not there");
  expect_problem("soft_links_in_a_circle.h5", "leads from link to link without an end");
  expect_problem("soft_link_to_its_group.h5", "leads to a group that has soft links");
}

TEST(ReadHdf5, ReadsComplexNumbers) {
  for (const char* file : {"complex.h5", "complex_latest.h5"}) {
    SCOPED_TRACE(file);
    const auto got = read(content_of(corpus_path(file)));
    EXPECT_TRUE(
        capstan::testing::same_bits(got.at("complex64"), complex(constant({1.0f, 3.0f}), constant({2.0f, -0.5f}))));
    EXPECT_TRUE(capstan::testing::same_bits(got.at("complex128"),
                                            complex(constant({1.0, 3.0}, float64), constant({2.0, -0.5}, float64))));
  }
  expect_problem("record.h5", "its datatype is a record, which is not supported");
}

TEST(ReadHdf5, RefusesManyDatasetsOfTheSameBytes) {
  constexpr std::size_t kCount = 50, kSize = 40'000;
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < kCount; ++i) tensors.emplace("d" + std::to_string(i), zeros({kSize / 4}));
  const std::vector<std::byte> whole = hdf5_bytes("test", tensors);
  std::string bytes(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto number = [](std::uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), 8); };
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, from.size(), to);
  };
  const std::uint64_t first = bytes.size() - kCount * kSize;
  for (std::size_t i = 1; i < kCount; ++i) {
    replace(number(first + i * kSize) + number(kSize), number(first) + number(kSize));
  }
  replace(number(bytes.size()), number(first + kSize));
  bytes.resize(first + kSize);
  EXPECT_NE(capstan::testing::message_of<IoError>([&] { read(bytes); }).find("more bytes than the file"),
            std::string::npos);
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
  std::vector<std::string> paths;
  for (const char* file : {"hdf5/gzip_shuffle_latest.h5", "hdf5/fletcher32.h5", "models/dense_bfloat16.weights.h5",
                           "hdf5/big_endian.h5", "hdf5/contiguous_latest.h5"}) {
    paths.push_back(capstan::testing::sample_path(file));
  }
  for (const char* file : kLaterForms) paths.push_back(corpus_path(file));
  for (const std::string& path : paths) {
    const std::string bytes = content_of(path);
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
