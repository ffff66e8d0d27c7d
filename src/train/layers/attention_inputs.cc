#include "src/train/layers/attention_inputs.h"

#include "capstan/ops/array.h"
#include "capstan/ops/diagonals.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

AttentionInputs attention_inputs(const std::string& layer, const Nest& inputs, const Nest& mask) {
  CAPSTAN_CHECK(inputs.is_list() && (inputs.size() == 2 || inputs.size() == 3), ValueError, layer,
                ": the inputs must be a list of query and value, or of query, value and key, not ", inputs.form());
  CAPSTAN_CHECK(inputs[0].is_tensor() && inputs[1].is_tensor() && !(inputs.size() == 3 && inputs[2].is_list()),
                ValueError, layer, ": query and value must be tensors, but the inputs are ", inputs.form());
  CAPSTAN_CHECK(!mask.has_value() || (mask.is_list() && mask.size() <= 3), ValueError, layer,
                ": the mask must be a list for query, value and perhaps key, not ", mask.form());
  AttentionInputs result{.query = inputs[0].tensor(), .value = inputs[1].tensor()};
  const bool has_key = inputs.size() == 3 && inputs[2].has_value();
  result.key = has_key ? inputs[2].tensor() : result.value;
  Tensor* const masks[] = {&result.query_mask, &result.value_mask, &result.key_mask};
  for (std::size_t i = 0; i < 3; ++i) {
    if (mask.has_value() && i < mask.size()) *masks[i] = mask[i].tensor_or_empty();
    if (!masks[i]->has_value() && i < inputs.size() && inputs[i].has_value()) *masks[i] = mask_of(inputs[i].tensor());
    if (masks[i]->has_value()) *masks[i] = as_mask(*masks[i]);
  }
  return result;
}

Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
  return band_part(ones({queries, keys}, DType::kFloat32), -1, 0) > 0.5;
}

Tensor as_mask(const Tensor& mask) { return mask.dtype() == DType::kBool ? mask : not_equal(mask, 0); }

Tensor with_score_mask(const Tensor& scores, const Tensor& mask, bool causal) {
  Tensor seen = mask;
  if (causal) {
    Tensor pairs = causal_mask(scores.dim(-2), scores.dim(-1));
    while (pairs.rank() < scores.rank()) pairs = expand_dims(pairs, 0);
    seen = both_masks(mask, pairs);
  }
  return seen.has_value() ? with_mask(scores, seen) : scores;
}

Tensor both_masks(const Tensor& a, const Tensor& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
  return logical_and(a, b);
}

Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttendOptions& options) {
  Attended result;
  const auto seen = [&] { return options.causal ? both_masks(mask, causal_mask(q.dim(-2), k.dim(-2))) : mask; };
  if (!options.wants_scores && !options.dropout.has_value()) {
    const capstan::AttentionOptions fused{.causal = options.causal, .scale = options.scale};
    if (!mask.has_value()) return {scaled_dot_product_attention(q, k, v, fused), {}};
    // The op gives zeros to a query that sees nothing; here it gets the mean of the values.
    const Tensor sees_any = reduce_any(seen(), -1, {.keepdims = true});
    const Tensor context = scaled_dot_product_attention(q, k, v, mask, fused);
    return {where(sees_any, context, reduce_mean(v, -2, {.keepdims = true})), {}};
  }
  Tensor scores = matmul(q * options.scale, k, {.transpose_b = true});
  const Tensor visible = seen();
  if (visible.has_value()) {
    scores = where(visible, scores, -1e9);
    scores = where(visible, softmax(scores), 0.0);
  } else {
    scores = softmax(scores);
  }
  const Tensor dropped = options.dropout.has_value() ? options.dropout(scores, {.training = true}) : scores;
  return {matmul(dropped, v), scores};
}

Layer score_dropout(LayerBase& owner, const char* layer, double rate, Seed seed, const DTypePolicy& dtype) {
  CAPSTAN_CHECK(rate >= 0 && rate < 1, ValueError, layer, ": the option \"dropout\" must be in [0, 1), not ", rate);
  if (rate == 0) return {};
  const layers::Dropout dropout(rate, {.seed = seed, .name = "dropout", .dtype = dtype});
  // It is called, and with that found, only while the layer trains; the state has its key before.
  LayerState::of(owner).keys = LayerState::of(dropout).keys;
  return dropout;
}

}  // namespace capstan::detail
