// Files of torch.save, and pickles that want more than to hold values.
#include "capstan/torch_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/io/file_samples.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using namespace std::string_literals;
using capstan::testing::expected_tensor;
using capstan::testing::Json;
using capstan::testing::message_of;

TEST(LoadTorch, ReadsWhatTorchWrote) {
  int read = 0, refused = 0;
  for (const Json& sample : capstan::testing::samples_of("torch")) {
    SCOPED_TRACE(sample.at("file"));
    const std::string path = sample.at("path");
    if (sample.contains("refuse") || sample.value("may_refuse", false)) {
      EXPECT_THROW(load_torch(path), IoError);
      ++refused;
      continue;
    }
    const TorchFile file = load_torch(path);
    EXPECT_EQ(file.tensors.size(), sample.at("expect").size());
    for (const auto& [name, want] : sample["expect"].items()) {
      const Tensor tensor = file.tensors.at(name);
      EXPECT_EQ(tensor.dtype(), expected_tensor(want).dtype()) << name;
      EXPECT_EQ(tensor.shape(), expected_tensor(want).shape()) << name;
      EXPECT_EQ(tensor.to_vector<double>(), expected_tensor(want).to_vector<double>()) << name;
    }
    const Json scalars = sample.value("scalars", Json::object());
    EXPECT_GE(file.values.size(), scalars.size());
    for (const auto& [name, want] : scalars.items()) {
      EXPECT_EQ(Json::parse(file.values.at(name).to_json()), want) << name;
    }
    ++read;
  }
  EXPECT_EQ(read, 4);
  EXPECT_EQ(refused, 3);
  EXPECT_FALSE(std::filesystem::exists("this-folder-must-not-appear"));
}

TEST(LoadTorch, SaysWhatIsWrong) {
  const std::string folder = capstan::testing::sample_path("torch/");
  EXPECT_NE(message_of<IoError>([&] { load_torch(folder + "runs_code.pt"); }).find("nothing of it is run"),
            std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { load_torch(folder + "legacy.pt"); }).find("PyTorch 1.6 or later"),
            std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { load_torch(folder + "missing.pt"); }).find("missing.pt"), std::string::npos);
}

// A file whose pickle is this, between the first two bytes and the stop; `elements` are those of storage 0.
using Members = std::map<std::string, std::string>;
Members archive(const std::string& pickle) {
  return {{"a/data.pkl", "\x80\x02"s + pickle + "."}, {"a/data/0", std::string(24, '\1')}};
}

