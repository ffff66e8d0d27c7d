// TextVectorization: texts to the places of their words.
#include <algorithm>

#include "capstan/ops/array.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"
#include "src/train/layers/string_lookup.h"
#include "src/train/layers/text_words.h"

namespace capstan::layers {

namespace {

constexpr std::string_view kStandardizations[] = {"lower_and_strip_punctuation", "lower", "strip_punctuation"},
                           kSplits[] = {"whitespace", "character"},
                           kTextModes[] = {"int", "multi_hot", "count", "tf_idf"}, kTextEncodings[] = {"utf-8"};

struct TextVectorizationConfig : TextVectorizationOptions {
  InputShape input_shape;
  bool trainable = true;
  bool sparse = false;
  bool ragged = false;
  std::string encoding = "utf-8";
  std::optional<std::int64_t> vocabulary_size;  // of Keras's configurations; it follows from the vocabulary
  static std::span<const OptionField> fields() {
    using O = TextVectorizationConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::max_tokens, O>("max_tokens"), option<&O::standardize, O>("standardize"),
         option<&O::split, O>("split"), option<&O::ngrams, O>("ngrams"),
         option<&O::output_mode, O>("output_mode").one_of(kTextModes),
         option<&O::output_sequence_length, O>("output_sequence_length").at_least(0),
         option<&O::pad_to_max_tokens, O>("pad_to_max_tokens"), option<&O::sparse>("sparse"),
         option<&O::ragged>("ragged"), option<&O::vocabulary, O>("vocabulary"),
         option<&O::idf_weights, O>("idf_weights"), option<&O::encoding>("encoding").one_of(kTextEncodings),
         option<&O::vocabulary_size>("vocabulary_size")});
    return all;
  }
};

// Functions of the program have no value that the table could check.
TextVectorizationConfig without_functions(TextVectorizationConfig config) {
  if (config.standardize.function() != nullptr) config.standardize = std::nullopt;
  if (config.split.function() != nullptr) config.split = std::nullopt;
  return config;
}

