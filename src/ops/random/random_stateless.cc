// Draws that are functions of a pair of seeds, with the bits of TensorFlow's stateless functions; or of the state of a
// random::Generator.
//
// The pair is scrambled into a key and the upper half of a counter of 128 bits by one block of the same generator.
// Block i of the draw is that of the counter plus i; its words are taken in order.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/thread_pool.h"
#include "src/kernels/random/random.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"
#include "src/ops/random/random_common.h"

namespace capstan {

namespace {

struct StatelessAttributes {
  Lengths shape;
  DType dtype = DType::kFloat32;
};

// Without a range: all integers.
struct IntegersAttributes {
  Lengths shape;
  std::int64_t minval = 0, maxval = 0;
  DType dtype = DType::kInt64;
};

class Stream {
 public:
  // Of two seeds, or of a state of three numbers: the counter, the lower half first, and the key.
  Stream(const std::int64_t* numbers, std::int64_t count) {
    const auto word = [&](int i) { return static_cast<std::uint64_t>(numbers[i]); };
    if (count == 3) {
      low_ = word(0), high_ = word(1), key_ = word(2);
      return;
    }
    const PhiloxBlock mixed =
        philox_rounds(std::uint64_t{0x02461e29} << 32 | 0x3ec8f720,
                      {{static_cast<std::uint32_t>(word(0)), static_cast<std::uint32_t>(word(0) >> 32),
                        static_cast<std::uint32_t>(word(1)), static_cast<std::uint32_t>(word(1) >> 32)}});
    key_ = std::uint64_t{mixed.words[1]} << 32 | mixed.words[0];
    high_ = std::uint64_t{mixed.words[3]} << 32 | mixed.words[2];
  }

  PhiloxBlock block(std::int64_t i) const {
    const std::uint64_t low = low_ + static_cast<std::uint64_t>(i);
    const std::uint64_t high = high_ + (low < low_ ? 1 : 0);
    return philox_rounds(key_, {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                                 static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}});
  }

