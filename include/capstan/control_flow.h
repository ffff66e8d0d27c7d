// Choices and loops that depend on values: cond, switch_case, case_of, while_loop, scan, map_fn, foldl, foldr.
//
// Outside of function() they simply run, and tapes see the ops of what was run. In the trace of a function each becomes
// one node that holds the graphs of its branches or of its body, which are traced once. Both have gradients of any
// order; draws are fresh in every iteration, and variables can be read and assigned inside.
//
// In a trace, a branch or a body may use tensors of the function around it, but what it computes can leave it only as
// its result. Its results have a fixed dtype and shape: those of all branches agree, and a loop does not change those
// of what it carries on. A source that the target depends on only by a branch that was not taken has a gradient of
// zeros there, and none outside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/function.h"

namespace capstan {

/// One case of case_of: what to call if the condition holds.
template <class Result = Tensor>
struct Case {
  Tensor condition;
  std::function<Result()> then;
};

/// Options of case_of.
struct CaseOptions {
  /// It is an error if more than one condition holds, instead of a call of the first.
  bool exclusive = false;
};

/// Options of while_loop.
struct WhileOptions {
  /// The loop ends after so many iterations even if the condition still holds.
  std::optional<std::int64_t> maximum_iterations = std::nullopt;
};

/// Options of scan.
struct ScanOptions {
  /// From the last row to the first; results stay in the places of their rows.
  bool reverse = false;
};

namespace detail {

// The lengths and keys of a structure, to compare what two branches return: "2[_, _]".
template <class T>
void add_layout(const T& value, std::string& text) {
  constexpr StructureKind kKind = kKindOf<T>;
  if constexpr (std::is_same_v<T, Tensor>) {
    text += "_";
  } else if constexpr (kKind == StructureKind::kNest) {
    text += value.form();
  } else if constexpr (kKind == StructureKind::kMap) {
    text += "{";
    for (const auto& [key, item] : value) {
      if constexpr (std::is_convertible_v<decltype(key), std::string>) {
        text += std::string(key) + ": ";
      } else if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(key)>>) {
        text += std::to_string(key) + ": ";
      }
      add_layout(item, text);
      text += " ";
    }
    text += "}";
  } else {
    text += "[";
    visit_parts(value, [&](const auto& part) {
      add_layout(part, text);
      text += " ";
    });
    text += "]";
  }
}

template <class T>
std::vector<Tensor> tensors_of(const T& structure) {
  std::vector<Tensor> tensors;
  for_each_leaf(structure, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

// The structure with its tensors replaced by those of the list from `first` on.
template <class T>
T with_tensors(T structure, std::span<const Tensor> tensors) {
  std::size_t next = 0;
  replace_tensors(structure, [&](Tensor& tensor) { tensor = tensors[next++]; });
  return structure;
}

template <class F, class T>
decltype(auto) call_with(F& f, const T& value) {
  if constexpr (std::is_invocable_v<F&, const T&>) {
    return f(value);
  } else {
    return std::apply(f, value);
  }
}

// What the trace of a branch gives beside its tensors.
struct BranchBody {
  FunctionBody body;
  const std::string* layout;
};

/// The scalar bool that an operand is. Throws DTypeError, ShapeError.
CAPSTAN_EXPORT Tensor condition_of(const char* op, Operand condition);
/// The scalar integer that an operand is.
CAPSTAN_EXPORT Tensor branch_index_of(Operand index);
/// False for a value of a traced function.
CAPSTAN_EXPORT bool is_known(const Tensor& tensor);

enum class BranchKind : std::uint8_t { kCond, kSwitchCase, kCaseOf };
CAPSTAN_EXPORT std::vector<Tensor> trace_branches(BranchKind kind, const Tensor& selector,
                                                  std::span<const BranchBody> branches,
                                                  std::shared_ptr<void>* structure);
/// Which of the conditions holds: their count if none does, -1 if several do and may not.
CAPSTAN_EXPORT Tensor case_index(std::span<const Tensor> conditions, bool exclusive);
/// Throws ValueError unless one of `count` cases is named.
CAPSTAN_EXPORT void check_case_index(std::int64_t index, std::int64_t count);

CAPSTAN_EXPORT std::vector<Tensor> trace_while(const FunctionBody& condition, const FunctionBody& body,
                                               std::vector<Tensor> variables, std::int64_t limit);
CAPSTAN_EXPORT std::int64_t iteration_limit(const WhileOptions& options);

enum class RowKind : std::uint8_t { kScan, kMapFn, kFoldl, kFoldr, kVectorizedMap };
/// The number of rows of all tensors. Throws ShapeError, ValueError.
CAPSTAN_EXPORT std::int64_t row_count(RowKind kind, std::span<const Tensor> tensors);
/// The results of a body for rows of these shapes, each with zero rows.
CAPSTAN_EXPORT std::vector<Tensor> no_rows(RowKind kind, const FunctionBody& body, std::span<const Tensor> rows,
                                           std::shared_ptr<void>* structure);
/// What was carried on to the end, then what was collected.
CAPSTAN_EXPORT std::vector<Tensor> trace_rows(RowKind kind, const FunctionBody& body, std::vector<Tensor> carried,
                                              std::vector<Tensor> sliced, bool reverse,
                                              std::shared_ptr<void>* structure);

/// Compares what a loop carries on with what it had. Throws ValueError, DTypeError, ShapeError.
CAPSTAN_EXPORT void check_carried(const char* op, std::span<const Tensor> before, std::span<const Tensor> after,
                                  bool shapes);
/// Puts row `row` of every result into its place; `rows` is sized by the first.
CAPSTAN_EXPORT void collect_row(RowKind kind, std::vector<std::vector<Tensor>>& rows, std::vector<Tensor> results,
                                std::int64_t row, std::int64_t count);
CAPSTAN_EXPORT std::vector<Tensor> stack_rows(const std::vector<std::vector<Tensor>>& rows);
CAPSTAN_EXPORT std::vector<std::vector<Tensor>> rows_of(std::span<const Tensor> tensors);
CAPSTAN_EXPORT const char* name_of_rows(RowKind kind);

// One branch in a trace.
template <class Result, class F>
auto branch_closure(F& f, std::string& layout) {
  return [&f, &layout](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    if constexpr (std::is_void_v<Result>) {
      f();
      return nullptr;
    } else {
      auto result = std::make_shared<Result>(f());
      add_layout(*result, layout);
      replace_tensors(*result, [&](Tensor& tensor) { tensors.push_back(std::move(tensor)); });
      return result;
    }
  };
}

template <class Result>
Result branch_result(const std::shared_ptr<void>& structure, std::span<const Tensor> tensors) {
  if constexpr (!std::is_void_v<Result>) return with_tensors(*static_cast<const Result*>(structure.get()), tensors);
}

// A choice among functions of one type, of which the selector is not known.
template <class Result>
Result choose_in_trace(BranchKind kind, const Tensor& selector, std::vector<std::function<Result()>>& functions) {
  static_assert(only_tensors<Result>(), "a branch returns tensors or structures of tensors");
  std::vector<std::string> layouts(functions.size());
  using Closure = decltype(branch_closure<Result>(functions[0], layouts[0]));
  std::vector<Closure> closures;
  closures.reserve(functions.size());
  std::vector<BranchBody> branches;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    closures.push_back(branch_closure<Result>(functions[i], layouts[i]));
    branches.push_back({FunctionBody(closures.back()), &layouts[i]});
  }
  std::shared_ptr<void> structure;
  const std::vector<Tensor> tensors = trace_branches(kind, selector, branches, &structure);
  return branch_result<Result>(structure, tensors);
}

// A loop over rows that carries a structure on, from the trace or from here: the final structure, or all of them
// stacked.
template <class F, class Carried, class Rows>
Carried carry_over_rows(RowKind kind, F& f, Carried carried, const Rows& rows, std::span<const Tensor> sliced,
                        bool reverse) {
  static_assert(only_tensors<Carried>() && only_tensors<Rows>(),
                "loops take tensors or structures of tensors; write constant(0) for a number");
  static_assert(std::is_convertible_v<std::invoke_result_t<F&, const Carried&, const Rows&>, Carried>,
                "the function returns what it carries on, in the structure of the initial value");
  const std::vector<Tensor> begin = tensors_of(carried);
  const bool collects = kind == RowKind::kScan;
  if (inside_function()) {
    auto closure = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
      const std::span<const Tensor> all(tensors);
      const Carried next = f(with_tensors(carried, all), with_tensors(rows, all.subspan(begin.size())));
      tensors = tensors_of(next);
      check_carried(name_of_rows(kind), begin, tensors, true);
      if (collects) {
        const std::vector<Tensor> again = tensors;
        tensors.insert(tensors.end(), again.begin(), again.end());
      }
      return nullptr;
    };
    const std::vector<Tensor> results = trace_rows(kind, FunctionBody(closure), begin,
                                                   std::vector<Tensor>(sliced.begin(), sliced.end()), reverse, nullptr);
    return with_tensors(carried, std::span(results).subspan(collects ? begin.size() : 0));
  }
  const std::int64_t count = row_count(kind, sliced);
  const std::vector<std::vector<Tensor>> slices = rows_of(sliced);
  std::vector<std::vector<Tensor>> collected;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = reverse ? count - 1 - i : i;
    Carried next = f(std::as_const(carried), with_tensors(rows, slices[static_cast<std::size_t>(row)]));
    std::vector<Tensor> tensors = tensors_of(next);
    check_carried(name_of_rows(kind), begin, tensors, true);
    carried = std::move(next);
    if (collects) collect_row(kind, collected, std::move(tensors), row, count);
  }
  return collects ? with_tensors(std::move(carried), stack_rows(collected)) : carried;
}

