// Calls of ops by name at the cost of plain ones: for bindings, interpreters and importers that look an op up once and
// call it often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "capstan/export.h"
#include "capstan/fields.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan {

struct OpDef;

/// An op, found by its name.
///
///     const Op op("reduce_sum");
///     std::string_view inputs = op.input_names();         // x
///     std::string_view first = op.fields()[0].name;       // axis
class CAPSTAN_EXPORT Op {
 public:
  /// Errors: ValueError for a name that no op has.
  explicit Op(std::string_view name);

  std::string_view name() const;
  /// One sentence.
  std::string_view text() const;
  /// Separated by ", "; one name stands for any number of inputs.
  std::string_view input_names() const;
  /// How many inputs it takes, and how many tensors it gives; -1: any number.
  int inputs() const;
  int outputs() const;
  /// Its arguments that are no tensors, in order.
  std::span<const AttributeField> fields() const;
  /// True if inputs may differ in dtype, as indices do.
  bool takes_any_dtypes() const;

  /// For the library's own use.
  const OpDef& def() const { return *def_; }

 private:
  const OpDef* def_;
};

/// The attributes of a call, with the defaults of the op until they are put. A copy is a few words.
///
///     const Op op("reduce_sum");
///     AttributeSet set(op);
///     set.put(0, 1);               // axis
class CAPSTAN_EXPORT AttributeSet {
 public:
  explicit AttributeSet(const Op& op);

  /// Sets the field at this position. Errors: IndexError for a position that the op lacks; ValueError for a value that
  /// does not fit.
  void put(int field, const AttributeValue& value);
  /// The value of the field. Errors: IndexError.
  AttributeValue get(int field) const;

  /// What ops read, or null. For the library's own use. Errors: ValueError for a field without a default that was not
  /// put.
  const void* data() const;

 private:
  const OpDef* op_;
  std::uint32_t missing_ = 0;  // bit i: field i has no default and was not put
  alignas(8) std::byte bytes_[64];
};

/// Calls an op that gives one tensor. Operands are lent or given up, as by the function of that name, and numbers take
/// the dtype of the tensors that they meet. Errors: ValueError for another number of operands, for a missing attribute
/// and for an op that does not give one tensor; what the op itself throws.
///
///     const Op op("reduce_sum");
///     AttributeSet set(op);
///     set.put(0, 0);
///     Operand operands[] = {x};
///     Tensor sums = call(op, operands, set);
CAPSTAN_EXPORT Tensor call(const Op& op, std::span<Operand> operands, const AttributeSet& attributes);
/// The same for any number of results.
///
///     const Op op("eigh");
///     Operand operands[] = {x};
///     call_all(op, operands, AttributeSet(op)).size();  // 2
CAPSTAN_EXPORT std::vector<Tensor> call_all(const Op& op, std::span<Operand> operands, const AttributeSet& attributes);

}  // namespace capstan