template <class Result>
void check_name(const char* option, const TextFunction<Result>& function, std::span<const std::string_view> names) {
  bool is_known = function.name().empty();
  std::string all;
  for (const std::string_view name : names) {
    is_known = is_known || name == function.name();
    all += (all.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  CAPSTAN_CHECK(is_known, ValueError, "TextVectorization: option \"", option, "\" must be ", all,
                ", none or a function, not \"", function.name(), "\"");
}

class TextVectorizationBody final : public ConfiguredLayer<TextVectorizationBody, TextVectorizationConfig> {
 public:
  static constexpr char kName[] = "TextVectorization", kText[] = "Places of the words of texts in a vocabulary.";
  explicit TextVectorizationBody(const TextVectorizationConfig& given)
      : ConfiguredLayer(without_functions(given)),
        vocabulary({.layer = kName,
                    .output_mode = given.output_mode,
                    .max_tokens = given.max_tokens,
                    .mask_token = "",
                    .oov_token = "[UNK]",
                    .pad_to_max_tokens = given.pad_to_max_tokens},
                   given.vocabulary, given.idf_weights),
        standardize_(given.standardize),
        split_(given.split) {
    detail::check_not_sparse(kName, given.sparse);
    CAPSTAN_CHECK(!given.ragged, ValueError,
                  "TextVectorization: option \"ragged\" must be false: there are no ragged tensors");
    check_name("standardize", given.standardize, kStandardizations);
    check_name("split", given.split, kSplits);
    CAPSTAN_CHECK(given.output_mode == "int" || !given.output_sequence_length, ValueError,
                  "TextVectorization: output_sequence_length is for output_mode \"int\", not \"", given.output_mode,
                  "\"");
    CAPSTAN_CHECK(given.ngrams.most().value_or(1) >= 1, ValueError,
                  "TextVectorization: ngrams must be at least 1, not ", given.ngrams.most().value_or(1));
    for (const std::int64_t width : given.ngrams.widths()) {
      CAPSTAN_CHECK(width >= 1, ValueError, "TextVectorization: ngrams must be at least 1, not ", width);
    }
  }

  // The tokens of texts: with a split a row for each text, and a list for one text.
  Texts tokens_of(const Texts& given) const {
    std::vector<std::vector<std::string>> rows;
    if (!is_none(split_)) {
      CAPSTAN_CHECK(given.rank() < 2 || given.values().size() == given.row_count(), ShapeError, name(),
                    ": rows of texts that are split must have one text each, but there are ", given.values().size(),
                    " in ", given.row_count(), " rows");
      for (const std::string& text : given.values()) {
        rows.push_back(detail::ngrams_of(parts_of(standardized(text)), options.ngrams));
      }
      return given.rank() == 0 ? Texts(std::move(rows[0])) : Texts(rows);
    }
    for (std::size_t i = 0; i < given.row_count(); ++i) {
      std::vector<std::string> row;
      for (const std::string& text : given.row(i)) row.push_back(standardized(text));
      rows.push_back(detail::ngrams_of(std::move(row), options.ngrams));
    }
    if (given.rank() == 0 && !options.ngrams.is_given()) return std::move(rows[0][0]);
    return given.rank() == 2 ? Texts(rows) : Texts(std::move(rows[0]));
  }

  Tensor vectorize(const Texts& texts) const {
    const Texts tokens = tokens_of(texts);
    const auto& asked = options.output_sequence_length;
    if (options.output_mode != "int" || (tokens.rank() == 0 && !asked)) {
      return detail::look_up(name(), vocabulary, tokens, {}, compute_dtype());
    }
    // Rows are cut, and filled up with zeros to the longest.
    std::size_t length = 0;
    for (std::size_t i = 0; i < tokens.row_count(); ++i) length = std::max(length, tokens.row(i).size());
    if (asked) length = std::min(length, static_cast<std::size_t>(*asked));
    const std::vector<std::int64_t> places = detail::places_of(name(), vocabulary, tokens.values(), {});
    std::vector<std::int64_t> even(tokens.row_count() * length);
    auto next = places.begin();
    for (std::size_t i = 0; i < tokens.row_count(); ++i) {
      const std::size_t size = tokens.row(i).size();
      std::copy_n(next, std::min(size, length), even.begin() + static_cast<std::ptrdiff_t>(i * length));
      next += static_cast<std::ptrdiff_t>(size);
    }
    const auto width = static_cast<std::int64_t>(length), missing = asked.value_or(width) - width;
    if (tokens.rank() < 2) return pad(constant(even, Shape{width}), {{0, missing}});
    return pad(constant(even, Shape{static_cast<std::int64_t>(tokens.row_count()), width}), {{0, 0}, {0, missing}});
  }

  void count(const Texts& data) {
    vocabulary.check_learns(name());
    const Texts tokens = tokens_of(data);
    for (std::size_t i = 0; i < tokens.row_count(); ++i) vocabulary.count(tokens.row(i));
  }

  detail::Vocabulary<std::string> vocabulary;

 protected:
  Tensor call(const Tensor&, const CallOptions&) override { detail::throw_takes_texts(name()); }

  AttributeValue get_config() const override {
    AttributeValue config = ConfiguredLayer::get_config();
    config.set("standardize", get_field(standardize_));
    config.set("split", get_field(split_));
    detail::set_learned(config, vocabulary);
    return config;
  }

 private:
  template <class Result>
  static bool is_none(const TextFunction<Result>& function) {
    return function.name().empty() && function.function() == nullptr;
  }

  std::vector<std::string> parts_of(const std::string& text) const {
    if (split_.function() != nullptr) return split_.function()(text);
    return split_.name() == "whitespace" ? detail::words_of(text) : detail::characters_of(text);
  }

  std::string standardized(const std::string& text) const {
    if (standardize_.function() != nullptr) return standardize_.function()(text);
    const std::string& name = standardize_.name();
    return detail::standardized(text, name == "lower" || name == "lower_and_strip_punctuation",
                                name == "strip_punctuation" || name == "lower_and_strip_punctuation");
  }

  TextStandardization standardize_;
  TextSplitting split_;
};

TextVectorizationBody& vectorization_body(LayerBase& layer) { return static_cast<TextVectorizationBody&>(layer); }

}  // namespace

TextVectorization::TextVectorization(const TextVectorizationOptions& options)
    : Layer(make_configurable<TextVectorizationBody>(TextVectorizationConfig{options})) {}
TextVectorization TextVectorization::of(const Layer& layer) {
  return TextVectorization(detail::body_as<TextVectorizationBody>(layer));
}

Tensor TextVectorization::operator()(const Texts& texts) const { return vectorization_body(body()).vectorize(texts); }

void TextVectorization::adapt(const Texts& data) const {
  reset_state();
  // In a list without a split each text is a document.
  const Texts rows = data.rank() == 1 ? Texts::from(data.values(), {static_cast<std::int64_t>(data.size()), 1}) : data;
  update_state(rows);
  finalize_state();
}
void TextVectorization::reset_state() const {
  vectorization_body(body()).vocabulary.check_learns(name());
  vectorization_body(body()).vocabulary.reset();
}
void TextVectorization::update_state(const Texts& data) const { vectorization_body(body()).count(data); }
void TextVectorization::finalize_state() const {
  vectorization_body(body()).vocabulary.check_learns(name());
  vectorization_body(body()).vocabulary.finish(name());
}

void TextVectorization::set_vocabulary(const std::vector<std::string>& vocabulary,
                                       const std::vector<double>& idf_weights) const {
  vectorization_body(body()).vocabulary.set(vocabulary, idf_weights);
}
std::vector<std::string> TextVectorization::get_vocabulary(bool include_special_tokens) const {
  return vectorization_body(body()).vocabulary.all(include_special_tokens);
}
std::int64_t TextVectorization::vocabulary_size() const { return vectorization_body(body()).vocabulary.size(); }

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::text_vectorization_class() { return layers::TextVectorizationBody::info(); }
