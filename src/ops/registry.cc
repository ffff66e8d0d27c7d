// The registry: every op of the library, found by name.
//
// It is a constant list of the families; each family lists its own ops at the end of its file.
// Nothing registers itself at run time, so an op that is linked in is an op that is listed here, in
// the same order in every program.
#include "capstan/registry.h"

#include <cstddef>
#include <new>
#include <unordered_map>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_def.h"
#include "src/ops/families.h"
#include "src/ops/matrix_families.h"
#include "src/ops/registry.h"

namespace capstan {

namespace {

const std::vector<const OpDef*>& make_all_ops() {
  auto* const all = new std::vector<const OpDef*>;  // never destroyed: calls may come from destructors of statics
  for (OpFamily (*family)() : {arithmetic_ops,
                               math_ops,
                               guarded_math_ops,
                               special_ops,
                               trigonometry_ops,
                               compare_ops,
                               activation_ops,
                               hard_activation_ops,
                               gated_activation_ops,
                               cast_ops,
                               complex_ops,
                               reduce_ops,
                               reduce_composite_ops,
                               scan_ops,
                               segment_ops,
                               sort_ops,
                               block_ops,
                               place_ops,
                               bitwise_ops,
                               image_ops,
                               shape_ops,
                               shape_query_ops,
                               array_ops,
                               creation_ops,
                               index_ops,
                               slice_ops,
                               matmul_ops,
                               linalg_ops,
                               diagonal_ops,
                               vector_ops,
                               cholesky_ops,
                               solve_ops,
                               least_squares_ops,
                               determinant_ops,
                               decomposition_ops,
                               spectral_ops,
                               matrix_function_ops,
                               fft_ops,
                               signal_ops,
                               conv_ops,
                               conv3d_ops,
                               conv_composite_ops,
                               pool_ops,
                               pool_nd_ops,
                               pool_region_ops,
                               batch_norm_ops,
                               normalize_ops,
                               layer_norm_ops,
                               group_norm_ops,
                               attention_ops,
                               lstm_ops,
                               gru_ops,
                               dropout_ops,
                               softmax_ops,
                               cross_entropy_ops,
                               loss_ops,
                               loss_function_ops,
                               ctc_ops,
                               random_ops,
                               distribution_ops,
                               random_choice_ops,
                               random_stateless_ops,
                               state_ops}) {
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
    field->set(bytes_, value, op.name, name);
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
                op->input_names,
                op->arity,
                op->outputs,
                !has_flag(*op, kNotDifferentiable) && (op->vjp != nullptr || op->kind == OpKind::kComposite),
                {}};
    for (int i = 0; op->attributes != nullptr && i < op->attributes->field_count; ++i) {
      info.attributes.push_back(op->attributes->fields[i].name);
    }
    list.push_back(std::move(info));
  }
  return list;
}

bool has_op(std::string_view name) { return find_op(name) != nullptr; }

std::vector<Tensor> call(std::string_view name, std::span<const Tensor> inputs, const AttributeMap& attributes) {
  const OpDef* op = find_op(name);
  CAPSTAN_CHECK(op != nullptr, ValueError, "call: there is no op \"", name, "\"");
  CAPSTAN_CHECK(op->arity == kVariadic || inputs.size() == static_cast<std::size_t>(op->arity), ValueError, op->name,
                ": takes ", int{op->arity}, " arguments (", op->input_names, "), not ", inputs.size());
  const AttributeStorage storage(*op, attributes);
  std::vector<Operand> operands(inputs.begin(), inputs.end());
  if (op->compose != nullptr) {  // Elementwise ops may have one too: the function that checks
                                 // before the loop runs.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CAPSTAN_CHECK(inputs[i].has_value(), ValueError, op->name, ": argument ", i, " is an empty tensor",
                    help("a missing gradient is an empty tensor; test it with has_value()"));
    }
    std::vector<Tensor> outputs;
    op->compose(operands, storage.get(), outputs);
    return outputs;
  }
  return apply_all(*op, operands, storage.get());
}

}  // namespace capstan
