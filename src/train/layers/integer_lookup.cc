// IntegerLookup: integers to their places in a vocabulary.
#include <algorithm>
#include <numeric>

#include "capstan/debugging.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/sort.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/category_encoding.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"
#include "src/train/layers/text_hash.h"
#include "src/train/layers/vocabulary.h"

namespace capstan::layers {

namespace {

constexpr std::string_view kOovMethods[] = {"floormod", "farmhash"}, kVocabularyDTypes[] = {"int64"};

struct IntegerLookupConfig : IntegerLookupOptions {
  bool sparse = false;
  std::string vocabulary_dtype = "int64";
  std::optional<std::int64_t> vocabulary_size;  // of Keras's configurations; it follows from the vocabulary
  static std::span<const OptionField> fields() {
    using O = IntegerLookupConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::invert, O>("invert"), option<&O::max_tokens, O>("max_tokens"),
         option<&O::num_oov_indices, O>("num_oov_indices").at_least(0).at_most(detail::kMostOovIndices),
         option<&O::oov_token, O>("oov_token"), option<&O::mask_token, O>("mask_token"),
         option<&O::output_mode, O>("output_mode").one_of(detail::kLookupModes), option<&O::sparse>("sparse"),
         option<&O::pad_to_max_tokens, O>("pad_to_max_tokens"),
         option<&O::vocabulary_dtype>("vocabulary_dtype").one_of(kVocabularyDTypes),
         option<&O::idf_weights, O>("idf_weights"), option<&O::vocabulary, O>("vocabulary"),
         option<&O::vocabulary_size>("vocabulary_size"), option<&O::oov_method, O>("oov_method").one_of(kOovMethods),
         option<&O::salt, O>("salt")});
    return all;
  }
};

class IntegerLookupBody final : public ConfiguredLayer<IntegerLookupBody, IntegerLookupConfig> {
 public:
  static constexpr char kName[] = "IntegerLookup", kText[] = "Places of integers in a vocabulary.";
  explicit IntegerLookupBody(const IntegerLookupConfig& given)
      : ConfiguredLayer(given),
        vocabulary_({kName, given.output_mode, given.max_tokens, given.num_oov_indices, given.mask_token,
                     given.oov_token, given.invert, given.pad_to_max_tokens},
                    given.vocabulary, given.idf_weights) {
    detail::check_not_sparse(kName, given.sparse);
    CAPSTAN_CHECK(!given.salt.is_given() || given.oov_method == "farmhash", ValueError,
                  "IntegerLookup: salt is for oov_method \"farmhash\", not \"", given.oov_method, "\"");
    // Tokens that come as numbers must not be rounded.
    detail::LayerState::of(*this).converts_input = false;
    prepare();
  }

  const detail::Vocabulary<std::int64_t>& vocabulary() const { return vocabulary_; }

