#include "src/ops/user_ops.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <string>

#include "capstan/register_op.h"
#include "src/core/check.h"
#include "src/ops/registry.h"

namespace capstan {

struct UserOp {
  NewOp op;
  std::string input_names;  // "x, y"
};

namespace {

// Few, so they are looked for one by one. Never destroyed: calls may come from destructors of statics.
struct Registered {
  std::mutex mutex;
  std::vector<std::unique_ptr<const UserOp>> ops;

  const UserOp* find(std::string_view name) const {
    for (const auto& op : ops) {
      if (op->op.name == name) return op.get();
    }
    return nullptr;
  }
};
Registered& registered() {
  static auto* const all = new Registered;
  return *all;
}

std::string names_of(const std::vector<OpParameter>& parameters) {
  std::string names;
  for (const OpParameter& parameter : parameters) names += (names.empty() ? "" : ", ") + parameter.name;
  return names;
}

void check_new_op(const NewOp& op) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':';
  };
  CAPSTAN_CHECK(!op.name.empty() && std::all_of(op.name.begin(), op.name.end(), fits), ValueError, "register_ops: \"",
                op.name, "\" is no name of an op", help("letters, digits, _, . and :"));
  CAPSTAN_CHECK(find_op(op.name) == nullptr, ValueError, "register_ops: the library has an op \"", op.name, "\"");
  CAPSTAN_CHECK(!op.text.empty(), ValueError, "register_ops: \"", op.name, "\" has no text that says what it does");
  CAPSTAN_CHECK(op.run != nullptr, ValueError, "register_ops: \"", op.name, "\" has no function");
  const std::size_t inputs = op.inputs.size();
  const auto name_of = [&](std::size_t i) -> const std::string& {
    return i < inputs ? op.inputs[i].name : op.attributes[i - inputs].name;
  };
  for (std::size_t i = 0; i < inputs + op.attributes.size(); ++i) {
    CAPSTAN_CHECK(!name_of(i).empty(), ValueError, "register_ops: a parameter of \"", op.name, "\" has no name");
    for (std::size_t k = 0; k < i; ++k) {
      CAPSTAN_CHECK(name_of(i) != name_of(k), ValueError, "register_ops: \"", op.name, "\" has two parameters \"",
                    name_of(i), "\"");
    }
  }
}

}  // namespace

void register_ops(std::span<const NewOp> ops) {
  Registered added;
  for (const NewOp& op : ops) {
    check_new_op(op);
    CAPSTAN_CHECK(added.find(op.name) == nullptr, ValueError, "register_ops: two ops are named \"", op.name, "\"");
    added.ops.push_back(std::make_unique<const UserOp>(UserOp{op, names_of(op.inputs)}));
  }
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const NewOp& op : ops) {
    CAPSTAN_CHECK(all.find(op.name) == nullptr, ValueError, "register_ops: an op \"", op.name,
                  "\" is registered already");
  }
  all.ops.reserve(all.ops.size() + added.ops.size());
  for (auto& op : added.ops) all.ops.push_back(std::move(op));
}

const UserOp* find_user_op(std::string_view name) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  return all.find(name);
}

std::vector<Tensor> call_user_op(const UserOp& op, std::span<const Tensor> inputs, const AttributeMap& attributes) {
  const std::string& name = op.op.name;
  CAPSTAN_CHECK(inputs.size() == op.op.inputs.size(), ValueError, name, ": takes ", op.op.inputs.size(), " arguments (",
                op.input_names, "), not ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPSTAN_CHECK(inputs[i].has_value(), ValueError, name, ": argument ", i, " is an empty tensor",
                  help("a missing gradient is an empty tensor; test it with has_value()"));
  }
  AttributeMap all = attributes;
  for (const auto& [given, value] : attributes) {
    const bool is_known = std::any_of(op.op.attributes.begin(), op.op.attributes.end(),
                                      [&](const OpParameter& attribute) { return attribute.name == given; });
    CAPSTAN_CHECK(is_known, ValueError, name, ": unknown attribute \"", given, "\"; it has ",
                  op.op.attributes.empty() ? "none" : names_of(op.op.attributes));
  }
  for (const OpParameter& attribute : op.op.attributes) {
    const bool is_given = all.contains(attribute.name);
    CAPSTAN_CHECK(is_given || !attribute.required, ValueError, name, ": attribute \"", attribute.name,
                  "\" must be given");
    if (!is_given) all.emplace(attribute.name, attribute.value);
  }
  return op.op.run(inputs, all);
}

void list_user_ops(std::vector<OpInfo>& list) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const auto& op : all.ops) {
    OpInfo info{
        op->op.name,           op->op.text, op->input_names, static_cast<int>(op->op.inputs.size()), op->op.outputs,
        op->op.differentiable, {}};
    for (const OpParameter& attribute : op->op.attributes) info.attributes.push_back(attribute.name);
    list.push_back(std::move(info));
  }
}

namespace detail {

void divide_parameters(NewOp& op, std::vector<OpParameter> parameters, std::span<const bool> is_tensor) {
  CAPSTAN_CHECK(parameters.size() == is_tensor.size(), ValueError, "op_of: the function of \"", op.name, "\" has ",
                is_tensor.size(), " parameters, not ", parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CAPSTAN_CHECK(!is_tensor[i] || op.attributes.empty(), ValueError, "op_of: the function of \"", op.name,
                  "\" has a tensor, \"", parameters[i].name, "\", after an attribute");
    (is_tensor[i] ? op.inputs : op.attributes).push_back(std::move(parameters[i]));
  }
}

}  // namespace detail

}  // namespace capstan
