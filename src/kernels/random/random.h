// Streams of random words (src/core/philox.h), and what is computed from one while it is made.
#pragma once

#include <cstdint>

#include "src/core/philox.h"

namespace capstan {

// The words [begin, begin + n) of a stream, four per block; `begin` is a multiple of 4.
void philox_words(std::uint64_t key, std::int64_t begin, std::int64_t n, std::uint32_t* words);

// out[i] = word i of the stream is at least `threshold` ? x[i] * scale : 0, on the thread pool. T
// is float or double.
template <class T>
void keyed_dropout(std::uint64_t key, std::uint32_t threshold, T scale, std::int64_t n, const T* x, T* out);
extern template void keyed_dropout<float>(std::uint64_t, std::uint32_t, float, std::int64_t, const float*, float*);
extern template void keyed_dropout<double>(std::uint64_t, std::uint32_t, double, std::int64_t, const double*, double*);

}  // namespace capstan
