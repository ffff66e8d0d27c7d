// Scaled dot-product attention and its gradient, both fused.
//
// The gradient is an op of the operands and the cotangent alone (see kernels/attention.cc), so its own rule is that of
// a plain function. That rule, for second derivatives, is written in library ops and holds whole matrices of scores; so
// is the gradient for a mask of numbers, which only learned masks need.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_for_programs.h"
#include "src/kernels/attention/attention.h"
#include "src/kernels/random/random.h"
#include "src/ops/attention/attention.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

AttentionAttributes attributes_of(const AttentionOptions& options) {
  AttentionAttributes attributes{.causal = options.causal, .dropout = options.dropout};
  if (options.scale) attributes.scale = {*options.scale, true};
  if (options.seed) attributes.seed = static_cast<std::int64_t>(*options.seed);
  return attributes;
}
AttentionOptions options_of(const AttentionAttributes& attributes) {
  AttentionOptions options{.causal = attributes.causal, .dropout = attributes.dropout};
  if (attributes.scale.has_value) options.scale = attributes.scale.value;
  if (attributes.seed.has_value) options.seed = static_cast<std::uint64_t>(attributes.seed.value);
  return options;
}

// Checks query, key, value and, at `mask_position`, a mask if there is one.
void check_operands(const Call& call, int mask_position) {
  const std::string_view op = call.op.name;
  CAPSTAN_CHECK(call.input_count() == mask_position || call.input_count() == mask_position + 1, ValueError, op,
                ": takes ", mask_position, " operands and perhaps a mask, not ", call.input_count());
  const TensorRef& q = call.input(0);
  const TensorRef& k = call.input(1);
  const TensorRef& v = call.input(2);
  const auto shown = [&] { return arguments({{"query", q}, {"key", k}, {"value", v}}); };
  CAPSTAN_CHECK(is_floating(q.dtype()), DTypeError, op, ": dtype ", q.dtype(), " is not supported", shown());
  CAPSTAN_CHECK(q.rank() >= 2, ShapeError, op, ": the operands need rank 2 or more, not ", q.rank(), shown());
  for (int i = 1; i < mask_position; ++i) {
    const TensorRef& other = call.input(i);
    CAPSTAN_CHECK(other.dtype() == q.dtype(), DTypeError, op, ": dtypes differ, ", q.dtype(), " and ", other.dtype(),
                  shown());
    CAPSTAN_CHECK(other.rank() == q.rank(), ShapeError, op, ": ranks differ, ", q.rank(), " and ", other.rank(),
                  shown());
    for (int axis = 0; axis + 2 < q.rank(); ++axis) {
      CAPSTAN_CHECK(other.dim(axis) == q.dim(axis), ShapeError, op, ": leading axes differ, ", q.shape(), " and ",
                    other.shape(), shown());
    }
  }
  CAPSTAN_CHECK(k.dim(-1) == q.dim(-1), ShapeError, op, ": query and key differ in depth, ", q.dim(-1), " and ",
                k.dim(-1), shown());
  CAPSTAN_CHECK(v.dim(-2) == k.dim(-2), ShapeError, op, ": ", k.dim(-2), " keys have ", v.dim(-2), " values", shown());
  const auto& a = call.attributes<AttentionAttributes>();
  CAPSTAN_CHECK(a.dropout >= 0 && a.dropout < 1, ValueError, op, ": the dropout must be in [0, 1), not ", a.dropout);
  CAPSTAN_CHECK(a.dropout == 0 || a.seed.has_value, ValueError, op, ": dropout needs a seed here");
  if (call.input_count() == mask_position) return;
  const TensorRef& mask = call.input(mask_position);
  CAPSTAN_CHECK(mask.dtype() == DType::kBool || mask.dtype() == q.dtype(), DTypeError, op,
                ": the mask must be bool or ", q.dtype(), ", not ", mask.dtype());
  Shape scores = q.shape();
  scores.set(-1, k.dim(-2));
  bool fits = mask.rank() <= scores.rank();
  for (int i = 1; fits && i <= mask.rank(); ++i) fits = mask.dim(-i) == 1 || mask.dim(-i) == scores[-i];
  CAPSTAN_CHECK(fits, ShapeError, op, ": the mask ", mask.shape(), " does not broadcast to the scores, ", scores);
}

