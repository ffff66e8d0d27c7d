// Initializers that draw.
#pragma once

#include <cstdint>
#include <optional>

#include "capstan/function.h"
#include "capstan/initializers.h"
#include "capstan/ops/random.h"
#include "capstan/seed.h"
#include "src/core/key_log.h"

namespace capstan::detail {

// Where the numbers come from: a seed that was given has those of Keras, else they are of a key of the process's
// stream. Both are settled when the object is made, so that it always draws the same.
class Draws {
 public:
  explicit Draws(Seed seed) : is_given_(seed.has_value()), key_(seed ? *seed : key_of_object()) {}

  Tensor uniform(const Shape& shape, double minval, double maxval, DType dtype) const {
    return is_given_ ? random::stateless_uniform(shape, seeds(), minval, maxval, dtype)
                     : random::uniform(shape, minval, maxval, dtype, key());
  }
  Tensor normal(const Shape& shape, double mean, double stddev, DType dtype) const {
    return is_given_ ? random::stateless_normal(shape, seeds(), mean, stddev, dtype)
                     : random::normal(shape, mean, stddev, dtype, key());
  }
  Tensor truncated_normal(const Shape& shape, double mean, double stddev, DType dtype) const {
    return is_given_ ? random::stateless_truncated_normal(shape, seeds(), mean, stddev, dtype)
                     : random::truncated_normal(shape, mean, stddev, dtype, key());
  }

 private:
  // Variables are made outside of traces. In a trace the draw would be the same at every call: that is an error.
  std::uint64_t key() const { return inside_function() ? next_seed() : key_; }
  random::Seeds seeds() const { return {static_cast<std::int64_t>(key_), 0}; }

  bool is_given_;
  std::uint64_t key_;
};

// One with the option `seed`.
template <class Derived, class Options>
struct Drawing : Configured<Derived, InitializerBody, Options> {
  explicit Drawing(const Options& given) : Drawing(given, Draws(given.seed)) {}
  // With the numbers of another object.
  Drawing(const Options& given, const Draws& of) : Configured<Derived, InitializerBody, Options>(given), draws(of) {}
  const Draws draws;
};

}  // namespace capstan::detail
