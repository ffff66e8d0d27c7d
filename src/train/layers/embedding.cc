// Embedding and Masking: the layers at which masks begin.
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/classes.h"
#include "src/train/remembered_lookup.h"

namespace capstan::layers {

namespace {

struct EmbeddingConfig : EmbeddingOptions {
  std::int64_t input_dim = 0;
  std::int64_t output_dim = 0;
  static std::span<const OptionField> fields() {
    using O = EmbeddingConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::input_dim>("input_dim", true).at_least(1), option<&O::output_dim>("output_dim", true).at_least(1),
         option<&O::embeddings_initializer, O>("embeddings_initializer"),
         option<&O::embeddings_regularizer, O>("embeddings_regularizer"),
         option<&O::activity_regularizer, O>("activity_regularizer"),
         option<&O::embeddings_constraint, O>("embeddings_constraint"), option<&O::mask_zero, O>("mask_zero")});
    return all;
  }
};

class EmbeddingBody final : public ConfiguredLayer<EmbeddingBody, EmbeddingConfig> {
 public:
  static constexpr char kName[] = "Embedding", kText[] = "Rows of a table by ids.";
  explicit EmbeddingBody(const EmbeddingConfig& given) : ConfiguredLayer(given) {
    // Ids that come as numbers must not be rounded.
    detail::LayerState::of(*this).converts_input = false;
  }

 protected:
  void build(const Shape&) override {
    embeddings_ = add_weight({.name = "embeddings",
                              .shape = {options.input_dim, options.output_dim},
                              .initializer = options.embeddings_initializer,
                              .regularizer = options.embeddings_regularizer,
                              .constraint = options.embeddings_constraint});
  }

  Tensor call(const Tensor& x, const CallOptions& call_options) override {
    Tensor ids = x.dtype() == int32 || x.dtype() == int64 ? x : cast(x, int32);
    // Negative ids count from the end; those that still are negative are refused below.
    ids = where(less(ids, 0), ids + options.input_dim, ids);
    // Rows are taken before they are converted, so that the gradient keeps to them.
    Tensor rows;
    try {
      rows = embedding_lookup(embeddings_.value(), ids);
    } catch (const IndexError& error) {
      throw IndexError(detail::join(name(), ": an id is out of range for input_dim ", options.input_dim,
                                    ", counted from ", -options.input_dim, " (", error.what(), ")"));
    }
    if (rows.dtype() != compute_dtype()) rows = cast(rows, compute_dtype());
    return detail::remember_lookup(rows, embeddings_, ids, call_options.training);
  }

  Nest compute_mask(const Nest& inputs, const Nest&) override {
    return options.mask_zero ? Nest(not_equal(inputs.tensor(), 0)) : Nest();
  }

 private:
  Variable embeddings_;
};

struct MaskingConfig : MaskingOptions {
  static std::span<const OptionField> fields() {
    using O = MaskingConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::mask_value, O>("mask_value")});
    return all;
  }
};

class MaskingBody final : public ConfiguredLayer<MaskingBody, MaskingConfig> {
 public:
  static constexpr char kName[] = "Masking", kText[] = "Masks the steps whose features all have one value.";
  using ConfiguredLayer::ConfiguredLayer;

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    CAPSTAN_CHECK(x.rank() >= 1, ShapeError, name(), ": the input must have features, not be a scalar");
    return x * cast(counts(x, true), x.dtype());
  }

  Nest compute_mask(const Nest& inputs, const Nest&) override {
    const Tensor& x = inputs.tensor();
    return counts(is_floating(x.dtype()) ? cast(x, compute_dtype()) : x, false);
  }

 private:
  Tensor counts(const Tensor& x, bool keepdims) const {
    const Tensor numbers = is_floating(x.dtype()) ? x : cast(x, float64);
    return reduce_any(not_equal(numbers, options.mask_value), -1, {.keepdims = keepdims});
  }
};

}  // namespace

Embedding::Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& options)
    : Layer(make_configurable<EmbeddingBody>(EmbeddingConfig{options, input_dim, output_dim})) {}
Masking::Masking(const MaskingOptions& options) : Layer(make_configurable<MaskingBody>(MaskingConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::embedding_class() { return layers::EmbeddingBody::info(); }
const capstan::ClassInfo& capstan::detail::masking_class() { return layers::MaskingBody::info(); }
