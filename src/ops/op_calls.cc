// Ops that are looked up once and called often.
#include "capstan/op_calls.h"

#include "src/core/apply.h"
#include "src/core/attributes.h"
#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/ops/registry.h"

namespace capstan {

void check_count(const OpDef& op, std::size_t operands) {
  CAPSTAN_CHECK(op.inputs.count == kVariadic || operands == static_cast<std::size_t>(op.inputs.count), ValueError,
                op.name, ": takes ", int{op.inputs.count}, " arguments (", op.inputs.names, "), not ", operands);
}

namespace {

// What a composite computes. It reads its operands as it likes, so none may be empty.
void compose(const OpDef& op, std::span<Operand> operands, const void* attributes, std::vector<Tensor>& outputs) {
  for (const Operand& operand : operands) {
    const bool empty = (operand.kind() == Operand::Kind::kLent && operand.lent() == nullptr) ||
                       (operand.kind() == Operand::Kind::kGiven && !operand.given()->has_value()) ||
                       (operand.kind() == Operand::Kind::kVariable && operand.variable() == nullptr);
    CAPSTAN_CHECK(!empty, ValueError, op.name, ": argument ", &operand - operands.data(), " is an empty tensor",
                  help("a missing gradient is an empty tensor; test it with has_value()"));
  }
  op.compose(operands, attributes, outputs);
}

}  // namespace

std::vector<Tensor> call_op(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  if (op.compose == nullptr) return apply_all(op, operands, attributes);
  std::vector<Tensor> outputs;
  compose(op, operands, attributes, outputs);
  return outputs;
}

Op::Op(std::string_view name) : def_(find_op(name)) {
  CAPSTAN_CHECK(def_ != nullptr, ValueError, "call: there is no op \"", name, "\"");
}

std::string_view Op::name() const { return def_->name; }
std::string_view Op::text() const { return def_->text; }
std::string_view Op::input_names() const { return def_->inputs.count == 0 ? std::string_view() : def_->inputs.names; }
int Op::inputs() const { return def_->inputs.count; }
int Op::outputs() const { return def_->outputs; }
bool Op::takes_any_dtypes() const { return has_flag(*def_, kTakesAnyDTypes); }
std::span<const AttributeField> Op::fields() const {
  if (def_->attributes == nullptr) return {};
  return {def_->attributes->fields, static_cast<std::size_t>(def_->attributes->field_count)};
}

AttributeSet::AttributeSet(const Op& op) : op_(&op.def()) {
  if (op_->attributes == nullptr) return;
  op_->attributes->construct(bytes_);
  for (int i = 0; i < op_->attributes->field_count; ++i) {
    if (op_->attributes->fields[i].required) missing_ |= 1u << i;
  }
}

void AttributeSet::put(int field, const AttributeValue& value) {
  const int count = op_->attributes == nullptr ? 0 : op_->attributes->field_count;
  CAPSTAN_CHECK(field >= 0 && field < count, IndexError, op_->name, ": has ", count, " attributes, no number ", field);
  const AttributeField& row = op_->attributes->fields[field];
  row.set(bytes_, value, op_->name);
  missing_ &= ~(1u << field);
}

AttributeValue AttributeSet::get(int field) const {
  const int count = op_->attributes == nullptr ? 0 : op_->attributes->field_count;
  CAPSTAN_CHECK(field >= 0 && field < count, IndexError, op_->name, ": has ", count, " attributes, no number ", field);
  return op_->attributes->fields[field].get(bytes_);
}

const void* AttributeSet::data() const {
  if (op_->attributes == nullptr) return nullptr;
  for (int i = 0; missing_ >> i != 0; ++i) {
    CAPSTAN_CHECK((missing_ >> i & 1) == 0, ValueError, op_->name, ": attribute \"", op_->attributes->fields[i].name,
                  "\" must be given");
  }
  return bytes_;
}

Tensor call(const Op& op, std::span<Operand> operands, const AttributeSet& attributes) {
  const OpDef& def = op.def();
  check_count(def, operands.size());
  CAPSTAN_CHECK(def.outputs == 1, ValueError, def.name, ": gives ", int{def.outputs}, " results, not one",
                help("call it with call_all()"));
  if (def.compose == nullptr) return apply(def, operands, attributes.data());
  return std::move(call_op(def, operands, attributes.data())[0]);
}

std::vector<Tensor> call_all(const Op& op, std::span<Operand> operands, const AttributeSet& attributes) {
  check_count(op.def(), operands.size());
  return call_op(op.def(), operands, attributes.data());
}

}  // namespace capstan
