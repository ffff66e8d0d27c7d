// Regions of unequal lengths along an axis, as fractional and adaptive pooling have them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace capstan {

// The regions of an axis; none is empty. They lie where a sequence says, or are evenly spread.
struct Regions {
  std::int64_t length;  // of the axis
  std::int64_t count;
  const std::int64_t* sequence = nullptr;  // [count + 1]: where regions begin, and the length
  bool overlapping = false;                // with the first element of the next region

  std::int64_t begin(std::int64_t i) const { return sequence != nullptr ? sequence[i] : i * length / count; }
  std::int64_t end(std::int64_t i) const {
    if (sequence == nullptr) return ((i + 1) * length + count - 1) / count;
    return std::min(sequence[i + 1] + (overlapping ? 1 : 0), length);
  }
  // At least as long as any of them.
  std::int64_t longest() const {
    const std::int64_t even = (length + count - 1) / count;
    if (sequence != nullptr) return even + (overlapping ? 1 : 0);
    return length % count == 0 ? even : even + 1;
  }
};

// The places of all regions, each as long as the longest by repeating its last element: places [count, longest]. With
// `weights` [count, longest] also what each place weighs in the mean of its region; null: not.
void list_places(const Regions& regions, std::int64_t* places, double* weights);

// Draws where the `count` regions of an axis begin: sequence [count + 1], with the length of the axis at its end. The
// lengths of regions differ by at most one. `stream` tells rows from columns.
void draw_regions(std::int64_t length, std::int64_t count, bool pseudo_random, std::uint64_t seed, std::uint32_t stream,
                  std::int64_t* sequence);

}  // namespace capstan
