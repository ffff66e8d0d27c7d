// Lines and tables, compared with what TensorFlow reads.
#include "capstan/text_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "capstan/capstan.h"
#include "tests/io/file_samples.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using testing::Json;
using testing::message_of;

std::vector<std::string> all_lines(const std::string& path, const std::string& compression = "") {
  LineReader reader(path, {.compression = compression});
  std::vector<std::string> lines;
  while (auto line = reader.next()) lines.push_back(std::move(*line));
  EXPECT_FALSE(reader.next().has_value());
  return lines;
}

TEST(LineReader, ReadsWhatTensorFlowReads) {
  int files = 0;
  for (const Json& entry : testing::samples_of("text")) {
    EXPECT_EQ(all_lines(entry.at("path"), entry.value("compression", "")),
              entry.at("expect").get<std::vector<std::string>>());
    ++files;
  }
  EXPECT_EQ(files, 2);
}

TEST(LineReader, KnowsEmptyAndLongLines) {
  const TemporaryDirectory folder;
  EXPECT_EQ(all_lines(folder.write("a", "")), std::vector<std::string>());
  EXPECT_EQ(all_lines(folder.write("b", "\n")), std::vector<std::string>{""});
  EXPECT_EQ(all_lines(folder.write("c", "\r")), std::vector<std::string>{""});
  const std::string longest(200000, 'x');
  EXPECT_EQ(all_lines(folder.write("d", longest + "\ny\n" + longest)),
            (std::vector<std::string>{longest, "y", longest}));
  // A piece of the file may end at a line's end.
  const std::string piece(65535, 'x');
  EXPECT_EQ(all_lines(folder.write("e", piece + "\n")), std::vector<std::string>{piece});
  EXPECT_EQ(all_lines(folder.write("f", piece + "\n\n")), (std::vector<std::string>{piece, ""}));
  EXPECT_THROW(all_lines(folder.file("none")), IoError);
  EXPECT_THROW(all_lines(folder.file("a"), "gzip"), ValueError);
  EXPECT_THROW(all_lines(folder.file("b"), "GZIP"), IoError);
}

CsvType type_of(const std::string& name) {
  for (const CsvType type : {CsvType::kInt32, CsvType::kInt64, CsvType::kFloat32, CsvType::kFloat64}) {
    constexpr const char* kNames[] = {"int32", "int64", "float32", "float64"};
    if (name == kNames[static_cast<std::size_t>(type)]) return type;
  }
  return CsvType::kText;
}

std::vector<CsvColumn> columns_of(const Json& types) {
  std::vector<CsvColumn> columns;
  for (const Json& type : types) {
    if (type.is_string()) {
      columns.push_back({type_of(type), {}});
    } else {
      columns.push_back({type_of(type[0]), testing::attribute_from_json(type[1])});
    }
  }
  return columns;
}

CsvOptions options_of(const Json& json) {
  CsvOptions options;
  options.header = json.value("header", false);
  options.field_delim = json.value("field_delim", ",");
  options.use_quote_delim = json.value("use_quote_delim", true);
  options.na_value = json.value("na_value", "");
  for (const Json& column : json.value("select_cols", Json::array()))
    options.select_cols.emplace_back(column.get<std::int64_t>());
  return options;
}

void expect_value(const CsvValue& found, const Json& expected) {
  if (const auto* text = std::get_if<std::string>(&found)) {
    EXPECT_EQ(*text, expected.get<std::string>());
  } else if (const auto* integer = std::get_if<std::int64_t>(&found)) {
    EXPECT_EQ(*integer, expected.get<std::int64_t>());
  } else if (expected.is_string()) {
    EXPECT_EQ(expected, "inf");
    EXPECT_EQ(std::get<double>(found), std::numeric_limits<double>::infinity());
  } else {
    EXPECT_EQ(std::get<double>(found), expected.get<double>());
  }
}

TEST(CsvReader, ReadsWhatTensorFlowReads) {
  int records = 0, errors = 0;
  for (const Json& entry : testing::samples_of("csv")) {
    if (entry.at("kind") != "csv") continue;
    SCOPED_TRACE(entry.at("file").get<std::string>());
    CsvReader reader(entry.at("path"), columns_of(entry.at("types")), options_of(entry.at("options")));
    for (const Json& row : entry.at("rows")) {
      if (row.is_object()) {
        const std::string text = message_of<IoError>([&] { reader.next(); });
        EXPECT_EQ(text.substr(0, 17), "csv_reader: line ") << text;
        EXPECT_NE(text.find("\n  file: " + entry.at("path").get<std::string>()), std::string::npos) << text;
        ++errors;
        break;
      }
      const auto found = reader.next();
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->size(), row.size());
      for (std::size_t i = 0; i < row.size(); ++i) expect_value(found->at(i), row[i]);
      ++records;
    }
  }
  EXPECT_EQ(errors, 6);
  EXPECT_GE(records, 25);
}

