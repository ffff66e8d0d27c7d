#include <cstring>
#include <span>
#include <string_view>

#include "src/core/op_def.h"
#include "src/ops/attention/attention.h"

namespace capstan {

namespace {

struct HeadsAttributes {
  bool causal = false;
  OptionalNumber scale;
  double dropout = 0;
  OptionalInt seed;
  // The part that each operand is, if it has parts.
  int query = 0;
  int key = 0;
  int value = 0;
  bool joined = false;  // the gradients are one output
};
constexpr const AttributeType& kHeadsAttributes =
    attribute_table<HeadsAttributes, "causal, scale, dropout, seed, query, key, value, joined">;

// [batch, length, parts, heads, depth], with one part if there is no axis of them.
struct Heads {
  std::int64_t batch, length, parts, heads, depth;
};
Heads heads_of(const Shape& shape) {
  return {shape[0], shape[1], shape.rank() == 5 ? shape[2] : 1, shape[-2], shape[-1]};
}

template <class T, class E>
AttentionMatrices<E> matrices(E* data, const Shape& shape, int part) {
  const Heads h = heads_of(shape);
  const std::int64_t row = h.parts * h.heads * h.depth;
  return {.data = data + part * h.heads * h.depth, .outer = h.length * row, .inner = h.depth, .row = row};
}

template <class T>
AttentionCall<T> taken(const Call& call, int mask_position) {
  const auto& a = call.attributes<HeadsAttributes>();
  const Heads q = heads_of(call.input(0).shape());
  return AttentionCall<T>({a.causal, a.scale, a.dropout, a.seed}, {q.batch, q.heads, q.length, q.depth},
                          call.input(1).dim(1), call.input(2).dim(-1),
                          call.input_count() > mask_position ? &call.input(mask_position) : nullptr);
}

template <class T>
void forward(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<HeadsAttributes>();
  AttentionCall<T> p = taken<T>(call, 3);
  p.problem.heads = call.input(0).dim(-2);
  const auto operand = [&](int i, int part) {
    return matrices<T>(call.input(i).data<T>(), call.input(i).shape(), part);
  };
  attention_kernels<T>(instruction_set())
      .forward(p.problem, operand(0, a.query), operand(1, a.key), operand(2, a.value),
               matrices<T>(mutable_data<T>(outputs[0]), outputs[0].shape(), 0));
}

template <class T>
void gradients(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<HeadsAttributes>();
  AttentionCall<T> p = taken<T>(call, 4);
  p.problem.heads = call.input(0).dim(-2);
  const auto operand = [&](int i, int part) {
    return matrices<T>(call.input(i).data<T>(), call.input(i).shape(), part);
  };
  const auto result = [&](std::size_t i) {
    const Tensor& output = outputs[a.joined ? 0 : i];
    return matrices<T>(mutable_data<T>(output), output.shape(), a.joined ? static_cast<int>(i) : 0);
  };
  attention_kernels<T>(instruction_set())
      .gradient(p.problem, operand(0, a.query), operand(1, a.key), operand(2, a.value), operand(3, 0), result(0),
                result(1), result(2));
}

// An operand without its axis of parts.
Shape shape_of_part(const TensorRef& operand) {
  const Heads h = heads_of(operand.shape());
  return {h.batch, h.length, h.heads, h.depth};
}

}  // namespace

void heads_attributes(const void* attention, std::span<const int> parts, bool joined, void* heads) {
  const auto& a = *static_cast<const AttentionAttributes*>(attention);
  HeadsAttributes attributes;
  attributes.causal = a.causal;
  attributes.scale = a.scale;
  attributes.dropout = a.dropout;
  attributes.seed = a.seed;
  attributes.query = parts[0];
  attributes.key = parts[1];
  attributes.value = parts[2];
  attributes.joined = joined;
  std::memcpy(heads, &attributes, sizeof(attributes));
}

constinit const OpDef kAttentionOfHeads = {
    .name = "attention_of_heads",
    .text = "Attention on heads that stand side by side in rows; made in programs alone.",
    .flags = kNotDifferentiable | kCostlyAgain | kTakesAnyDTypes,
    .inputs = {"query, key, value, mask", kVariadic},
    .attributes = &kHeadsAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          Shape shape = shape_of_part(call.input(0));
          shape.set(-1, call.input(2).dim(-1));
          outputs.add(call.input(0).dtype(), shape);
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          call.input(0).dtype() == DType::kFloat32 ? forward<float>(call, outputs) : forward<double>(call, outputs);
        },
};

constinit const OpDef kAttentionOfHeadsGradients = {
    .name = "attention_of_heads_gradients",
    .text = "The gradients of attention on heads that stand side by side in rows; made in programs alone.",
    .flags = kNotDifferentiable | kTakesAnyDTypes,
    .outputs = kVariadic,
    .inputs = {"query, key, value, g, mask", kVariadic},
    .attributes = &kHeadsAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          if (!call.attributes<HeadsAttributes>().joined) {
            for (int i = 0; i < 3; ++i) outputs.add(call.input(i).dtype(), shape_of_part(call.input(i)));
            return;
          }
          const Heads h = heads_of(call.input(0).shape());
          outputs.add(call.input(0).dtype(), {h.batch, h.length, 3, h.heads, h.depth});
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          call.input(0).dtype() == DType::kFloat32 ? gradients<float>(call, outputs) : gradients<double>(call, outputs);
        },
};

}  // namespace capstan
