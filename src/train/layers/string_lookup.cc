// StringLookup: texts to their places in a vocabulary.
#include "src/train/layers/string_lookup.h"

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/category_encoding.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"
#include "src/train/layers/text_hash.h"

namespace capstan {

namespace {

std::int64_t place_of(const std::string& layer, const detail::Vocabulary<std::string>& vocabulary,
                      const std::string& text, const layers::Salt& salt) {
  const auto& rules = vocabulary.rules();
  // In vectors masked tokens count nowhere.
  if (rules.mask_token == text) return rules.output_mode == "int" ? 0 : -1;
  const std::int64_t place = vocabulary.find(text);
  if (place >= 0) return place;
  CAPSTAN_CHECK(rules.num_oov_indices > 0, ValueError, layer, ": the text \"", text,
                "\" is not in the vocabulary, and num_oov_indices is 0");
  return vocabulary.oov_start() +
         (rules.num_oov_indices == 1 ? 0 : detail::hash_bucket(text, rules.num_oov_indices, salt));
}

}  // namespace

std::vector<std::int64_t> detail::places_of(const std::string& layer, const Vocabulary<std::string>& vocabulary,
                                            const std::vector<std::string>& texts, const layers::Salt& salt) {
  vocabulary.check_has_tokens(layer);
  std::vector<std::int64_t> places;
  places.reserve(texts.size());
  for (const std::string& text : texts) places.push_back(place_of(layer, vocabulary, text, salt));
  return places;
}

Tensor detail::look_up(const std::string& layer, const Vocabulary<std::string>& vocabulary, const Texts& texts,
                       const layers::Salt& salt, DType dtype) {
  const std::vector<std::int64_t> places = places_of(layer, vocabulary, texts.values(), salt);
  const std::string& mode = vocabulary.rules().output_mode;
  if (mode != "tf_idf") return encode_texts(layer, texts, places, mode, vocabulary.depth(), int64);
  return encode_texts(layer, texts, places, "count", vocabulary.depth(), dtype) *
         filled_up(vocabulary.idf(), vocabulary.depth(), dtype);
}

namespace layers {

namespace {

constexpr std::string_view kOovMethods[] = {"floormod", "farmhash"}, kEncodings[] = {"utf-8"};

struct StringLookupConfig : StringLookupOptions {
  InputShape input_shape;
  bool trainable = true;
  bool sparse = false;
  std::string oov_method = "floormod";  // of Keras's configurations; texts are hashed in either case
  std::string encoding = "utf-8";
  std::optional<std::int64_t> vocabulary_size;  // as well; it follows from the vocabulary
  static std::span<const OptionField> fields() {
    using O = StringLookupConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::invert, O>("invert"), option<&O::max_tokens, O>("max_tokens"),
         option<&O::num_oov_indices, O>("num_oov_indices").at_least(0).at_most(detail::kMostOovIndices),
         option<&O::oov_token, O>("oov_token"), option<&O::mask_token, O>("mask_token"),
         option<&O::output_mode, O>("output_mode").one_of(detail::kLookupModes), option<&O::sparse>("sparse"),
         option<&O::pad_to_max_tokens, O>("pad_to_max_tokens"), option<&O::idf_weights, O>("idf_weights"),
         option<&O::vocabulary, O>("vocabulary"), option<&O::vocabulary_size>("vocabulary_size"),
         option<&O::oov_method>("oov_method").one_of(kOovMethods), option<&O::salt, O>("salt"),
         option<&O::encoding>("encoding").one_of(kEncodings)});
    return all;
  }
};

class StringLookupBody final : public ConfiguredLayer<StringLookupBody, StringLookupConfig> {
 public:
  static constexpr char kName[] = "StringLookup", kText[] = "Places of texts in a vocabulary.";
  explicit StringLookupBody(const StringLookupConfig& given)
      : ConfiguredLayer(given),
        vocabulary({kName, given.output_mode, given.max_tokens, given.num_oov_indices, given.mask_token,
                    given.oov_token, given.invert, given.pad_to_max_tokens},
                   given.vocabulary, given.idf_weights) {
    detail::check_not_sparse(kName, given.sparse);
  }

