// TFRecord files and Examples.
#include "capstan/records.h"

#include <gtest/gtest.h>

#include <limits>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using testing::Json;
using testing::message_of;

std::vector<std::string> all_records(const std::string& path, const std::string& compression = "") {
  RecordReader reader(path, {.compression = compression});
  std::vector<std::string> records;
  while (auto record = reader.next()) records.push_back(std::move(*record));
  EXPECT_FALSE(reader.next().has_value()) << "the end is the end";
  return records;
}

std::string compression_of(const Json& entry) {
  const std::string name = entry.value("compression", "none");
  return name == "none" ? "" : name;
}

Feature feature_of(const Json& values) {
  if (values.empty()) return {};
  if (values[0].is_number_integer()) return values.get<Feature::Integers>();
  if (values[0].is_number()) return values.get<Feature::Floats>();
  Feature::Bytes texts;
  for (const Json& value : values)
    texts.push_back(value.is_string() ? value.get<std::string>() : testing::bytes_of_hex(value.at("hex")));
  return texts;
}

// What JSON writes without a point may be a float.
void expect_feature(const Feature& found, const Json& expected) {
  if (found.kind() == "floats") {
    EXPECT_EQ(found.floats(), expected.get<Feature::Floats>());
  } else {
    EXPECT_EQ(found, feature_of(expected));
  }
}

TEST(Records, OfTensorFlowAreRead) {
  int examples = 0, payloads = 0;
  for (const Json& entry : testing::samples_of("tfrecord")) {
    SCOPED_TRACE(entry.at("file").get<std::string>());
    const auto records = all_records(entry.at("path"), compression_of(entry));
    if (entry.contains("payloads_hex")) {
      const Json& expected = entry.at("payloads_hex");
      ASSERT_GE(records.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i, ++payloads)
        EXPECT_EQ(records[i], testing::bytes_of_hex(expected[i])) << i;
    }
    if (entry.contains("lengths")) {
      ASSERT_EQ(records.size(), entry.at("lengths").size());
      for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].size(), entry.at("lengths")[i]);
    }
    if (!entry.contains("examples")) continue;
    ASSERT_EQ(records.size(), entry.at("examples").size());
    for (std::size_t i = 0; i < records.size(); ++i, ++examples) {
      const Example example = Example::parse(records[i]);
      const Json& expected = entry.at("examples")[i];
      EXPECT_EQ(example.features().size(), expected.size());
      for (const auto& [name, values] : expected.items()) expect_feature(example[name], values);
      // And TensorFlow's bytes are written.
      EXPECT_EQ(example.serialize(), records[i]);
    }
  }
  EXPECT_GE(examples, 12);
  EXPECT_GE(payloads, 15);
}

TEST(Records, ThatAreWrittenAreTensorFlowsBytes) {
  const TemporaryDirectory folder;
  const std::string original = testing::sample_path("tfrecord/plain.tfrecord");
  RecordWriter writer(folder.file("copy"));
  for (const std::string& record : all_records(original)) writer.write(record);
  writer.close();
  EXPECT_EQ(content_of(folder.file("copy")), content_of(original));
}

TEST(Records, ComeBackFromEveryCompression) {
  const TemporaryDirectory folder;
  std::vector<std::string> records = {"", "abc", std::string(300000, 'x'), std::string("\0\xff", 2)};
  for (int i = 0; i < 1000; ++i) records.push_back("record " + std::to_string(i));
  for (const std::string compression : {"", "GZIP", "ZLIB"}) {
    for (const int level : {-1, 0, 9}) {
      RecordWriter writer(folder.file("data"), {.compression = compression, .compression_level = level});
      for (const std::string& record : records) writer.write(record);
      writer.close();
      EXPECT_EQ(all_records(folder.file("data"), compression), records) << compression << " " << level;
    }
  }
}

