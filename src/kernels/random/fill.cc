#include "src/kernels/random/fill.h"

#include <algorithm>
#include <cmath>

#include "src/core/thread_pool.h"
#include "src/kernels/joins.h"
#include "src/kernels/random/random.h"
#include "src/kernels/random/random_draws.h"
#include "src/kernels/with_type.h"

namespace capstan {

namespace {

// Calls fill(first, count, words) for blocks of elements that use `words_each` words of the stream
// each, in parallel.
template <class Fill>
void draw_blocks(std::uint64_t key, std::int64_t n, std::int64_t words_each, const Fill& fill) {
  constexpr std::int64_t kBlock = 1024;
  constexpr std::int64_t kBlocksPerTask = 16;
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  parallel_for((blocks + kBlocksPerTask - 1) / kBlocksPerTask, [&](std::int64_t task) {
    std::uint32_t words[2 * kBlock];
    for (std::int64_t block = task * kBlocksPerTask; block < std::min(blocks, (task + 1) * kBlocksPerTask); ++block) {
      const std::int64_t first = block * kBlock;
      const std::int64_t count = std::min(kBlock, n - first);
      philox_words(key, first * words_each, count * words_each, words);
      fill(first, count, words);
    }
  });
}

double truncated(std::uint64_t key, std::int64_t i) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    const PhiloxBlock block = philox(key, static_cast<std::uint64_t>(i), attempt);
    double pair[2];
    normal_pair(block.words, pair);
    for (double x : pair) {
      if (std::abs(x) < 2) return x;
    }
  }
}

// Calls run(set), where set(i, value) stores a number as an element of a floating dtype.
template <class Run>
void with_store(DType dtype, void* out, const Run& run) {
  with_floating_type(dtype, [&]<class T>(T) {
    run([to = static_cast<T*>(out)](std::int64_t i, double value) { to[i] = T(static_cast<Wide<T>>(value)); });
  });
}

}  // namespace

void fill_uniform(std::uint64_t key, DType dtype, double low, double high, std::int64_t n, void* out) {
  switch (dtype) {
    case DType::kFloat32: {
      auto* to = static_cast<float*>(out);
      const auto start = static_cast<float>(low);
      const auto length = static_cast<float>(high) - start;
      // Rounding may reach the upper end, which does not belong to the range.
      const float last = length > 0 ? std::nextafter(static_cast<float>(high), start) : start;
      draw_blocks(key, n, 1, [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
        for (std::int64_t i = 0; i < count; ++i) {
          const float x = start + static_cast<float>(words[i] >> 8) * 0x1p-24f * length;
          to[first + i] = length > 0 ? std::min(x, last) : x;
        }
      });
      return;
    }
    case DType::kFloat64: {
      auto* to = static_cast<double*>(out);
      const double last = high > low ? std::nextafter(high, low) : low;
      draw_blocks(key, n, 2, [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
        for (std::int64_t i = 0; i < count; ++i) {
          const double x = low + fraction53(words + 2 * i) * (high - low);
          to[first + i] = high > low ? std::min(x, last) : x;
        }
      });
      return;
    }
    case DType::kBFloat16: {
      auto* to = static_cast<BFloat16*>(out);
      draw_blocks(key, n, 1, [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
        for (std::int64_t i = 0; i < count; ++i) {
          const double x = low + (words[i] >> 24) * 0x1p-8 * (high - low);
          const BFloat16 rounded(static_cast<float>(x));
          // What rounds to the upper end falls back on the lower one.
          to[first + i] =
              rounded < static_cast<float>(high) || high <= low ? rounded : BFloat16(static_cast<float>(low));
        }
      });
      return;
    }
    default: {
      const auto start = static_cast<std::int64_t>(low);
      const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - start);
      draw_blocks(key, n, 2, [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
        for (std::int64_t i = 0; i < count; ++i) {
          // The upper half of the product of a random fraction and the range.
          const std::uint64_t bits = std::uint64_t{words[2 * i + 1]} << 32 | words[2 * i];
          const auto part = static_cast<std::int64_t>(
              static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64));
          if (dtype == DType::kInt32) {
            static_cast<std::int32_t*>(out)[first + i] = static_cast<std::int32_t>(start + part);
          } else {
            static_cast<std::int64_t*>(out)[first + i] = start + part;
          }
        }
      });
    }
  }
}

void fill_normal(std::uint64_t key, DType dtype, double mean, double deviation, std::int64_t n, void* out) {
  with_store(dtype, out, [&](const auto& set) {
    draw_blocks(key, n + n % 2, 2, [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
      for (std::int64_t i = 0; i < count; i += 2) {
        double pair[2];
        normal_pair(words + 2 * i, pair);
        set(first + i, mean + deviation * pair[0]);
        if (first + i + 1 < n) set(first + i + 1, mean + deviation * pair[1]);
      }
    });
  });
}

void fill_truncated_normal(std::uint64_t key, DType dtype, double mean, double deviation, std::int64_t n, void* out) {
  constexpr std::int64_t kChunk = 8192;
  with_store(dtype, out, [&](const auto& set) {
    parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t task) {
      for (std::int64_t i = task * kChunk; i < std::min(n, (task + 1) * kChunk); ++i) {
        set(i, mean + deviation * truncated(key, i));
      }
    });
  });
}

}  // namespace capstan
