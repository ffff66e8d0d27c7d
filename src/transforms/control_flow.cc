// cond, switch_case, case_of, while_loop, scan, map_fn and folds: what their templates call.
//
// Outside of a trace the templates run the functions that they are given; here is what they check. In a trace the parts
// are traced and put together as a node (control_parts.h, control_nodes.h).
#include "capstan/control_flow.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/graph/tracer.h"
#include "src/transforms/control_nodes.h"
#include "src/transforms/control_parts.h"

namespace capstan {

namespace {

ControlKind control_kind(detail::BranchKind kind) {
  constexpr ControlKind kinds[] = {ControlKind::kCond, ControlKind::kSwitchCase, ControlKind::kCaseOf};
  return kinds[static_cast<int>(kind)];
}

ControlKind control_kind(detail::RowKind kind) {
  constexpr ControlKind kinds[] = {ControlKind::kScan, ControlKind::kMapFn, ControlKind::kFoldl, ControlKind::kFoldr};
  return kinds[static_cast<int>(kind)];
}

std::string branch_name(ControlKind kind, std::size_t branch) {
  if (kind == ControlKind::kCond) return branch == 0 ? "then" : "else";
  return "branch_" + std::to_string(branch);
}

// --- Agreement of branches ---

const Graph::ValueInfo& result_of(const Subgraph& branch, std::size_t result) {
  return branch.graph.values[static_cast<std::size_t>(branch.graph.results[result])];
}

bool has_result(const Subgraph& branch, std::size_t result) { return branch.graph.results[result] != Graph::kNone; }

std::string describe_result(const Subgraph& branch, std::size_t result) {
  return "\n  " + branch.name + ": " +
         (has_result(branch, result) ? describe(result_of(branch, result).dtype, result_of(branch, result).shape)
                                     : "nothing");
}

void check_agreement(std::string_view op, const Subgraph& a, const Subgraph& b) {
  for (std::size_t k = 0; k < a.graph.results.size(); ++k) {
    const std::string both = describe_result(a, k) + describe_result(b, k);
    CAPSTAN_CHECK(has_result(a, k) == has_result(b, k), ValueError, op, ": result ", k,
                  " of one branch is an empty tensor", both);
    if (!has_result(a, k)) continue;
    const Graph::ValueInfo& one = result_of(a, k);
    const Graph::ValueInfo& other = result_of(b, k);
    CAPSTAN_CHECK(one.dtype == other.dtype, DTypeError, op, ": the dtypes of result ", k, " differ, ", one.dtype,
                  " and ", other.dtype, both, help("convert one with cast(x, dtype)"));
    CAPSTAN_CHECK(one.shape == other.shape, ShapeError, op, ": the shapes of result ", k, " differ, ", one.shape,
                  " and ", other.shape, both);
  }
}

// Every output of a body has to be there.
void check_results(std::string_view op, const Subgraph& body) {
  for (std::size_t k = 0; k < body.graph.results.size(); ++k) {
    CAPSTAN_CHECK(has_result(body, k), ValueError, op, ": result ", k, " of the body is an empty tensor");
  }
}

}  // namespace

// --- Choices ---

Tensor detail::condition_of(const char* op, Operand condition) {
  CAPSTAN_CHECK(!condition.is_literal() || condition.kind() == Operand::Kind::kBool, DTypeError, op,
                ": the condition is a number, not a bool", help("compare it: x > 0"));
  Tensor holds = to_tensor(condition);
  CAPSTAN_CHECK(holds.has_value(), ValueError, op, ": the condition is an empty tensor");
  CAPSTAN_CHECK(holds.dtype() == DType::kBool, DTypeError, op, ": the condition is ", holds.dtype(), ", not bool",
                arguments({{"condition", holds}}), help("compare it: x > 0"));
  CAPSTAN_CHECK(holds.rank() == 0, ShapeError, op, ": the condition has shape ", holds.shape(), ", not []",
                arguments({{"condition", holds}}), help("reduce it with reduce_all or reduce_any"));
  return holds;
}

Tensor detail::branch_index_of(Operand index) {
  CAPSTAN_CHECK(!index.is_literal() || index.kind() == Operand::Kind::kInt, DTypeError,
                "switch_case: the index is not an integer");
  Tensor number = to_tensor(index);
  CAPSTAN_CHECK(number.has_value(), ValueError, "switch_case: the index is an empty tensor");
  CAPSTAN_CHECK(number.dtype() == DType::kInt32 || number.dtype() == DType::kInt64, DTypeError,
                "switch_case: the index is ", number.dtype(), ", not int32 or int64", arguments({{"index", number}}));
  CAPSTAN_CHECK(number.rank() == 0, ShapeError, "switch_case: the index has shape ", number.shape(), ", not []",
                arguments({{"index", number}}));
  return number;
}

bool detail::is_known(const Tensor& tensor) { return !is_symbolic(tensor.block()); }

Tensor detail::case_index(std::span<const Tensor> conditions, bool exclusive) {
  const int count = static_cast<int>(conditions.size());
  Tensor index = constant(count);
  Tensor holding = constant(0);
  for (int i = count; i-- > 0;) {
    const Tensor& holds = conditions[static_cast<std::size_t>(i)];
    index = where(holds, i, index);
    if (exclusive) holding = holding + cast(holds, DType::kInt32);
  }
  return exclusive ? where(holding > 1, -1, index) : index;
}

void detail::check_case_index(std::int64_t index, std::int64_t count) {
  CAPSTAN_CHECK(index != 0 || count != 0, ValueError, "switch_case: there are no branches");
  check_case(index, count);
}

std::vector<Tensor> detail::trace_branches(BranchKind branch_kind, const Tensor& selector,
                                           std::span<const BranchBody> branches, std::shared_ptr<void>* structure) {
  const auto node = std::make_shared<Branches>();
  node->kind = control_kind(branch_kind);
  const std::string_view op = name_of(node->kind);
  ControlParts parts(op, {selector});
  for (std::size_t i = 0; i < branches.size(); ++i) {
    node->branches.push_back(
        parts.trace(branch_name(node->kind, i), {}, branches[i].body, i == 0 ? structure : nullptr));
    const Subgraph& branch = node->branches.back();
    CAPSTAN_CHECK(*branches[i].layout == *branches[0].layout, ValueError, op,
                  ": the branches return different structures\n  ", node->branches[0].name, ": ", *branches[0].layout,
                  "\n  ", branch.name, ": ", *branches[i].layout);
    check_agreement(op, node->branches[0], branch);
    for (const std::size_t slot : branch.written) {
      if (std::find(node->written.begin(), node->written.end(), slot) == node->written.end()) {
        node->written.push_back(slot);
      }
    }
  }
  const Subgraph& first = node->branches[0];
  for (std::size_t k = 0; k < first.graph.results.size(); ++k) {
    if (has_result(first, k)) node->results.push_back(k);
  }
  node->complete(parts.size());
  std::vector<Tensor> outputs = parts.finish(*node, node->written);
  std::vector<Tensor> results(first.graph.results.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) results[node->results[k]] = std::move(outputs[k]);
  return results;
}

// --- while_loop ---

std::int64_t detail::iteration_limit(const WhileOptions& options) {
  const std::int64_t limit = options.maximum_iterations.value_or(0);
  CAPSTAN_CHECK(limit >= 0, ValueError, "while_loop: maximum_iterations is ", limit, ", not at least 0");
  return options.maximum_iterations ? limit : -1;
}

std::vector<Tensor> detail::trace_while(const FunctionBody& condition, const FunctionBody& body,
                                        std::vector<Tensor> variables, std::int64_t limit) {
  const auto node = std::make_shared<WhileLoop>();
  node->count = variables.size();
  node->limit = limit;
  CAPSTAN_CHECK(node->count > 0, ValueError, "while_loop: there are no loop variables");
  ControlParts parts("while_loop", std::move(variables));
  const std::vector<ControlParts::Argument> arguments = parts.arguments(0, node->count);
  node->condition = parts.trace("condition", arguments, condition);
  CAPSTAN_CHECK(node->condition.written.empty(), ValueError, "while_loop: the condition assigns a variable",
                help("assign it in the body"));
  node->body = parts.trace("body", arguments, body);
  node->complete(parts.size());
  return parts.finish(*node, node->body.written);
}

void detail::check_carried(const char* op, std::span<const Tensor> before, std::span<const Tensor> after, bool shapes) {
  CAPSTAN_CHECK(before.size() == after.size(), ValueError, op, ": the loop begins with ", before.size(),
                " tensors, and its body returns ", after.size());
  for (std::size_t k = 0; k < before.size(); ++k) {
    CAPSTAN_CHECK(before[k].has_value() && after[k].has_value(), ValueError, op, ": loop variable ", k,
                  " is an empty tensor", arguments({{"before the body", before[k]}, {"after it", after[k]}}));
    CAPSTAN_CHECK(before[k].dtype() == after[k].dtype(), DTypeError, op, ": loop variable ", k, " is ",
                  before[k].dtype(), " before the body and ", after[k].dtype(), " after it",
                  arguments({{"before", before[k]}, {"after", after[k]}}), help("convert it with cast(x, dtype)"));
    CAPSTAN_CHECK(!shapes || before[k].shape() == after[k].shape(), ShapeError, op, ": loop variable ", k,
                  " has shape ", before[k].shape(), " before the body and ", after[k].shape(), " after it",
                  arguments({{"before", before[k]}, {"after", after[k]}}));
  }
}

// --- Rows ---

const char* detail::name_of_rows(RowKind kind) {
  return kind == RowKind::kVectorizedMap ? "vectorized_map" : name_of(control_kind(kind)).data();
}

std::int64_t detail::row_count(RowKind kind, std::span<const Tensor> tensors) {
  const char* const op = name_of_rows(kind);
  CAPSTAN_CHECK(!tensors.empty(), ValueError, op, ": there are no elements");
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    CAPSTAN_CHECK(tensors[k].has_value(), ValueError, op, ": tensor ", k, " of the elements is empty");
    CAPSTAN_CHECK(tensors[k].rank() > 0, ShapeError, op, ": tensor ", k, " of the elements is a scalar and has no rows",
                  arguments({{"elements", tensors[k]}}));
    CAPSTAN_CHECK(tensors[k].shape()[0] == tensors[0].shape()[0], ShapeError, op, ": the elements have ",
                  tensors[0].shape()[0], " and ", tensors[k].shape()[0], " rows",
                  arguments({{"tensor 0", tensors[0]}, {"tensor " + std::to_string(k), tensors[k]}}));
  }
  return tensors[0].shape()[0];
}

