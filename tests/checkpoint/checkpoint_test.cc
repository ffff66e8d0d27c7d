// Checkpoints as files: what is written, what is refused, what changes.
#include "capstan/checkpoint.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "capstan/io.h"
#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/io/crc32c.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using io::content_of;
using io::TemporaryDirectory;
using testing::contains;
using testing::message_of;

TEST(Checkpoint, GivesEveryDTypeBackAndIsAligned) {
  std::vector<std::pair<std::string, State>> objects;
  std::vector<Variable> variables;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    variables.emplace_back(cast(constant({{1.0, 0.0, 3.0}}), dtype));
    objects.emplace_back(std::string(name_of(dtype)), variables.back());
  }
  variables.emplace_back(zeros({0, 2}));
  objects.emplace_back("none", variables.back());
  const TemporaryDirectory directory;
  const Checkpoint checkpoint(objects);
  const std::string path = checkpoint.write(directory.file("x"));
  std::vector<std::string> before;
  for (const Variable& variable : variables) {
    before.push_back(variable.value().to_string());
    variable.assign(zeros(variable.shape(), variable.dtype()));
  }
  checkpoint.restore(path).assert_consumed();
  for (std::size_t i = 0; i < variables.size(); ++i) EXPECT_EQ(variables[i].value().to_string(), before[i]);

  const std::string bytes = content_of(path);
  EXPECT_EQ(bytes.substr(0, 8), "CAPSTANC");
  std::uint64_t list = 0;
  std::memcpy(&list, bytes.data() + 16, 8);
  EXPECT_EQ((32 + list) % 64, 0u);
  const std::string text = bytes.substr(32, list);
  int tensors = 0;
  for (std::size_t at = text.find("\"data_offsets\":["); at != std::string::npos;
       at = text.find("\"data_offsets\":[", at + 1), ++tensors) {
    EXPECT_EQ(std::stoull(text.substr(at + 16)) % 64, 0u);
  }
  EXPECT_EQ(tensors, kDTypes + 2);
  const io::NamedArrays arrays = io::load_checkpoint(path);
  EXPECT_EQ(arrays.at("float32").to_string(), before[0]);
  EXPECT_EQ(arrays.at("save_counter").item<std::int64_t>(), 0);
}

// Every byte that differs, and every length that is cut off, is found.
TEST(Checkpoint, ThatIsDamagedIsRefusedAndChangesNothing) {
  const Variable a({1.0f, 2.0f, 3.0f}), b(constant({true, false}));
  std::int64_t step = 3;
  const Checkpoint checkpoint({{"a", a}, {"b", b}, {"step", step}});
  const TemporaryDirectory directory;
  const std::string good = content_of(checkpoint.write(directory.file("good")));
  a.assign(zeros({3}));
  step = 4;
  const auto expect_refused = [&](const std::string& bytes, const std::string& what) {
    const std::string path = directory.write("bad", bytes);
    const std::string message = message_of<IoError>([&] { checkpoint.restore(path); });
    ASSERT_TRUE(contains(message, "restore: ") && contains(message, path)) << what << "\n" << message;
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ 1U << i % 8);
    expect_refused(bad, "byte " + std::to_string(i));
    expect_refused(good.substr(0, i), "cut off at " + std::to_string(i));
  }
  expect_refused(good + '\0', "a byte more");
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(step, 4);
  checkpoint.restore(directory.write("bad", good)).assert_consumed();
  EXPECT_EQ(step, 3);
}

