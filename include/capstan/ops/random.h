#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capstan/seed.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// Sets the key of the process's stream: all later draws without a seed of their own follow from
/// it. A program that never calls this gets the same numbers in every run.
///
///     set_seed(42);
CAPSTAN_EXPORT void set_seed(std::uint64_t seed);
/// The next key of the process's stream: what a draw without a seed uses. Safe to call from any
/// thread.
///
///     random::normal({2}, 0, 1, float32, next_seed());  // float32[2]
CAPSTAN_EXPORT std::uint64_t next_seed();

namespace random {

// Draws from Philox4x32, a function of the seed and an element's position, so the same seed gives
// the same bits on any number of threads. Without a seed a draw uses next_seed(). Errors: ShapeError for a negative
// length, DTypeError, ValueError for an empty range of integers and for parameters that no distribution has.
//
// Where the parameters are tensors the draw is a differentiable function of them, as far as that exists: a fixed
// standard draw is moved and scaled, and a gamma draw changes so that its distribution function stays the same
// (Figurnov, Mohamed, Mnih 2018). Integers have no gradient. Integer ranges are drawn by a product with 64 random bits,
// whose bias is below range / 2^64.

/// Evenly distributed in [minval, maxval); of floating dtypes, int32 or int64.
///
///     random::uniform({2, 3}, -1, 1);  // float32[2, 3]
///     random::uniform({4}, 0, 10, int32);  // int32[4]
CAPSTAN_EXPORT Tensor uniform(const Shape& shape, double minval = 0, double maxval = 1, DType dtype = floatx(),
                              Seed seed = {});
/// Normally distributed.
///
///     random::normal({2, 3}, 0, 0.5);  // float32[2, 3]
CAPSTAN_EXPORT Tensor normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = floatx(),
                             Seed seed = {});
/// Normally distributed; what lies more than two standard deviations from the mean is drawn again.
///
///     random::truncated_normal({2, 3});  // float32[2, 3]
CAPSTAN_EXPORT Tensor truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = floatx(),
                                       Seed seed = {});

/// What a stateless draw is a function of, beside dtype and position: two seeds, or the state of a Generator. A tensor
/// has two or three elements of int64 or int32 along its last axis; with more axes it is a batch of draws, whose axes
/// come before those of `shape`.
class CAPSTAN_EXPORT Seeds {
 public:
  Seeds(std::int64_t first, std::int64_t second);
  Seeds(const std::array<std::int64_t, 2>& seeds);
  Seeds(const Tensor& seeds);
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

/// Draws with the bits of TensorFlow's functions of these names; what takes logarithms may differ in the last one. For
/// programs that must draw what they drew in TensorFlow, and where the seed is a tensor; `uniform` with a seed is
/// faster. Errors: ShapeError for a tensor of another shape or a negative length; DTypeError if `dtype` is not
/// floating.
///
///     random::stateless_uniform({2}, {1, 2});           // 0.8440604, 0.19204533
///     random::stateless_normal({2}, {1, 2});            // 0.5441101, 0.20738031
///     random::stateless_truncated_normal({2}, {1, 2});  // 0.5441101, 0.20738031
///     random::stateless_integers({3}, {1, 2}, 10, 100, int32);  // 20, 39, 64
CAPSTAN_EXPORT Tensor stateless_uniform(const Shape& shape, const Seeds& seed, double minval = 0, double maxval = 1,
                                        DType dtype = floatx());
CAPSTAN_EXPORT Tensor stateless_normal(const Shape& shape, const Seeds& seed, double mean = 0, double stddev = 1,
                                       DType dtype = floatx());
/// Without what lies two standard deviations or more from the mean.
CAPSTAN_EXPORT Tensor stateless_truncated_normal(const Shape& shape, const Seeds& seed, double mean = 0,
                                                 double stddev = 1, DType dtype = floatx());
/// Integers of [minval, maxval), of int32 or int64, with TensorFlow's bias: a remainder. Errors: ValueError if there is
/// none, or if they do not fit the dtype.
CAPSTAN_EXPORT Tensor stateless_integers(const Shape& shape, const Seeds& seed, std::int64_t minval,
                                         std::int64_t maxval, DType dtype = int64);
/// Any integers of the dtype.
CAPSTAN_EXPORT Tensor stateless_integers(const Shape& shape, const Seeds& seed, DType dtype = int64);

/// tf.random.Generator with Philox: a variable of three int64, a counter of 128 bits and a key, that every draw moves
/// on. Draws have TensorFlow's bits. In a traced function the state moves on with every call, and a checkpoint of
/// `state` continues where it was. A copy shares the state.
///
///     random::Generator generator = random::Generator::from_seed(1234);
///     generator.normal({3});  // 0.9356609, 1.0854306, -0.93788373
///     generator.state().value();  // 2002, 0, 0
class CAPSTAN_EXPORT Generator {
 public:
  /// The counter is `seed`, the key 0.
  static Generator from_seed(std::uint64_t seed);
  /// Errors: ShapeError unless it is int64[3].
  explicit Generator(const Tensor& state);

