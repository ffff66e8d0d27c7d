// Datasets of what files hold: lines, records, tables, and lists of files.
#include "capstan/file_datasets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "capstan/records.h"
#include "tests/data/elements.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using namespace std::string_literals;
using testing::elements_of;
using testing::Json;
using testing::message_of;
using testing::rest_of;
using testing::Words;

class FileDatasets : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string records(const std::string& name, const std::vector<std::string>& payloads) {
    const std::string path = directory_.path() + "/" + name;
    io::RecordWriter writer(path);
    for (const std::string& payload : payloads) writer.write(payload);
    writer.close();
    return path;
  }

  // At every element: what another iterator gives after it took over.
  template <class Make>
  void expect_positions(const Make& make) {
    const std::size_t count = elements_of(make()).size();
    for (std::size_t cut = 0; cut <= count; ++cut) {
      SCOPED_TRACE(cut);
      auto iterator = make().begin();
      for (std::size_t i = 0; i < cut; ++i) {
        try {
          iterator.next();
        } catch (const IoError&) {
        }
      }
      const DatasetPosition position = iterator.save();
      auto restored = make().begin();
      restored.restore(position);
      EXPECT_EQ(rest_of(restored), rest_of(iterator));
    }
  }

  io::TemporaryDirectory directory_;
};

TEST_F(FileDatasets, OfLines) {
  const std::string a = file("a.txt", "one\r\ntwo\n"), b = file("b.txt", ""), c = file("c.txt", "\nthree");
  EXPECT_EQ(elements_of(datasets::TextLineDataset(a)), (Words{"\"one\"", "\"two\""}));
  const Words all = {"\"one\"", "\"two\"", "\"\"", "\"three\""};
  EXPECT_EQ(elements_of(datasets::TextLineDataset({a, b, c})), all);
  EXPECT_EQ(elements_of(datasets::TextLineDataset(from_range(std::vector{a, b, c}))), all);
  EXPECT_EQ(elements_of(datasets::TextLineDataset(std::vector<std::string>())), Words());
  EXPECT_EQ(elements_of(datasets::TextLineDataset({a, b, c}, {.num_parallel_reads = 3})),
            (Words{"\"one\"", "\"\"", "\"two\"", "\"three\""}));
  EXPECT_EQ(datasets::TextLineDataset(a).cardinality(), kUnknown);
  // Two passes at once.
  const auto lines = datasets::TextLineDataset(a);
  auto first = lines.begin(), second = lines.begin();
  first.next();
  EXPECT_EQ(rest_of(second).size(), 2U);
  EXPECT_EQ(rest_of(first).size(), 1U);
  expect_positions([&] { return datasets::TextLineDataset({a, b, c}); });
  expect_positions([&] { return datasets::TextLineDataset({a, b, c}).shuffle(3, {.seed = 1}).batch(2); });
  expect_positions([&] { return datasets::TextLineDataset({a, b, c}, {.num_parallel_reads = 2}); });
}

TEST_F(FileDatasets, OfRecords) {
  const std::string a = records("a", {"x", "", std::string(70000, 'y')}), b = records("b", {"z"});
  EXPECT_EQ(elements_of(datasets::TFRecordDataset({a, b})).size(), 4U);
  expect_positions([&] { return datasets::TFRecordDataset({a, b}).repeat(2); });
  int samples = 0;
  for (const Json& sample : testing::samples_of("tfrecord")) {
    if (!sample.contains("payloads_hex")) continue;
    SCOPED_TRACE(sample.at("file"));
    std::string compression = sample.at("compression");
    for (char& letter : compression) letter = static_cast<char>(std::toupper(letter));
    if (compression == "NONE") compression = "";
    std::vector<std::string> payloads;
    for (const std::string& record :
         datasets::TFRecordDataset(sample.at("path").get<std::string>(), {.compression_type = compression})) {
      payloads.push_back(record);
    }
    std::vector<std::string> want;
    for (const Json& hex : sample["payloads_hex"]) want.push_back(testing::bytes_of_hex(hex));
    if (!sample.contains("lengths")) {
      EXPECT_EQ(payloads, want);
    } else {
      // Long payloads are given by their lengths.
      std::vector<std::size_t> lengths;
      for (const std::string& payload : payloads) lengths.push_back(payload.size());
      EXPECT_EQ(lengths, sample["lengths"].get<std::vector<std::size_t>>());
    }
    ++samples;
  }
  EXPECT_GE(samples, 3);
}

TEST_F(FileDatasets, OfRecordsOfOneLength) {
  const std::string a = file("a", "hhaabbccff"), b = file("b", "hhff"), odd = file("odd", "hhaabff");
  const auto dataset = [](const datasets::FileList& files) {
    return datasets::FixedLengthRecordDataset(files, 2, {.header_bytes = 2, .footer_bytes = 2});
  };
  EXPECT_EQ(elements_of(dataset({a, b, a})), (Words{"\"aa\"", "\"bb\"", "\"cc\"", "\"aa\"", "\"bb\"", "\"cc\""}));
  EXPECT_EQ(elements_of(datasets::FixedLengthRecordDataset(a, 5)), (Words{"\"hhaab\"", "\"bccff\""}));
  expect_positions([&] { return dataset({a, b, a}); });
  const Words with_error = elements_of(dataset({odd, a}));
  ASSERT_EQ(with_error.size(), 5U);
  EXPECT_EQ(with_error[0], "\"aa\"");
  EXPECT_NE(with_error[1].find("records of 2 bytes"), std::string::npos) << with_error[1];
  EXPECT_NE(elements_of(dataset(file("short", "hhf")))[0].find("footer"), std::string::npos);
  EXPECT_NE(elements_of(dataset(file("shorter", "h")))[0].find("header"), std::string::npos);
  // A record that no memory holds.
  EXPECT_EQ(elements_of(datasets::FixedLengthRecordDataset(a, INT64_MAX / 2)).size(), 1U);
}