Shape result_shape(const Call& call) {
  Shape shape = call.input(0).shape();
  shape.set(-1, call.input(2).dim(-1));
  return shape;
}

void infer_attention(const Call& call, OutputSpecs& outputs) {
  check_operands(call, 3);
  outputs.add(call.input(0).dtype(), result_shape(call));
}
void infer_gradients(const Call& call, OutputSpecs& outputs) {
  check_operands(call, 4);
  CAPSTAN_CHECK(call.input(3).shape() == result_shape(call), ShapeError, call.op.name, ": g has shape ",
                call.input(3).shape(), " where ", result_shape(call), " is expected");
  for (int i = 0; i < 3; ++i) outputs.add(call.input(0).dtype(), call.input(i).shape());
}

template <class T>
AttentionMatrices<const T> dense(std::int64_t rows, std::int64_t columns, const WideInput<T>& input) {
  return {.data = input, .outer = rows * columns, .row = columns};
}
template <class T>
AttentionMatrices<T> dense(std::int64_t rows, std::int64_t columns, const WideOutput<T>& output) {
  return {.data = output, .outer = rows * columns, .row = columns};
}

// What the kernels take, without the operands.
template <class T>
AttentionCall<T> taken(const Call& call, int mask_position) {
  return AttentionCall<T>(call.attributes<AttentionAttributes>(), call.input(0).shape(), call.input(1).dim(-2),
                          call.input(2).dim(-1),
                          call.input_count() > mask_position ? &call.input(mask_position) : nullptr);
}

// --- The rules, in library ops ---

// Scores and what follows from them, [..., queries, keys].
struct Scores {
  AttentionAttributes attributes;
  double scale;
  Tensor probabilities;

  // `mask` may be empty.
  Scores(const Tensor& q, const Tensor& k, const Tensor& mask, const AttentionAttributes& a)
      : attributes(a), scale(scale_of(a, q.shape())) {
    Tensor products = matmul(q, k, {.transpose_b = true}) * scale;
    Tensor seen;
    if (mask.has_value() && mask.dtype() == DType::kBool) {
      seen = mask;
    } else if (mask.has_value()) {
      products = products + mask;
    }
    if (a.causal) {
      const Tensor before = less_equal(range(k.dim(-2)), reshape(range(q.dim(-2)), {q.dim(-2), 1}));
      seen = seen.has_value() ? logical_and(seen, before) : before;
    }
    // Not minus infinity: a query that sees no key must not become NaN.
    constexpr double kUnseen = -1e30;
    probabilities = seen.has_value() ? where(seen, softmax(where(seen, products, kUnseen)), 0.0) : softmax(products);
  }

  Tensor drop(const Tensor& t) const {
    if (attributes.dropout == 0) return t;
    return keyed_dropout(t, attributes.dropout, static_cast<std::uint64_t>(attributes.seed.value));
  }
  // The cotangent of the scores, given that of the probabilities.
  Tensor through_softmax(const Tensor& t) const {
    return probabilities * (t - reduce_sum(t * probabilities, -1, {.keepdims = true}));
  }
};

// Mask operands are last, if there.
Tensor mask_of(const VjpCall& call, int position) {
  return call.input_count() > position ? call.input(position) : Tensor();
}
bool wants_mask(const VjpCall& call, int position) {
  return call.input_count() > position && is_floating(call.input(position).dtype()) && call.needs(position);
}

void vjp_attention(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<AttentionAttributes>();
  const Tensor& g = call.cotangent();
  const Tensor mask = mask_of(call, 3);
  const AttentionOptions options = options_of(a);
  AttentionGradients gradients =
      mask.has_value() ? attention_gradients(call.input(0), call.input(1), call.input(2), g, mask, options)
                       : attention_gradients(call.input(0), call.input(1), call.input(2), g, options);
  cotangents[0] = std::move(gradients.query);
  cotangents[1] = std::move(gradients.key);
  cotangents[2] = std::move(gradients.value);
  if (wants_mask(call, 3)) {
    const Scores s(call.input(0), call.input(1), mask, a);
    cotangents[3] = s.through_softmax(s.drop(matmul(g, call.input(2), {.transpose_b = true})));
  }
}

