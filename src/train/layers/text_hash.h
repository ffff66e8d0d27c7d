// Texts as bins, and ids of texts as vectors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/layers/preprocessing.h"
#include "src/train/fingerprint.h"

namespace capstan::detail {

inline std::int64_t hash_bucket(std::string_view text, std::int64_t buckets, const layers::Salt& salt) {
  const std::array<std::uint64_t, 2> key = {static_cast<std::uint64_t>(salt.key()[0]),
                                            static_cast<std::uint64_t>(salt.key()[1])};
  const std::uint64_t hash = salt.is_given() ? keyed_hash(text, key) : fingerprint(text);
  return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(buckets));
}

// The ids of texts, one for each, in one of the modes of encode_ids(). Rows of different lengths have vectors, but no
// ids by themselves: ShapeError.
Tensor encode_texts(std::string_view layer, const Texts& form, const std::vector<std::int64_t>& ids,
                    std::string_view mode, std::int64_t depth, DType dtype);

}  // namespace capstan::detail