/// The first or the last row of each tensor, then the tensors without it.
CAPSTAN_EXPORT std::pair<std::vector<Tensor>, std::vector<Tensor>> cut_row(RowKind kind,
                                                                           std::span<const Tensor> tensors, bool last);
/// Tensors of rows with one more row before or after each.
CAPSTAN_EXPORT std::vector<Tensor> add_row(std::span<const Tensor> row, std::span<const Tensor> rows, bool last);
/// The carried tensors as results of a scan of no rows.
CAPSTAN_EXPORT std::vector<Tensor> scan_of_nothing(std::span<const Tensor> carried);

// A function of a row by its trace: `run` gives the results of all rows.
template <class Result, class F, class Elements, class Run>
Result map_in_trace(RowKind kind, F& f, const Elements& elements, std::span<const Tensor> rows, const Run& run) {
  auto closure = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    auto result = std::make_shared<Result>(call_with(f, with_tensors(elements, tensors)));
    tensors = tensors_of(*result);
    return result;
  };
  const FunctionBody body(closure);
  std::shared_ptr<void> structure;
  const std::vector<Tensor> results =
      row_count(kind, rows) == 0 ? no_rows(kind, body, rows, &structure) : run(body, &structure);
  return with_tensors(*static_cast<const Result*>(structure.get()), results);
}