// With P = softmax(S), S = scale q k^T + mask, D the dropout (linear and symmetric) and sums over keys written <>, the
// op computes
//     dv = D(P)^T g,   H = D(g v^T),   dS = P (H - <H P>),   dq = scale dS k,   dk = scale dS^T q.
// For cotangents a, b, c of dq, dk, dv, and E = scale (a k^T + q b^T), the cotangent of dS:
//     of H:  h = P (E - <E P>)
//     of P:  E (H - <H P>) - <E P> H + D(g c^T),  and through the softmax to S: s
//     of q:  scale (dS b + s k),    of k:  scale (dS^T a + s^T q),    of the mask: s
//     of g:  D(P) c + D(h) v,       of v:  D(h)^T g
void vjp_gradients(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& q = call.input(0);
  const Tensor& k = call.input(1);
  const Tensor& v = call.input(2);
  const Tensor& g = call.input(3);
  const Tensor& a = call.cotangent(0);
  const Tensor& b = call.cotangent(1);
  const Tensor& c = call.cotangent(2);
  const Scores scores(q, k, mask_of(call, 4), call.attributes<AttentionAttributes>());
  const Tensor& p = scores.probabilities;
  const double scale = scores.scale;
  const auto sum = [](const Tensor& t) { return reduce_sum(t, -1, {.keepdims = true}); };
  const Tensor big_h = scores.drop(matmul(g, v, {.transpose_b = true}));
  const Tensor centred = big_h - sum(big_h * p);
  const Tensor ds = p * centred;
  const Tensor e = (matmul(a, k, {.transpose_b = true}) + matmul(q, b, {.transpose_b = true})) * scale;
  const Tensor mean_e = sum(e * p);
  const Tensor h = scores.drop(p * (e - mean_e));
  const Tensor of_p = e * centred - mean_e * big_h + scores.drop(matmul(g, c, {.transpose_b = true}));
  const Tensor s = scores.through_softmax(of_p);
  if (call.needs(0)) cotangents[0] = (matmul(ds, b) + matmul(s, k)) * scale;
  if (call.needs(1)) {
    cotangents[1] = (matmul(ds, a, {.transpose_a = true}) + matmul(s, q, {.transpose_a = true})) * scale;
  }
  if (call.needs(2)) cotangents[2] = matmul(h, g, {.transpose_a = true});
  if (call.needs(3)) cotangents[3] = matmul(scores.drop(p), c) + matmul(h, v);
  if (wants_mask(call, 4)) cotangents[4] = s;
}

// The items are one more leading axis. What a seed drops depends on the place among all elements, so with dropout the
// items are computed one by one.
template <int kMask>
bool batch_attention(const BatchCall& call, std::vector<Tensor>& outputs) {
  const int rank = call.item_rank(0);
  if (rank == kMaxRank || call.attributes<AttentionAttributes>().dropout > 0) return false;
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) {
    inputs.push_back(i == kMask ? aligned(call, i, rank) : with_items(call, i));
  }
  return call_again(call, std::move(inputs), call.attribute_data, outputs);
}

// Draws a seed where one is needed and none is given.
AttentionAttributes seeded(const AttentionOptions& options) {
  AttentionAttributes attributes = attributes_of(options);
  if (attributes.dropout > 0 && !attributes.seed.has_value) {
    attributes.seed = static_cast<std::int64_t>(next_seed());
  }
  return attributes;
}

// The cotangent has no parts.
constexpr OpForPrograms kForPrograms{
    .heads_in_rows = {.op = &kAttentionOfHeads, .operands = 3, .parts = 3, .attributes = heads_attributes}};
constexpr OpForPrograms kGradientsForPrograms{
    .heads_in_rows = {.op = &kAttentionOfHeadsGradients, .operands = 4, .parts = 3, .attributes = heads_attributes}};

}  // namespace