TEST(Records, AreThereAfterAFlush) {
  const TemporaryDirectory folder;
  RecordWriter writer(folder.file("data"));
  writer.write("first");
  EXPECT_TRUE(content_of(folder.file("data")).empty());
  writer.flush();
  EXPECT_EQ(all_records(folder.file("data")), std::vector<std::string>{"first"});
  writer.write("second");
  {
    const RecordWriter moved = std::move(writer);  // whose end closes the file
  }
  EXPECT_EQ(all_records(folder.file("data")).size(), 2u);
}

TEST(Records, OfSeveralGzipMembersAreOneFile) {
  const TemporaryDirectory folder;
  const std::string member = content_of(testing::sample_path("tfrecord/gzip.tfrecord"));
  EXPECT_EQ(all_records(folder.write("two", member + member), "GZIP").size(), 8u);
  EXPECT_THROW(all_records(folder.write("garbage", member + "garbage"), "GZIP"), IoError);
  const std::string zlib = content_of(testing::sample_path("tfrecord/zlib.tfrecord"));
  EXPECT_THROW(all_records(folder.write("zlib", zlib + zlib), "ZLIB"), IoError);
}

TEST(Records, ThatAreDamagedAreRefused) {
  int refused = 0;
  for (const Json& entry : testing::samples_of("hostile/tfrecord")) {
    SCOPED_TRACE(entry.at("file").get<std::string>());
    std::size_t before = 0;
    const std::string path = entry.at("path");
    const auto read = [&] {
      RecordReader reader(path, {.compression = compression_of(entry)});
      while (reader.next()) ++before;
    };
    const std::string text = message_of<IoError>(read);
    EXPECT_NE(text.find("\n  file: " + path), std::string::npos) << text;
    if (entry.contains("records_before_the_error")) {
      EXPECT_EQ(before, entry.at("records_before_the_error"));
    }
    ++refused;
  }
  EXPECT_EQ(refused, 9);
}

TEST(Records, ErrorsNameThePlaceAndTheReason) {
  const auto text_of = [](const std::string& file, const std::string& compression = "") {
    const std::string path = testing::sample_path("hostile/tfrecord/" + file);
    const std::string text = message_of<IoError>([&] { all_records(path, compression); });
    return text.substr(0, text.find("\n  file"));
  };
  EXPECT_EQ(text_of("truncated.tfrecord"),
            "record_reader: the record at byte 225 is cut off: 19 bytes should follow its length, and 16 do");
  EXPECT_EQ(text_of("checksum.tfrecord"), "record_reader: the checksum of the record at byte 0 differs");
  EXPECT_EQ(text_of("length_checksum.tfrecord"),
            "record_reader: the checksum of the length of the record at byte 0 differs");
  EXPECT_EQ(text_of("length_huge.tfrecord").substr(0, 80),
            "record_reader: the record at byte 0 should have 9223372036854775808 bytes, but t");
  EXPECT_EQ(text_of("gzip_truncated.tfrecord", "GZIP"), "record_reader: the gzip data are damaged, they end too early");
  EXPECT_EQ(message_of<ValueError>([] { RecordReader("x", {.compression = "gzip"}); }),
            "record_reader: compression \"gzip\" is not \"\", \"GZIP\" or \"ZLIB\"");
  EXPECT_EQ(message_of<IoError>([] { RecordReader("/no/such/file"); }),
            "record_reader: cannot open the file, No such file or directory\n  file: /no/such/file");
}