TEST(CsvReader, RefusesWhatIsDamaged) {
  int refused = 0, loaded = 0;
  for (const Json& entry : testing::samples_of("hostile/csv")) {
    SCOPED_TRACE(entry.at("file").get<std::string>());
    CsvReader reader(entry.at("path"), columns_of(entry.at("columns")));
    if (entry.at("file") == "byte_order_mark.csv") {
      const auto record = reader.next();
      ASSERT_TRUE(record.has_value());
      for (std::size_t i = 0; i < record->size(); ++i) expect_value(record->at(i), entry.at("value")[0][i]);
      ++loaded;
    } else {
      EXPECT_THROW(reader.next(), IoError);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(loaded, 1);
}

TEST(CsvReader, ErrorsNameLineAndColumn) {
  const TemporaryDirectory folder;
  const auto text_of = [&](const std::string& content, const CsvOptions& options = {}) {
    const std::string path = folder.write("data.csv", content);
    CsvReader reader(path, {{CsvType::kInt32}, {CsvType::kFloat32}}, options);
    const std::string text = message_of<IoError>([&] {
      while (reader.next()) continue;
    });
    return text.substr(0, text.find("\n  file"));
  };
  EXPECT_EQ(text_of("1,2\n3,x\n"), "csv_reader: line 2: column \"1\" is \"x\", which is no float32");
  EXPECT_EQ(text_of("id,score\n1,2\n3.5,1\n", {.header = true}),
            "csv_reader: line 3: column \"id\" is \"3.5\", which is no int32");
  EXPECT_EQ(text_of("1,\n"), "csv_reader: line 1: column \"1\" is required, and its field is missing");
  EXPECT_EQ(text_of("1,2\n3\n"), "csv_reader: line 2: the record has 1 fields, expected 2");
  EXPECT_EQ(text_of("1,2\n3,\"4\"5\n"), "csv_reader: line 2: field 1 goes on behind its closing quote");
  EXPECT_EQ(text_of("1,2\n\n3,4\"5\"\n"), "csv_reader: line 2: the record has 1 fields, expected 2");
  EXPECT_EQ(text_of("1,\"2\n3,4\n"), "csv_reader: line 1: a quote is not closed before the file ends");
  EXPECT_EQ(text_of("1,\"2\n\"\n3,x\n"), "csv_reader: line 1: column \"1\" is \"2?\", which is no float32");
  for (const char* number : {"1e999", "--1", "+-1", "0x10", "1 2", "nan1"})
    EXPECT_NE(text_of(std::string("1,") + number), "nothing was thrown") << number;
  for (const char* number : {"+1", " 1 ", "\t1e3", "nan", "-inf", "1e-999", ".5", "5.", "1E5"})
    EXPECT_EQ(text_of(std::string("1,") + number), "nothing was thrown") << number;
}

TEST(CsvReader, GoesOnBehindAnError) {
  const TemporaryDirectory folder;
  CsvReader reader(folder.write("data.csv", "1\nx\n\"2\"3\n4\"\n5\n6,7\r\n8"), {{CsvType::kInt64}});
  std::vector<std::int64_t> numbers;
  int errors = 0;
  while (true) {
    try {
      const auto record = reader.next();
      if (!record) break;
      numbers.push_back(std::get<std::int64_t>(record->at(0)));
    } catch (const IoError&) {
      ++errors;
    }
  }
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 5, 8}));
  EXPECT_EQ(errors, 4);
  // A quote that is left open takes everything.
  CsvReader open(folder.write("open.csv", "1\n\"2\n3\n"), {{CsvType::kInt64}});
  EXPECT_TRUE(open.next().has_value());
  EXPECT_THROW(open.next(), IoError);
  EXPECT_FALSE(open.next().has_value());
}