std::vector<std::vector<Tensor>> detail::rows_of(std::span<const Tensor> tensors) {
  std::vector<std::vector<Tensor>> rows(static_cast<std::size_t>(tensors[0].shape()[0]));
  for (const Tensor& tensor : tensors) {
    std::vector<Tensor> slices = unstack(tensor);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(std::move(slices[i]));
  }
  return rows;
}

void detail::collect_row(RowKind kind, std::vector<std::vector<Tensor>>& rows, std::vector<Tensor> results,
                         std::int64_t row, std::int64_t count) {
  const char* const op = name_of_rows(kind);
  if (rows.empty()) rows.assign(results.size(), std::vector<Tensor>(static_cast<std::size_t>(count)));
  CAPSTAN_CHECK(results.size() == rows.size(), ValueError, op, ": row ", row, " gives ", results.size(),
                " tensors, and one before it ", rows.size());
  const auto position = static_cast<std::size_t>(row);
  for (std::size_t k = 0; k < results.size(); ++k) {
    CAPSTAN_CHECK(results[k].has_value(), ValueError, op, ": result ", k, " of row ", row, " is an empty tensor");
    std::vector<Tensor>& list = rows[k];
    // Rows come one by one from either end, so the one before is beside this one.
    for (const std::size_t beside : {position - 1, position + 1}) {
      if (beside >= list.size() || !list[beside].has_value()) continue;
      CAPSTAN_CHECK(list[beside].dtype() == results[k].dtype(), DTypeError, op, ": result ", k, " of row ", row, " is ",
                    results[k].dtype(), ", that of row ", beside, " ", list[beside].dtype());
      CAPSTAN_CHECK(list[beside].shape() == results[k].shape(), ShapeError, op, ": result ", k, " of row ", row,
                    " has shape ", results[k].shape(), ", that of row ", beside, " ", list[beside].shape());
    }
    list[position] = std::move(results[k]);
  }
}

