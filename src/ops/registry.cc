// The registry: every op of the library, found by name.
//
// It is a list of the files of ops, which the build makes of those that end with CAPSTAN_OPS (family.h). Nothing of the
// library registers itself at run time, so the list is the same in every program; ops of users are added to it.
#include "capstan/registry.h"

#include <cstddef>
#include <new>
#include <unordered_map>

#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/ops/family.h"
#include "src/ops/registry.h"
#include "src/ops/user_ops.h"

namespace capstan {

#define CAPSTAN_FILE_OF_OPS(file) OpFamily ops_of_##file();
#include "capstan_files_of_ops.inc"
#undef CAPSTAN_FILE_OF_OPS

namespace {

const std::vector<const OpDef*>& make_all_ops() {
  auto* const all = new std::vector<const OpDef*>;  // never destroyed: calls may come from destructors of statics
  for (OpFamily (*family)() : {
#define CAPSTAN_FILE_OF_OPS(file) &ops_of_##file,
#include "capstan_files_of_ops.inc"
#undef CAPSTAN_FILE_OF_OPS
       }) {
    const OpFamily ops = family();
    all->insert(all->end(), ops.begin(), ops.end());
  }
  return *all;
}

std::unordered_map<std::string_view, const OpDef*>& ops_by_name() {
  static auto* const by_name = [] {
    auto* const map = new std::unordered_map<std::string_view, const OpDef*>;
    for (const OpDef* op : all_ops()) map->emplace(op->name, op);
    return map;
  }();
  return *by_name;
}

// "axis, keepdims"
std::string attribute_names(const OpDef& op) {
  std::string names;
  for (int i = 0; op.attributes != nullptr && i < op.attributes->field_count; ++i) {
    if (i > 0) names += ", ";
    names += op.attributes->fields[i].name;
  }
  return names;
}

const AttributeField* find_field(const OpDef& op, std::string_view name) {
  for (int i = 0; op.attributes != nullptr && i < op.attributes->field_count; ++i) {
    if (op.attributes->fields[i].name == name) return &op.attributes->fields[i];
  }
  return nullptr;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*>& all = make_all_ops();
  return all;
}

const OpDef* find_op(std::string_view name) {
  const auto found = ops_by_name().find(name);
  return found == ops_by_name().end() ? nullptr : found->second;
}

AttributeStorage::AttributeStorage(const OpDef& op, const AttributeMap& values) {
  if (op.attributes != nullptr) {
    op.attributes->construct(bytes_);
    has_attributes_ = true;
  }
  for (const auto& [name, value] : values) {
    const AttributeField* field = find_field(op, name);
    CAPSTAN_CHECK(field != nullptr, ValueError, op.name, ": unknown attribute \"", name, "\"; it has ",
                  op.attributes == nullptr ? "none" : attribute_names(op));
    field->set(bytes_, value, op.name);
  }
  for (int i = 0; op.attributes != nullptr && i < op.attributes->field_count; ++i) {
    const AttributeField& field = op.attributes->fields[i];
    CAPSTAN_CHECK(!field.required || values.contains(field.name), ValueError, op.name, ": attribute \"", field.name,
                  "\" must be given");
  }
}

std::vector<OpInfo> list_ops() {
  std::vector<OpInfo> list;
  for (const OpDef* op : all_ops()) {
    OpInfo info{op->name,
                op->text,
                op->inputs.names,
                op->inputs.count,
                op->outputs,
                !has_flag(*op, kNotDifferentiable) && (op->vjp != nullptr || op->kind == OpKind::kComposite),
                {}};
    for (int i = 0; op->attributes != nullptr && i < op->attributes->field_count; ++i) {
      info.attributes.push_back(op->attributes->fields[i].name);
    }
    list.push_back(std::move(info));
  }
  list_user_ops(list);
  return list;
}

bool has_op(std::string_view name) { return find_op(name) != nullptr || find_user_op(name) != nullptr; }

std::vector<Tensor> call(std::string_view name, std::span<const Tensor> inputs, const AttributeMap& attributes) {
  const OpDef* op = find_op(name);
  if (op == nullptr) {
    if (const UserOp* const user_op = find_user_op(name)) return call_user_op(*user_op, inputs, attributes);
  }
  CAPSTAN_CHECK(op != nullptr, ValueError, "call: there is no op \"", name, "\"");
  check_count(*op, inputs.size());
  const AttributeStorage storage(*op, attributes);
  std::vector<Operand> operands(inputs.begin(), inputs.end());
  return call_op(*op, operands, storage.get());
}

}  // namespace capstan
