// The seed of a draw as an attribute.
#pragma once

#include <cstdint>
#include <string_view>

#include "capstan/ops/random.h"
#include "capstan/seed.h"
#include "src/core/attributes.h"

namespace capstan {

// The key of one draw: the seed, or the next one of the generator.
inline std::uint64_t key_of(Seed seed) { return seed ? *seed : next_seed(); }

// A seed of 64 bits that may be missing.
struct OptionalSeed {
  std::uint64_t value = 0;
  bool has_value = false;

  constexpr OptionalSeed() = default;
  constexpr OptionalSeed(Seed seed) : value(seed.value_or(0)), has_value(seed.has_value()) {}
  // The key of one draw.
  std::uint64_t key() const { return key_of(*this); }
  constexpr operator Seed() const { return has_value ? Seed(value) : Seed(); }
};

inline void set_field(OptionalSeed& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  OptionalInt seed;
  set_field(seed, value, op, name);
  field.has_value = seed.has_value;
  field.value = static_cast<std::uint64_t>(seed.value);
}
inline AttributeValue get_field(const OptionalSeed& field) {
  return field.has_value ? AttributeValue(static_cast<std::int64_t>(field.value)) : AttributeValue();
}

template <>
struct AttributeOf<Seed> {
  using Type = OptionalSeed;
  static Type keep(Seed parameter) { return parameter; }
  static Seed give(const OptionalSeed& attribute) { return attribute; }
};

}  // namespace capstan