std::string text(const std::string& value) { return "\x8c"s + static_cast<char>(value.size()) + value; }
std::string name(const std::string& module, const std::string& function) {
  return "c" + module + "\n" + function + "\n";
}
std::string integer(std::int64_t value) {
  std::string bytes = "\x8a\x08";
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

// A float32 tensor of rank 1 over storage 0, which says that it has so many elements.
std::string tensor(std::int64_t size, std::int64_t stride, std::int64_t offset = 0, std::int64_t stored = 6,
                   const std::string& type = "FloatStorage") {
  return name("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") + name("torch", type) + text("0") +
         text("cpu") + integer(stored) + "tQ" + integer(offset) + integer(size) + "\x85" + integer(stride) + "\x85" +
         "\x89" + name("collections", "OrderedDict") + ")RtR";
}

class LoadTorchOf : public ::testing::Test {
 protected:
  std::string error(const Members& members) {
    return message_of<IoError>([&] { load(members); });
  }
  TorchFile load(const Members& members) {
    const std::string path = directory_.path() + "/file.pt";
    write_zip(path, members);
    return load_torch(path);
  }
  TemporaryDirectory directory_;
};

TEST_F(LoadTorchOf, PlainValues) {
  EXPECT_EQ(load(archive("}" + text("a") + "K\5s")).values.at("a").integer, 5);
  EXPECT_EQ(load(archive("](K\1K\2e")).values.at("").to_json(), "[1, 2]");
  EXPECT_EQ(load(archive("}(K\1]K\2Nu")).values.size(), 2u);
  EXPECT_TRUE(load(archive("}")).values.empty());
  EXPECT_EQ(load(archive(tensor(2, 3))).tensors.at("").size(), 2);
  EXPECT_EQ(load(archive("\x8a\x01\xff")).values.at("").integer, -1);
}

// conj() of PyTorch and views of its imaginary part leave the elements as they are, and so does torch.save.
TEST_F(LoadTorchOf, MarkedTensorsAreWhatTheMarksSay) {
  const std::string corpus = CAPSTAN_SOURCE_DIR "/tests/fuzz/corpus/torch/";
  EXPECT_EQ(load_torch(corpus + "conjugate.pt").tensors.at("c").to_string(), "[1.-2.j 3.+4.j]");
  EXPECT_EQ(load_torch(corpus + "negative.pt").tensors.at("n").to_vector<float>(), (std::vector<float>{-2, 4}));
  const auto marked = [](const std::string& mark, const std::string& type) {
    std::string of_plain = tensor(3, 1, 0, type == "LongStorage" ? 3 : 6, type);
    of_plain.resize(of_plain.size() - 2);
    return of_plain + "}" + text(mark) + "\x88stR";
  };
  EXPECT_LT(load(archive(marked("neg", "FloatStorage"))).tensors.at("").to_vector<float>()[0], 0);
  EXPECT_NE(error(archive(marked("neg", "LongStorage"))).find("of int64 is marked as \"neg\""), std::string::npos);
  EXPECT_NE(error(archive(marked("conj", "FloatStorage"))).find("is marked as \"conj\""), std::string::npos);
  EXPECT_NE(error(archive(marked("sparse", "FloatStorage"))).find("is marked as \"sparse\""), std::string::npos);
}

TEST_F(LoadTorchOf, WhatRunsCodeIsRefused) {
  EXPECT_NE(error(archive(name("os", "system") + text("true") + "\x85R")).find("\"os.system\""), std::string::npos);
  EXPECT_NE(error(archive(name("builtins", "eval"))).find("\"builtins.eval\""), std::string::npos);
  EXPECT_NE(error(archive(text("os") + text("system") + "\x93)R")).find("\"os.system\""), std::string::npos);
  // An object that is made without a call, and a state for a plain value.
  EXPECT_NE(error(archive(name("os", "path") + ")\x81")).find("not supported"), std::string::npos);
  EXPECT_NE(error(archive("}}b")).find("a plain value gets a state"), std::string::npos);
}

TEST_F(LoadTorchOf, TensorsThatLieAreRefused) {
  for (const std::string& lie :
       {tensor(7, 1), tensor(6, 1, 1), tensor(2, 6), tensor(1, 1, 6), tensor(1, 1, -1), tensor(2, -1, 5),
        tensor(INT64_MAX, 1), tensor(-1, 1), tensor(3, INT64_MAX), tensor(2, INT64_MAX, INT64_MAX)}) {
    EXPECT_NE(error(archive(lie)).find("load_torch: "), std::string::npos);
  }
  EXPECT_NE(error(archive(tensor(1, 1, 0, 7))).find("not those of 7 elements"), std::string::npos);
  EXPECT_NE(error(archive(tensor(1, 1, 0, INT64_MIN))).find("elements"), std::string::npos);
  EXPECT_NE(error(archive(tensor(1, 1, 0, 6, "QuantizedStorage"))).find("QuantizedStorage"), std::string::npos);
  // A stride of 0 makes much of little.
  EXPECT_NE(error(archive(tensor(std::int64_t{1} << 40, 0))).find("more memory"), std::string::npos);
  EXPECT_EQ(load(archive(tensor(1000, 0))).tensors.at("").size(), 1000);
  EXPECT_EQ(load(archive(tensor(0, 1))).tensors.at("").size(), 0);
}

TEST_F(LoadTorchOf, StructuresWithoutEndAreRefused) {
  // A list that holds itself, and one that doubles again and again.
  EXPECT_NE(error(archive("]q\0h\0a"s)).find("more values than bytes"), std::string::npos);
  std::string doubled = "]q\0"s;
  for (char i = 1; i < 40; ++i)
    doubled += "](h"s + static_cast<char>(i - 1) + "h" + static_cast<char>(i - 1) + "eq" + i;
  EXPECT_NE(error(archive(doubled)).find("more values than bytes"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "]";
  for (int i = 0; i < 99999; ++i) deep += "a";
  EXPECT_NE(error(archive(deep)).find("deep"), std::string::npos);
}

TEST_F(LoadTorchOf, DamagedPicklesAreRefused) {
  const std::string right = "}(" + text("a") + tensor(2, 3) + text("b") + "]K\1au";
  EXPECT_EQ(load(archive(right)).tensors.size(), 1u);
  for (std::size_t i = 0; i <= right.size(); ++i) {
    error({{"a/data.pkl", "\x80\x02"s + right.substr(0, i)}, {"a/data/0", std::string(24, '\1')}});
  }
  EXPECT_NE(error(archive("a")).find("stack is empty"), std::string::npos);
  EXPECT_NE(error(archive("t")).find("no mark"), std::string::npos);
  EXPECT_NE(error(archive("h\7"s)).find("number 7"), std::string::npos);
  EXPECT_NE(error(archive("K\1K\1R")).find("no name"), std::string::npos);
  EXPECT_NE(error(archive("K\1(K\1u")).find("has no value"), std::string::npos);
  EXPECT_NE(error(archive("\x8c\2\xff\xff")).find("UTF-8"), std::string::npos);
  EXPECT_NE(error(archive("\x8d" + std::string(8, '\xff'))).find("ends within a text"), std::string::npos);
  EXPECT_NE(error(archive("}(" + text("a") + "N" + text("a") + "Nu")).find("two values"), std::string::npos);
  EXPECT_NE(error({{"other", "x"}}).find("no data.pkl"), std::string::npos);
}

}  // namespace
}  // namespace capstan::io
