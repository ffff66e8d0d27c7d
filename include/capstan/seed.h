#pragma once

#include <cstdint>
#include <optional>

namespace capstan {

/// The seed of a draw. Without one the draw follows the process's stream, see set_seed(). Where a seed has to be given,
/// it is a std::uint64_t.
///
///     random::shuffle(range(5), 7);  // int32[5]
using Seed = std::optional<std::uint64_t>;

}  // namespace capstan
