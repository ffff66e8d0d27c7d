#include "src/kernels/math/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "src/core/thread_pool.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else if constexpr (is_complex(kDTypeOf<From>)) {
    if constexpr (is_complex(kDTypeOf<To>)) {
      return To(value);
    } else if constexpr (std::is_same_v<To, bool>) {
      return value != From{};
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (is_complex(kDTypeOf<To>)) {
    return To(convert<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    // The bounds as floating numbers: the lower one is exact, the upper one is the first that is too large.
    constexpr From low = static_cast<From>(Limits::min());
    const From high = std::ldexp(From{1}, Limits::digits);
    if (value != value) return To{0};
    if (value < low) return Limits::min();
    if (value >= high) return Limits::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Calls run(T{}) with the element type of any dtype.
template <class Run>
void with_any_type(DType dtype, const Run& run) {
  if (dtype == DType::kBool) return run(bool{});
  with_any_number_type(dtype, run);
}

}  // namespace

void convert_elements(DType from, DType to, std::int64_t n, const void* in, void* out) {
  constexpr std::int64_t kChunk = 32768;
  const auto convert_chunk = [&](std::int64_t chunk) {
    with_any_type(from, [&]<class From>(From) {
      with_any_type(to, [&]<class To>(To) {
        const auto* source = static_cast<const From*>(in);
        auto* target = static_cast<To*>(out);
        const std::int64_t end = std::min(n, (chunk + 1) * kChunk);
        for (std::int64_t i = chunk * kChunk; i < end; ++i) target[i] = convert<To>(source[i]);
      });
    });
  };
  const std::int64_t chunks = (n + kChunk - 1) / kChunk;
  if (chunks <= 1) {
    convert_chunk(0);
  } else {
    parallel_for(chunks, convert_chunk);
  }
}

}  // namespace capstan