std::vector<Tensor> detail::stack_rows(const std::vector<std::vector<Tensor>>& rows) {
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor>& list : rows) stacked.push_back(stack(list));
  return stacked;
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> detail::cut_row(RowKind kind, std::span<const Tensor> tensors,
                                                                    bool last) {
  CAPSTAN_CHECK(row_count(kind, tensors) > 0, ValueError, name_of_rows(kind),
                ": the elements have no rows, and there is no initial value", arguments({{"elements", tensors[0]}}),
                help("give an initial value"));
  std::pair<std::vector<Tensor>, std::vector<Tensor>> cut;
  for (const Tensor& tensor : tensors) {
    cut.first.push_back(last ? tensor(-1) : tensor(0));
    cut.second.push_back(last ? tensor(slice(0, -1)) : tensor(slice(1)));
  }
  return cut;
}

std::vector<Tensor> detail::add_row(std::span<const Tensor> row, std::span<const Tensor> rows, bool last) {
  std::vector<Tensor> joined;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Tensor one = expand_dims(row[k], 0);
    joined.push_back(last ? concat({rows[k], one}, 0) : concat({one, rows[k]}, 0));
  }
  return joined;
}

std::vector<Tensor> detail::scan_of_nothing(std::span<const Tensor> carried) {
  std::vector<Tensor> nothing;
  for (const Tensor& tensor : carried) nothing.push_back(zeros(stacked_shape(0, tensor.shape()), tensor.dtype()));
  return nothing;
}

