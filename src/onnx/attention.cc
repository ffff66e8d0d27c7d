// Attention with its masks, caches and heads that share keys.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "capstan/ops/array.h"
#include "capstan/ops/attention.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// [batch, steps, heads depth] as [batch, heads, steps, depth].
Tensor by_heads(const Tensor& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  CAPSTAN_CHECK(x.rank() == 3, ShapeError, "onnx: attention takes tensors of rank 3 or 4, not ", x.rank());
  CAPSTAN_CHECK(heads > 0 && x.dim(2) % heads == 0, ShapeError, "onnx: ", x.dim(2), " numbers do not divide into ",
                heads, " heads");
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

Tensor counted(std::int64_t count) { return cast(range(static_cast<long>(count)), int64); }

// Which keys each query may see beside what a mask says, [queries, keys] or [batch, 1, queries, keys]; empty: all.
Tensor seen_keys(const NodeCall& call, std::int64_t queries, std::int64_t keys, std::int64_t before) {
  const bool is_causal = call.integer("is_causal", 0) != 0;
  const std::int64_t left = call.integer("left_window_size", -1), right = call.integer("right_window_size", -1);
  Tensor seen;
  const auto also = [&](const Tensor& more) { seen = seen.has_value() ? logical_and(seen, more) : more; };
  Tensor lengths;  // of the keys that are no padding, [batch, 1, 1, 1]
  if (call.has(6)) lengths = reshape(cast(call.tensor(6), int64), {-1, 1, 1, 1});
  const Tensor key = reshape(counted(keys), {1, keys});
  if (is_causal || left >= 0 || right >= 0) {
    // The place of a query among the keys, and how far it is after each key.
    Tensor place = reshape(counted(queries), {queries, 1}) + before;
    if (lengths.has_value() && before == 0) place = place + (lengths - queries);
    const Tensor behind = place - key;
    if (is_causal) also(behind >= 0);
    if (left >= 0) also(behind <= left);
    if (right >= 0) also(-behind <= right);
  }
  if (lengths.has_value()) also(key < lengths);
  return seen;
}

// A mask for fewer keys than there are leaves out the others.
Tensor whole_mask(const Tensor& mask, std::int64_t keys) {
  if (mask.rank() == 0 || mask.dim(-1) >= keys || mask.dim(-1) == 1) return mask;
  std::vector<PadWidth> widths(static_cast<std::size_t>(mask.rank()));
  widths.back() = {0, keys - mask.dim(-1)};
  if (mask.dtype() == bool_) return cast(pad(cast(mask, uint8), widths), bool_);
  return pad(mask, widths, PadMode::kConstant, -std::numeric_limits<double>::infinity());
}

void run_attention(NodeCall& call) {
  Tensor q = call.tensor(0), k = call.tensor(1), v = call.tensor(2);
  const bool is_flat = q.rank() == 3;
  q = by_heads(q, call.integer("q_num_heads", 0));
  k = by_heads(k, call.integer("kv_num_heads", 0));
  v = by_heads(v, call.integer("kv_num_heads", 0));
  CAPSTAN_CHECK(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, ShapeError,
                "onnx: attention takes three tensors of one rank");
  std::int64_t before = 0;
  if (call.has(4)) {
    before = call.tensor(4).dim(2);
    k = concat({call.tensor(4), k}, 2);
  }
  if (call.has(5)) v = concat({call.tensor(5), v}, 2);
  const Tensor present_k = k, present_v = v;
  const std::int64_t groups = k.dim(1) > 0 ? q.dim(1) / k.dim(1) : 1;
  if (groups > 1) {
    k = repeat(k, groups, 1);
    v = repeat(v, groups, 1);
  }
  const double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(q.dim(3), 1))));
  const double cap = call.number("softcap", 0);
  Tensor seen = seen_keys(call, q.dim(2), k.dim(2), before), added;
  if (call.has(3)) {
    const Tensor mask = whole_mask(call.tensor(3), k.dim(2));
    if (mask.dtype() == bool_) {
      seen = seen.has_value() ? logical_and(seen, mask) : mask;
    } else {
      added = mask;
    }
  }
  if (seen.has_value() && added.has_value()) {
    const Tensor nothing = cast(constant(-std::numeric_limits<double>::infinity()), q.dtype());
    added = where(seen, added, nothing);
    seen = Tensor();
  }
  Tensor y, scores;
  if (cap == 0 && !call.wants(3) && !call.has_attribute("softmax_precision")) {
    const Tensor& mask = seen.has_value() ? seen : added;
    y = mask.has_value() ? scaled_dot_product_attention(q, k, v, mask, {.scale = scale})
                         : scaled_dot_product_attention(q, k, v, {.scale = scale});
  } else {
    const double root = std::sqrt(scale);
    const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
    Tensor products = matmul(q * root, k * root, {.transpose_b = true});
    scores = products;
    if (cap > 0) products = tanh(products / cap) * cap;
    if (mode == 1) scores = products;
    const Tensor nothing = cast(constant(-std::numeric_limits<double>::infinity()), q.dtype());
    if (seen.has_value()) added = where(seen, zeros_like(nothing), nothing);
    if (added.has_value()) products = products + added;
    if (mode == 2) scores = products;
    const DType precision = call.dtype("softmax_precision", q.dtype());
    Tensor weights = cast(softmax(cast(products, precision)), q.dtype());
    // A query that sees no key gets zeros.
    if (added.has_value()) {
      const Tensor is_blind = equal(reduce_max(added, -1, {.keepdims = true}), nothing);
      weights = where(is_blind, zeros_like(nothing), weights);
    }
    if (mode == 3) scores = weights;
    y = matmul(weights, v);
  }
  if (is_flat) {
    y = transpose(y, {0, 2, 1, 3});
    y = reshape(y, {y.dim(0), y.dim(1), y.dim(2) * y.dim(3)});
  }
  call.give(y);
  call.give(present_k);
  call.give(present_v);
  if (scores.has_value()) call.give(scores);
}

constexpr Operator kAttentionOperators[] = {{"Attention", run_attention}};

}  // namespace

std::span<const Operator> attention_operators() { return kAttentionOperators; }

}  // namespace capstan::onnx
