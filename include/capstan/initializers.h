// How weights begin.
//
// A name ("glorot_uniform"), one of the classes of namespace initializers, or any function of shape and dtype. One that
// draws takes its seed when it is made: the given one, or the next of the process's stream (see set_seed). So the same
// object gives the same values every time, and a program that sets the seed first gives the same weights in every run.
// A seed that is given has the numbers that Keras has for it with TensorFlow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/dtype.h"
#include "capstan/seed.h"
#include "capstan/tensor.h"

namespace capstan {

/// What a class of initializers implements; see capstan/config.h for its options.
class CAPSTAN_EXPORT InitializerBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "initializer", kModule = "keras.initializers";
  /// The first value of a weight, of this shape and dtype.
  virtual Tensor value(const Shape& shape, DType dtype) const = 0;
  /// The same body with fans along other axes, or null if there is nothing to change; see Initializer::with_axes().
  virtual std::shared_ptr<const InitializerBody> with_axes(std::vector<int> input_axes,
                                                           std::vector<int> output_axes) const;
};

/// Makes the first value of a weight. Copies share their body. Errors: ValueError for an unknown name or an empty
/// function.
class CAPSTAN_EXPORT Initializer {
 public:
  using Function = std::function<Tensor(const Shape& shape, DType dtype)>;

  Initializer(const char* name) : Initializer(std::string_view(name)) {}
  Initializer(const std::string& name) : Initializer(std::string_view(name)) {}
  Initializer(std::string_view name);
  template <class F>
  requires(!std::is_base_of_v<Initializer, F> && std::is_invocable_r_v<Tensor, const F&, const Shape&, DType>)
      Initializer(F function)
      : Initializer(of_function(std::move(function))) {}
  explicit Initializer(std::shared_ptr<const InitializerBody> body);

  Tensor operator()(const Shape& shape, DType dtype = floatx()) const { return body_->value(shape, dtype); }

  /// For weights that are not laid out as kernels: the same initializer with the same seed, with the lengths of these
  /// axes as its fans. One that has axes of its own, or looks at no fans, stays as it is.
  Initializer with_axes(std::vector<int> input_axes, std::vector<int> output_axes) const;

  const std::shared_ptr<const InitializerBody>& body() const { return body_; }

 private:
  static std::shared_ptr<const InitializerBody> of_function(Function function);

  std::shared_ptr<const InitializerBody> body_;
};

/// An initializer in configurations: a name, or what serialize() gave. It is written as Keras does:
/// {"module": "keras.initializers", "class_name": "GlorotUniform", "config": {"seed": null}, "registered_name": null}.
/// Errors: ValueError for what is neither, naming the option; when written, for a function of the program.
CAPSTAN_EXPORT void set_field(Initializer& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Initializer& field);

/// Initializers under the names and with the formulas of Keras.
namespace initializers {

/// An initializer from its name with its defaults ("he_normal"), or from what serialize() gave. Errors: ValueError for
/// an unknown class or option, or a value that does not fit, naming them.
///
///     initializers::get(AttributeValue::from_json(R"({"class_name": "Constant", "config": {"value": 2.0}})"));
CAPSTAN_EXPORT Initializer get(const AttributeValue& value);

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
  explicit RandomNormal(double mean = 0, double stddev = 0.05, Seed seed = {});
};

/// Normal, redrawn beyond two standard deviations.
class CAPSTAN_EXPORT TruncatedNormal : public Initializer {
 public:
  explicit TruncatedNormal(double mean = 0, double stddev = 0.05, Seed seed = {});
};

/// Uniform in [minval, maxval).
class CAPSTAN_EXPORT RandomUniform : public Initializer {
 public:
  explicit RandomUniform(double minval = -0.05, double maxval = 0.05, Seed seed = {});
};

/// Options of VarianceScaling.
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";                    ///< or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  ///< or "untruncated_normal", "uniform"
  Seed seed = {};
  /// Given both, the fans are the products of the lengths of these axes.
  std::optional<std::vector<int>> input_axes = {};
  std::optional<std::vector<int>> output_axes = {};
  static std::span<const OptionField> fields();
};

/// Draws with the variance scale / fan. A kernel's fans are the lengths of its last two axes times the size of the
/// others. Errors: ValueError for scale <= 0, or an unknown mode or distribution; when called, IndexError for an axis
/// that the shape does not have.
class CAPSTAN_EXPORT VarianceScaling : public Initializer {
 public:
  explicit VarianceScaling(const VarianceScalingOptions& options = {});
};

/// Options of the classes below, which fix the others of VarianceScaling.
struct FanOptions {
  Seed seed = {};
  std::optional<std::vector<int>> input_axes = {};
  std::optional<std::vector<int>> output_axes = {};
  static std::span<const OptionField> fields();
};

/// Uniform within sqrt(6 / (fan in + fan out)): the default of kernels.
class CAPSTAN_EXPORT GlorotUniform : public Initializer {
 public:
  explicit GlorotUniform(Seed seed = {});
  explicit GlorotUniform(const FanOptions& options);
};

/// Truncated normal of variance 2 / (fan in + fan out).
class CAPSTAN_EXPORT GlorotNormal : public Initializer {
 public:
  explicit GlorotNormal(Seed seed = {});
  explicit GlorotNormal(const FanOptions& options);
};

/// Uniform within sqrt(6 / fan in).
class CAPSTAN_EXPORT HeUniform : public Initializer {
 public:
  explicit HeUniform(Seed seed = {});
  explicit HeUniform(const FanOptions& options);
};

/// Truncated normal of variance 2 / fan in.
class CAPSTAN_EXPORT HeNormal : public Initializer {
 public:
  explicit HeNormal(Seed seed = {});
  explicit HeNormal(const FanOptions& options);
};

/// Uniform within sqrt(3 / fan in).
class CAPSTAN_EXPORT LecunUniform : public Initializer {
 public:
  explicit LecunUniform(Seed seed = {});
  explicit LecunUniform(const FanOptions& options);
};

/// Truncated normal of variance 1 / fan in.
class CAPSTAN_EXPORT LecunNormal : public Initializer {
 public:
  explicit LecunNormal(Seed seed = {});
  explicit LecunNormal(const FanOptions& options);
};

/// Orthonormal columns, or rows if these are fewer, times `gain`. A shape of a higher rank is that of the matrix
/// [product of the leading lengths, last length]. The q of the decomposition of a normal matrix of which r has a
/// positive diagonal, computed in float64. Errors (when called): ShapeError for a rank below 2.
class CAPSTAN_EXPORT Orthogonal : public Initializer {
 public:
  explicit Orthogonal(double gain = 1, Seed seed = {});
};

/// Options of STFTInitializer.
struct STFTInitializerOptions {
  std::string side = "real";                       ///< or "imag"
  std::optional<std::string> window = "hann";      ///< or "hamming", or none
  std::optional<std::string> scaling = "density";  ///< the root of the sum of squares of the window; "spectrum": the
                                                   ///< sum of its absolute values; none
  bool periodic = false;                           ///< the window is
  static std::span<const OptionField> fields();
};

/// The kernel [frame length, 1, fft length / 2 + 1] of a convolution that is a short-time Fourier transform:
/// cos(-2 pi t f / fft length) or, for "imag", the sine, times window[t] / scaling. It is not scaled without a window.
/// Errors: ValueError for another text than those above; when called, ShapeError for another shape.
class CAPSTAN_EXPORT STFTInitializer : public Initializer {
 public:
  explicit STFTInitializer(const STFTInitializerOptions& options = {});
};

}  // namespace initializers
}  // namespace capstan