std::vector<Tensor> detail::no_rows(RowKind kind, const FunctionBody& body, std::span<const Tensor> rows,
                                    std::shared_ptr<void>* structure) {
  const char* const op = name_of_rows(kind);
  std::optional<GraphTracer> tracer;
  if (inside_function()) {
    tracer.emplace(std::string(op), GraphTracer::OfPart{});
  } else {
    tracer.emplace(std::string(op), true);
  }
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : rows) tensors.push_back(tracer->add_argument(tensor.dtype(), row_shape(tensor.shape())));
  *structure = body(tensors);
  tracer.reset();
  std::vector<Tensor> results;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    CAPSTAN_CHECK(tensors[k].has_value(), ValueError, op, ": result ", k, " of the function is an empty tensor");
    results.push_back(zeros(stacked_shape(0, tensors[k].shape()), tensors[k].dtype()));
  }
  return results;
}

std::vector<Tensor> detail::trace_rows(RowKind kind, const FunctionBody& body, std::vector<Tensor> carried,
                                       std::vector<Tensor> sliced, bool reverse, std::shared_ptr<void>* structure) {
  const auto node = std::make_shared<RowLoop>();
  node->kind = control_kind(kind);
  node->carried = carried.size();
  node->sliced = sliced.size();
  node->rows = row_count(kind, sliced);
  node->reverse = reverse;
  std::vector<Tensor> inputs = std::move(carried);
  inputs.insert(inputs.end(), sliced.begin(), sliced.end());
  ControlParts parts(name_of(node->kind), std::move(inputs));
  std::vector<ControlParts::Argument> arguments = parts.arguments(0, node->carried + node->sliced);
  for (std::size_t k = 0; k < node->sliced; ++k) arguments[node->carried + k].spec.shape = row_shape(sliced[k].shape());
  node->body = parts.trace("body", arguments, body, structure);
  check_results(name_of(node->kind), node->body);
  node->collected = node->body.graph.results.size() - node->carried;
  node->complete(parts.size());
  return parts.finish(*node, node->body.written);
}

}  // namespace capstan