TEST(Records, EveryBitThatFlipsIsNoticed) {
  const TemporaryDirectory folder;
  const std::string whole = content_of(testing::sample_path("tfrecord/plain.tfrecord"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    EXPECT_THROW(all_records(folder.write("damaged", damaged)), IoError) << i;
  }
}

TEST(Records, ThatCannotBeWrittenAreErrors) {
  EXPECT_EQ(message_of<IoError>([] { RecordWriter("/no/such/folder/file"); }),
            "record_writer: cannot write the file, No such file or directory\n  file: /no/such/folder/file");
  EXPECT_THROW(RecordWriter("x", {.compression = "LZ4"}), ValueError);
  EXPECT_THROW(RecordWriter("x", {.compression_level = 10}), ValueError);
  EXPECT_FALSE(std::filesystem::exists("x"));
  const TemporaryDirectory folder;
  RecordWriter writer(folder.file("data"));
  writer.close();
  writer.close();
  EXPECT_EQ(message_of<ValueError>([&] { writer.write("x"); }),
            "record_writer: the file is closed\n  file: " + folder.file("data"));
  EXPECT_THROW(writer.flush(), ValueError);
  if (std::filesystem::exists("/dev/full")) {
    RecordWriter full("/dev/full");
    full.write("x");
    EXPECT_THROW(full.flush(), IoError);
    EXPECT_THROW(full.close(), IoError);
    // And the end of its life is quiet.
  }
}

TEST(Examples, ThatAreDamagedAreRefused) {
  int refused = 0, loaded = 0;
  for (const Json& entry : testing::samples_of("hostile/example")) {
    SCOPED_TRACE(entry.at("file").get<std::string>());
    const std::string path = entry.at("path");
    const std::string record = all_records(path).at(0);
    if (entry.at("must") == "load") {
      const Example example = Example::parse(record);
      for (const auto& [name, values] : entry.at("value").items()) expect_feature(example[name], values);
      ++loaded;
      continue;
    }
    const std::string text = message_of<IoError>([&] { Example::parse(record, path); });
    EXPECT_EQ(text.substr(0, 9), "example: ") << text;
    EXPECT_NE(text.find("\n  file: " + path), std::string::npos) << text;
    ++refused;
  }
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(loaded, 3);
}

TEST(Examples, HoldWhatTheyAreGiven) {
  const Example example = {{"id", 7},
                           {"big", std::int64_t{1} << 40},
                           {"name", "seven"},
                           {"weight", 0.5},
                           {"none", Feature()},
                           {"no_floats", Feature::Floats()},
                           {"pixels", constant({{1, 2}, {3, 4}}, uint8)},
                           {"logits", constant({0.5f, -1.0f})}};
  EXPECT_EQ(example["id"].integers(), Feature::Integers{7});
  EXPECT_EQ(example["name"].bytes(), Feature::Bytes{"seven"});
  EXPECT_EQ(example["weight"].floats(), Feature::Floats{0.5f});
  EXPECT_EQ(example["pixels"].integers(), (Feature::Integers{1, 2, 3, 4}));
  EXPECT_EQ(example["pixels"].tensor().dtype(), int64);
  EXPECT_EQ(example["logits"].tensor().to_string(), constant({0.5f, -1.0f}).to_string());
  EXPECT_TRUE(example["none"].integers().empty());
  EXPECT_TRUE(example["none"].bytes().empty());
  const Example same = Example::parse(example.serialize());
  EXPECT_EQ(same, example);
  EXPECT_EQ(same["no_floats"].kind(), "floats");
  EXPECT_TRUE(same.contains("big"));
  EXPECT_EQ(Example::parse(""), Example());
}

TEST(Examples, SayWhatIsMissing) {
  const Example example = {{"id", 7}, {"name", "seven"}};
  EXPECT_EQ(message_of<IndexError>([&] { static_cast<void>(example["x"]); }),
            "example: there is no feature \"x\"\n  features: \"id\", \"name\"");
  EXPECT_EQ(message_of<ValueError>([&] { static_cast<void>(example["id"].floats()); }),
            "feature: it holds integers, not floats");
  EXPECT_THROW(static_cast<void>(example["name"].tensor()), ValueError);
  EXPECT_THROW(static_cast<void>(Feature(zeros({2}, complex64))), DTypeError);
  EXPECT_THROW(static_cast<void>(Feature(std::numeric_limits<std::uint64_t>::max())), ValueError);
  EXPECT_THROW(static_cast<void>(Example({{"\xff", 1}}).serialize()), ValueError);
}

}  // namespace
}  // namespace capstan::io
