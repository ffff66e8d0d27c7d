// What all attention layers do with their inputs and masks.
#pragma once

#include <string>
#include <string_view>

#include "capstan/layers/attention.h"
#include "capstan/layers/regularization.h"
#include "capstan/seed.h"

namespace capstan::detail {

struct AttentionInputs {
  Tensor query;
  Tensor value;
  Tensor key;  // the value unless given
  // Boolean, or empty.
  Tensor query_mask;
  Tensor value_mask;
  Tensor key_mask;
};

// The tensors of a call and their masks: given ones, else those that they carry. Errors: ValueError unless there are
// two or three tensors, and masks for as many at most.
AttentionInputs attention_inputs(const std::string& layer, const Nest& inputs, const Nest& mask);

// True at the places of [queries, keys] where the key is not after the query.
Tensor causal_mask(std::int64_t queries, std::int64_t keys);

// As boolean.
Tensor as_mask(const Tensor& mask);

// Scores that carry the mask they were made with, which broadcasts to them.
Tensor with_score_mask(const Tensor& scores, const Tensor& mask, bool causal);

// The "and" of two masks, each of which may be empty.
Tensor both_masks(const Tensor& a, const Tensor& b);

// softmax(scale * q k^T) v with q [..., queries, depth], and the scores if asked for. The mask broadcasts to the
// scores; it may be empty.
struct Attended {
  Tensor context;
  Tensor scores;
};
struct AttendOptions {
  double scale = 1;
  bool causal = false;
  bool wants_scores = false;
  Layer dropout = {};  // empty if nothing is dropped in this call
};
Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttendOptions& options);

// Of an attention layer with this rate, or an empty handle for 0. Errors: ValueError for a rate outside [0, 1).
Layer score_dropout(LayerBase& owner, const char* layer, double rate, Seed seed, const DTypePolicy& dtype);

}  // namespace capstan::detail
