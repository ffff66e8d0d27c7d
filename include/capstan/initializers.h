// How weights begin.
//
// A name ("glorot_uniform"), one of the classes of namespace initializers, or any function of shape and dtype. One that
// draws takes its seed when it is made: the given one, or the next of the process's stream (see set_seed). So the same
// object gives the same values every time, and a program that sets the seed first gives the same weights in every run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/dtype.h"
#include "capstan/tensor.h"

namespace capstan {

/// Makes the first value of a weight. Errors: ValueError for an unknown name.
class CAPSTAN_EXPORT Initializer {
 public:
  using Function = std::function<Tensor(const Shape& shape, DType dtype)>;

  Initializer(const char* name) : Initializer(std::string_view(name)) {}
  Initializer(const std::string& name) : Initializer(std::string_view(name)) {}
  Initializer(std::string_view name);
  template <class F>
  requires(!std::is_base_of_v<Initializer, F> && std::is_invocable_r_v<Tensor, const F&, const Shape&, DType>)
      Initializer(F function)
      : function_(std::move(function)) {}

  Tensor operator()(const Shape& shape, DType dtype = floatx()) const { return function_(shape, dtype); }

 protected:
  Initializer() = default;
  Function function_;
};

/// Initializers under the names and with the formulas of Keras.
namespace initializers {

/// All zeros.
class CAPSTAN_EXPORT Zeros : public Initializer {
 public:
  Zeros();
};

/// All ones.
class CAPSTAN_EXPORT Ones : public Initializer {
 public:
  Ones();
};

/// One value everywhere.
class CAPSTAN_EXPORT Constant : public Initializer {
 public:
  explicit Constant(double value = 0);
};

/// `gain` on the diagonal of a matrix. Errors (when called): ShapeError unless the rank is 2.
class CAPSTAN_EXPORT Identity : public Initializer {
 public:
  explicit Identity(double gain = 1);
};

/// Normal with the given mean and standard deviation.
class CAPSTAN_EXPORT RandomNormal : public Initializer {
 public:
  explicit RandomNormal(double mean = 0, double stddev = 0.05, std::optional<std::uint64_t> seed = {});
};

/// Normal, redrawn beyond two standard deviations.
class CAPSTAN_EXPORT TruncatedNormal : public Initializer {
 public:
  explicit TruncatedNormal(double mean = 0, double stddev = 0.05, std::optional<std::uint64_t> seed = {});
};

/// Uniform in [minval, maxval).
class CAPSTAN_EXPORT RandomUniform : public Initializer {
 public:
  explicit RandomUniform(double minval = -0.05, double maxval = 0.05, std::optional<std::uint64_t> seed = {});
};

/// Options of VarianceScaling.
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";                    ///< or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  ///< or "untruncated_normal", "uniform"
  std::optional<std::uint64_t> seed = {};
};

/// Draws with the variance scale / fan. A kernel's fans are the lengths of its last two axes times the size of the
/// others. Errors: ValueError for scale <= 0, or an unknown mode or distribution.
class CAPSTAN_EXPORT VarianceScaling : public Initializer {
 public:
  explicit VarianceScaling(const VarianceScalingOptions& options = {});
};

/// Uniform within sqrt(6 / (fan in + fan out)): the default of kernels.
class CAPSTAN_EXPORT GlorotUniform : public VarianceScaling {
 public:
  explicit GlorotUniform(std::optional<std::uint64_t> seed = {}) : VarianceScaling({1, "fan_avg", "uniform", seed}) {}
};

/// Truncated normal of variance 2 / (fan in + fan out).
class CAPSTAN_EXPORT GlorotNormal : public VarianceScaling {
 public:
  explicit GlorotNormal(std::optional<std::uint64_t> seed = {})
      : VarianceScaling({1, "fan_avg", "truncated_normal", seed}) {}
};

/// Uniform within sqrt(6 / fan in).
class CAPSTAN_EXPORT HeUniform : public VarianceScaling {
 public:
  explicit HeUniform(std::optional<std::uint64_t> seed = {}) : VarianceScaling({2, "fan_in", "uniform", seed}) {}
};

/// Truncated normal of variance 2 / fan in.
class CAPSTAN_EXPORT HeNormal : public VarianceScaling {
 public:
  explicit HeNormal(std::optional<std::uint64_t> seed = {})
      : VarianceScaling({2, "fan_in", "truncated_normal", seed}) {}
};

/// Uniform within sqrt(3 / fan in).
class CAPSTAN_EXPORT LecunUniform : public VarianceScaling {
 public:
  explicit LecunUniform(std::optional<std::uint64_t> seed = {}) : VarianceScaling({1, "fan_in", "uniform", seed}) {}
};

/// Truncated normal of variance 1 / fan in.
class CAPSTAN_EXPORT LecunNormal : public VarianceScaling {
 public:
  explicit LecunNormal(std::optional<std::uint64_t> seed = {})
      : VarianceScaling({1, "fan_in", "truncated_normal", seed}) {}
};

}  // namespace initializers
}  // namespace capstan
