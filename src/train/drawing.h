// Initializers that draw.
#pragma once

#include <cstdint>
#include <optional>

#include "capstan/initializers.h"
#include "capstan/ops/random.h"

namespace capstan::detail {

// One with the option `seed`. The seed is taken when the object is made, the given one or the next of the process, so
// that an object always gives the same values.
template <class Derived, class Options>
struct Drawing : Configured<Derived, InitializerBody, Options> {
  explicit Drawing(const Options& given) : Drawing(given, given.seed ? *given.seed : next_seed()) {}
  // With the key of another object.
  Drawing(const Options& given, std::uint64_t seed) : Configured<Derived, InitializerBody, Options>(given), key(seed) {}
  const std::uint64_t key;
};

}  // namespace capstan::detail