  Tensor uniform(const Shape& shape, double minval = 0, double maxval = 1, DType dtype = floatx()) const;
  Tensor normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = floatx()) const;
  Tensor truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = floatx()) const;
  Tensor integers(const Shape& shape, std::int64_t minval, std::int64_t maxval, DType dtype = int64) const;
  Tensor integers(const Shape& shape, DType dtype = int64) const;  ///< any of the dtype
  /// int64[2, count]: in each column two seeds for a stateless draw.
  Tensor make_seeds(std::int64_t count = 1) const;
  /// As if `count` numbers had been drawn.
  void skip(std::int64_t count) const;
  const Variable& state() const { return *state_; }

 private:
  template <class Draw>
  Tensor draw(const Draw& draw) const;

  std::shared_ptr<const Variable> state_;
};

/// The same of floating dtypes with tensors for parameters, which broadcast to the shape of the result.
CAPSTAN_EXPORT Tensor uniform(const Shape& shape, Operand minval, Operand maxval, DType dtype = floatx(),
                              Seed seed = {});
CAPSTAN_EXPORT Tensor normal(const Shape& shape, Operand mean, Operand stddev, DType dtype = floatx(), Seed seed = {});
CAPSTAN_EXPORT Tensor truncated_normal(const Shape& shape, Operand mean, Operand stddev, DType dtype = floatx(),
                                       Seed seed = {});

// In the following the dtype is that of the parameters (floatx() for numbers), and `shape` comes before theirs: the
// result has the shape `shape` + that of the parameters broadcast to each other.

/// Gamma distributed with the concentration alpha > 0 and the rate beta > 0, at least the smallest normal number.
///
///     random::gamma({5}, constant({0.5, 2.0}));  // float32[5, 2]
CAPSTAN_EXPORT Tensor gamma(const Shape& shape, Operand alpha, Operand beta = 1.0, Seed seed = {});
/// Beta distributed with concentrations a, b > 0.
///
///     random::beta({5}, 2.0, 3.0);  // float32[5]
CAPSTAN_EXPORT Tensor beta(const Shape& shape, Operand a, Operand b, Seed seed = {});
/// Exponentially distributed.
///
///     random::exponential({5}, 2.0);  // float32[5]
CAPSTAN_EXPORT Tensor exponential(const Shape& shape, Operand rate = 1.0, Seed seed = {});
/// Laplace distributed: exponentially to both sides of loc.
///
///     random::laplace({5});  // float32[5]
CAPSTAN_EXPORT Tensor laplace(const Shape& shape, Operand loc = 0.0, Operand scale = 1.0, Seed seed = {});
/// Poisson distributed with the mean lam >= 0: of floating dtypes, int32 or int64. No gradient.
///
///     random::poisson({5}, 3.0, int32);  // int32[5]
CAPSTAN_EXPORT Tensor poisson(const Shape& shape, Operand lam, DType dtype = floatx(), Seed seed = {});
/// How many of `counts` trials succeed with probability `probs`. No gradient.
///
///     random::binomial({5}, 10.0, 0.5);  // int32[5]
CAPSTAN_EXPORT Tensor binomial(const Shape& shape, Operand counts, Operand probs, DType dtype = int32, Seed seed = {});

/// Class numbers with the probabilities softmax(logits): logits [batch, classes] give [batch, num_samples], int64 or
/// int32. Errors: ShapeError, ValueError for a row without a finite number, or with a NaN or infinity.
///
///     random::categorical(log(constant({{0.0, 1.0}})), 3);  // int64[1, 3]
CAPSTAN_EXPORT Tensor categorical(Operand logits, std::int64_t num_samples, DType dtype = int64, Seed seed = {});
/// The rows of x in random order.
///
///     random::shuffle(range(5));  // int32[5]
CAPSTAN_EXPORT Tensor shuffle(Operand x, Seed seed = {});
/// A random order of the rows of x, int64; of x only the shape is read. Errors: ShapeError for a scalar.
///
///     random::order(zeros({5, 2}));  // int64[5]
CAPSTAN_EXPORT Tensor order(Operand x, Seed seed = {});

}  // namespace random

/// A random order of 0 ... n-1.
///
///     Tensor places = constant(random_permutation(5, 1));   // int64[5]
CAPSTAN_EXPORT std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed);

}  // namespace capstan