template <class F, class Carried, class Rows>
Carried fold(RowKind kind, F& f, Carried carried, const Rows& elements) {
  const std::vector<Tensor> sliced = tensors_of(elements);
  if (row_count(kind, sliced) == 0) return carried;
  return carry_over_rows(kind, f, std::move(carried), elements, sliced, kind == RowKind::kFoldr);
}

template <class F, class Rows>
Rows fold(RowKind kind, F& f, const Rows& elements) {
  const auto [first, rest] = cut_row(kind, tensors_of(elements), kind == RowKind::kFoldr);
  return fold(kind, f, with_tensors(elements, first), with_tensors(elements, rest));
}

}  // namespace detail

/// Calls `then` if the condition holds, else `otherwise`, and returns the result: a tensor, a structure of tensors, or
/// nothing. The condition is a scalar bool, of a tensor, a variable or C++; it has no gradient. Of a condition that is
/// known while a function is traced, only the branch taken is traced.
///
/// Errors: DTypeError and ShapeError for another condition; in a trace also ValueError, DTypeError and ShapeError if
/// the results of the branches differ in structure, dtype or shape. As tf.cond.
///
///     Tensor y = cond(reduce_sum(x) > 0, [&] { return x * x; }, [&] { return -x; });
template <class Then, class Otherwise>
auto cond(Operand condition, Then then, Otherwise otherwise) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Then&>>;
  static_assert(std::is_same_v<Result, std::remove_cvref_t<std::invoke_result_t<Otherwise&>>>,
                "both branches return the same type");
  const Tensor holds = detail::condition_of("cond", condition);
  if (detail::is_known(holds)) {
    if (holds.item<bool>()) return static_cast<Result>(then());
    return static_cast<Result>(otherwise());
  }
  std::vector<std::function<Result()>> functions = {std::ref(then), std::ref(otherwise)};
  return detail::choose_in_trace<Result>(detail::BranchKind::kCond, holds, functions);
}

/// Calls the branch with this number, a scalar int32 or int64. Any other number calls `otherwise`, or the last branch
/// if that is not given. Results and errors as for cond; ValueError if there are no branches. As tf.switch_case.
///
///     Tensor y = switch_case(k, {[&] { return x; }, [&] { return x * x; }});
template <class Result = Tensor>
Result switch_case(Operand index, std::type_identity_t<std::vector<std::function<Result()>>> branches,
                   std::type_identity_t<std::function<Result()>> otherwise = nullptr) {
  if (otherwise != nullptr) branches.push_back(std::move(otherwise));
  if (branches.empty()) detail::check_case_index(0, 0);
  const Tensor selector = detail::branch_index_of(index);
  if (!detail::is_known(selector)) {
    return detail::choose_in_trace<Result>(detail::BranchKind::kSwitchCase, selector, branches);
  }
  const auto number = selector.item<std::int64_t>();
  const auto count = static_cast<std::int64_t>(branches.size());
  return branches[static_cast<std::size_t>(number < 0 || number >= count ? count - 1 : number)]();
}

