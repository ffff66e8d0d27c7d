// Hashing and HashedCrossing: texts and integers to bins, by hashes that are the same in every program.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/fingerprint.h"
#include "src/train/layer_state.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/category_encoding.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"
#include "src/train/layers/text_hash.h"

namespace capstan::layers {

namespace {

// TensorFlow's, of crossed features.
constexpr std::uint64_t kCrossingSeed = 0xDECAFCAFFE;

// The dtype that the mode asks for.
template <class Config>
Config with_dtype(Config config) {
  config.dtype = config.dtype.value_or(config.output_mode == "int" ? int64 : floatx());
  return config;
}

struct HashingConfig : HashingOptions {
  std::int64_t num_bins = 0;
  bool sparse = false;
  static std::span<const OptionField> fields() {
    using O = HashingConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::num_bins>("num_bins", true).at_least(1), option<&O::salt, O>("salt"),
         option<&O::mask_value, O>("mask_value"), option<&O::output_mode, O>("output_mode").one_of(detail::kHashModes),
         option<&O::sparse>("sparse")});
    return all;
  }
};

class HashingBody final : public ConfiguredLayer<HashingBody, HashingConfig> {
 public:
  static constexpr char kName[] = "Hashing", kText[] = "Bins of texts or integers by their hashes.";
  explicit HashingBody(const HashingConfig& given) : ConfiguredLayer(with_dtype(given)) {
    detail::check_not_sparse(kName, given.sparse);
    detail::check_result_dtype(kName, result_dtype(), options.output_mode);
    // Integers that come as numbers must not be rounded.
    detail::LayerState::of(*this).converts_input = false;
  }

  Tensor hash(const Texts& texts) const {
    const auto& mask = options.mask_value;
    CAPSTAN_CHECK(!mask.id(), ValueError, name(), ": mask_value must be a text for texts, not ", *mask.id());
    std::vector<std::int64_t> bins;
    bins.reserve(texts.values().size());
    for (const std::string& text : texts.values()) bins.push_back(bin_of(text, mask.text() == text));
    return detail::encode_texts(name(), texts, bins, options.output_mode, options.num_bins, result_dtype());
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    const auto& mask = options.mask_value;
    CAPSTAN_CHECK(!mask.text(), ValueError, name(), ": mask_value must be an integer for a tensor, not \"",
                  *mask.text(), "\"");
    CAPSTAN_CHECK(!is_complex(x.dtype()) && x.dtype() != DType::kBool, DTypeError, name(),
                  ": the input must be integers or numbers, not ", x.dtype());
    std::vector<std::int64_t> bins = detail::in_dtype(x, int64).to_vector<std::int64_t>();
    for (std::int64_t& id : bins) id = bin_of(std::to_string(id), mask.id() == id);
    return detail::encode_ids(constant(bins, x.shape()), options.output_mode, options.num_bins, result_dtype());
  }

 private:
  DType result_dtype() const { return options.dtype.value_or(int64); }

  std::int64_t bin_of(std::string_view text, bool is_masked) const {
    // With one bin there is none to reserve.
    const bool reserves = options.mask_value.is_given() && options.num_bins > 1;
    if (reserves && is_masked) return 0;
    return detail::hash_bucket(text, options.num_bins - (reserves ? 1 : 0), options.salt) + (reserves ? 1 : 0);
  }
};

struct HashedCrossingConfig : HashedCrossingOptions {
  std::int64_t num_bins = 0;
  bool sparse = false;
  static std::span<const OptionField> fields() {
    using O = HashedCrossingConfig;
    static constexpr auto all =
        with_layer_options<O>({option<&O::num_bins>("num_bins", true).at_least(1),
                               option<&O::output_mode, O>("output_mode").one_of(std::span(detail::kHashModes).first(2)),
                               option<&O::sparse>("sparse")});
    return all;
  }
};

