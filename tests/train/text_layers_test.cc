// Texts, StringLookup and TextVectorization beyond the values of Keras: in front of models, with functions of the
// program, with strange texts and bad options.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/train/layers/text_words.h"
#include "tests/support/limits.h"
#include "tests/support/message_of.h"
#include "tests/support/random.h"

namespace capstan {
namespace {

using testing::message_of;
using Strings = std::vector<std::string>;

// --- Texts ---

TEST(Texts, AreOneOrAListOrRows) {
  const Texts one = "a red fox", two = std::string("fox"), list = {"a", std::string("b"), std::string_view("c")};
  EXPECT_EQ(one.rank(), 0);
  EXPECT_EQ(one.shape(), Shape());
  EXPECT_EQ(two.values(), Strings{"fox"});
  EXPECT_EQ(list.rank(), 1);
  EXPECT_EQ(list.values(), (Strings{"a", "b", "c"}));
  // Two texts in braces are no range of characters.
  EXPECT_EQ((Texts{"ab", "cd"}.values()), (Strings{"ab", "cd"}));
  EXPECT_EQ(Texts(Strings(3, "x")).shape(), Shape({3}));
  const Texts rows = Texts::rows({{"a", "b"}, {"c", "d"}});
  EXPECT_EQ(rows.shape(), Shape({2, 2}));
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.row(1)[0], "c");
  const Texts ragged = std::vector<Strings>{{"a"}, {}, {"b", "c"}};
  EXPECT_FALSE(ragged.has_shape());
  EXPECT_EQ(message_of([&] { static_cast<void>(ragged.shape()); }), "texts: rows have different lengths, 1 and 0");
  EXPECT_EQ(Texts().shape(), Shape({0}));
  EXPECT_EQ(Texts::from({"a", "b"}, {2, 1}).row(1)[0], "b");
}

TEST(Texts, AreSelectedByNumbers) {
  const Texts rows = Texts::rows({{"a"}, {}, {"b", "c"}}), list = {"x", "y"};
  const Texts some = rows.select(std::vector<std::int64_t>{2, 0});
  EXPECT_EQ(some.values(), (Strings{"b", "c", "a"}));
  EXPECT_EQ(some.row_count(), 2u);
  EXPECT_EQ(list.select(std::vector<std::int64_t>{1, 1}).values(), (Strings{"y", "y"}));
  EXPECT_THROW(list.select(std::vector<std::int64_t>{2}), IndexError);
  EXPECT_THROW(list.select(std::vector<std::int64_t>{-1}), IndexError);
  EXPECT_THROW(Texts("x").select(std::vector<std::int64_t>{0}), ValueError);
  EXPECT_THROW(static_cast<void>(rows.row(3)), IndexError);
  EXPECT_THROW(Texts::from({"a"}, {2}), ShapeError);
  EXPECT_THROW(Texts::from({"a"}, {1, 1, 1}), ShapeError);
  const char* const none = nullptr;
  EXPECT_THROW(Texts{none}, ValueError);
}

// --- Words ---

TEST(TextWords, AreSplitAtWhiteSpaceOfAscii) {
  EXPECT_EQ(detail::words_of(" a\t\n b\v\f\rc  "), (Strings{"a", "b", "c"}));
  EXPECT_TRUE(detail::words_of(" \n").empty());
  EXPECT_EQ(detail::words_of("a\xc2\xa0z"), Strings{"a\xc2\xa0z"});
  EXPECT_EQ(detail::standardized("Don't \xc3\x84!", true, true), "dont \xc3\x84");
}

TEST(TextWords, CharactersOfWhatIsNoUtf8AreReplaced) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(detail::characters_of("a\xc3\xbc\xe6\x97\xa5\xf0\x9f\x98\x80"),
            (Strings{"a", "\xc3\xbc", "\xe6\x97\xa5", "\xf0\x9f\x98\x80"}));
  EXPECT_EQ(detail::characters_of("a\xff"
                                  "b"),
            (Strings{"a", bad, "b"}));
  EXPECT_EQ(detail::characters_of("\xe6\x97"), Strings{bad});  // cut off
  EXPECT_EQ(detail::characters_of("\xe6\x97"
                                  "a"),
            (Strings{bad, "a"}));
  EXPECT_EQ(detail::characters_of("\xc0\x80"), (Strings{bad, bad}));           // overlong
  EXPECT_EQ(detail::characters_of("\xed\xa0\x80"), (Strings{bad, bad, bad}));  // a surrogate
  EXPECT_EQ(detail::characters_of("\xf5\x80"), (Strings{bad, bad}));           // beyond the last code point
}