 private:
  std::uint64_t key_ = 0, low_ = 0, high_ = 0;
};

// What one element takes of a block.
template <class T>
constexpr std::int64_t kWords = sizeof(T) == 8 ? 2 : 1;
template <class T>
constexpr std::int64_t kPerBlock = 4 / kWords<T>;

// out[i] for all i < n, in groups of kPerBlock: make(group, values).
template <class T, class Make>
void fill(std::int64_t n, T* out, const Make& make) {
  constexpr std::int64_t kPerTask = 4096;
  parallel_for((n + kPerTask - 1) / kPerTask, [&](std::int64_t task) {
    const std::int64_t end = std::min(n, (task + 1) * kPerTask);
    for (std::int64_t i = task * kPerTask; i < end; i += kPerBlock<T>) {
      T values[kPerBlock<T>];
      make(i / kPerBlock<T>, values);
      std::copy_n(values, std::min(kPerBlock<T>, end - i), out + i);
    }
  });
}

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

// Two normal numbers by Box and Muller. The angle is rounded once.
template <class T>
void normal_pair(const std::uint32_t* words, T* values) {
  const T radius = std::sqrt(T(-2) * std::log(std::max(fraction<T>(words), T(1e-7))));
  const auto angle = static_cast<T>(2 * std::numbers::pi * static_cast<double>(fraction<T>(words + kWords<T>)));
  values[0] = radius * std::sin(angle);
  values[1] = radius * std::cos(angle);
}
// bfloat16 takes the words of float32 and rounds.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

struct Uniform {
  template <class T>
  static void draw(const Stream& stream, std::int64_t n, T* out) {
    fill(n, out, [&](std::int64_t group, T* values) {
      const PhiloxBlock block = stream.block(group);
      for (std::int64_t k = 0; k < kPerBlock<T>; ++k) values[k] = fraction<T>(block.words + k * kWords<T>);
    });
  }
};

struct Normal {
  template <class T>
  static void draw(const Stream& stream, std::int64_t n, T* out) {
    using N = Computed<T>;
    fill(n, out, [&](std::int64_t group, T* values) {
      const PhiloxBlock block = stream.block(group);
      N pairs[kPerBlock<N>];
      for (std::int64_t k = 0; k < kPerBlock<N>; k += 2) normal_pair(block.words + k * kWords<N>, pairs + k);
      for (std::int64_t k = 0; k < kPerBlock<T>; ++k) values[k] = T(pairs[k]);
    });
  }
};

// A group has 256 words of the stream for each of its numbers, of which it takes pairs until it has enough below 2.
struct TruncatedNormal {
  template <class T>
  static void draw(const Stream& stream, std::int64_t n, T* out) {
    using N = Computed<T>;
    fill(n, out, [&](std::int64_t group, T* values) {
      std::int64_t count = 0;
      for (std::int64_t i = group * 64 * kPerBlock<T>;; ++i) {
        const PhiloxBlock block = stream.block(i);
        for (std::int64_t k = 0; k < kPerBlock<N>; k += 2) {
          N pair[2];
          normal_pair(block.words + k * kWords<N>, pair);
          for (const N value : pair) {
            if (std::abs(value) >= N(2)) continue;
            values[count++] = T(value);
            if (count == kPerBlock<T>) return;
          }
        }
      }
    });
  }
};

template <class T>
void integers(const Stream& stream, std::int64_t minval, std::int64_t maxval, std::int64_t n, T* out) {
  using U = std::make_unsigned_t<T>;
  const U range = static_cast<U>(static_cast<std::uint64_t>(maxval) - static_cast<std::uint64_t>(minval));
  fill(n, out, [&](std::int64_t group, T* values) {
    const PhiloxBlock block = stream.block(group);
    for (std::int64_t k = 0; k < kPerBlock<T>; ++k) {
      const std::uint32_t* const words = block.words + k * kWords<T>;
      U number = words[0];
      if constexpr (sizeof(T) == 8) number |= U{words[1]} << 32;
      values[k] = static_cast<T>(static_cast<U>(minval) + (range == 0 ? number : number % range));
    }
  });
}

// The shape of a draw. Axes of the seed before its last one are a batch of draws.
Shape shape_of_draw(const Call& call, const Lengths& lengths) {
  const TensorRef& seed = call.input(0);
  const Shape shape = seed.shape();
  CAPSTAN_CHECK(seed.dtype() == DType::kInt64 && shape.rank() > 0 && (shape[-1] == 2 || shape[-1] == 3), ShapeError,
                call.op.name, ": the seed must be two numbers of int64, or the three of a Generator's state",
                arguments({{"seed", seed}}));
  Shape all(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
  for (const std::int64_t length : result_shape(call.op.name, lengths)) all.push_back(length);
  return all;
}

void infer(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<StatelessAttributes>();
  CAPSTAN_CHECK(is_floating(a.dtype), DTypeError, call.op.name, ": dtype ", a.dtype, " is not supported");
  outputs.add(a.dtype, shape_of_draw(call, a.shape));
}

void infer_integers(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<IntegersAttributes>();
  CAPSTAN_CHECK(a.dtype == DType::kInt32 || a.dtype == DType::kInt64, DTypeError, call.op.name, ": dtype ", a.dtype,
                " is not supported");
  const bool is_all = a.minval == 0 && a.maxval == 0;
  CAPSTAN_CHECK(is_all || a.minval < a.maxval, ValueError, call.op.name, ": there is no number from ", a.minval,
                " up to below ", a.maxval);
  const auto fits = [&](std::int64_t n) { return a.dtype == DType::kInt64 || n == static_cast<std::int32_t>(n); };
  CAPSTAN_CHECK(is_all || (fits(a.minval) && fits(a.maxval - 1)), ValueError, call.op.name, ": numbers from ", a.minval,
                " up to below ", a.maxval, " do not fit ", a.dtype);
  outputs.add(a.dtype, shape_of_draw(call, a.shape));
}

// draw(stream, count, to) for each seed of the batch.
template <class T, class Draw>
void for_each_seed(const TensorRef& seed, const Tensor& out, const Draw& draw) {
  const std::int64_t numbers = seed.shape()[-1], seeds = seed.size() / numbers;
  const std::int64_t count = seeds == 0 ? 0 : out.size() / seeds;
  for (std::int64_t i = 0; i < seeds; ++i) {
    draw(Stream(seed.data<std::int64_t>() + i * numbers, numbers), count, mutable_data<T>(out) + i * count);
  }
}

template <class Draw>
void run(const Call& call, std::span<Tensor> outputs) {
  with_floating_type(outputs[0].dtype(),
                     [&]<class T>(T) { for_each_seed<T>(call.input(0), outputs[0], &Draw::template draw<T>); });
}

constexpr OpDef float_op(std::string_view name, std::string_view text, Kernel kernel) {
  OpDef op;
  op.name = name;
  op.text = text;
  op.flags = kNotDifferentiable;
  op.inputs = "seed";
  op.attributes = &attribute_table<StatelessAttributes, "shape, dtype", 1>;
  op.infer = infer;
  op.kernel = kernel;
  op.batch = batch_leading;
  return op;
}

}  // namespace

constinit const OpDef kStatelessUniform =
    float_op("stateless_uniform",
             "Evenly distributed numbers in [0, 1), a function of two seeds with TensorFlow's bits.", run<Uniform>);
constinit const OpDef kStatelessNormal =
    float_op("stateless_normal", "Standard normal numbers, a function of two seeds as in TensorFlow.", run<Normal>);
constinit const OpDef kStatelessTruncatedNormal =
    float_op("stateless_truncated_normal", "The same, without those of two deviations or more.", run<TruncatedNormal>);
constinit const OpDef kStatelessIntegers = {
    .name = "stateless_integers",
    .text = "Integers of [minval, maxval), or all of the dtype, a function of two seeds with TensorFlow's bits.",
    .flags = kNotDifferentiable,
    .inputs = "seed",
    .attributes = &attribute_table<IntegersAttributes, "shape, minval, maxval, dtype", 1>,
    .infer = infer_integers,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<IntegersAttributes>();
          const auto run_as = [&]<class T>(T) {
            for_each_seed<T>(call.input(0), outputs[0], [&](const Stream& stream, std::int64_t n, T* to) {
              integers(stream, a.minval, a.maxval, n, to);
            });
          };
          if (a.dtype == DType::kInt32) return run_as(std::int32_t{});
          run_as(std::int64_t{});
        },
    .batch = batch_leading,
};

