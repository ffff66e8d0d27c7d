// The templates over structures, for lists of tensors.
#include "capstan/dynamic.h"

#include <cstring>

#include "capstan/control_flow.h"
#include "capstan/recompute.h"
#include "capstan/vectorized_map.h"
#include "src/core/allocator.h"
#include "src/core/check.h"
#include "src/ops/debugging/effect.h"

namespace capstan::dynamic {

namespace {

// A function of one list, for templates that would give it the items of a tuple.
auto of_list(const ListFunction& f) {
  return [&f](const TensorList& list) { return f(list); };
}

// scan and the folds, as what they have in common.
TensorList carry(detail::RowKind kind, const ListFunction& f, const TensorList& elements, TensorList initial,
                 bool reverse) {
  if (detail::row_count(kind, elements) == 0) {
    return kind == detail::RowKind::kScan ? detail::scan_of_nothing(initial) : std::move(initial);
  }
  auto step = [&f](const TensorList& carried, const TensorList& row) {
    TensorList arguments = carried;
    arguments.insert(arguments.end(), row.begin(), row.end());
    return f(arguments);
  };
  return detail::carry_over_rows(kind, step, std::move(initial), elements, elements, reverse);
}

// Copies: a value of a program is overwritten when the program goes on, and the function may keep what it gets.
void run_action(const Call& call, std::span<Tensor> outputs) {
  TensorList values;
  for (const TensorRef& input : call.inputs) {
    values.push_back(new_tensor(input.dtype(), input.shape()));
    if (input.size() > 0) {
      std::memcpy(mutable_raw_data(values.back()), input.raw_data(),
                  static_cast<std::size_t>(input.size()) * size_of(input.dtype()));
    }
  }
  (*call.attributes<EffectAttributes<ListAction>>().job)(values);
  write_token(outputs);
}
constinit const OpDef kAction = effect_op<ListAction>(
    "call_at_every_run", "Calls a function of the program.",
    [](const Call&, OutputSpecs& outputs) { add_token(outputs); }, run_action);

}  // namespace

void call_at_every_run(ListAction f, const TensorList& values) {
  CAPSTAN_CHECK(f != nullptr, ValueError, "call_at_every_run: the function is empty");
  run_effect(kAction, {values.begin(), values.end()}, std::move(f));
}

TensorList cond(Operand condition, const ListFunction& then, const ListFunction& otherwise) {
  return capstan::cond(
      condition, [&] { return then({}); }, [&] { return otherwise({}); });
}

TensorList switch_case(Operand index, std::span<const ListFunction> branches) {
  std::vector<std::function<TensorList()>> functions;
  for (const ListFunction& branch : branches) functions.emplace_back([&branch] { return branch({}); });
  return capstan::switch_case<TensorList>(index, std::move(functions));
}

TensorList while_loop(const ListFunction& condition, const ListFunction& body, TensorList variables,
                      std::optional<std::int64_t> maximum_iterations) {
  const auto holds = [&](const TensorList& list) {
    const TensorList result = condition(list);
    CAPSTAN_CHECK(result.size() == 1, ValueError, "while_loop: the condition gives ", result.size(),
                  " tensors, not one");
    return result[0];
  };
  return capstan::while_loop(holds, of_list(body), std::move(variables), {.maximum_iterations = maximum_iterations});
}

TensorList scan(const ListFunction& f, const TensorList& elements, TensorList initial, const ReverseOptions& options) {
  return carry(detail::RowKind::kScan, f, elements, std::move(initial), options.reverse);
}

TensorList fold(const ListFunction& f, const TensorList& elements, TensorList initial, const ReverseOptions& options) {
  return carry(options.reverse ? detail::RowKind::kFoldr : detail::RowKind::kFoldl, f, elements, std::move(initial),
               options.reverse);
}

TensorList loop_over_rows(const ListFunction& f, TensorList carried, const TensorList& rows,
                          const ReverseOptions& options) {
  constexpr detail::RowKind kKind = detail::RowKind::kScan;
  const std::string_view name = detail::name_of_rows(kKind);
  const auto count = static_cast<std::ptrdiff_t>(carried.size());
  const auto step = [&](TensorList arguments) {
    TensorList results = f(arguments);
    CAPSTAN_CHECK(results.size() >= carried.size(), ValueError, name, ": the loop carries ", carried.size(),
                  " tensors on, and its body returns ", results.size());
    detail::check_carried(name.data(), carried, std::span(results).first(carried.size()), true);
    return results;
  };
  const std::int64_t length = detail::row_count(kKind, rows);
  if (length == 0) {
    auto body = [&](TensorList& tensors) -> std::shared_ptr<void> {
      tensors.insert(tensors.begin(), carried.begin(), carried.end());
      tensors = step(std::move(tensors));
      tensors.erase(tensors.begin(), tensors.begin() + count);
      return nullptr;
    };
    std::shared_ptr<void> structure;
    const TensorList nothing = detail::no_rows(kKind, detail::FunctionBody(body), rows, &structure);
    carried.insert(carried.end(), nothing.begin(), nothing.end());
    return carried;
  }
  if (inside_function()) {
    auto body = [&](TensorList& tensors) -> std::shared_ptr<void> {
      tensors = step(std::move(tensors));
      return nullptr;
    };
    return detail::trace_rows(kKind, detail::FunctionBody(body), carried, rows, options.reverse, nullptr);
  }
  const std::vector<TensorList> slices = detail::rows_of(rows);
  std::vector<TensorList> collected;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t row = options.reverse ? length - 1 - i : i;
    TensorList arguments = carried;
    const TensorList& slice = slices[static_cast<std::size_t>(row)];
    arguments.insert(arguments.end(), slice.begin(), slice.end());
    TensorList results = step(std::move(arguments));
    std::move(results.begin(), results.begin() + count, carried.begin());
    results.erase(results.begin(), results.begin() + count);
    detail::collect_row(kKind, collected, std::move(results), row, length);
  }
  const TensorList stacks = detail::stack_rows(collected);
  carried.insert(carried.end(), stacks.begin(), stacks.end());
  return carried;
}

TensorList map_fn(const ListFunction& f, const TensorList& elements) { return capstan::map_fn(of_list(f), elements); }

TensorList vectorized_map(const ListFunction& f, const TensorList& elements) {
  return capstan::vectorized_map(of_list(f), elements);
}

TensorList recompute(const ListFunction& f, const TensorList& arguments) {
  // Gradients call it again, after this call has ended.
  return recompute_grad([f](const TensorList& list) { return f(list); })(arguments);
}

}  // namespace capstan::dynamic