TEST(TextWords, OfAnyBytesAreTexts) {
  testing::Random random("words");
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::int64_t length = random.integer(0, 12); length > 0; --length) {
      text += static_cast<char>(random.integer(0, 3) == 0 ? random.integer(0, 127) : random.integer(128, 255));
    }
    std::size_t bytes = 0;
    for (const std::string& character : detail::characters_of(text)) {
      EXPECT_FALSE(character.empty());
      ++bytes;
    }
    EXPECT_LE(bytes, text.size());
    const Tensor y = layers::TextVectorization(
        {.split = "character", .ngrams = random.integer(1, 3), .vocabulary = {"a", "b c"}})({text, ""});
    EXPECT_EQ(y.dim(0), 2);
  }
}

// --- Layers ---

TEST(StringLookup, LearnsAndGivesBackTheTexts) {
  const layers::StringLookup look_up({.mask_token = ""});
  look_up.adapt({"red", "blue", "red", ""});
  EXPECT_EQ(look_up.get_vocabulary(), (Strings{"", "[UNK]", "red", "blue"}));
  const Tensor ids = look_up(Texts::rows({{"blue", ""}, {"green", "red"}}));
  EXPECT_EQ(ids.to_vector<int>(), (std::vector<int>{3, 0, 1, 2}));
  EXPECT_EQ(ids.dtype(), int64);
  const Texts texts = look_up.to_texts(ids);
  EXPECT_EQ(texts.values(), (Strings{"blue", "", "[UNK]", "red"}));
  EXPECT_EQ(texts.shape(), Shape({2, 2}));
  // Learning anew forgets.
  look_up.adapt("green");
  EXPECT_EQ(look_up.get_vocabulary(false), Strings{"green"});
}

TEST(StringLookup, OfRowsOfDifferentLengthsGivesVectorsAlone) {
  const Texts rows = Texts::rows({{"a", "a"}, {}, {"b", "x", "y"}});
  const layers::StringLookup count({.vocabulary = {"a", "b"}, .output_mode = "count"}), ids({.vocabulary = {"a"}});
  EXPECT_EQ(count(rows).to_vector<int>(), (std::vector<int>{0, 2, 0, 0, 0, 0, 2, 0, 1}));
  EXPECT_NE(message_of([&] { ids(rows); }).find("rows of texts have different lengths"), std::string::npos);
}

TEST(StringLookup, RefusesWhatDoesNotFit) {
  const auto made = [](const layers::StringLookupOptions& options) {
    return message_of([&] { layers::StringLookup{options}; });
  };
  EXPECT_NE(made({.vocabulary = {"a", "a"}}).find("the token \"a\" twice"), std::string::npos);
  EXPECT_NE(made({.vocabulary = {"a", "[UNK]"}, .invert = true}).find("the token of unknown ones, \"[UNK]\""),
            std::string::npos);
  EXPECT_NE(made({.oov_token = std::nullopt}).find("oov_token must be given"), std::string::npos);
  EXPECT_NE(made({.output_mode = "nonsense"}).find("\"nonsense\""), std::string::npos);
  const layers::StringLookup look_up({.vocabulary = {"a"}}), none({.num_oov_indices = 0, .vocabulary = {"a"}}),
      inverted({.vocabulary = {"a"}, .invert = true}), empty, count({.vocabulary = {"a"}, .output_mode = "count"});
  const Layer as_layer = look_up;
  EXPECT_NE(message_of([&] { as_layer(constant({1.0})); }).find("it takes texts, not tensors"), std::string::npos);
  EXPECT_NE(message_of([&] { none({"a", "b"}); }).find("the text \"b\" is not in the vocabulary"), std::string::npos);
  EXPECT_NE(message_of([&] { inverted({"a"}); }).find("takes indices, not texts"), std::string::npos);
  EXPECT_NE(message_of([&] { empty({"a"}); }).find("has no vocabulary yet"), std::string::npos);
  EXPECT_THROW(empty.to_texts(constant({1})), ValueError);
  EXPECT_THROW(count.to_texts(constant({1})), ValueError);
  EXPECT_THROW(look_up.to_texts(constant({1.0})), DTypeError);
  EXPECT_THROW(look_up.adapt({"b"}), ValueError);
  EXPECT_THROW(look_up.update_state({"b"}), ValueError);
  EXPECT_THROW(empty.adapt(Texts()), ValueError);
  EXPECT_THROW(empty.finalize_state(), ValueError);
  EXPECT_NE(
      message_of([] {
        layer_from(AttributeValue::from_json(R"({"class_name": "StringLookup", "config": {"vocabulary": "a.txt"}})"));
      }).find("must be a list or none, not \"a.txt\""),
      std::string::npos);
  for (const char* config :
       {R"({"sparse": true})", R"({"encoding": "latin-1"})", R"({"salt": [1, 2, 3]})", R"({"no_such_option": 1})"}) {
    EXPECT_THROW(layer_from(AttributeValue::from_json(std::string(R"({"class_name": "StringLookup", "config": )") +
                                                      config + "}")),
                 ValueError)
        << config;
  }
}