class HashedCrossingBody final
    : public ConfiguredLayer<HashedCrossingBody, HashedCrossingConfig, LayerBodyOf<Tensor(Nest)>> {
 public:
  static constexpr char kName[] = "HashedCrossing", kText[] = "Bins of combinations of features by their hashes.";
  explicit HashedCrossingBody(const HashedCrossingConfig& given) : ConfiguredLayer(with_dtype(given)) {
    detail::check_not_sparse(kName, given.sparse);
    detail::check_result_dtype(kName, options.dtype.value_or(int64), options.output_mode);
    detail::LayerState::of(*this).converts_input = false;
  }

  Tensor cross(const std::vector<CrossedFeature>& features) const {
    CAPSTAN_CHECK(features.size() >= 2, ValueError, name(), ": it takes two or more features, not ", features.size());
    const Shape shape = shape_of(features[0]);
    CAPSTAN_CHECK(shape.rank() < 2 || (shape.rank() == 2 && shape[1] == 1), ShapeError, name(),
                  ": a feature must have the shape [], [batch] or [batch, 1], not ", shape);
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(shape.size()), kCrossingSeed);
    for (const CrossedFeature& feature : features) {
      CAPSTAN_CHECK(shape_of(feature) == shape, ShapeError, name(), ": features must have the same shape, not ", shape,
                    " and ", shape_of(feature));
      join(feature, hashes);
    }
    std::vector<std::int64_t> bins;
    bins.reserve(hashes.size());
    for (const std::uint64_t hash : hashes) {
      bins.push_back(static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(options.num_bins)));
    }
    return detail::encode_ids(constant(bins, shape), options.output_mode, options.num_bins,
                              options.dtype.value_or(int64));
  }

 protected:
  Tensor call(const Nest& inputs, const CallOptions&) override {
    std::vector<CrossedFeature> features;
    for (const Tensor& x : inputs.tensors()) features.emplace_back(x);
    return cross(features);
  }

 private:
  Shape shape_of(const CrossedFeature& feature) const {
    if (const Texts* texts = std::get_if<Texts>(&feature)) return texts->shape();
    const Tensor& x = std::get<Tensor>(feature);
    CAPSTAN_CHECK(x.has_value(), ValueError, name(), ": a feature is an empty tensor");
    return x.shape();
  }

  void join(const CrossedFeature& feature, std::vector<std::uint64_t>& hashes) const {
    if (const Texts* texts = std::get_if<Texts>(&feature)) {
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        hashes[i] = detail::joined_fingerprints(hashes[i], detail::fingerprint(texts->values()[i]));
      }
      return;
    }
    const Tensor& x = std::get<Tensor>(feature);
    CAPSTAN_CHECK(is_integer(x.dtype()), DTypeError, name(), ": a feature must be integers or texts, not ", x.dtype(),
                  arguments({{"feature", x}}));
    const std::vector<std::int64_t> ids = detail::in_dtype(x, int64).to_vector<std::int64_t>();
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      hashes[i] = detail::joined_fingerprints(hashes[i], static_cast<std::uint64_t>(ids[i]));
    }
  }
};

}  // namespace

Hashing::Hashing(std::int64_t num_bins, const HashingOptions& options)
    : Layer(make_configurable<HashingBody>(HashingConfig{options, num_bins})) {}
Hashing Hashing::of(const Layer& layer) { return Hashing(detail::body_as<HashingBody>(layer)); }
Tensor Hashing::operator()(const Texts& texts) const { return static_cast<HashingBody&>(body()).hash(texts); }

HashedCrossing::HashedCrossing(std::int64_t num_bins, const HashedCrossingOptions& options)
    : Layer(make_configurable<HashedCrossingBody>(HashedCrossingConfig{options, num_bins})) {}
HashedCrossing HashedCrossing::of(const Layer& layer) {
  return HashedCrossing(detail::body_as<HashedCrossingBody>(layer));
}
Tensor HashedCrossing::operator()(const std::vector<CrossedFeature>& features) const {
  return static_cast<HashedCrossingBody&>(body()).cross(features);
}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::hashing_class() { return layers::HashingBody::info(); }
const capstan::ClassInfo& capstan::detail::hashed_crossing_class() { return layers::HashedCrossingBody::info(); }
