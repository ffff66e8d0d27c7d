// Attention without projections.
//
// Masked scores are lowered by 1e9, not removed: a query that sees no key attends to all of them, by its scores as far
// as the dtype still tells them apart. Where nobody asks for the scores the fused op takes the same numbers as a mask.
#include "capstan/layers/attention.h"

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layers/attention_inputs.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

using detail::AttentionInputs;

struct AttentionConfig : AttentionOptions {
  static std::span<const OptionField> fields() {
    using O = AttentionConfig;
    static constexpr std::string_view kModes[] = {"dot", "concat"};
    static constexpr auto all = with_layer_options<O>({option<&O::use_scale, O>("use_scale"),
                                                       option<&O::score_mode, O>("score_mode").one_of(kModes),
                                                       option<&O::dropout, O>("dropout"), option<&O::seed, O>("seed")});
    return all;
  }
};

struct AdditiveAttentionConfig : AdditiveAttentionOptions {
  static std::span<const OptionField> fields() {
    using O = AdditiveAttentionConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::use_scale, O>("use_scale"), option<&O::dropout, O>("dropout"), option<&O::seed, O>("seed")});
    return all;
  }
};

void check_rank(const std::string& layer, const char* what, const Shape& shape) {
  CAPSTAN_CHECK(shape.rank() == 3, ShapeError, layer, ": the ", what, " must have rank 3, not ", shape.rank(), ": ",
                shape);
}

// The inputs with shapes that fit.
AttentionInputs checked_inputs(const std::string& layer, const Nest& inputs, const Nest& mask) {
  AttentionInputs in = detail::attention_inputs(layer, inputs, mask);
  check_rank(layer, "query", in.query.shape());
  check_rank(layer, "value", in.value.shape());
  check_rank(layer, "key", in.key.shape());
  CAPSTAN_CHECK(in.query.dim(-1) == in.key.dim(-1), ShapeError, layer, ": query and key differ in depth, ",
                in.query.dim(-1), " and ", in.key.dim(-1), arguments({{"query", in.query}, {"key", in.key}}));
  CAPSTAN_CHECK(in.value.dim(1) == in.key.dim(1), ShapeError, layer, ": ", in.key.dim(1), " keys have ",
                in.value.dim(1), " values", arguments({{"value", in.value}, {"key", in.key}}));
  return in;
}

// What is added to the scores, or nothing.
Tensor bias_of(const AttentionInputs& in, const CallOptions& options) {
  Tensor seen = in.value_mask.has_value() ? expand_dims(in.value_mask, -2) : Tensor();
  if (options.use_causal_mask) {
    seen = detail::both_masks(seen, expand_dims(detail::causal_mask(in.query.dim(1), in.key.dim(1)), 0));
  }
  return seen.has_value() ? cast(logical_not(seen), in.query.dtype()) * -1e9 : Tensor();
}

// The end of both layers: the query's mask, and the scores if they are asked for.
Nest finish(Tensor result, Tensor scores, const AttentionInputs& in, const CallOptions& options) {
  if (in.query_mask.has_value()) result = result * cast(expand_dims(in.query_mask, -1), result.dtype());
  return options.return_attention_scores ? Nest{std::move(result), std::move(scores)} : Nest(std::move(result));
}

// From scores to the result.
Nest apply_scores(Tensor scores, const AttentionInputs& in, const Layer& dropout, const CallOptions& options) {
  const Tensor bias = bias_of(in, options);
  if (bias.has_value()) scores = scores + bias;
  scores = softmax(scores);
  const bool drops = options.training && dropout.has_value();
  return finish(matmul(drops ? dropout(scores) : scores, in.value), scores, in, options);
}

Nest mask_of_query(const Nest& inputs, const Nest& mask) {
  if (mask.is_list() && mask.size() > 0 && mask[0].has_value()) return mask[0];
  return inputs.is_list() && inputs.size() > 0 && inputs[0].is_tensor() ? Nest(mask_of(inputs[0].tensor())) : Nest();
}

void check_count(const std::string& layer, std::size_t count) {
  CAPSTAN_CHECK(count == 2 || count == 3, ValueError, layer, ": the inputs must be a list of query and value, or of ",
                "query, value and key, not ", count, count == 1 ? " tensor" : " tensors");
}