constinit const OpDef kAttention = {
    .name = "scaled_dot_product_attention",
    .text = "softmax(scale * query key^T + mask) value.",
    .flags = kTakesAnyDTypes | kCostlyAgain,
    .inputs = {"query, key, value, mask", kVariadic},
    .attributes = &attribute_table<AttentionAttributes, "causal, scale, dropout, seed">,
    .infer = infer_attention,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            const AttentionCall<T> p = taken<T>(call, 3);
            const AttentionProblem<T>& s = p.problem;
            attention_kernels<T>(instruction_set())
                .forward(s, dense(s.queries, s.depth, WideInput<T>(call.input(0))),
                         dense(s.keys, s.depth, WideInput<T>(call.input(1))),
                         dense(s.keys, s.value_depth, WideInput<T>(call.input(2))),
                         dense(s.queries, s.value_depth, WideOutput<T>(outputs[0])));
          });
        },
    .saves = {.inputs = 1},
    .vjp = vjp_attention,
    .batch = batch_attention<3>,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          std::vector<Operand> operands(inputs.begin(), inputs.end());
          const AttentionAttributes a = seeded(options_of(*static_cast<const AttentionAttributes*>(attributes)));
          outputs.push_back(apply(kAttention, operands, &a));
        },
    .programs = &kForPrograms,
};

constinit const OpDef kAttentionGradients = {
    .name = "attention_gradients",
    .text = "The gradients of scaled_dot_product_attention for query, key and value.",
    .flags = kTakesAnyDTypes,
    .outputs = 3,
    .inputs = {"query, key, value, g, mask", kVariadic},
    .attributes = &attribute_table<AttentionAttributes, "causal, scale, dropout, seed">,
    .infer = infer_gradients,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            const AttentionCall<T> p = taken<T>(call, 4);
            const AttentionProblem<T>& s = p.problem;
            attention_kernels<T>(instruction_set())
                .gradient(s, dense(s.queries, s.depth, WideInput<T>(call.input(0))),
                          dense(s.keys, s.depth, WideInput<T>(call.input(1))),
                          dense(s.keys, s.value_depth, WideInput<T>(call.input(2))),
                          dense(s.queries, s.value_depth, WideInput<T>(call.input(3))),
                          dense(s.queries, s.depth, WideOutput<T>(outputs[0])),
                          dense(s.keys, s.depth, WideOutput<T>(outputs[1])),
                          dense(s.keys, s.value_depth, WideOutput<T>(outputs[2])));
          });
        },
    .saves = {.inputs = 1},
    .vjp = vjp_gradients,
    .batch = batch_attention<4>,
    .programs = &kGradientsForPrograms,
};

Tensor scaled_dot_product_attention(Operand query, Operand key, Operand value, const AttentionOptions& options) {
  const AttentionAttributes attributes = seeded(options);
  Operand inputs[] = {query, key, value};
  return apply(kAttention, inputs, &attributes);
}
Tensor scaled_dot_product_attention(Operand query, Operand key, Operand value, Operand mask,
                                    const AttentionOptions& options) {
  const AttentionAttributes attributes = seeded(options);
  Operand inputs[] = {query, key, value, mask};
  return apply(kAttention, inputs, &attributes);
}

namespace {

AttentionGradients gradients_of(std::span<Operand> inputs, const AttentionOptions& options) {
  const AttentionAttributes attributes = attributes_of(options);
  std::vector<Tensor> outputs = apply_all(kAttentionGradients, inputs, &attributes);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

}  // namespace

AttentionGradients attention_gradients(Operand query, Operand key, Operand value, Operand g,
                                       const AttentionOptions& options) {
  Operand inputs[] = {query, key, value, g};
  return gradients_of(inputs, options);
}
AttentionGradients attention_gradients(Operand query, Operand key, Operand value, Operand g, Operand mask,
                                       const AttentionOptions& options) {
  Operand inputs[] = {query, key, value, g, mask};
  return gradients_of(inputs, options);
}

CAPSTAN_OPS(attention, &kAttention, &kAttentionGradients);

}  // namespace capstan