TEST(TextVectorization, TakesFunctionsOfTheProgram) {
  const layers::TextVectorization vectorize({.standardize = [](const std::string& text) { return text.substr(0, 3); },
                                             .split =
                                                 [](const std::string& text) {
                                                   return Strings{text.substr(0, 1), text.substr(1)};
                                                 },
                                             .vocabulary = {"a", "bc"}});
  EXPECT_EQ(vectorize({"abcd", "xbcz"}).to_vector<int>(), (std::vector<int>{2, 3, 1, 3}));
  EXPECT_NE(message_of([&] { vectorize.get_config(); }).find("a function of the program has no configuration"),
            std::string::npos);
}

TEST(TextVectorization, OfNoTextsHasNoRows) {
  const layers::TextVectorization plain({.vocabulary = {"a"}}), cut({.output_sequence_length = 3, .vocabulary = {"a"}}),
      count({.output_mode = "count", .vocabulary = {"a"}});
  EXPECT_EQ(plain(Texts()).shape(), Shape({0, 0}));
  EXPECT_EQ(plain({""}).shape(), Shape({1, 0}));
  EXPECT_EQ(cut(Texts()).shape(), Shape({0, 3}));
  EXPECT_EQ(cut("a b").to_vector<int>(), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(count(Texts()).shape(), Shape({0, 2}));
  EXPECT_EQ(plain("a b").to_vector<int>(), (std::vector<int>{2, 1}));
}

TEST(TextVectorization, StaysSmallForLargeNumbers) {
  const testing::MemoryLimit limit;
  const std::int64_t many = std::int64_t{1} << 60;
  EXPECT_EQ(layers::TextVectorization({.ngrams = many, .vocabulary = {"a"}})({"a b"}).shape(), Shape({1, 3}));
  EXPECT_EQ(layers::TextVectorization({.ngrams = {many}, .vocabulary = {"a"}})({"a b"}).shape(), Shape({1, 0}));
  EXPECT_THROW(layers::TextVectorization({.output_sequence_length = many, .vocabulary = {"a"}})({"a b"}), Error);
  EXPECT_THROW(
      layers::TextVectorization(
          {.max_tokens = many, .output_mode = "count", .pad_to_max_tokens = true, .vocabulary = {"a"}})({"a b"}),
      Error);
}

TEST(TextVectorization, RefusesWhatDoesNotFit) {
  const auto made = [](const layers::TextVectorizationOptions& options) {
    return message_of([&] { layers::TextVectorization{options}; });
  };
  EXPECT_NE(made({.standardize = "upper"}).find("option \"standardize\" must be \"lower_and_strip_punctuation\""),
            std::string::npos);
  EXPECT_NE(made({.split = "lines"}).find("not \"lines\""), std::string::npos);
  EXPECT_NE(made({.ngrams = 0}).find("ngrams must be at least 1, not 0"), std::string::npos);
  EXPECT_NE(made({.ngrams = {2, -1}}).find("ngrams must be at least 1, not -1"), std::string::npos);
  EXPECT_NE(made({.output_mode = "one_hot"}).find("\"one_hot\""), std::string::npos);
  EXPECT_NE(made({.output_mode = "count", .output_sequence_length = 3}).find("is for output_mode \"int\""),
            std::string::npos);
  EXPECT_NE(made({.output_sequence_length = -1}).find("output_sequence_length"), std::string::npos);
  const layers::TextVectorization vectorize({.vocabulary = {"a"}}), empty;
  EXPECT_NE(message_of([&] {
              vectorize(Texts::rows({{"a", "b"}}));
            }).find("must have one text each"),
            std::string::npos);
  EXPECT_THROW(empty({"a"}), ValueError);
  EXPECT_THROW(empty.adapt({" ", ""}), ValueError);
  EXPECT_THROW(vectorize.adapt({"a"}), ValueError);
  const Sequential model({vectorize, layers::Dense(1)});
  EXPECT_NE(message_of([&] { model(constant({{1.0}})); }).find("it takes texts, not tensors"), std::string::npos);
  EXPECT_THROW(
      layer_from(AttributeValue::from_json(R"({"class_name": "TextVectorization", "config": {"ragged": true}})")),
      ValueError);
}

// --- In front of a model ---

TEST(TextBatches, TrainAModelThatReadsTexts) {
  set_seed(3);
  const Texts texts = {"good film", "bad film", "a good one", "bad bad", "so good", "it was bad", "good good"};
  const Tensor labels = constant({1.0f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 1.0f});
  const layers::TextVectorization vectorize({.output_sequence_length = 4});
  vectorize.adapt(texts);
  const Sequential model({layers::Embedding(vectorize.vocabulary_size(), 4), layers::GlobalAveragePooling1D(),
                          layers::Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.1}), .loss = "binary_crossentropy"});
  const BatchSource batches = text_batches(texts, vectorize, {.y = labels, .batch_size = 3, .seed = 1});
  EXPECT_EQ(batches.size(), 3);
  const History history = model.fit(batches, {.epochs = 30, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.1);
  const Tensor found = model.predict(text_batches({"good", "bad"}, vectorize)).tensor();
  EXPECT_GT(found.to_vector<float>()[0], 0.5f);
  EXPECT_LT(found.to_vector<float>()[1], 0.5f);
}

