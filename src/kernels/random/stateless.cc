#include "src/kernels/random/stateless.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "src/core/thread_pool.h"
#include "src/kernels/random/random.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

class Stream {
 public:
  // Of two seeds, or of a state of three numbers: the counter, the lower half first, and the key.
  explicit Stream(std::span<const std::int64_t> numbers) {
    const auto word = [&](std::size_t i) { return static_cast<std::uint64_t>(numbers[i]); };
    if (numbers.size() == 3) {
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

template <class Draw>
void draw_as(DType dtype, const Stream& stream, std::int64_t n, void* out) {
  with_floating_type(dtype, [&]<class T>(T) { Draw::draw(stream, n, static_cast<T*>(out)); });
}

}  // namespace

void draw_stateless(Stateless draw, DType dtype, std::span<const std::int64_t> state, std::int64_t n, void* out) {
  const Stream stream(state);
  switch (draw) {
    case Stateless::kUniform:
      return draw_as<Uniform>(dtype, stream, n, out);
    case Stateless::kNormal:
      return draw_as<Normal>(dtype, stream, n, out);
    case Stateless::kTruncatedNormal:
      return draw_as<TruncatedNormal>(dtype, stream, n, out);
  }
}

void draw_stateless_integers(DType dtype, std::span<const std::int64_t> state, std::int64_t minval, std::int64_t maxval,
                             std::int64_t n, void* out) {
  const Stream stream(state);
  if (dtype == DType::kInt32) return integers(stream, minval, maxval, n, static_cast<std::int32_t*>(out));
  integers(stream, minval, maxval, n, static_cast<std::int64_t*>(out));
}

}  // namespace capstan
