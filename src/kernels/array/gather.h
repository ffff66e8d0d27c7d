// Rows picked by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace capstan {

// Of a table [batch, outer, length, inner], by indices [batch, count].
struct GatherSizes {
  std::int64_t batch, outer, length, inner, count;
};

// out[b, o, i] = in[b, o, indices[b, i]], where out is [batch, outer, count, inner]; the indices are in range.
void gather_rows(const GatherSizes& sizes, std::size_t element_bytes, const std::int32_t* indices, const void* in,
                 void* out);
void gather_rows(const GatherSizes& sizes, std::size_t element_bytes, const std::int64_t* indices, const void* in,
                 void* out);

}  // namespace capstan
