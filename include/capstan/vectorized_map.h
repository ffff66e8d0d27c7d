// Functions of one example, run for all examples at once: vectorized_map, per_example_gradients.
#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "capstan/control_flow.h"
#include "capstan/tape.h"

namespace capstan {

namespace detail {

/// Traces the body for one row of the tensors and runs it for all rows. Throws what the body throws, and ValueError if
/// it assigns a variable something that differs from row to row.
CAPSTAN_EXPORT std::vector<Tensor> run_vectorized(const FunctionBody& body, std::span<const Tensor> rows,
                                                  std::shared_ptr<void>* structure);
/// Throws ShapeError unless what a function gives is a scalar.
CAPSTAN_EXPORT void check_loss(const char* call, const Tensor& loss);

}  // namespace detail

/// What map_fn gives, computed for all rows at once: `f` is called one time, with a symbolic row, and its ops run on
/// all rows by their batching rules. The elements are a tensor or a structure of tensors of one first length, and so is
/// the result; what `f` uses beside its argument is the same for all rows. `f` may open tapes and ask them for
/// gradients, draw random numbers (each row has its own) and call any function of the library; ops without a batching
/// rule run row by row, which is said once on std::cerr. An empty tensor in the result, such as a missing gradient,
/// stays one. Outer tapes see what is computed.
///
/// Errors: ShapeError for elements of different lengths and for a scalar; TraceError if `f` reads elements of its
/// argument; ValueError if it assigns a variable something that differs from row to row. As tf.vectorized_map, and like
/// jax.vmap.
///
///     Tensor squares = vectorized_map([](const Tensor& row) { return reduce_sum(row * row); }, x);   // [n, d] -> [n]
template <class F, class Elements>
auto vectorized_map(F f, const Elements& elements) {
  using Result = std::remove_cvref_t<decltype(detail::call_with(f, elements))>;
  static_assert(detail::only_tensors<Elements>() && detail::only_tensors<Result>(),
                "vectorized_map takes and returns tensors or structures of tensors");
  constexpr auto kind = detail::RowKind::kVectorizedMap;
  const std::vector<Tensor> rows = detail::tensors_of(elements);
  return detail::map_in_trace<Result>(kind, f, elements, rows,
                                      [&](const detail::FunctionBody& body, std::shared_ptr<void>* structure) {
                                        return detail::run_vectorized(body, rows, structure);
                                      });
}

/// The gradient of `f(example)`, a scalar, by each of the sources, for every example by itself: for each source a
/// tensor with the axis of the examples in front, in the structure of the sources. The examples are a tensor or a
/// structure of tensors of one first length; `f` gets one of them, without that axis. Gradients that are missing are
/// zeros.
///
/// Errors: those of vectorized_map; ShapeError if `f` does not return a scalar.
///
///     auto g = per_example_gradients([&](const std::tuple<Tensor, Tensor>& example) { return loss(example); },
///                                    std::tuple(images, labels), model.trainable_variables());
template <class F, class Examples, class Sources>
GradientsOf<Sources> per_example_gradients(F f, const Examples& examples, const Sources& sources) {
  return vectorized_map(
      [&](const Examples& example) {
        GradientTape tape;
        tape.watch(sources);
        const Tensor loss = detail::call_with(f, example);
        detail::check_loss("per_example_gradients", loss);
        return tape.gradient(loss, sources, {.unconnected_gradients = UnconnectedGradients::kZero});
      },
      examples);
}

}  // namespace capstan
