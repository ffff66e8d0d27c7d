// Draws from a pair of seeds, with the bits of TensorFlow's stateless functions.
//
// The pair is scrambled into a key and the upper half of the counter by one block of the same generator; the lower half
// counts the blocks of the draw, whose words are taken in order.
#include <algorithm>
#include <array>
#include <type_traits>

#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/thread_pool.h"
#include "src/kernels/random/random.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"
#include "src/ops/random/random_common.h"

namespace capstan {

namespace {

struct SeedPair {
  std::int64_t seeds[2] = {};
};

void set_field(SeedPair& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const std::vector<std::int64_t> seeds = integers_of(value, op, name);
  CAPSTAN_CHECK(seeds.size() == 2, ValueError, op, ": attribute \"", name, "\" must be two integers, not ",
                value.to_string());
  std::copy_n(seeds.data(), 2, field.seeds);
}
AttributeValue get_field(const SeedPair& field) { return list_of(field.seeds); }

struct StatelessAttributes {
  Lengths shape;
  DType dtype = DType::kFloat32;
  SeedPair seed;
};
constexpr AttributeType kStatelessAttributes = attribute_type<StatelessAttributes>(
    {field<&StatelessAttributes::shape>("shape", true), field<&StatelessAttributes::seed>("seed", true),
     field<&StatelessAttributes::dtype>("dtype")});

// The stream of a pair of seeds.
class Stream {
 public:
  explicit Stream(const SeedPair& pair) {
    const auto low = [](std::int64_t seed) { return static_cast<std::uint32_t>(seed); };
    const auto high = [](std::int64_t seed) {
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed) >> 32);
    };
    const PhiloxBlock mixed =
        philox_rounds(std::uint64_t{0x02461e29} << 32 | 0x3ec8f720,
                      {{low(pair.seeds[0]), high(pair.seeds[0]), low(pair.seeds[1]), high(pair.seeds[1])}});
    key_ = std::uint64_t{mixed.words[1]} << 32 | mixed.words[0];
    upper_[0] = mixed.words[2];
    upper_[1] = mixed.words[3];
  }
  PhiloxBlock block(std::int64_t i) const {
    const auto position = static_cast<std::uint64_t>(i);
    return philox_rounds(key_, {{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                                 upper_[0], upper_[1]}});
  }

 private:
  std::uint64_t key_;
  std::uint32_t upper_[2];
};

// A number in [0, 1) from the lowest bits that a mantissa has room for.
template <class T>
T fraction(const std::uint32_t* words) {
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(std::uint64_t{words[0] & 0xfffffu} << 32 | words[1]) * 0x1p-52;
  } else if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(words[0] & 0x7fffffu) * 0x1p-23f;
  } else {
    return BFloat16(static_cast<float>(words[0] & 0x7fu) * 0x1p-7f);
  }
}

template <class T>
void fill(const SeedPair& seed, std::int64_t n, T* out) {
  constexpr std::int64_t kWords = std::is_same_v<T, double> ? 2 : 1;
  constexpr std::int64_t kPerBlock = 4 / kWords;
  constexpr std::int64_t kPerTask = 4096;
  const Stream stream(seed);
  parallel_for((n + kPerTask - 1) / kPerTask, [&](std::int64_t task) {
    const std::int64_t end = std::min(n, (task + 1) * kPerTask);
    for (std::int64_t i = task * kPerTask; i < end; i += kPerBlock) {
      const PhiloxBlock block = stream.block(i / kPerBlock);
      for (std::int64_t k = 0; k < std::min(kPerBlock, end - i); ++k)
        out[i + k] = fraction<T>(block.words + k * kWords);
    }
  });
}

}  // namespace

constinit const OpDef kStatelessUniform = {
    .name = "stateless_uniform",
    .text = "Evenly distributed numbers in [0, 1), a function of two seeds with the bits of TensorFlow's.",
    .flags = kNotDifferentiable,
    .arity = 0,
    .input_names = "",
    .attributes = &kStatelessAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const auto& a = call.attributes<StatelessAttributes>();
          CAPSTAN_CHECK(is_floating(a.dtype), DTypeError, call.op.name, ": dtype ", a.dtype, " is not supported");
          const Shape shape = result_shape(call.op.name, a.shape);
          outputs.add(a.dtype, shape);
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<StatelessAttributes>();
          const Tensor& out = outputs[0];
          if (a.dtype == DType::kFloat32) return fill(a.seed, out.size(), mutable_data<float>(out));
          if (a.dtype == DType::kFloat64) return fill(a.seed, out.size(), mutable_data<double>(out));
          fill(a.seed, out.size(), mutable_data<BFloat16>(out));
        },
};

Tensor random::stateless_uniform(const Shape& shape, std::array<std::int64_t, 2> seed, double minval, double maxval,
                                 DType dtype) try {
  const StatelessAttributes attributes{pack_lengths("stateless_uniform", shape), dtype, {{seed[0], seed[1]}}};
  Tensor unit = apply(kStatelessUniform, std::span<Operand>(), &attributes);
  if (minval == 0 && maxval == 1) return unit;
  return std::move(unit) * (maxval - minval) + minval;
} catch (const Error&) {
  rethrow_as("random::stateless_uniform");
}

CAPSTAN_OPS(random_stateless, &kStatelessUniform);

}  // namespace capstan
