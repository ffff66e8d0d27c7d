// Attention: each position of a query takes a mean of values, weighted by how well their keys fit.
//
// All layers here take a list: query and value, or query, value and key. Without a key the value is the key, too.
// Masks are a list of the same form (query, value, key), given in CallOptions::mask or carried by the tensors. With
// `return_attention_scores` a call gives a list of the result and the scores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capstan/layer.h"
#include "capstan/seed.h"

namespace capstan {
namespace layers {

/// Options of Attention.
struct AttentionOptions {
  bool use_scale = false;          ///< scores are multiplied by a weight
  std::string score_mode = "dot";  ///< or "concat"
  double dropout = 0;              ///< the fraction of scores that are zeroed when training
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// softmax(scores) . value for query [batch, queries, depth], value [batch, keys, value_depth] and key [batch, keys,
/// depth]: [batch, queries, value_depth].
///
/// Scores are query . key^T, which is not divided by the root of the depth, or with "concat" the sums over depth of
/// tanh(query + key), times a weight. Value and causal masks subtract 1e9 from scores; the query's mask zeroes rows of
/// the result, which carries it. Weights: scale [] with `use_scale`, concat_score_weight [] with "concat", both one at
/// first. Errors: ValueError for another score mode, a dropout outside [0, 1), or inputs that are not two or three
/// tensors; ShapeError for tensors that do not fit.
///
///     Tensor y = layers::Attention()({query, value}).tensor();
class CAPSTAN_EXPORT Attention final : public Layer {
 public:
  explicit Attention(const AttentionOptions& options = {});
};

/// Options of AdditiveAttention.
struct AdditiveAttentionOptions {
  bool use_scale = true;  ///< sums are weighted
  double dropout = 0;     ///< the fraction of scores that are zeroed when training
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// As Attention, with the scores sum(scale * tanh(query + key)) over the depth. Weights: scale [depth] with
/// `use_scale`. Errors: as Attention.
class CAPSTAN_EXPORT AdditiveAttention final : public Layer {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {});
};

/// Options of MultiHeadAttention.
struct MultiHeadAttentionOptions {
  std::optional<std::int64_t> value_dim = {};  ///< of a head; key_dim unless given
  double dropout = 0;                          ///< the fraction of scores that are zeroed when training
  bool use_bias = true;
  std::optional<std::vector<std::int64_t>> output_shape = {};  ///< the depth of the query unless given
  std::optional<std::vector<int>> attention_axes = {};         ///< all but batch and depth unless given
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  ///< of each projection
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Attention of several heads: query, key and value are projected for each head, which attends by itself, and a last
/// projection joins the heads. Query [batch, queries, depth] and value [batch, keys, ...] give [batch, queries, depth].
///
/// Scores are softmax(q . k^T / sqrt(key_dim)), [batch, heads, queries, keys]. Masks of value and key, the causal mask
/// and CallOptions::attention_mask ([batch, queries, keys], with the heads in between, or [queries, keys]) are joined
/// by "and". As in Keras, a mask that the query carries is one of them and is passed on, while one given for the query
/// in CallOptions::mask is ignored; a query that sees no key gets the mean of all values, and zeros if scores are asked
/// for or dropped. Where no scores are asked for or dropped they never become a tensor.
///
/// Weights: query/kernel [depth, heads, key_dim], query/bias [heads, key_dim], key/..., value/kernel [depth, heads,
/// value_dim], ..., attention_output/kernel [heads, value_dim, depth], attention_output/bias. Errors: ValueError for
/// sizes below 1, a dropout outside [0, 1), or a causal or key mask with several attention axes; ShapeError for tensors
/// that do not fit; IndexError for an axis out of range.
///
///     layers::MultiHeadAttention attend(8, 64);
///     Tensor y = attend(x, x, {.use_causal_mask = true});
class CAPSTAN_EXPORT MultiHeadAttention final : public Layer {
 public:
  MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim, const MultiHeadAttentionOptions& options = {});
  using Layer::operator();
  /// For two tensors.
  Tensor operator()(const Tensor& query, const Tensor& value, const CallOptions& options = {}) const;
};

/// Options of GroupQueryAttention.
struct GroupQueryAttentionOptions {
  double dropout = 0;  ///< the fraction of scores that are zeroed when training
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  ///< of each projection
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Multi-head attention whose query heads share the heads of key and value, in groups of neighbours. Inputs, result and
/// masks are those of MultiHeadAttention, but a mask given for the query counts. Inputs have rank 3. Weights:
/// query/kernel [depth, query_heads, head_dim], key/kernel and value/kernel [depth, key_value_heads, head_dim],
/// attention_output/kernel [query_heads, head_dim, depth], each followed by its bias. Errors: as MultiHeadAttention;
/// ValueError for query heads that do not divide into groups.
class CAPSTAN_EXPORT GroupQueryAttention final : public Layer {
 public:
  GroupQueryAttention(std::int64_t head_dim, std::int64_t num_query_heads, std::int64_t num_key_value_heads,
                      const GroupQueryAttentionOptions& options = {});
  using Layer::operator();
  /// For two tensors.
  Tensor operator()(const Tensor& query, const Tensor& value, const CallOptions& options = {}) const;
};

static_assert(detail::kAddNothing<Attention, AdditiveAttention, MultiHeadAttention, GroupQueryAttention>);

}  // namespace layers
}  // namespace capstan
