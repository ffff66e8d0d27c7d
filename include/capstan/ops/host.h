#pragma once

#include <array>
#include <functional>
#include <optional>

#include "capstan/tensor.h"

namespace capstan {

/// True while a function is traced: see function() in capstan/function.h.
///
///     inside_function();  // false
CAPSTAN_EXPORT bool inside_function();

/// A scalar that the program computes outside of Capstan: `f()` now, or, in a traced function, `f()` anew at every
/// call, in the order of the trace. The calls happen whether the result is used or not. If a call throws, the run
/// changes no variable, which costs copies of those written before; `nothrow` promises that it does not. Errors:
/// DTypeError unless the dtype is float32 or float64.
///
///     auto step = function([&](const Tensor& x) { return x * host_value([&] { return sensor.read(); }); });
CAPSTAN_EXPORT Tensor host_value(const std::function<double()>& f, DType dtype = floatx(), bool nothrow = false);

/// Options of host_dropout_mask().
struct HostDropoutOptions {
  /// The fraction that is dropped, in [0, 1).
  double rate = 0.5;
  /// The shape of the mask, which broadcasts against x; -1 means the length of x, an empty list its shape.
  std::optional<Shape> noise_shape;
  /// If true, the draw is random::stateless_uniform of both seeds; otherwise that of dropout(x, rate, first seed).
  bool stateless = false;
};

/// What dropout multiplies x with: 1 / (1 - rate) where an element is kept, 0 where it is dropped. Of x only shape and
/// dtype are read. The seeds of the draw are `seeds()` now, or, in a traced function, `seeds()` anew at every call, as
/// for host_value(); without a function they come from next_seed(). Errors: ValueError for the rate, ShapeError for a
/// noise_shape of another rank, DTypeError unless x is floating.
///
///     Tensor y = x * host_dropout_mask(x, [&] { return std::array{seed, calls++}; }, {.rate = 0.3});
CAPSTAN_EXPORT Tensor host_dropout_mask(const Tensor& x, const std::function<std::array<std::int64_t, 2>()>& seeds,
                                        const HostDropoutOptions& options);

/// Options of host_normal() and host_uniform().
struct HostRandomOptions {
  bool stateless = false;  ///< whether both seeds count
};

/// Standard normal numbers in the shape and dtype of x, of which nothing else is read, with seeds as
/// host_dropout_mask() takes them. If `stateless`, the draw is that of tf.random.stateless_normal with both seeds;
/// otherwise that of random::normal with the first. Errors: DTypeError unless x is floating.
///
///     Tensor noise = host_normal(x, [&] { return std::array{seed, calls++}; });
CAPSTAN_EXPORT Tensor host_normal(const Tensor& x, const std::function<std::array<std::int64_t, 2>()>& seeds,
                                  const HostRandomOptions& options = {});

/// Numbers evenly distributed in [0, 1) in the shape and dtype of x, of which nothing else is read, with seeds as
/// host_dropout_mask() takes them. If `stateless`, the draw is random::stateless_uniform of both seeds; otherwise that
/// of random::uniform with the first. Errors: DTypeError unless x is floating.
///
///     Tensor noise = host_uniform(x, [&] { return std::array{seed, calls++}; });
CAPSTAN_EXPORT Tensor host_uniform(const Tensor& x, const std::function<std::array<std::int64_t, 2>()>& seeds,
                                   const HostRandomOptions& options = {});

}  // namespace capstan