// Fields and line ends of all lengths, so that pieces of the file end anywhere.
TEST(CsvReader, RecordsMayLieAnywhereInTheFile) {
  const TemporaryDirectory folder;
  std::string content;
  std::vector<std::vector<std::string>> expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::string plain(i % 97, 'p'), quoted = std::string(i % 89, 'q') + "\"\r\n," + std::to_string(i);
    std::string escaped;
    for (const char c : quoted) escaped += c == '"' ? "\"\"" : std::string(1, c);
    content += plain + ",\"" + escaped + "\"," + std::to_string(i) + (i % 3 == 0 ? "\n" : i % 3 == 1 ? "\r\n" : "\r");
    expected.push_back({plain, quoted, std::to_string(i)});
  }
  expected.push_back({std::string(1 << 20, 'x'), "\"", ""});
  content += std::string(1 << 20, 'x') + ",\"\"\"\",";
  const CsvColumn text = {CsvType::kText, ""};
  CsvReader reader(folder.write("data.csv", content), {text, text, text});
  for (const std::vector<std::string>& record : expected) {
    const auto found = reader.next();
    ASSERT_TRUE(found.has_value());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(std::get<std::string>(found->at(i)), record[i]);
  }
  EXPECT_FALSE(reader.next().has_value());
}

TEST(CsvReader, SelectsColumns) {
  const TemporaryDirectory folder;
  const std::string path = folder.write("data.csv", "a,b,c\n1,2,3\n4,5,6\n");
  CsvReader reader(path, {{CsvType::kInt32}, {CsvType::kInt32}}, {.header = true, .select_cols = {"a", 2}});
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(std::get<std::int64_t>(reader.next()->at(1)), 3);
  const auto refuse = [&](const CsvOptions& options, std::size_t columns = 1) {
    return message_of<ValueError>([&] { CsvReader(path, std::vector<CsvColumn>(columns), options); });
  };
  EXPECT_EQ(refuse({.header = true, .select_cols = {"d"}}), "csv_reader: there is no column \"d\"\n  file: " + path);
  EXPECT_NE(refuse({.select_cols = {"a"}}).find("there is no header"), std::string::npos);
  EXPECT_NE(refuse({.select_cols = {-1}}).find("negative"), std::string::npos);
  EXPECT_NE(refuse({.header = true, .select_cols = {3}}).find("no column 3"), std::string::npos);
  EXPECT_NE(refuse({.select_cols = {1, 0}}, 2).find("rising order"), std::string::npos);
  EXPECT_NE(refuse({.select_cols = {1}}, 2).find("2 columns are described, and 1 selected"), std::string::npos);
  EXPECT_NE(refuse({}, 0).find("no columns"), std::string::npos);
  for (const char* delimiter : {"", ",,", "\n", "\""})
    EXPECT_NE(refuse({.field_delim = delimiter}), "nothing was thrown");
  EXPECT_EQ(message_of<ValueError>([&] {
              CsvReader(path, {{CsvType::kInt32, 0.5}});
            }),
            "csv_reader: what stands for missing values of column \"0\", 0.5, is no int32");
}