namespace random {

namespace {

Tensor draw(const OpDef& op, const Shape& shape, const Seeds& seeds, double scale, double offset, DType dtype) {
  const StatelessAttributes attributes{pack_lengths(op.name, shape), dtype};
  Tensor unit = apply(op, seeds.tensor(), &attributes);
  if (scale == 1 && offset == 0) return unit;
  return std::move(unit) * scale + offset;
}

}  // namespace

Seeds::Seeds(std::int64_t first, std::int64_t second) : tensor_(constant({first, second}, int64)) {}
Seeds::Seeds(const std::array<std::int64_t, 2>& seeds) : Seeds(seeds[0], seeds[1]) {}
Seeds::Seeds(const Tensor& seeds) : tensor_(seeds.dtype() == int32 ? cast(seeds, int64) : seeds) {}

Tensor stateless_uniform(const Shape& shape, const Seeds& seed, double minval, double maxval, DType dtype) try {
  return draw(kStatelessUniform, shape, seed, maxval - minval, minval, dtype);
} catch (const Error&) {
  rethrow_as("random::stateless_uniform");
}

Tensor stateless_normal(const Shape& shape, const Seeds& seed, double mean, double stddev, DType dtype) try {
  return draw(kStatelessNormal, shape, seed, stddev, mean, dtype);
} catch (const Error&) {
  rethrow_as("random::stateless_normal");
}

Tensor stateless_truncated_normal(const Shape& shape, const Seeds& seed, double mean, double stddev, DType dtype) try {
  return draw(kStatelessTruncatedNormal, shape, seed, stddev, mean, dtype);
} catch (const Error&) {
  rethrow_as("random::stateless_truncated_normal");
}

Tensor stateless_integers(const Shape& shape, const Seeds& seed, std::int64_t minval, std::int64_t maxval,
                          DType dtype) try {
  CAPSTAN_CHECK(minval < maxval, ValueError, "stateless_integers: there is no number from ", minval, " up to below ",
                maxval);
  const IntegersAttributes attributes{pack_lengths("stateless_integers", shape), minval, maxval, dtype};
  return apply(kStatelessIntegers, seed.tensor(), &attributes);
} catch (const Error&) {
  rethrow_as("random::stateless_integers");
}

Tensor stateless_integers(const Shape& shape, const Seeds& seed, DType dtype) try {
  const IntegersAttributes attributes{pack_lengths("stateless_integers", shape), 0, 0, dtype};
  return apply(kStatelessIntegers, seed.tensor(), &attributes);
} catch (const Error&) {
  rethrow_as("random::stateless_integers");
}

}  // namespace random

CAPSTAN_OPS(random_stateless, &kStatelessUniform, &kStatelessNormal, &kStatelessTruncatedNormal, &kStatelessIntegers);

}  // namespace capstan
