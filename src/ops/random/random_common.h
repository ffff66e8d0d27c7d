// What the families of random ops share: a seed that may be missing, and stores of float64 results.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "capstan/ops/random.h"
#include "capstan/seed.h"
#include "src/core/allocator.h"
#include "src/core/attributes.h"

namespace capstan {

// A seed of 64 bits that may be missing.
struct OptionalSeed {
  std::uint64_t value = 0;
  bool has_value = false;

  constexpr OptionalSeed() = default;
  constexpr OptionalSeed(Seed seed) : value(seed.value_or(0)), has_value(seed.has_value()) {}
  // The key of one draw.
  std::uint64_t key() const { return has_value ? value : next_seed(); }
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

template <class T>
void store(const Tensor& out, std::int64_t i, double value) {
  mutable_data<T>(out)[i] = T(static_cast<std::conditional_t<std::is_same_v<T, BFloat16>, float, T>>(value));
}

// Calls run(T{}) for a floating dtype.
template <class Run>
void with_floating_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat32) return run(float{});
  if (dtype == DType::kFloat64) return run(double{});
  return run(BFloat16{});
}

}  // namespace capstan