TEST(ReadCsv, FindsOutTypes) {
  for (const Json& entry : testing::samples_of("csv")) {
    if (entry.at("kind") != "csv table") continue;
    const CsvTable table = read_csv(entry.at("path"));
    EXPECT_EQ(table.names(), (std::vector<std::string>{"sepal", "petal", "species"}));
    std::vector<float> sepal, petal;
    std::vector<std::string> species;
    for (const Json& batch : entry.at("batches")) {
      for (const Json& value : batch.at("features").at("sepal").at("data")) sepal.push_back(value.get<float>());
      for (const Json& value : batch.at("features").at("petal").at("data")) petal.push_back(value.get<float>());
      for (const Json& value : batch.at("label").at("data")) species.push_back(value.get<std::string>());
    }
    EXPECT_EQ(table.row_count(), 5);
    EXPECT_EQ(table.tensor("sepal").to_vector<float>(), sepal);
    EXPECT_EQ(table.tensor("petal").to_vector<float>(), petal);
    EXPECT_EQ(table.texts("species"), species);
  }
  const TemporaryDirectory folder;
  const std::string path = folder.write(
      "data.csv", "small,large,narrow,wide,text,nothing,mixed\n1,9000000000,0.5,1e300,x,,1\n-2,1,3,1,4,,0.25\n");
  const CsvTable table = read_csv(path);
  EXPECT_EQ(table.tensor("small").dtype(), int32);
  EXPECT_EQ(table.tensor("large").to_vector<std::int64_t>(), (std::vector<std::int64_t>{9000000000, 1}));
  EXPECT_EQ(table.tensor("narrow").dtype(), float32);
  EXPECT_EQ(table.tensor("wide").to_vector<double>(), (std::vector<double>{1e300, 1}));
  EXPECT_EQ(table.texts("text"), (std::vector<std::string>{"x", "4"}));
  EXPECT_EQ(table.tensor("nothing").to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(table.tensor("mixed").to_vector<float>(), (std::vector<float>{1, 0.25f}));
  EXPECT_EQ(table.type("text"), CsvType::kText);
}

TEST(ReadCsv, TypesCanBeGiven) {
  const TemporaryDirectory folder;
  const std::string path = folder.write("data.csv", "a,b\n1,2\n,4\n");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const CsvTable given = read_csv(path, {.columns = {{"a", {CsvType::kFloat64, -1}}, {"b", {CsvType::kText}}}});
  EXPECT_EQ(given.tensor("a").to_vector<double>(), (std::vector<double>{1, -1}));
  EXPECT_EQ(given.texts("b"), (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(read_csv(path).tensor("a").to_vector<int>(), (std::vector<int>{1, 0}));
  EXPECT_EQ(read_csv(path, {.missing_number = -7}).tensor("a").to_vector<int>(), (std::vector<int>{1, -7}));
  const Tensor with_nan = read_csv(path, {.missing_number = nan}).tensor("a");
  EXPECT_EQ(with_nan.dtype(), float32);
  EXPECT_TRUE(std::isnan(with_nan.to_vector<float>()[1]));
  EXPECT_EQ(read_csv(path, {.header = false}).texts("0"), (std::vector<std::string>{"a", "1", ""}));
  EXPECT_EQ(read_csv(path, {.select_cols = {"b"}}).names(), std::vector<std::string>{"b"});
}

// Short numbers take a short way, which has the bits of the long one.
TEST(ReadCsv, NumbersAreTheNearestOnes) {
  std::vector<std::string> texts = {"16777216", "16777217", "16777219", "-0", "0.0000000001", "9007199254740993", ".5",
                                    "5.", "-.25", "0.1", "123456.78901234567", "00000000000000000012",
                                    // In the middle between two floats, or next to it.
                                    "1.000000059604645", "1.00000005960464", "0.50000002980232", "8388608.5",
                                    "8388609.5", "16777219.0000001", "9007199254740992", "9007199254740991",
                                    "999999999999999.9", "-99999999.9999999", "1", "12", "-123", "1234567", "12345678",
                                    "123456789", "0000000000000001", "-0.00000000000001"};
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 20000; ++i) {
    const double number = uniform(engine) * std::pow(10.0, i % 12 - 5);
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", i % 13, i % 2 == 0 ? number : -number);
    texts.emplace_back(text);
  }
  std::string content;
  for (const std::string& text : texts) content += text + "," + text + "\n";
  const TemporaryDirectory folder;
  const CsvTable table =
      read_csv(folder.write("data.csv", content),
               {.header = false, .columns = {{"0", {CsvType::kFloat32}}, {"1", {CsvType::kFloat64}}}});
  const auto narrow = table.tensor("0").to_vector<float>();
  const auto wide = table.tensor("1").to_vector<double>();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(narrow[i], std::strtof(texts[i].c_str(), nullptr)) << texts[i];
    EXPECT_EQ(wide[i], std::strtod(texts[i].c_str(), nullptr)) << texts[i];
  }
  EXPECT_TRUE(std::signbit(narrow[3]));
  // What only looks like a number is none.
  for (const char* text : {".", "-", "-.", "1.2.3", "1..2", "--1", "-+1", "1-2", "12345678.1234.67", "1.2345678.",
                           ".12345678.", "1,", "/1", ":1", "1e", "0x10", "1234567\xb1", "1_0"}) {
    const std::string path = folder.write("data.csv", "\"" + std::string(text) + "\"\n");
    EXPECT_THROW(read_csv(path, {.header = false, .columns = {{"0", {CsvType::kFloat32}}}}), IoError) << text;
    EXPECT_THROW(read_csv(path, {.header = false, .columns = {{"0", {CsvType::kFloat64}}}}), IoError) << text;
  }
}

// Files of several pieces, which threads read: with quotes that hide line ends, all line ends, and records that are
// longer than a piece.
TEST(ReadCsv, PiecesHaveTheRecordsThatOneReaderFinds) {
  const TemporaryDirectory folder;
  std::string content = "text,number,whole\n";
  std::mt19937 engine(3);
  for (int i = 0; content.size() < (std::size_t{5} << 20); ++i) {
    std::string text(engine() % 60, 'x');
    for (char& c : text) c = ",\n\r\"ab"[engine() % 6];
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
    if (i == 1000) field.append(3 << 20, '\n');
    content += field + "\"," + std::to_string(static_cast<double>(engine()) / 1024 - 1e6) + "," + std::to_string(i) +
               (i % 3 == 0   ? "\n"
                : i % 3 == 1 ? "\r\n"
                             : "\r");
  }
  for (const char* end : {"", "\r", "last,1,2", "\"last\n\",1,2\r\n"}) {
    const std::string path = folder.write("data.csv", content.substr(0, content.find_last_not_of("\r\n") + 1) +
                                                          (*end == 0 || *end == '\r' ? "" : "\n") + end);
    const CsvTable table = read_csv(path);
    CsvReader reader(path, {{CsvType::kText, ""}, {CsvType::kFloat32}, {CsvType::kInt32}}, {.header = true});
    const std::vector<std::string>& texts = table.texts("text");
    const auto numbers = table.tensor("number").to_vector<float>();
    const auto whole = table.tensor("whole").to_vector<std::int32_t>();
    std::size_t count = 0;
    for (; const auto record = reader.next(); ++count) {
      ASSERT_LT(count, texts.size());
      ASSERT_EQ(texts[count], std::get<std::string>(record->at(0)));
      ASSERT_EQ(double{numbers[count]}, std::get<double>(record->at(1)));
      ASSERT_EQ(whole[count], std::get<std::int64_t>(record->at(2)));
    }
    EXPECT_EQ(count, texts.size());
    EXPECT_EQ(static_cast<std::int64_t>(count), table.row_count());
  }
}

TEST(ReadCsv, ErrorsInLaterPiecesHaveTheirLine) {
  const TemporaryDirectory folder;
  std::string content = "a,b\n";
  constexpr int kRows = 400'000;
  for (int i = 0; i < kRows; ++i) content += "\"" + std::to_string(i) + "\",1.25\n";
  const auto message = [&](const std::string& mistakes) {
    return message_of<IoError>([&] { read_csv(folder.write("data.csv", content + mistakes)); });
  };
  const std::string line = "read_csv: line " + std::to_string(kRows + 2) + ": ";
  const std::string more = content.substr(4);
  EXPECT_EQ(message("x,1\n" + more + "y,2\n").find(line + "column \"a\" is \"x\""), 0U);
  EXPECT_EQ(message("1\n" + more + more).find(line + "the record has 1 fields, expected 2"), 0U);
  EXPECT_EQ(message("\"1\" ,2\n" + more).find(line + "field 0 goes on behind its closing quote"), 0U);
  EXPECT_EQ(message("1\",2\n" + more).find(line + "field 0 has a quote"), 0U);
  EXPECT_EQ(message("1,\"2\n").find(line + "a quote is not closed"), 0U);
  // What is wrong before it comes first, also if threads find it later.
  EXPECT_EQ(message("1\",2\n" + more + "\"").find(line + "field 0 has a quote"), 0U);
}

TEST(ReadCsv, ErrorsSayWhere) {
  const TemporaryDirectory folder;
  std::string content = "a,b\n";
  for (int i = 0; i < 150; ++i) content += std::to_string(i) + ",1\n";
  const std::string path = folder.write("data.csv", content + "x,1\n");
  EXPECT_EQ(message_of<IoError>([&] { read_csv(path); }),
            "read_csv: line 152: column \"a\" is \"x\", which is no int32\n  file: " + path +
                "\n  help: its type was found out from the first records; give it in columns");
  EXPECT_EQ(read_csv(path, {.num_rows_for_inference = 1000}).texts("a").back(), "x");
  EXPECT_EQ(message_of<IoError>([&] { read_csv(folder.write("short.csv", "a,b\n1,2\n3\n")); }).substr(0, 59),
            "read_csv: line 3: the record has 1 fields, expected 2\n  fil");
  EXPECT_EQ(message_of<IoError>([&] {
              read_csv(folder.write("given.csv", "a\n\"1\n\"\nx\n"), {.columns = {{"a", {CsvType::kInt32}}}});
            }).substr(0, 62),
            "read_csv: line 2: column \"a\" is \"1?\", which is no int32\n  file");
  EXPECT_NE(message_of<ValueError>([&] {
              read_csv(path, {.columns = {{"c", {}}}});
            }).find("no column \"c\""),
            std::string::npos);
  EXPECT_THROW(read_csv(path, {.num_rows_for_inference = 0}), ValueError);
  const CsvTable table = read_csv(path, {.num_rows_for_inference = 1000});
  EXPECT_EQ(message_of<IndexError>([&] { table.tensor("c"); }),
            "csv_table: there is no column \"c\"\n  columns: \"a\", \"b\"\n  file: " + path);
  EXPECT_THROW(table.tensor("a"), ValueError);
  EXPECT_THROW(table.texts("b"), ValueError);
  EXPECT_EQ(read_csv(folder.write("empty.csv", "")).row_count(), 0);
  EXPECT_EQ(read_csv(folder.write("header.csv", "a,b\n")).tensor("b").size(), 0);
}

}  // namespace
}  // namespace capstan::io