TEST_F(FileDatasets, OfTables) {
  const std::string a = file("a.csv", "name,x,n\n\"a, b\",1.5,3\nc,,4\n"), b = file("b.csv", "name,x,n\nd,2,\n");
  const auto rows = datasets::CsvDataset<std::string, float, std::int64_t>(
      {a, b}, {.record_defaults = {std::nullopt, -1.0f, 7}, .header = true});
  std::vector<std::tuple<std::string, float, std::int64_t>> got;
  for (const auto& [name, x, n] : rows) got.emplace_back(name, x, n);
  EXPECT_EQ(got, (decltype(got){{"a, b", 1.5f, 3}, {"c", -1.0f, 4}, {"d", 2.0f, 7}}));
  const auto numbers =
      datasets::CsvDataset<double>({a}, {.record_defaults = {0.0}, .header = true, .select_cols = {"x"}});
  double sum = 0;
  for (const double x : numbers) sum += x;
  EXPECT_EQ(sum, 1.5);
  // A field that is missing is an error at its record, and the next is there.
  const auto strict = datasets::CsvDataset<std::string, float, std::int32_t>({a, b}, {.header = true});
  auto iterator = strict.begin();
  EXPECT_TRUE(iterator.next().has_value());
  EXPECT_THROW(iterator.next(), IoError);
  EXPECT_THROW(iterator.next(), IoError);
  EXPECT_FALSE(iterator.next().has_value());
  EXPECT_EQ(elements_of(strict.map([](const std::string& name, float, std::int32_t) { return name; }).ignore_errors()),
            (Words{"\"a, b\""}));
}

TEST_F(FileDatasets, ListsOfFiles) {
  for (const std::string name : {"b1.txt", "a2.txt", "a1.txt", "c.bin"}) file(name, name);
  const std::string folder = directory_.path() + "/";
  const auto names = [&](const auto& dataset) {
    Words result;
    for (const std::string& path : dataset) result.push_back(path.substr(folder.size()));
    return result;
  };
  EXPECT_EQ(names(datasets::list_files(folder + "*.txt", {.shuffle = false})), (Words{"a1.txt", "a2.txt", "b1.txt"}));
  EXPECT_EQ(names(datasets::list_files({folder + "a?.txt", folder + "[ac]*"}, {.shuffle = false})),
            (Words{"a1.txt", "a2.txt", "c.bin"}));
  Words shuffled = names(datasets::list_files(folder + "*", {.seed = 3}));
  EXPECT_EQ(shuffled, names(datasets::list_files(folder + "*", {.seed = 3})));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, (Words{"a1.txt", "a2.txt", "b1.txt", "c.bin"}));
  EXPECT_EQ(message_of([&] { datasets::list_files("/nowhere/*.x"); }), "list_files: no file matches /nowhere/*.x");
  EXPECT_EQ(message_of([&] { datasets::list_files(std::vector<std::string>()); }), "list_files: no file matches ");
  EXPECT_EQ(elements_of(datasets::TextLineDataset(datasets::list_files(folder + "a*", {.shuffle = false}))),
            (Words{"\"a1.txt\"", "\"a2.txt\""}));
}

TEST_F(FileDatasets, OfFilesThatAreMissingOrWrong) {
  const std::string a = file("a.txt", "one\n");
  const Words lines = elements_of(datasets::TextLineDataset({a, "/nowhere/b.txt", a}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[1].find("/nowhere/b.txt"), std::string::npos) << lines[1];
  EXPECT_EQ(lines[2], "\"one\"");
  // What stands before the damage is read.
  const std::string good = records("good", {"1", "2"});
  const auto size = std::filesystem::file_size(good);
  std::filesystem::resize_file(good, size - 3);
  const Words read = elements_of(datasets::TFRecordDataset({good, good}));
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[0], "\"1\"");
  EXPECT_NE(read[1].find("good"), std::string::npos) << read[1];
  EXPECT_EQ(read[2], "\"1\"");
  expect_positions([&] { return datasets::TFRecordDataset({good, good}); });
  EXPECT_NE(message_of([&] { datasets::TextLineDataset(a, {.compression_type = "LZ4"}); }).find("LZ4"),
            std::string::npos);
  EXPECT_NE(message_of([&] { datasets::TextLineDataset(a, {.num_parallel_reads = 0}); }).find("at least 1, not 0"),
            std::string::npos);
  EXPECT_NE(message_of([&] { datasets::FixedLengthRecordDataset(a, 0); }).find("at least 1, not 0"), std::string::npos);
  EXPECT_NE(message_of([&] { datasets::FixedLengthRecordDataset(a, 1, {.header_bytes = -1}); }).find("-1 and 0"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan
