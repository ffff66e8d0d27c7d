// What the two files of attention share: attributes, and a call as the kernels take it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/core/attributes.h"
#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/kernels/attention/attention.h"
#include "src/ops/wide.h"

namespace capstan {

// A number that may be absent.
struct OptionalNumber {
  double value = 0;
  bool has_value = false;
};
inline void set_field(OptionalNumber& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  CAPSTAN_CHECK(value.is_number() || value.kind == AttributeValue::Kind::kNone, ValueError, op, ": attribute \"", name,
                "\" must be a number, not ", value.to_string());
  field = {value.number, value.is_number()};
}
inline AttributeValue get_field(const OptionalNumber& field) {
  return field.has_value ? AttributeValue(field.value) : AttributeValue();
}

struct AttentionAttributes {
  bool causal = false;
  OptionalNumber scale;
  double dropout = 0;
  OptionalInt seed;
};
inline double scale_of(const AttentionAttributes& attributes, const Shape& query) {
  if (attributes.scale.has_value) return attributes.scale.value;
  return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(query[-1], 1)));
}

// A call as the kernels take it, with what it points to.
template <class T>
class AttentionCall {
 public:
  // `q` is [..., queries, depth]; `mask` may be null.
  AttentionCall(const AttentionAttributes& a, const Shape& q, std::int64_t keys, std::int64_t value_depth,
                const TensorRef* mask) {
    problem.batch = 1;
    for (int i = 0; i + 2 < q.rank(); ++i) problem.batch *= q[i];
    problem.queries = q[-2];
    problem.keys = keys;
    problem.depth = q[-1];
    problem.value_depth = value_depth;
    problem.scale = static_cast<T>(scale_of(a, q));
    problem.causal = a.causal;
    problem.dropout = a.dropout > 0;
    problem.seed = static_cast<std::uint64_t>(a.seed.value);
    problem.threshold = static_cast<std::uint32_t>(std::min(std::ceil(a.dropout * 4294967296.0), 4294967295.0));
    problem.kept_scale = static_cast<T>(1 / (1 - a.dropout));
    if (mask != nullptr) set_mask(*mask, q);
  }
  AttentionCall(const AttentionCall&) = delete;
  AttentionCall& operator=(const AttentionCall&) = delete;

  AttentionProblem<T> problem;

 private:
  void set_mask(const TensorRef& mask, const Shape& q) {
    // How far apart the elements of the mask are along the axes of the scores: 0 where it is broadcast.
    std::int64_t steps[kMaxRank] = {};
    std::int64_t step = 1;
    for (int i = 1; i <= mask.rank(); ++i) {
      if (mask.dim(-i) != 1) steps[q.rank() - i] = step;
      step *= mask.dim(-i);
    }
    problem.mask_column = steps[q.rank() - 1];
    problem.mask_row = steps[q.rank() - 2];
    offsets_.resize(static_cast<std::size_t>(problem.batch));
    for (std::size_t b = 0; b < offsets_.size(); ++b) {
      auto rest = static_cast<std::int64_t>(b);
      for (int axis = q.rank() - 3; axis >= 0; --axis) {
        offsets_[b] += rest % q[axis] * steps[axis];
        rest /= q[axis];
      }
    }
    problem.mask_offsets = offsets_.data();
    if (mask.dtype() == DType::kBool) {
      problem.seen = reinterpret_cast<const std::uint8_t*>(mask.data<bool>());
    } else {
      wide_.emplace(mask);
      problem.added = *wide_;
    }
  }

  std::vector<std::int64_t> offsets_;
  std::optional<WideInput<T>> wide_;
};

// Attention on heads that are side by side in rows, made in programs alone (src/graph/attention_heads.cc), where it
// takes the place of attention, or its gradients, between transposes. An operand is [batch, length, heads, depth], or a
// part of [batch, length, parts, heads, depth]; the result and the gradients are [batch, length, heads, depth], or all
// three gradients the parts of one output.
//
// Inputs are query, key, value and perhaps a mask, [batch, heads, queries, keys] or what broadcasts to it.
extern const OpDef kAttentionOfHeads;
// Inputs are query, key, value, the cotangent and perhaps a mask.
extern const OpDef kAttentionOfHeadsGradients;

// The attributes of these two, from those of attention: HeadsInRows::attributes.
void heads_attributes(const void* attention, std::span<const int> parts, bool joined, void* heads);

}  // namespace capstan