// Files that lie, with checksums that fit.
std::string file_of(std::string list, const std::string& data, std::uint32_t version = 1,
                    std::optional<std::uint64_t> length = {}) {
  list.resize((32 + list.size() + 63) / 64 * 64 - 32, ' ');
  std::string bytes = "CAPSTANC";
  const auto append = [&](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  append(version);
  append(std::uint32_t{0});
  append(length.value_or(list.size()));
  append(io::crc32c(list.data(), list.size()));
  append(io::crc32c(bytes.data(), 28));
  return bytes + list + data;
}

std::string entry(const std::string& name, const std::string& shape, const std::string& offsets,
                  const std::string& data) {
  return "\"" + name + R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + R"(],"crc32c":)" +
         std::to_string(io::crc32c(data.data(), data.size())) + "}";
}

TEST(Checkpoint, ThatLiesIsRefused) {
  const TemporaryDirectory directory;
  const Variable a({0.0f, 0.0f});
  const Checkpoint checkpoint({{"a", a}});
  const std::string data(8, '\x01'), good = entry("a", "2", "0,8", data);
  const std::pair<std::string, std::string> cases[] = {
      {file_of("{" + good + "}", data, 2), "version 2"},
      {file_of("{" + good + "}", data, 1, std::uint64_t{1} << 60), "would be 1152921504606846976 bytes"},
      {file_of("{" + good + "}", data, 1, 18446744073709551584U), "would be 18446744073709551584 bytes"},
      {file_of("[]", ""), "no list of tensors"},
      {file_of("{" + good + "," + good + "}", data), "twice"},
      {file_of("{" + entry("a", "4294967296,4294967296", "0,8", data) + "}", data), "are not those of"},
      {file_of("{" + entry("a", "2", "8,16", data) + "}", data + data), "is not where it should be"},
      {file_of("{" + good + "," + entry("b", "2", "8,16", data) + "}", data + data), "is not where it should be"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data), "has no checksum"},
      {file_of("{" + good + "," + entry("b", "1", "64,68", "1234") + "}", data + std::string(56, 'x') + "1234"),
       "is not zero"},
      {file_of("{" + good + "}", "\x02" + data.substr(1)), "the checksum of tensor \"a\" differs"},
      {"NOTCAPSTAN" + std::string(100, ' '), "not a checkpoint of Capstan"},
  };
  for (const auto& [bytes, reason] : cases) {
    const std::string path = directory.write("lie", bytes);
    const std::string message = message_of<IoError>([&] { checkpoint.restore(path); });
    EXPECT_TRUE(contains(message, reason)) << reason << "\n" << message;
  }
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0, 0}));
  checkpoint.restore(directory.write("truth", file_of("{" + good + "}", data))).expect_partial();
  EXPECT_NE(a.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_TRUE(contains(message_of<IoError>([&] { checkpoint.restore(directory.file("none")); }), "No such file"));
  EXPECT_TRUE(contains(message_of<IoError>([&] { checkpoint.restore(directory.path()); }), "not a regular file"));
}

TEST(Checkpoint, SaysWhatDiffersBeforeAnythingChanges) {
  const TemporaryDirectory directory;
  const Variable a({1.0f, 2.0f}), b({3.0f});
  std::int64_t step = 7;
  const std::string path = Checkpoint({{"a", a}, {"b", b}, {"step", step}}).write(directory.file("x"));

  const Variable other({0.0f, 0.0f, 0.0f}), c({5.0f});
  std::int64_t other_step = 0;
  const Checkpoint checkpoint({{"a", other}, {"c", c}, {"step", other_step}});
  const StateDifference difference = checkpoint.compare(path);
  EXPECT_EQ(difference.missing, (std::vector<std::string>{"\"c\", float32[1]"}));
  EXPECT_EQ(difference.left_over, (std::vector<std::string>{"\"b\", float32[1]"}));
  EXPECT_EQ(difference.mismatched, (std::vector<std::string>{"\"a\" is float32[3] here, and float32[2] was saved"}));
  const std::string message = message_of<ValueError>([&] { checkpoint.restore(path); });
  EXPECT_TRUE(contains(message, "different: \"a\" is float32[3]") && contains(message, path)) << message;
  EXPECT_EQ(other_step, 0);

  const RestoreStatus status = checkpoint.restore(path, {.skip_mismatch = true});
  EXPECT_EQ(other_step, 7);
  EXPECT_EQ(other.to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(c.to_vector<float>(), (std::vector<float>{5}));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { status.assert_consumed(); }), "left over: \"b\""));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { status.assert_existing_objects_matched(); }), "missing: \"c\""));
  status.expect_partial();

  ::testing::internal::CaptureStderr();
  Checkpoint({{"b", b}}).restore(path);
  EXPECT_TRUE(contains(::testing::internal::GetCapturedStderr(), "0 tensors were missing, 2 left over"));
  Checkpoint({{"b", b}}).restore(path).assert_existing_objects_matched();
  EXPECT_TRUE(contains(message_of<ValueError>([&] { Checkpoint({{"z", b}}).restore(path); }), "no tensor in the file"));
}

TEST(Checkpoint, RefusesNamesThatCannotBeToldApart) {
  const Variable a(1.0f);
  for (const char* name : {"", "a/b", "save_counter"}) {
    EXPECT_TRUE(contains(message_of<ValueError>([&] { Checkpoint({{name, a}}); }), "cannot have the name")) << name;
  }
  EXPECT_TRUE(contains(message_of<ValueError>([&] { Checkpoint({{"a", a}, {"a", a}}); }), "two objects"));
}

