// TensorFlow's checkpoints, read and written.
#include "capstan/tensorflow_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/io/crc32c.h"
#include "src/io/table_file.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using capstan::testing::expected_tensor;
using capstan::testing::Json;
using capstan::testing::message_of;
using capstan::testing::same_bits;

void expect_tensors(const TensorflowCheckpoint& checkpoint, const Json& tensors) {
  EXPECT_EQ(checkpoint.tensors.size() + checkpoint.texts.size(), tensors.size());
  for (const auto& [key, want] : tensors.items()) {
    if (want.at("dtype") == "string") {
      ASSERT_TRUE(checkpoint.texts.contains(key)) << key;
      EXPECT_EQ(checkpoint.texts.at(key), want.at("data").get<std::vector<std::string>>()) << key;
    } else {
      EXPECT_TRUE(same_bits(checkpoint.tensors.at(key), expected_tensor(want))) << key;
    }
  }
}

TEST(LoadTensorflowCheckpoint, ReadsWhatTensorFlowWrote) {
  int read = 0, refused = 0;
  for (const Json& sample : capstan::testing::samples_of("checkpoints")) {
    SCOPED_TRACE(sample.at("file"));
    if (sample.at("file") == "slices/sliced") {
      EXPECT_NE(message_of<IoError>([&] { load_tensorflow_checkpoint(sample.at("path")); }).find("in slices"),
                std::string::npos);
      ++refused;
      continue;
    }
    const TensorflowCheckpoint checkpoint = load_tensorflow_checkpoint(sample.at("path"));
    expect_tensors(checkpoint, sample.at("tensors"));
    // The graph names the same keys.
    std::map<std::string, std::string> names;
    if (sample.contains("object_graph") && sample["object_graph"].is_array()) {
      for (const Json& node : sample["object_graph"]) {
        for (const Json& attribute : node.at("attributes")) names[attribute[2]] = attribute[1];
      }
    }
    EXPECT_EQ(checkpoint.variable_names, names);
    ++read;
  }
  EXPECT_EQ(read, 6);
  EXPECT_EQ(refused, 1);
}

TEST(LoadTensorflowCheckpoint, RefusesWhatIsDamaged) {
  for (const Json& sample : capstan::testing::samples_of("hostile/checkpoint")) {
    SCOPED_TRACE(sample.at("file"));
    if (sample.at("must") == "load") {
      expect_tensors(load_tensorflow_checkpoint(sample.at("path")), sample.at("value"));
    } else {
      EXPECT_EQ(sample.at("must"), "fail");
      const std::string error = message_of<IoError>([&] { load_tensorflow_checkpoint(sample.at("path")); });
      EXPECT_TRUE(error.starts_with("load_tensorflow_checkpoint: ")) << error;
      EXPECT_NE(error.find(sample.at("file").get<std::string>()), std::string::npos) << error;
    }
  }
}

