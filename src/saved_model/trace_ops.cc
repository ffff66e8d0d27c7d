#include "src/saved_model/trace_ops.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "capstan/fields.h"
#include "capstan/ops/host.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/graph/gradient_paths.h"
#include "src/ops/reduce/count_along.h"
#include "src/ops/registry.h"
#include "src/saved_model/node_attributes.h"
#include "src/tape/derived.h"

namespace capstan::saved_model {

namespace {

AttributeMap map_of(const AttributeValue& form) { return {form.items.begin(), form.items.end()}; }

template <class T>
void read(T& field, const AttributeValue& form, std::string_view op, std::string_view name) {
  if (const AttributeValue* const value = form.find(name)) set_field(field, *value, op, name);
}

// A draw whose seeds came from the program draws them from the global generator now.
Tensor dropout_mask(std::span<const Tensor> inputs, const AttributeValue& form) {
  HostDropoutOptions options;
  bool has_shape = false;
  read(options.rate, form, "host_dropout_mask", "rate");
  read(has_shape, form, "host_dropout_mask", "has_noise_shape");
  if (has_shape) read(options.noise_shape, form, "host_dropout_mask", "noise_shape");
  return host_dropout_mask(inputs[0], nullptr, options);
}

Tensor count(std::span<const Tensor> inputs, const AttributeValue& form) {
  // All axes, unless they are listed.
  std::optional<std::vector<int>> listed;
  DType dtype = DType::kFloat32;
  bool unbiases = false;
  read(listed, form, "count_along", "axis");
  read(dtype, form, "count_along", "dtype");
  read(unbiases, form, "count_along", "unbiases");
  return count_along(inputs[0], listed ? Axes(*listed) : Axes(), dtype, unbiases);
}

// The rule in library ops, which check what they are given.
Tensor derivative(std::span<const Tensor> inputs, const AttributeValue& form) {
  std::string of;
  std::int64_t input = 0;
  AttributeValue attributes;
  read(of, form, "derivative", "of");
  read(input, form, "derivative", "input");
  if (const AttributeValue* const value = form.find("attributes")) attributes = *value;
  const OpDef* const op = find_op(of);
  CAPSTAN_CHECK(op != nullptr, ValueError, "derivative: there is no op \"", of, "\"");
  return derive_by_rule(*op, input, AttributeStorage(*op, map_of(attributes)).get(), {inputs.begin(), inputs.end()});
}

struct TraceOp {
  std::string_view op;
  int inputs;  // kVariadic: any number
  Tensor (*run)(std::span<const Tensor> inputs, const AttributeValue& form);
};
constexpr TraceOp kTraceOps[] = {
    {"count_along", 1, count},
    {"derivative", kVariadic, derivative},
    {"host_dropout_mask", 1, dropout_mask},
    {"host_normal", 1, [](std::span<const Tensor> x, const AttributeValue&) { return host_normal(x[0], nullptr); }},
    {"host_uniform", 1, [](std::span<const Tensor> x, const AttributeValue&) { return host_uniform(x[0], nullptr); }},
    {"reread", 2, [](std::span<const Tensor> x, const AttributeValue&) { return reread(x[0], x[1]); }}};

const TraceOp* find(std::string_view op) {
  const auto* const found =
      std::find_if(std::begin(kTraceOps), std::end(kTraceOps), [&](const TraceOp& one) { return one.op == op; });
  return found == std::end(kTraceOps) ? nullptr : found;
}

}  // namespace

bool is_trace_op(std::string_view op) { return find(op) != nullptr; }

AttributeValue trace_op_form(const Graph::Node& node) {
  AttributeValue form = attributes_form(*node.op, node.attributes);
  if (is_derived(*node.op)) {
    const DerivedFrom from = derived_from(node.attributes);
    form.set("attributes", attributes_form(*from.op, from.attributes));
  }
  return form;
}

Tensor run_trace_op(std::string_view op, std::span<const Tensor> inputs, const AttributeValue& form) {
  const TraceOp& found = *find(op);
  CAPSTAN_CHECK(found.inputs == kVariadic || inputs.size() == static_cast<std::size_t>(found.inputs), ValueError, op,
                ": there are ", inputs.size(), " inputs, not ", found.inputs);
  return found.run(inputs, form);
}

}  // namespace capstan::saved_model
