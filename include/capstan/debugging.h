#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capstan/tensor.h"
#include "capstan/tensor_spec.h"

namespace capstan::debugging {

// Checks of values, with the names of tf.debugging. Outside of a trace they check now; in a traced function they are
// part of it and check at every call, in program order, whether anything else uses their operands or not. A check that
// fails throws ValueError, which says which elements are wrong, with their values; a call of a function that throws has
// changed no variable. Operands broadcast; a number takes the dtype of the tensor it meets. Nothing is recorded on
// tapes. Errors: ShapeError and DTypeError for operands that cannot be compared, at once.

/// Options of every check.
struct AssertOptions {
  /// Prefix of the error message.
  std::string message = {};
};

/// Options of assert_near(): |x - y| may be atol + rtol * |y|. What is not given is ten times the distance
/// between 1 and the next number of the dtype.
struct AssertNearOptions {
  std::optional<double> rtol = {};
  std::optional<double> atol = {};
  std::string message = {};
};

/// Every element of a bool tensor is true. `data` is shown if not, as by tf.debugging.Assert.
///
///     debugging::assert_true(loss < 100, {loss}, {.message = "the loss explodes"});
CAPSTAN_EXPORT void assert_true(Operand condition, const std::vector<Tensor>& data = {},
                                const AssertOptions& options = {});

/// x and y are equal in every element.
///
///     debugging::assert_equal(constant({1, 2}), constant({1, 2}));
CAPSTAN_EXPORT void assert_equal(Operand x, Operand y, const AssertOptions& options = {});
/// x and y differ in every element.
///
///     debugging::assert_none_equal(constant({1, 2}), 3);
CAPSTAN_EXPORT void assert_none_equal(Operand x, Operand y, const AssertOptions& options = {});
/// x < y in every element.
///
///     debugging::assert_less(constant({1, 2}), 3);
CAPSTAN_EXPORT void assert_less(Operand x, Operand y, const AssertOptions& options = {});
/// x <= y in every element.
///
///     debugging::assert_less_equal(constant({1, 2}), 2);
CAPSTAN_EXPORT void assert_less_equal(Operand x, Operand y, const AssertOptions& options = {});
/// x > y in every element.
///
///     debugging::assert_greater(constant({1, 2}), 0);
CAPSTAN_EXPORT void assert_greater(Operand x, Operand y, const AssertOptions& options = {});
/// x >= y in every element.
///
///     debugging::assert_greater_equal(constant({1, 2}), 1, {.message = "an id is too small"});
CAPSTAN_EXPORT void assert_greater_equal(Operand x, Operand y, const AssertOptions& options = {});
/// |x - y| <= atol + rtol * |y| in every element. Errors: DTypeError unless the operands are floating.
///
///     debugging::assert_near(constant({1.0, 2.0}), constant({1.001, 2.0}), {.atol = 0.01});
CAPSTAN_EXPORT void assert_near(Operand x, Operand y, const AssertNearOptions& options = {});

/// Every element is above 0.
///
///     debugging::assert_positive(constant({1, 2}));
CAPSTAN_EXPORT void assert_positive(Operand x, const AssertOptions& options = {});
/// Every element is below 0.
///
///     debugging::assert_negative(constant({-1, -2}));
CAPSTAN_EXPORT void assert_negative(Operand x, const AssertOptions& options = {});
/// No element is above 0.
///
///     debugging::assert_non_positive(constant({0, -2}));
CAPSTAN_EXPORT void assert_non_positive(Operand x, const AssertOptions& options = {});
/// No element is below 0.
///
///     debugging::assert_non_negative(constant({0, 2}));
CAPSTAN_EXPORT void assert_non_negative(Operand x, const AssertOptions& options = {});
/// No element is infinite or NaN. Errors: DTypeError unless x is floating.
///
///     debugging::assert_all_finite(constant({1.0, 2.0}));
CAPSTAN_EXPORT void assert_all_finite(Operand x, const AssertOptions& options = {});

/// From now on every op of this thread is checked: if it gives NaN or infinity it throws ValueError, and so does a
/// gradient that holds any. The error names the op, the ranges of its result and arguments with the number of NaN and
/// infinite elements in them, and where it was called, nearest first: lines of source files if
/// the program has debug information (-g) and libdw (Debian: libdw1) is installed, else addresses in the program's
/// file, for `addr2line -Cfi -e PROGRAM 0x1b0aa`. The tapes have not recorded the op. Functions run op by op instead of
/// as programs, so the error names the op within; what is computed while one is traced is not checked, what its calls
/// compute is. Checks read every result once; they cost nothing while they are off, which they are unless enabled.
/// Calling it again changes nothing.
///
///     debugging::enable_check_numerics();
///     Tensor y = log(x);   // check_numerics: log gives 0 NaN and 1 infinite of 3 elements ...
CAPSTAN_EXPORT void enable_check_numerics();
/// Ends what enable_check_numerics() has begun on this thread.
///
///     debugging::disable_check_numerics();
CAPSTAN_EXPORT void disable_check_numerics();

/// x has this rank. Known while a function is traced, and so checked once, then. Errors: ShapeError.
///
///     debugging::assert_rank(zeros({2, 3}), 2);
CAPSTAN_EXPORT void assert_rank(const Tensor& x, int rank, const AssertOptions& options = {});
/// x has this dtype. Checked at once. Errors: DTypeError.
///
///     debugging::assert_type(zeros({2, 3}), float32);
CAPSTAN_EXPORT void assert_type(const Tensor& x, DType dtype, const AssertOptions& options = {});
/// x fits the spec, which may leave lengths open. Checked at once. Errors: DTypeError, ShapeError.
///
///     debugging::assert_shape(zeros({2, 3}), TensorSpec({-1, 3}));
CAPSTAN_EXPORT void assert_shape(const Tensor& x, const TensorSpec& spec, const AssertOptions& options = {});

}  // namespace capstan::debugging
