#include "src/kernels/pool/regions.h"

#include <algorithm>
#include <cmath>

#include "src/kernels/random/random.h"

namespace capstan {

namespace {

// A number in [0, 1).
double draw_of(std::uint64_t seed, std::int64_t position, std::uint32_t stream) {
  const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(position), stream);
  return static_cast<double>((std::uint64_t{block.words[0]} << 21) ^ (block.words[1] >> 11)) * 0x1p-53;
}

}  // namespace

void list_places(const Regions& regions, std::int64_t* places, double* weights) {
  const std::int64_t longest = regions.longest();
  for (std::int64_t i = 0; i < regions.count; ++i) {
    const std::int64_t begin = regions.begin(i);
    const std::int64_t length = regions.end(i) - begin;
    for (std::int64_t k = 0; k < longest; ++k) {
      *places++ = begin + std::min(k, length - 1);
      const std::int64_t repeats = k < length - 1 ? 1 : longest - length + 1;
      if (weights != nullptr) *weights++ = 1.0 / static_cast<double>(length * repeats);
    }
  }
}

void draw_regions(std::int64_t length, std::int64_t count, bool pseudo_random, std::uint64_t seed, std::uint32_t stream,
                  std::int64_t* sequence) {
  sequence[0] = 0;
  const std::int64_t shorter = length / count;
  const std::int64_t longer = length % count;  // how many regions have one element more
  if (pseudo_random && longer != 0) {
    // ceil(alpha (i + u)), where the bounds of u keep the first and the last region to these two lengths.
    const double alpha = static_cast<double>(length) / static_cast<double>(count);
    const double most = std::min((static_cast<double>(shorter) + 2) / alpha - 1,
                                 static_cast<double>(length + 1 - shorter) / alpha - static_cast<double>(count - 1));
    const double u = draw_of(seed, 0, stream) * most;
    for (std::int64_t i = 1; i < count; ++i) {
      const auto begin = static_cast<std::int64_t>(std::ceil(alpha * (static_cast<double>(i) + u))) - 1;
      sequence[i] = std::min(begin, length - (count - i));  // whatever the rounding
    }
    sequence[count] = length;
    return;
  }
  // The longer regions in a random order: each of the rest is equally likely to be one.
  std::int64_t left = longer;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_longer = draw_of(seed, i, stream) * static_cast<double>(count - i) < static_cast<double>(left);
    left -= is_longer ? 1 : 0;
    sequence[i + 1] = sequence[i] + shorter + (is_longer ? 1 : 0);
  }
}

}  // namespace capstan
