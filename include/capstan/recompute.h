#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/control_flow.h"
#include "capstan/tape.h"

namespace capstan {

namespace detail {

/// Runs `body` so that tapes take it for one op, whose rule runs it again.
CAPSTAN_EXPORT std::vector<Tensor> recompute(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body,
                                             std::vector<Tensor> arguments);

}  // namespace detail

/// A function whose intermediate values are not kept for its gradient: see recompute_grad.
template <class F>
class Recompute {
 public:
  explicit Recompute(F f) : f_(std::make_shared<F>(std::move(f))) {}

  /// The function itself, as it was given.
  const F& wrapped() const { return *f_; }

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    using Result = std::decay_t<std::invoke_result_t<F&, const std::decay_t<const Arguments&>&...>>;
    static_assert(!std::is_void_v<Result> && detail::only_tensors<Result>(),
                  "a recomputed function returns tensors or structures of tensors");
    const auto visit = [](auto& structure, const auto& replace) {
      std::apply([&](auto&... items) { (detail::replace_tensors(items, replace), ...); }, structure);
    };
    std::tuple<std::decay_t<const Arguments&>...> given(arguments...);
    std::vector<Tensor> tensors;
    visit(given, [&](Tensor& tensor) { tensors.push_back(tensor); });
    const auto first = std::make_shared<std::optional<Result>>();  // the structure, taken from the first run
    const std::weak_ptr<std::optional<Result>> structure = first;
    const auto body = [f = f_, given, structure, visit](std::span<const Tensor> values) {
      auto now = given;
      std::size_t next = 0;
      visit(now, [&](Tensor& tensor) { tensor = values[next++]; });
      Result result = std::apply([&](const auto&... items) -> Result { return (*f)(items...); }, now);
      std::vector<Tensor> leaves = detail::tensors_of(result);
      if (const auto kept = structure.lock()) *kept = std::move(result);
      return leaves;
    };
    const std::vector<Tensor> results = detail::recompute(body, std::move(tensors));
    return detail::with_tensors(*std::move(*first), results);
  }

 private:
  std::shared_ptr<F> f_;
};

/// A function that does what `f` does but keeps only its arguments for gradients, not what it computes on the way: a
/// gradient runs it once more. A model whose blocks are wrapped needs the memory of its widest block instead of that
/// of all, for the time of one more forward pass.
///
/// Arguments are tensors, variables, plain values and structures of these; the result is a tensor or a structure of
/// tensors. Gradients flow to the arguments, to variables that f reads and to watched tensors that it reaches otherwise
/// (by a capture), in any order and nesting. The second run draws the same random numbers, finds variables as the first
/// one did, and changes none. In a traced function the call is one node, which is computed anew where the gradient
/// needs it. Without a tape the call is that of f. As gradients call f again, it captures by value what may be gone by
/// then.
///
/// Errors: what f throws, in either run. GradientError if the second run draws more random numbers or gives other
/// results than the first.
///
///     auto block = recompute_grad([&](const Tensor& x) { return dense_2(dense_1(x)); });
///     GradientTape tape;
///     Tensor y = block(block(x));
template <class F>
Recompute<std::decay_t<F>> recompute_grad(F&& f) {
  return Recompute<std::decay_t<F>>(std::forward<F>(f));
}

}  // namespace capstan
