// Ops that traces alone make, which nobody calls by name: how files hold them, and what makes them again.
#pragma once

#include <span>
#include <string_view>

#include "capstan/registry.h"
#include "capstan/tensor.h"
#include "src/graph/graph.h"

namespace capstan::saved_model {

// Whether an op is one of them.
bool is_trace_op(std::string_view op);

// The attributes of a node of one.
AttributeValue trace_op_form(const Graph::Node& node);

// What it gives. Throws ValueError for a form or a number of inputs that does not fit, and what its parts throw.
Tensor run_trace_op(std::string_view op, std::span<const Tensor> inputs, const AttributeValue& form);

}  // namespace capstan::saved_model