class TensorflowCheckpointFiles : public ::testing::Test {
 protected:
  std::string prefix(const std::string& name = "ckpt") const { return directory_.path() + "/" + name; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  TemporaryDirectory directory_;
};

TEST_F(TensorflowCheckpointFiles, AreReadAsTheyWereWritten) {
  std::map<std::string, Tensor> tensors = {
      {"a", constant({1.5f, 2.5f})}, {"layer/kernel", constant({{1.0, 2.0}, {3.0, 4.0}})},
      {"layer/list/0", constant(7)}, {"layer/list/1", cast(constant({1.0f, -3.0f}), bfloat16)},
      {"empty", zeros({0, 3})},      {"truth", constant({true, false})}};
  // Several blocks of keys.
  for (int i = 0; i < 3000; ++i) tensors["many/" + std::string(100, 'x') + std::to_string(i)] = constant(i);
  save_tensorflow_checkpoint(prefix(), tensors);
  EXPECT_EQ(files(), (std::vector<std::string>{"ckpt.data-00000-of-00001", "ckpt.index"}));
  const TensorflowCheckpoint checkpoint = load_tensorflow_checkpoint(prefix());
  ASSERT_EQ(checkpoint.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const std::string key = name + "/.ATTRIBUTES/VARIABLE_VALUE";
    EXPECT_TRUE(same_bits(checkpoint.tensors.at(key), tensor)) << name;
    EXPECT_EQ(checkpoint.variable_names.at(key), name);
  }
  save_tensorflow_checkpoint(prefix("nothing"), {});
  EXPECT_TRUE(load_tensorflow_checkpoint(prefix("nothing")).tensors.empty());
}

TEST_F(TensorflowCheckpointFiles, RefuseNamesThatNoObjectHas) {
  const Tensor one = constant(1.0f);
  const auto error = [&](const std::map<std::string, Tensor>& tensors) {
    return message_of<ValueError>([&] { save_tensorflow_checkpoint(prefix(), tensors); });
  };
  EXPECT_NE(error({{"", one}}).find("is empty or has a '.'"), std::string::npos);
  EXPECT_NE(error({{"a.b", one}}).find("\"a.b\" is empty or has a '.'"), std::string::npos);
  EXPECT_NE(error({{"/a", one}}).find("empty part"), std::string::npos);
  EXPECT_NE(error({{"a/", one}}).find("empty part"), std::string::npos);
  EXPECT_NE(error({{"a", one}, {"a/b", one}}).find("\"a\" is a tensor, so \"a/b\" cannot be in it"), std::string::npos);
  EXPECT_NE(error({{"a", Tensor()}}).find("is empty"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

// Each byte changed, and each length cut: an error, or the same tensors where the byte does not matter.
TEST_F(TensorflowCheckpointFiles, DamagedAnywhereAreNeverWrong) {
  const std::map<std::string, Tensor> tensors = {{"a", constant({1.5f, 2.5f})}, {"b/c", constant(7)}};
  save_tensorflow_checkpoint(prefix(), tensors);
  for (const std::string ending : {".index", ".data-00000-of-00001"}) {
    std::ifstream file(prefix() + ending, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto check = [&](const std::string& changed) {
      std::ofstream(prefix() + ending, std::ios::binary) << changed;
      try {
        const TensorflowCheckpoint checkpoint = load_tensorflow_checkpoint(prefix());
        EXPECT_TRUE(same_bits(checkpoint.tensors.at("a/.ATTRIBUTES/VARIABLE_VALUE"), tensors.at("a")));
      } catch (const IoError&) {
      }
    };
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      check(bytes.substr(0, i));
      for (const int change : {1, 0x80}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(changed[i] ^ change);
        check(changed);
      }
    }
    std::ofstream(prefix() + ending, std::ios::binary) << bytes;
  }
}

// A table whose checksums are right and whose content is not.
std::string table_with_block(std::string block) {
  const auto append = [](std::string& bytes, std::uint32_t value) {
    bytes.append(reinterpret_cast<const char*>(&value), 4);
  };
  std::string file = block + '\0';
  append(file, masked_crc32c(file.data(), file.size()));
  std::string list = std::string("\0\1\2z\0", 5) + static_cast<char>(block.size());
  append(list, 0);
  append(list, 1);
  const std::size_t begin = file.size();
  std::string trailed = list + '\0';
  append(trailed, masked_crc32c(trailed.data(), trailed.size()));
  file += trailed;
  std::string footer = {0, 0, static_cast<char>(begin), static_cast<char>(list.size())};
  footer.resize(40, '\0');
  const std::uint64_t magic = 0xdb4775248b80fb57;
  footer.append(reinterpret_cast<const char*>(&magic), 8);
  return file + footer;
}

TEST(TableFile, RefusesBlocksThatLie) {
  const auto error = [](const std::string& bytes) {
    const auto source = open_memory("parse", "memory", {});
    return message_of<IoError>([&] { parse_table(*source, bytes); });
  };
  const std::string restarts("\0\0\0\0\1\0\0\0", 8);
  EXPECT_EQ(error(table_with_block(std::string("\0\1\1ab", 5) + restarts)), "nothing was thrown");
  EXPECT_NE(error(table_with_block(std::string("\0\1\1ab\0\1\1ab", 10) + restarts)).find("stands behind"),
            std::string::npos);
  EXPECT_NE(error(table_with_block(std::string("\5\1\1ab", 5) + restarts)).find("cut off"), std::string::npos);
  EXPECT_NE(error(table_with_block(std::string("\0\x7f\1ab", 5) + restarts)).find("cut off"), std::string::npos);
  EXPECT_NE(error(table_with_block(std::string("\0\1\x7f"
                                               "ab",
                                               5) +
                                   restarts))
                .find("cut off"),
            std::string::npos);
  EXPECT_NE(error(table_with_block("\xff\xff\xff\xff")).find("whole keys"), std::string::npos);
  EXPECT_NE(error(table_with_block("a")).find("shorter than 4"), std::string::npos);
  EXPECT_NE(error("").find("expected 48 or more"), std::string::npos);
}

}  // namespace
}  // namespace capstan::io
