#pragma once

#include <cstdint>
#include <optional>

#include "capstan/seed.h"
#include "capstan/tensor.h"

namespace capstan {

/// Options of scaled_dot_product_attention.
struct AttentionOptions {
  bool causal = false;               ///< query i sees keys 0 ... i only
  std::optional<double> scale = {};  ///< 1 / sqrt(depth) unless given
  double dropout = 0;                ///< the fraction of probabilities that are zeroed
  Seed seed = {};                    ///< of the dropout; the next key of the process's stream unless given
};

/// softmax(scale * query key^T + mask) value: query [..., queries, depth], key [..., keys, depth], value [..., keys,
/// value_depth] give [..., queries, value_depth]. All have the same leading axes, usually batch and heads. The mask
/// broadcasts to [..., queries, keys]: truth values say which keys a query sees, numbers are added. A query that sees
/// no key gets zeros. Dropout zeroes probabilities and scales the others by 1 / (1 - dropout); which ones depends on
/// the seed and the position only. The scores never become a tensor. Dtypes: the floating ones. Source: Vaswani et al.,
/// "Attention is all you need". Errors: ShapeError, DTypeError, ValueError for a dropout outside [0, 1).
///
///     Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});  // [batch, heads, length, depth]
CAPSTAN_EXPORT Tensor scaled_dot_product_attention(Operand query, Operand key, Operand value,
                                                   const AttentionOptions& options = {});
CAPSTAN_EXPORT Tensor scaled_dot_product_attention(Operand query, Operand key, Operand value, Operand mask,
                                                   const AttentionOptions& options = {});

/// The gradients of scaled_dot_product_attention for query, key and value, given the cotangent g of its result; what
/// its rule is made of. With dropout the options must name the seed.
struct AttentionGradients {
  Tensor query;
  Tensor key;
  Tensor value;
};
/// The gradients, of the shapes of query, key and value. Errors: as scaled_dot_product_attention.
///
///     attention_gradients(q, k, v, ones_like(q)).query;  // float32[2, 3, 4, 5]
CAPSTAN_EXPORT AttentionGradients attention_gradients(Operand query, Operand key, Operand value, Operand g,
                                                      const AttentionOptions& options = {});
CAPSTAN_EXPORT AttentionGradients attention_gradients(Operand query, Operand key, Operand value, Operand g,
                                                      Operand mask, const AttentionOptions& options = {});

}  // namespace capstan