TEST(TextBatches, HaveTheOrderOfTheTextsOrOfTheSeed) {
  const Texts rows = Texts::rows({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}});
  const layers::StringLookup look_up({.vocabulary = {"a", "b", "c", "d", "e"}});
  const auto order = [&](const BatchSource& source) {
    std::vector<int> all;
    const BatchSource::Pass next = source.open();
    while (const std::optional<Batch> batch = next()) {
      const std::vector<int> x = batch->x.tensor().to_vector<int>(), y = batch->y.tensor().to_vector<int>();
      EXPECT_EQ(x, y);
      all.insert(all.end(), x.begin(), x.end());
    }
    return all;
  };
  const Tensor y = constant({1, 2, 3, 4, 5});
  EXPECT_EQ(order(text_batches(rows, look_up, {.y = y, .batch_size = 2})), (std::vector<int>{1, 2, 3, 4, 5}));
  const BatchSource shuffled = text_batches(rows, look_up, {.y = y, .batch_size = 2, .seed = 7});
  const std::vector<int> first = order(shuffled), second = order(shuffled);
  EXPECT_NE(first, second);
  EXPECT_EQ(order(text_batches(rows, look_up, {.y = y, .batch_size = 2, .seed = 7})), first);
}

TEST(TextBatches, RefuseWhatDoesNotFit) {
  const layers::StringLookup look_up({.vocabulary = {"a"}});
  EXPECT_THROW(text_batches("a", look_up), ValueError);
  EXPECT_THROW(text_batches(Texts(), look_up), ValueError);
  EXPECT_THROW(text_batches({"a"}, nullptr), ValueError);
  EXPECT_THROW(text_batches({"a"}, look_up, {.batch_size = 0}), ValueError);
  EXPECT_THROW(text_batches({"a"}, look_up, {.y = zeros({2})}), ShapeError);
}

}  // namespace
}  // namespace capstan