  Tensor look_up(const Texts& texts) const {
    CAPSTAN_CHECK(!options.invert, ValueError, name(), ": an inverted layer takes indices, not texts",
                  help("to_texts(indices) gives their texts"));
    return detail::look_up(name(), vocabulary, texts, options.salt, compute_dtype());
  }

  Texts to_texts(const Tensor& indices) const {
    vocabulary.check_has_tokens(name());
    CAPSTAN_CHECK(options.output_mode == "int", ValueError, name(),
                  ": indices have texts with output_mode \"int\", not \"", options.output_mode, "\"");
    CAPSTAN_CHECK(options.oov_token, ValueError, name(), ": oov_token must be given for texts of indices");
    CAPSTAN_CHECK(indices.has_value() && is_integer(indices.dtype()), DTypeError, name(),
                  ": indices must be a tensor of integers", arguments({{"indices", indices}}));
    std::vector<std::string> texts;
    for (const std::int64_t place : detail::in_dtype(indices, int64).to_vector<std::int64_t>()) {
      texts.push_back(vocabulary.at(place));
    }
    return Texts::from(std::move(texts), indices.shape());
  }

  detail::Vocabulary<std::string> vocabulary;

 protected:
  Tensor call(const Tensor&, const CallOptions&) override { detail::throw_takes_texts(name()); }

  AttributeValue get_config() const override {
    AttributeValue config = ConfiguredLayer::get_config();
    detail::set_learned(config, vocabulary);
    return config;
  }
};

StringLookupBody& lookup_body(LayerBase& layer) { return static_cast<StringLookupBody&>(layer); }

}  // namespace

StringLookup::StringLookup(const StringLookupOptions& options)
    : Layer(make_configurable<StringLookupBody>(StringLookupConfig{options})) {}
StringLookup StringLookup::of(const Layer& layer) { return StringLookup(detail::body_as<StringLookupBody>(layer)); }

Tensor StringLookup::operator()(const Texts& texts) const { return lookup_body(body()).look_up(texts); }
Texts StringLookup::to_texts(const Tensor& indices) const { return lookup_body(body()).to_texts(indices); }

void StringLookup::adapt(const Texts& data) const {
  reset_state();
  if (data.rank() == 1) {
    for (const std::string& text : data.values()) lookup_body(body()).vocabulary.count({&text, 1});
  } else {
    update_state(data);
  }
  finalize_state();
}
void StringLookup::reset_state() const {
  lookup_body(body()).vocabulary.check_learns(name());
  lookup_body(body()).vocabulary.reset();
}
void StringLookup::update_state(const Texts& data) const {
  lookup_body(body()).vocabulary.check_learns(name());
  for (std::size_t i = 0; i < data.row_count(); ++i) lookup_body(body()).vocabulary.count(data.row(i));
}
void StringLookup::finalize_state() const {
  lookup_body(body()).vocabulary.check_learns(name());
  lookup_body(body()).vocabulary.finish(name());
}

void StringLookup::set_vocabulary(const std::vector<std::string>& vocabulary,
                                  const std::vector<double>& idf_weights) const {
  lookup_body(body()).vocabulary.set(vocabulary, idf_weights);
}
std::vector<std::string> StringLookup::get_vocabulary(bool include_special_tokens) const {
  return lookup_body(body()).vocabulary.all(include_special_tokens);
}
std::int64_t StringLookup::vocabulary_size() const { return lookup_body(body()).vocabulary.size(); }

}  // namespace layers

const ClassInfo& detail::string_lookup_class() { return layers::StringLookupBody::info(); }

}  // namespace capstan
