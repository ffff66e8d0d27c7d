// Ids as vectors: how the layers of ids give them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::detail {

inline constexpr std::string_view kHashModes[] = {"int", "one_hot", "multi_hot", "count"};
inline constexpr std::string_view kLookupModes[] = {"int", "one_hot", "multi_hot", "count", "tf_idf"};

// Ids [..., n] in one of the modes above but "tf_idf". Ids outside of [0, depth) count nowhere. `weights` are of the
// shape of the ids, for "count" alone.
Tensor encode_ids(const Tensor& ids, std::string_view mode, std::int64_t depth, DType dtype,
                  const Tensor& weights = {});

// Weights of the first places, filled up with zeros to so many.
Tensor filled_up(const std::vector<double>& weights, std::int64_t depth, DType dtype);

// For the dtype option of layers whose result is int64 for "int": throws DTypeError unless it fits the mode.
void check_result_dtype(std::string_view layer, DType dtype, std::string_view mode);

}  // namespace capstan::detail
