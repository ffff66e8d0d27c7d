// Texts as numbers of words: the IMDB reviews and the Reuters newswires, against Keras, and files that are wrong.
#include <gtest/gtest.h>

#include <filesystem>

#include "capstan/datasets.h"
#include "capstan/utils.h"
#include "tests/io/file_samples.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::datasets {
namespace {

using namespace std::string_literals;
using testing::Json;
using testing::message_of;
using Lists = std::vector<std::vector<int>>;

void set(std::optional<int>& field, const Json& options, const char* name) {
  if (!options.contains(name)) return;
  field = options[name].is_null() ? std::nullopt : std::optional<int>(options[name].get<int>());
}

WordOptions options_of(const Json& json) {
  WordOptions options;
  if (json.contains("num_words")) options.num_words = json["num_words"].get<std::int64_t>();
  if (json.contains("maxlen")) options.maxlen = json["maxlen"].get<std::int64_t>();
  options.skip_top = json.value("skip_top", options.skip_top);
  options.seed = json.value("seed", options.seed);
  options.index_from = json.value("index_from", options.index_from);
  set(options.start_char, json, "start_char");
  set(options.oov_char, json, "oov_char");
  return options;
}

TEST(WordData, IsWhatKerasReads) {
  int compared = 0;
  for (const Json& sample : testing::samples_of("words")) {
    SCOPED_TRACE(sample.at("file"));
    const std::string path = sample.at("path");
    for (const Json& result : sample.at("results")) {
      SCOPED_TRACE(result.at("options"));
      const Json& json = result["options"];
      const auto [train, test] = sample.at("data") == "imdb"
                                     ? imdb::load_data(path, options_of(json))
                                     : reuters::load_data(path, options_of(json), json.value("test_split", 0.2));
      int part = 0;
      for (const WordData& data : {train, test}) {
        const Json& want = result.at("parts").at(static_cast<std::size_t>(part++));
        EXPECT_EQ(data.first, want.at("words").get<Lists>());
        EXPECT_EQ(data.second.dtype(), int64);
        EXPECT_EQ(data.second.to_vector<std::int64_t>(), want.at("labels").get<std::vector<std::int64_t>>());
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 30);
}

TEST(WordData, IsPadded) {
  const auto [train, test] = imdb::load_data(testing::sample_path("words/imdb_4.npz"), {.num_words = 1000});
  const Tensor x = pad_sequences(train.first, {.maxlen = 6});
  EXPECT_EQ(x.shape(), (Shape{static_cast<std::int64_t>(train.first.size()), 6}));
  EXPECT_EQ(x(0, 5).item<int>(), train.first[0].back());
}

TEST(WordData, RefusesOptionsThatHaveNoMeaning) {
  const std::string path = testing::sample_path("words/imdb_4.npz");
  EXPECT_EQ(message_of<ValueError>([&] { imdb::load_data(path, {.num_words = -1}); }),
            "imdb: num_words and maxlen must not be negative, but are -1 and 0");
  EXPECT_EQ(message_of<ValueError>([&] { imdb::load_data(path, {.maxlen = 2}); }),
            "imdb: no text is shorter than maxlen 2");
  EXPECT_NE(message_of<ValueError>([&] { imdb::load_data(path, {.index_from = 2147483647}); }).find("do not fit 32"),
            std::string::npos);
  const std::string newswires = testing::sample_path("words/reuters.npz");
  EXPECT_EQ(message_of<ValueError>([&] { reuters::load_data(newswires, {}, 1.5); }),
            "reuters: test_split must be from 0 to 1, not 1.5");
}

// An object array of this pickle, which stands between the first two bytes and the stop.
class WordArchives : public ::testing::Test {
 protected:
  std::string error(const std::string& pickle, const std::string& shape = "(1,)", const std::string& descr = "|O") {
    return error_of({{"x.npy", io::npy_bytes(descr, shape, "\x80\x03"s + pickle + ".")},
                     {"y.npy", io::npy_bytes("<i8", "(1,)", io::bytes_of<std::int64_t>({3}))}});
  }
  std::string error_of(const std::map<std::string, std::string>& members) {
    const std::string path = directory_.file("reuters.npz");
    io::write_zip(path, members);
    return message_of<IoError>([&] { reuters::load_data(path); });
  }
  // An array of the objects that a pickled list has.
  static std::string array(const std::string& list, const std::string& module = "numpy.core.multiarray",
                           const std::string& name = "_reconstruct") {
    return "c" + module + "\n" + name + "\n)R(K\1" + list + "tb";
  }
  io::TemporaryDirectory directory_;
};

TEST_F(WordArchives, OfListsOfIntegersAreRead) { EXPECT_EQ(error(array("](](K\1K\2ee"s)), "nothing was thrown"); }

TEST_F(WordArchives, ThatHoldSomethingElseAreErrors) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(text.find("reuters.npz"), std::string::npos) << text;
  };
  has(error("cos\nsystem\nX\x05\0\0\0touchq\0\x85R"s), "it names \"os system\"; nothing of it is run");
  has(error(array("](](K\1ee"s, "os", "system")), "nothing of it is run");
  has(error("](K\1e"s), "the pickle is not that of an array");
  has(error("cnumpy.core.multiarray\n_reconstruct\n)R"s), "the pickle is not that of an array of lists");
  has(error(array("K\1"s)), "the pickle is not that of an array of lists");
  has(error(array("](](K\1ee"s), "(2,)"), "the header announces 2 lists, and the pickle has 1");
  has(error(array("](](K\1ee"s), "(1, 1)"), "expected a list of lists");
  has(error(array("](](K\1ee"s), "(1,)", "<i8"), "expected a list of lists");
  has(error(array("](K\1e"s)), "element 0 is no list");
  has(error(array("](](X\1\0\0\0aee"s)), "list 0 holds something else than integers of 32 bits");
  has(error(array("](](\x8a\5\0\0\0\0\1ee"s)), "list 0 holds something else than integers of 32 bits");
  // A list that holds itself, and one that stands many times.
  has(error(array("](]q\0h\0ae"s)), "list 0 holds something else");
  std::string many = "]q\0("s;
  for (int i = 0; i < 200; ++i) many += "K\1";
  many = "0](" + many + "e";
  for (int i = 0; i < 199; ++i) many += "h\0"s;
  has(error(array("N" + many + "e"), "(200,)"), "more elements than the file has bytes");
}

TEST_F(WordArchives, ThatMissSomethingAreErrors) {
  const std::string words = io::npy_bytes("|O", "(1,)", "\x80\x03" + array("](](K\1ee"s) + ".");
  EXPECT_EQ(error_of({{"x.npy", words}}),
            "reuters: the archive lacks \"y\"\n  file: " + directory_.file("reuters.npz"));
  EXPECT_NE(error_of({{"x.npy", words}, {"y.npy", io::npy_bytes("<f4", "(1,)", io::bytes_of<float>({1}))}})
                .find("the labels are float32[1], expected int64[n]"),
            std::string::npos);
  EXPECT_NE(error_of({{"x.npy", words}, {"y.npy", io::npy_bytes("<i8", "(2,)", io::bytes_of<std::int64_t>({1, 2}))}})
                .find("there are 2 labels for 1 texts"),
            std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { imdb::load_data(directory_.file("none.npz")); }).find("cannot open the file"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan::datasets