/// Calls the function of the first case whose condition holds, else `otherwise`. Conditions are scalar bools; all of
/// them are computed before. Results and errors as for cond, and ValueError if no condition holds and `otherwise` is
/// not given, or if several hold and CaseOptions::exclusive is set. As tf.case.
///
///     Tensor y = case_of({{x < 1, [&] { return 10 * x; }}, {x < 2, [&] { return 20 * x; }}}, [&] { return 30 * x; });
template <class Result = Tensor>
Result case_of(std::type_identity_t<std::vector<Case<Result>>> cases,
               std::type_identity_t<std::function<Result()>> otherwise = nullptr, const CaseOptions& options = {}) {
  std::vector<Tensor> conditions;
  std::vector<std::function<Result()>> functions;
  for (Case<Result>& one : cases) {
    conditions.push_back(detail::condition_of("case_of", one.condition));
    functions.push_back(std::move(one.then));
  }
  if (otherwise != nullptr) functions.push_back(std::move(otherwise));
  const Tensor selector = detail::case_index(conditions, options.exclusive);
  if (!detail::is_known(selector)) {
    return detail::choose_in_trace<Result>(detail::BranchKind::kCaseOf, selector, functions);
  }
  const auto number = selector.item<std::int64_t>();
  detail::check_case_index(number, static_cast<std::int64_t>(functions.size()));
  return functions[static_cast<std::size_t>(number)]();
}

/// Calls the body with the loop variables, and then with what it returned, as long as the condition holds of them;
/// returns the last ones. The loop variables are a tensor or a structure of tensors; those of a tuple are given to the
/// functions one by one. The condition returns a scalar bool. Gradients go back through the iterations that were made;
/// they take memory for each of them.
///
/// Errors: DTypeError if the body changes the dtype of a loop variable, ValueError if it changes the length of a list
/// or if maximum_iterations is negative, ShapeError if it changes a shape in a trace (outside it may), and what cond
/// says of the condition, which must not assign variables. As tf.while_loop.
///
///     auto [i, a] = while_loop([](const Tensor& i, const Tensor&) { return i < 10; },
///                              [&](const Tensor& i, const Tensor& a) { return std::tuple(i + 1, tanh(matmul(a, w)));
///                              }, std::tuple(constant(0), x));
template <class Condition, class Body, class Variables>
Variables while_loop(Condition condition, Body body, Variables variables, const WhileOptions& options = {}) {
  static_assert(detail::only_tensors<Variables>(),
                "loop variables are tensors or structures of tensors; write constant(0) for a number");
  static_assert(std::is_convertible_v<decltype(detail::call_with(body, std::declval<const Variables&>())), Variables>,
                "the body returns the loop variables in the structure in which it gets them");
  const std::int64_t limit = detail::iteration_limit(options);
  const std::vector<Tensor> begin = detail::tensors_of(variables);
  if (!inside_function()) {
    for (std::int64_t i = 0; i != limit; ++i) {
      const Variables& now = variables;
      if (!detail::condition_of("while_loop", detail::call_with(condition, now)).template item<bool>()) break;
      Variables next = detail::call_with(body, now);
      detail::check_carried("while_loop", begin, detail::tensors_of(next), false);
      variables = std::move(next);
    }
    return variables;
  }
  auto condition_closure = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    const Variables now = detail::with_tensors(variables, tensors);
    tensors = {detail::condition_of("while_loop", detail::call_with(condition, now))};
    return nullptr;
  };
  auto body_closure = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    const Variables now = detail::with_tensors(variables, tensors);
    const Variables next = detail::call_with(body, now);
    tensors = detail::tensors_of(next);
    detail::check_carried("while_loop", begin, tensors, true);
    return nullptr;
  };
  const std::vector<Tensor> end =
      detail::trace_while(detail::FunctionBody(condition_closure), detail::FunctionBody(body_closure), begin, limit);
  return detail::with_tensors(std::move(variables), end);
}

