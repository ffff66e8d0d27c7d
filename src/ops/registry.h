// All ops as constants, for the library and its tests; programs use capstan/registry.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "src/core/op_def.h"

namespace capstan {

// Every op, in the order of the families.
std::span<const OpDef* const> all_ops();

// The op of this name, or null.
CAPSTAN_EXPORT const OpDef* find_op(std::string_view name);

// An op's attribute struct, made from dynamic values. Throws ValueError for an unknown or missing
// attribute and for a value that does not fit.
class CAPSTAN_EXPORT AttributeStorage {
 public:
  AttributeStorage(const OpDef& op, const AttributeMap& values);
  // What apply takes: null if the op has no attributes.
  const void* get() const { return has_attributes_ ? bytes_ : nullptr; }

 private:
  alignas(std::max_align_t) std::byte bytes_[64] = {};
  bool has_attributes_ = false;
};

// How calls by name call (op_calls.cc). Throws ValueError for another number of operands than the op takes.
void check_count(const OpDef& op, std::size_t operands);
// Through what the op is composed of, if it is. Throws ValueError for an empty operand of such an op.
std::vector<Tensor> call_op(const OpDef& op, std::span<Operand> operands, const void* attributes);

}  // namespace capstan
