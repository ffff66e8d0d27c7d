// The order into which numpy.random.RandomState(seed).shuffle() brings a list: that of Keras's datasets of files.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace capstan::detail {

// From the last element on, each is exchanged with one that is not after it. Draws beyond the range are drawn
// again, from the lowest power of two that has it.
template <class T>
void numpy_shuffle(std::vector<T>& list, std::mt19937& words) {
  for (std::size_t last = list.size(); last-- > 1;) {
    std::uint64_t mask = last;
    for (const int shift : {1, 2, 4, 8, 16, 32}) mask |= mask >> shift;
    std::uint64_t drawn;
    do {
      drawn = words();
      if (last > 0xffffffffU) drawn = drawn << 32 | words();
      drawn &= mask;
    } while (drawn > last);
    std::swap(list[last], list[drawn]);
  }
}

// std::mt19937 begins as NumPy's legacy generator does.
template <class T>
void numpy_shuffle(std::vector<T>& list, std::uint32_t seed) {
  std::mt19937 words(seed);
  numpy_shuffle(list, words);
}

}  // namespace capstan::detail