/// Calls `f(carried, row)` for each row of the elements, along their first axis, with what it returned for the row
/// before, and returns all of that stacked: running sums, recurrent networks. The carried value is a tensor or a
/// structure of tensors, and so are the elements, all of one length. Without an initial value the first row is it, and
/// the first result.
///
/// Errors: ShapeError for elements of different lengths and for a scalar; ValueError if there is neither a row nor an
/// initial value; ValueError, DTypeError or ShapeError if `f` changes structure, dtype or shape of what it carries on.
/// As tf.scan.
///
///     Tensor states = scan([&](const Tensor& h, const Tensor& x) { return tanh(matmul(h, w) + x); }, inputs, h0);
template <class F, class Elements, class Carried>
Carried scan(F f, const Elements& elements, Carried initial,
             const ScanOptions& options = {}) requires(!std::is_same_v<Carried, ScanOptions>) {
  const std::vector<Tensor> sliced = detail::tensors_of(elements);
  if (detail::row_count(detail::RowKind::kScan, sliced) == 0) {
    const std::vector<Tensor> nothing = detail::scan_of_nothing(detail::tensors_of(initial));
    return detail::with_tensors(std::move(initial), nothing);
  }
  return detail::carry_over_rows(detail::RowKind::kScan, f, std::move(initial), elements, sliced, options.reverse);
}
template <class F, class Elements>
Elements scan(F f, const Elements& elements, const ScanOptions& options = {}) {
  const auto [first, rest] = detail::cut_row(detail::RowKind::kScan, detail::tensors_of(elements), options.reverse);
  const Elements others =
      scan(std::move(f), detail::with_tensors(elements, rest), detail::with_tensors(elements, first), options);
  return detail::with_tensors(elements, detail::add_row(first, detail::tensors_of(others), options.reverse));
}

/// Calls `f(carried, row)` for each row, from the first to the last (foldr: from the last to the first), and returns
/// what it returned at the end; the initial value if there are no rows. Otherwise as scan.
///
///     Tensor sum = foldl([](const Tensor& sum, const Tensor& row) { return sum + row; }, x, zeros({2}));
template <class F, class Elements, class Carried>
Carried foldl(F f, const Elements& elements, Carried initial) {
  return detail::fold(detail::RowKind::kFoldl, f, std::move(initial), elements);
}
template <class F, class Elements>
Elements foldl(F f, const Elements& elements) {
  return detail::fold(detail::RowKind::kFoldl, f, elements);
}
template <class F, class Elements, class Carried>
Carried foldr(F f, const Elements& elements, Carried initial) {
  return detail::fold(detail::RowKind::kFoldr, f, std::move(initial), elements);
}
template <class F, class Elements>
Elements foldr(F f, const Elements& elements) {
  return detail::fold(detail::RowKind::kFoldr, f, elements);
}

/// Calls `f(row)` for each row of the elements, along their first axis, and stacks what it returns: tensors or
/// structures of tensors, of the same shapes for all rows. The rows of a tuple of tensors are given to `f` one by one
/// if it takes them so. Of elements without rows, `f` is traced once to learn what it would return.
///
/// Errors: ShapeError for elements of different lengths and for a scalar; ValueError, DTypeError or ShapeError if the
/// results of two rows differ. As tf.map_fn.
///
///     Tensor sums = map_fn([](const Tensor& row) { return reduce_sum(row * row); }, x);
template <class F, class Elements>
auto map_fn(F f, const Elements& elements) {
  using Result = std::remove_cvref_t<decltype(detail::call_with(f, elements))>;
  static_assert(detail::only_tensors<Elements>() && detail::only_tensors<Result>(),
                "map_fn takes and returns tensors or structures of tensors");
  constexpr auto kind = detail::RowKind::kMapFn;
  const std::vector<Tensor> sliced = detail::tensors_of(elements);
  const std::int64_t count = detail::row_count(kind, sliced);
  if (!inside_function() && count > 0) {
    const std::vector<std::vector<Tensor>> slices = detail::rows_of(sliced);
    std::vector<std::vector<Tensor>> collected;
    std::optional<Result> first;
    for (std::int64_t row = 0; row < count; ++row) {
      Result result = detail::call_with(f, detail::with_tensors(elements, slices[static_cast<std::size_t>(row)]));
      detail::collect_row(kind, collected, detail::tensors_of(result), row, count);
      if (!first) first = std::move(result);
    }
    return detail::with_tensors(std::move(*first), detail::stack_rows(collected));
  }
  return detail::map_in_trace<Result>(kind, f, elements, sliced,
                                      [&](const detail::FunctionBody& body, std::shared_ptr<void>* structure) {
                                        return detail::trace_rows(kind, body, {}, sliced, false, structure);
                                      });
}

}  // namespace capstan