  void set_vocabulary(const std::vector<std::int64_t>& tokens, const std::vector<double>& idf_weights) {
    vocabulary_.set(tokens, idf_weights);
    prepare();
  }
  void start() {
    vocabulary_.check_learns(name());
    vocabulary_.reset();
  }
  // A row is a document; so is a vector, or in a batch of its own each element.
  void count(const Tensor& data, bool is_batch) {
    CAPSTAN_CHECK(data.has_value() && !is_complex(data.dtype()), ValueError, name(),
                  ": adapt: the data must be integers");
    const std::vector<std::int64_t> tokens = detail::in_dtype(data, int64).to_vector<std::int64_t>();
    const std::int64_t last = data.rank() == 0 ? 1 : data.dim(-1);
    const auto length = static_cast<std::size_t>(data.rank() == 1 && !is_batch ? 1 : last);
    for (std::size_t i = 0; length > 0 && i < tokens.size(); i += length) {
      vocabulary_.count(std::span(tokens).subspan(i, length));
    }
  }
  void finish() {
    vocabulary_.finish(name());
    prepare();
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    // A model may be made of it before it learns, if lengths do not depend on that.
    const bool is_example = !vocabulary_.has_tokens() && detail::ExampleScope::is_open() && vocabulary_.knows_lengths();
    if (!is_example) vocabulary_.check_has_tokens(name());
    CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, name(), ": the input must be integers, not ", x.dtype());
    if (is_example) {
      return detail::encode_ids(zeros_like(detail::in_dtype(x, int64)), options.output_mode, vocabulary_.depth(),
                                options.output_mode == "tf_idf" ? compute_dtype() : int64);
    }
    const Tensor ids = reshape(detail::in_dtype(x, int64), {-1});
    if (options.invert) return reshape_like(tokens_at(ids), x);
    const Tensor places = reshape_like(places_of(ids), x);
    if (options.output_mode != "tf_idf") {
      return detail::encode_ids(places, options.output_mode, vocabulary_.depth(), int64);
    }
    return detail::encode_ids(places, "count", vocabulary_.depth(), compute_dtype()) *
           detail::filled_up(vocabulary_.idf(), vocabulary_.depth(), compute_dtype());
  }

  AttributeValue get_config() const override {
    AttributeValue config = ConfiguredLayer::get_config();
    detail::set_learned(config, vocabulary_);
    return config;
  }

 private:
  // The vocabulary as tensors: tokens in ascending order, to be searched, and the place of each.
  void prepare() {
    std::vector<std::int64_t> tokens = vocabulary_.tokens(), places;
    tokens_ = constant(tokens);
    std::sort(tokens.begin(), tokens.end());
    for (const std::int64_t token : tokens) places.push_back(vocabulary_.find(token));
    sorted_ = constant(tokens);
    places_ = constant(places);
  }

  Tensor places_of(const Tensor& ids) const {
    const std::int64_t last = sorted_.size() - 1;
    const Tensor found = minimum(searchsorted(sorted_, ids, "left", int64), last);
    Tensor is_known = equal(gather(sorted_, found), ids);
    Tensor places = where(is_known, gather(places_, found), unknown(ids));
    if (options.mask_token) {
      const Tensor is_masked = equal(ids, *options.mask_token);
      // In vectors masked tokens count nowhere.
      places = where(is_masked, std::int64_t{options.output_mode == "int" ? 0 : -1}, places);
      is_known = logical_or(is_known, is_masked);
    }
    if (options.num_oov_indices == 0 && !detail::ExampleScope::is_open()) {
      debugging::assert_true(is_known, {ids},
                             {.message = detail::join(name(),
                                                      ": with num_oov_indices 0 all tokens must be in the "
                                                      "vocabulary")});
    }
    return places;
  }

  Tensor unknown(const Tensor& ids) const {
    const std::int64_t start = vocabulary_.oov_start(), count = options.num_oov_indices;
    if (count < 2) return zeros_like(ids) + start;
    if (options.oov_method == "floormod") return floormod(ids, count) + start;
    std::vector<std::int64_t> places = ids.to_vector<std::int64_t>();
    for (std::int64_t& id : places) id = start + detail::hash_bucket(std::to_string(id), count, options.salt);
    return constant(places, ids.shape());
  }

  Tensor tokens_at(const Tensor& places) const {
    const std::int64_t start = vocabulary_.token_start(), last = tokens_.size() - 1;
    const Tensor is_token = logical_and(greater_equal(places, start), less_equal(places, start + last));
    const Tensor numbers = where(is_token, places - start, zeros_like(places));
    const Tensor tokens = where(is_token, gather(tokens_, numbers), options.oov_token);
    return options.mask_token ? where(equal(places, 0), *options.mask_token, tokens) : tokens;
  }

  detail::Vocabulary<std::int64_t> vocabulary_;
  Tensor tokens_, sorted_, places_;
};

IntegerLookupBody& body_of(LayerBase& layer) { return static_cast<IntegerLookupBody&>(layer); }

}  // namespace

IntegerLookup::IntegerLookup(const IntegerLookupOptions& options)
    : Layer(make_configurable<IntegerLookupBody>(IntegerLookupConfig{options})) {}
IntegerLookup IntegerLookup::of(const Layer& layer) { return IntegerLookup(detail::body_as<IntegerLookupBody>(layer)); }

void IntegerLookup::adapt(const Tensor& data) const {
  IntegerLookupBody& layer = body_of(body());
  layer.start();
  layer.count(data, false);
  layer.finish();
}
void IntegerLookup::adapt(const BatchSource& data, std::optional<std::int64_t> steps) const {
  IntegerLookupBody& layer = body_of(body());
  layer.start();
  detail::for_each_batch(data, steps, [&](const Tensor& x) { layer.count(x, true); });
  layer.finish();
}
void IntegerLookup::set_vocabulary(const std::vector<std::int64_t>& vocabulary,
                                   const std::vector<double>& idf_weights) const {
  body_of(body()).set_vocabulary(vocabulary, idf_weights);
}
std::vector<std::int64_t> IntegerLookup::get_vocabulary(bool include_special_tokens) const {
  return body_of(body()).vocabulary().all(include_special_tokens);
}
std::int64_t IntegerLookup::vocabulary_size() const { return body_of(body()).vocabulary().size(); }

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::integer_lookup_class() { return layers::IntegerLookupBody::info(); }