TEST(Checkpoint, ThatCannotBeWrittenLeavesTheOldOne) {
  const TemporaryDirectory directory;
  const Variable a({1.0f});
  const layers::Dense unbuilt(1);
  const std::string path = Checkpoint({{"a", a}}).write(directory.file("x"));
  const std::string before = content_of(path);
  EXPECT_TRUE(contains(message_of<ValueError>([&] {
                         Checkpoint({{"a", a}, {"d", unbuilt}}).write(path);
                       }),
                       "no weights yet"));
  EXPECT_TRUE(contains(message_of<IoError>([&] {
                         Checkpoint({{"a", a}}).write(directory.file("none/x"));
                       }),
                       "cannot write the file"));
  EXPECT_EQ(content_of(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

struct Refusing {
  NamedTensors save() const { return {{"at", constant(at, int64)}}; }
  void restore(const NamedTensors& saved) {
    const auto value = saved.at("at").item<std::int64_t>();
    if (value > 100) throw ValueError("refusing: the position is too large");
    at = value;
  }
  std::int64_t at = 0;
};

TEST(Checkpoint, OfAnObjectThatRefusesChangesNothing) {
  const TemporaryDirectory directory;
  const Variable a({1.0f});
  Refusing first{1}, second{200};
  const Checkpoint checkpoint({{"first", first}, {"second", second}, {"a", a}});
  const std::string path = checkpoint.write(directory.file("x"));
  first.at = 2, second.at = 3;
  a.assign(constant({0.0f}));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { checkpoint.restore(path); }), "too large"));
  EXPECT_EQ(first.at, 2);
  EXPECT_EQ(second.at, 3);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0}));
}

TEST(Checkpoint, SavesUnderNumbersAndNamesTheLatest) {
  const TemporaryDirectory directory;
  const Variable a({1.0f});
  const Checkpoint checkpoint({{"a", a}});
  EXPECT_EQ(latest_checkpoint(directory.path()), std::nullopt);
  EXPECT_EQ(checkpoint.save(directory.file("ckpt")), directory.file("ckpt-1"));
  EXPECT_EQ(checkpoint.save(directory.file("ckpt")), directory.file("ckpt-2"));
  EXPECT_EQ(content_of(directory.file("checkpoint")),
            "model_checkpoint_path: \"ckpt-2\"\nall_model_checkpoint_paths: \"ckpt-2\"\n");
  EXPECT_EQ(latest_checkpoint(directory.path()), directory.file("ckpt-2"));
  const Checkpoint later({{"a", a}});
  later.restore(directory.file("ckpt-1")).assert_consumed();
  EXPECT_EQ(later.save_counter(), 1);
  EXPECT_EQ(later.save(directory.file("ckpt")), directory.file("ckpt-2"));
}

TEST(ModelWeights, AreSavedAndLoadedByTheEndingOfTheName) {
  const TemporaryDirectory directory;
  const auto make = [](int units) {
    return Sequential({layers::Dense(units, {.input_shape = {3}}), layers::BatchNormalization(), layers::Dense(1)});
  };
  const Sequential model = make(4);
  for (const char* name : {"w.safetensors", "w.npz"}) {
    const std::string path = directory.file(name);
    model.save_weights(path);
    const Sequential other = make(4);
    other.load_weights(path);
    for (std::size_t i = 0; i < model.weights().size(); ++i) {
      EXPECT_EQ(other.weights()[i].value().to_string(), model.weights()[i].value().to_string());
    }
    const Sequential wider = make(5);
    const std::string before = wider.weights()[0].value().to_string();
    const std::string message = message_of<ValueError>([&] { wider.load_weights(path); });
    EXPECT_TRUE(contains(message, "different: \"dense/kernel\", float32[3, 5] here, and float32[3, 4] in the file"))
        << message;
    EXPECT_EQ(wider.weights()[0].value().to_string(), before);
    ::testing::internal::CaptureStderr();
    wider.load_weights(path, true);
    EXPECT_TRUE(contains(::testing::internal::GetCapturedStderr(), "are left out"));
    EXPECT_EQ(State(wider).save().at("dense_1/bias").to_string(), State(model).save().at("dense_1/bias").to_string());
    EXPECT_TRUE(contains(message_of<ValueError>([&] { model.save_weights(path, false); }), "there is a file"));
  }
  EXPECT_TRUE(contains(message_of<ValueError>([&] { model.save_weights("w.txt"); }), "ends with none of .safetensors"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { model.save_weights("w.h5"); }), "ends with none of .safetensors"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { model.load_weights("w.txt"); }),
                       "and .weights.h5, nor with .keras or .h5"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { Sequential({layers::Dense(1)}).save_weights("w.npz"); }),
                       "no weights yet"));
}

}  // namespace
}  // namespace capstan