class AttentionBody final : public ConfiguredLayer<AttentionBody, AttentionConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "Attention", kText[] = "Means of values, weighted by products of query and key.";
  explicit AttentionBody(const AttentionConfig& given)
      : ConfiguredLayer(given), dropout_(detail::score_dropout(*this, kName, given.dropout, given.seed, given.dtype)) {}

 protected:
  void build(const std::vector<Shape>& shapes) override {
    check_count(name(), shapes.size());
    if (options.use_scale) scale_ = add_weight({.name = "scale", .initializer = "ones"});
    if (is_concat()) concat_ = add_weight({.name = "concat_score_weight", .initializer = "ones"});
  }
  Nest call(const Nest& inputs, const CallOptions& options) override;
  Nest compute_mask(const Nest& inputs, const Nest& mask) override { return mask_of_query(inputs, mask); }

 private:
  bool is_concat() const { return options.score_mode == "concat"; }

  Variable scale_;
  Variable concat_;
  Layer dropout_;
};

Nest AttentionBody::call(const Nest& inputs, const CallOptions& call_options) {
  const AttentionInputs in = checked_inputs(name(), inputs, call_options.mask);
  if (is_concat()) {
    Tensor sum = expand_dims(in.query, -2) + expand_dims(in.key, -3);
    if (options.use_scale) sum = sum * value_of(scale_);
    return apply_scores(reduce_sum(tanh(sum), -1) * value_of(concat_), in, dropout_, call_options);
  }
  if (call_options.return_attention_scores || (call_options.training && dropout_.has_value())) {
    Tensor scores = matmul(in.query, in.key, {.transpose_b = true});
    if (options.use_scale) scores = scores * value_of(scale_);
    return apply_scores(std::move(scores), in, dropout_, call_options);
  }
  const Tensor query = options.use_scale ? in.query * value_of(scale_) : in.query;
  const bool causal = call_options.use_causal_mask && !in.value_mask.has_value();
  const Tensor bias = causal ? Tensor() : bias_of(in, call_options);
  const capstan::AttentionOptions fused{.causal = causal, .scale = 1.0};
  return finish(bias.has_value() ? scaled_dot_product_attention(query, in.key, in.value, bias, fused)
                                 : scaled_dot_product_attention(query, in.key, in.value, fused),
                {}, in, call_options);
}

class AdditiveAttentionBody final
    : public ConfiguredLayer<AdditiveAttentionBody, AdditiveAttentionConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "AdditiveAttention", kText[] = "Means of values, weighted by sums of query and key.";
  explicit AdditiveAttentionBody(const AdditiveAttentionConfig& given)
      : ConfiguredLayer(given), dropout_(detail::score_dropout(*this, kName, given.dropout, given.seed, given.dtype)) {}

 protected:
  void build(const std::vector<Shape>& shapes) override {
    check_count(name(), shapes.size());
    check_rank(name(), "query", shapes[0]);
    if (options.use_scale) scale_ = add_weight({.name = "scale", .shape = {shapes[0][-1]}});
  }
  Nest call(const Nest& inputs, const CallOptions& call_options) override {
    const AttentionInputs in = checked_inputs(name(), inputs, call_options.mask);
    Tensor sum = tanh(expand_dims(in.query, -2) + expand_dims(in.key, -3));
    if (options.use_scale) {
      const Tensor scale = value_of(scale_);
      CAPSTAN_CHECK(in.query.dim(-1) == scale.dim(0), ShapeError, name(), ": the depth of the query must be ",
                    scale.dim(0), ", not ", in.query.dim(-1), arguments({{"query", in.query}}));
      sum = sum * scale;
    }
    return apply_scores(reduce_sum(sum, -1), in, dropout_, call_options);
  }
  Nest compute_mask(const Nest& inputs, const Nest& mask) override { return mask_of_query(inputs, mask); }

 private:
  Variable scale_;
  Layer dropout_;
};

}  // namespace

Attention::Attention(const AttentionOptions& options)
    : Layer(make_configurable<AttentionBody>(AttentionConfig{options})) {}
AdditiveAttention::AdditiveAttention(const AdditiveAttentionOptions& options)
    : Layer(make_configurable<AdditiveAttentionBody>(AdditiveAttentionConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::attention_class() { return layers::AttentionBody::info(); }
const capstan::ClassInfo& capstan::detail::additive_attention_class() { return layers::AdditiveAttentionBody::info(); }
