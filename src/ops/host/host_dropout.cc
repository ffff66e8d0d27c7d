// Masks of dropout and other noise in traces.
//
// Eager dropout is a function of x and a key. In a trace a key would be that of the trace for ever, so the mask is an
// op of its own with the key as an attribute that is written anew before every run, from the same source as without a
// trace: what is dropped in a function is what is dropped without it. As a stateful op its value is kept for the
// gradient of a call instead of being drawn again. The same holds for draws of other distributions.
#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/random.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

struct MaskAttributes {
  double rate = 0;
  std::int64_t seeds[2] = {};
  Lengths noise_shape;
  bool has_noise_shape = false;
  bool stateless = false;
  bool draws_seed = false;
};
constexpr AttributeField kMaskFields[] = {
    field<&MaskAttributes::rate>("rate"), field<&MaskAttributes::noise_shape>("noise_shape"),
    field<&MaskAttributes::has_noise_shape>("has_noise_shape"), field<&MaskAttributes::stateless>("stateless"),
    field<&MaskAttributes::draws_seed>("draws_seed")};

struct DrawAttributes {
  std::int64_t seeds[2] = {};
  bool stateless = false;
  bool draws_seed = false;
};
constexpr AttributeField kDrawFields[] = {field<&DrawAttributes::stateless>("stateless"),
                                          field<&DrawAttributes::draws_seed>("draws_seed")};

Shape shape_of_mask(const TensorRef& x, const MaskAttributes& attributes) {
  if (!attributes.has_noise_shape) return x.shape();
  Shape shape = attributes.noise_shape.shape();
  CAPSTAN_CHECK(shape.rank() == x.rank(), ShapeError, "host_dropout_mask: noise_shape ", shape,
                " does not have the rank of the input", arguments({{"x", x}}));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) shape.set(i, x.dim(i));
  }
  return shape;
}

void infer_mask(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, "host_dropout_mask: dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  outputs.add(x.dtype(), shape_of_mask(x, call.attributes<MaskAttributes>()));
}

// Of draws with one key.
template <class Attributes>
std::uint64_t key_of(const Attributes& attributes) {
  return attributes.draws_seed ? next_seed() : static_cast<std::uint64_t>(attributes.seeds[0]);
}

void run_mask(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<MaskAttributes>();
  const DType dtype = call.input(0).dtype();
  const Shape shape = shape_of_mask(call.input(0), a);
  const std::uint64_t key = key_of(a);
  if (!a.stateless && !a.has_noise_shape) {
    outputs[0] = dropout(ones(shape, dtype), a.rate, key);
    return;
  }
  const Tensor draw = a.stateless ? random::stateless_uniform(shape, {a.seeds[0], a.seeds[1]}, 0, 1, dtype)
                                  : random::uniform(shape, 0, 1, float32, key);
  outputs[0] = cast(greater_equal(draw, a.rate), dtype) * (1 / (1 - a.rate));
}

// Made by the function below alone, and so not in the registry: by name its seeds would not change.
constinit const OpDef kHostDropoutMask = {
    .name = "host_dropout_mask",
    .text = "What dropout multiplies with, drawn with seeds from outside of the library.",
    .flags = kStateful | kNotDifferentiable | kReturnsViews,
    .attributes = &attribute_type<MaskAttributes, kMaskFields>,
    .infer = infer_mask,
    .kernel = run_mask,
    .shape_inputs = 0b1,
};

void infer_draw(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  outputs.add(x.dtype(), x.shape());
}

void draw_normal(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<DrawAttributes>();
  const TensorRef& x = call.input(0);
  outputs[0] = a.stateless ? random::stateless_normal(x.shape(), {a.seeds[0], a.seeds[1]}, 0, 1, x.dtype())
                           : random::normal(x.shape(), 0, 1, x.dtype(), key_of(a));
}

void draw_uniform(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<DrawAttributes>();
  const TensorRef& x = call.input(0);
  outputs[0] = a.stateless ? random::stateless_uniform(x.shape(), {a.seeds[0], a.seeds[1]}, 0, 1, x.dtype())
                           : random::uniform(x.shape(), 0, 1, x.dtype(), key_of(a));
}

constexpr OpDef draw_op(std::string_view name, std::string_view text, Kernel kernel) {
  return {.name = name,
          .text = text,
          .flags = kStateful | kNotDifferentiable | kReturnsViews,
          .attributes = &attribute_type<DrawAttributes, kDrawFields>,
          .infer = infer_draw,
          .kernel = kernel,
          .shape_inputs = 0b1};
}
constinit const OpDef kHostNormal =
    draw_op("host_normal", "Standard normal numbers, drawn with seeds from outside of the library.", draw_normal);
constinit const OpDef kHostUniform =
    draw_op("host_uniform", "Numbers from 0 to 1, drawn with seeds from outside of the library.", draw_uniform);

using Seeds = std::function<std::array<std::int64_t, 2>()>;

template <class Attributes>
Tensor draw_with(const OpDef& op, const Tensor& x, const Seeds& seeds, Attributes attributes) {
  attributes.draws_seed = seeds == nullptr;
  const auto write_seeds = [seeds](Attributes& to) {
    const std::array<std::int64_t, 2> pair = seeds();
    to.seeds[0] = pair[0];
    to.seeds[1] = pair[1];
  };
  if (!attributes.draws_seed && !inside_function()) write_seeds(attributes);
  Tensor drawn = apply(op, x, &attributes);
  if (!attributes.draws_seed && inside_function()) {
    context.tracer->renew_attributes([write_seeds](void* data) { write_seeds(*static_cast<Attributes*>(data)); });
  }
  return drawn;
}

}  // namespace

Tensor host_dropout_mask(const Tensor& x, const Seeds& seeds, const HostDropoutOptions& options) {
  CAPSTAN_CHECK(options.rate >= 0 && options.rate < 1, ValueError,
                "host_dropout_mask: rate must be at least 0 and below 1, not ", options.rate);
  MaskAttributes attributes;
  attributes.rate = options.rate;
  attributes.has_noise_shape = options.noise_shape.has_value();
  if (options.noise_shape) attributes.noise_shape = pack_lengths("host_dropout_mask", *options.noise_shape, true);
  attributes.stateless = options.stateless;
  return draw_with(kHostDropoutMask, x, seeds, attributes);
}

Tensor host_normal(const Tensor& x, const Seeds& seeds, const HostRandomOptions& options) {
  return draw_with(kHostNormal, x, seeds, DrawAttributes{.stateless = options.stateless});
}

Tensor host_uniform(const Tensor& x, const Seeds& seeds, const HostRandomOptions& options) {
  return draw_with(kHostUniform, x, seeds, DrawAttributes{.stateless = options.stateless});
}

}  // namespace capstan
