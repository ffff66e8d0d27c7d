// All ops as constants, for the library and its tests; programs use capstan/registry.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "src/core/op_def.h"

namespace capstan {

// Every op, in the order of the families.
std::span<const OpDef* const> all_ops();

// The op of this name, or null.
const OpDef* find_op(std::string_view name);

// An op's attribute struct, made from dynamic values. Throws ValueError for an unknown or missing
// attribute and for a value that does not fit.
class AttributeStorage {
 public:
  AttributeStorage(const OpDef& op, const AttributeMap& values);
  // What apply takes: null if the op has no attributes.
  const void* get() const { return has_attributes_ ? bytes_ : nullptr; }

 private:
  alignas(std::max_align_t) std::byte bytes_[64] = {};
  bool has_attributes_ = false;
};

}  // namespace capstan
