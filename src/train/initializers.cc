// Initializers: those that draw nothing, and those that draw each element by itself.
#include "capstan/initializers.h"

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/drawing.h"

namespace capstan {

using detail::Drawing;

namespace {

class FunctionInitializer final : public detail::OfFunction<InitializerBody> {
 public:
  explicit FunctionInitializer(Initializer::Function function) : function_(std::move(function)) {}
  Tensor value(const Shape& shape, DType dtype) const override { return function_(shape, dtype); }

 private:
  Initializer::Function function_;
};

std::shared_ptr<const InitializerBody> as_body(std::shared_ptr<Configurable> object) {
  return std::static_pointer_cast<InitializerBody>(std::move(object));
}

}  // namespace

// --- The handle ---

Initializer::Initializer(std::string_view name) : body_(as_body(deserialize("initializer", std::string(name)))) {}

Initializer::Initializer(std::shared_ptr<const InitializerBody> body) : body_(std::move(body)) {
  CAPSTAN_CHECK(body_ != nullptr, ValueError, "initializer: there is no body");
}

std::shared_ptr<const InitializerBody> Initializer::of_function(Function function) {
  CAPSTAN_CHECK(function, ValueError, "initializer: the function is empty");
  return make_configurable<FunctionInitializer>(std::move(function));
}

Initializer initializers::get(const AttributeValue& value) {
  return Initializer(as_body(deserialize("initializer", value)));
}

void set_field(Initializer& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = Initializer(as_body(detail::object_of_option("initializer", value, owner, name)));
}

Initializer Initializer::with_axes(std::vector<int> input_axes, std::vector<int> output_axes) const {
  std::shared_ptr<const InitializerBody> body = body_->with_axes(std::move(input_axes), std::move(output_axes));
  return body == nullptr ? *this : Initializer(std::move(body));
}

std::shared_ptr<const InitializerBody> InitializerBody::with_axes(std::vector<int>, std::vector<int>) const {
  return nullptr;
}

AttributeValue get_field(const Initializer& field) { return serialize(*field.body()); }

// --- Those that draw nothing ---

namespace {

struct NoOptions {
  static std::span<const OptionField> fields() { return {}; }
};

struct ZerosBody final : Configured<ZerosBody, InitializerBody, NoOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Zeros", kAlias = "zero", kText = "Zeros everywhere.";
  Tensor value(const Shape& shape, DType dtype) const override { return zeros(shape, dtype); }
};

struct OnesBody final : Configured<OnesBody, InitializerBody, NoOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Ones", kAlias = "one", kText = "Ones everywhere.";
  Tensor value(const Shape& shape, DType dtype) const override { return ones(shape, dtype); }
};

struct ConstantOptions {
  double value = 0;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&ConstantOptions::value>("value")};
    return all;
  }
};

struct ConstantBody final : Configured<ConstantBody, InitializerBody, ConstantOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Constant", kText = "One value everywhere.";
  Tensor value(const Shape& shape, DType dtype) const override { return zeros(shape, dtype) + options.value; }
};

struct IdentityOptions {
  double gain = 1;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&IdentityOptions::gain>("gain")};
    return all;
  }
};

struct IdentityBody final : Configured<IdentityBody, InitializerBody, IdentityOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Identity", kAlias = "IdentityInitializer";
  static constexpr std::string_view kText = "`gain` on the diagonal of a matrix.";
  Tensor value(const Shape& shape, DType dtype) const override {
    CAPSTAN_CHECK(shape.rank() == 2, ShapeError, "initializer: identity needs a shape of rank 2, not ", shape);
    return eye(shape[0], shape[1], dtype) * options.gain;
  }
};

// --- Those that draw ---

struct NormalOptions {
  double mean = 0;
  double stddev = 0.05;
  Seed seed = {};
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&NormalOptions::seed>("seed"), option<&NormalOptions::mean>("mean"),
                                          option<&NormalOptions::stddev>("stddev")};
    return all;
  }
};

struct RandomNormalBody final : Drawing<RandomNormalBody, NormalOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "RandomNormal", kAlias = "normal";
  static constexpr std::string_view kText = "Normal with the given mean and standard deviation.";
  Tensor value(const Shape& shape, DType dtype) const override {
    return draws.normal(shape, options.mean, options.stddev, dtype);
  }
};

struct TruncatedNormalBody final : Drawing<TruncatedNormalBody, NormalOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "TruncatedNormal";
  static constexpr std::string_view kText = "Normal, redrawn beyond two standard deviations.";
  Tensor value(const Shape& shape, DType dtype) const override {
    return draws.truncated_normal(shape, options.mean, options.stddev, dtype);
  }
};

struct UniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  Seed seed = {};
  static std::span<const OptionField> fields() {
    using O = UniformOptions;
    static constexpr OptionField all[] = {option<&O::seed>("seed"), option<&O::minval>("minval"),
                                          option<&O::maxval>("maxval")};
    return all;
  }
};

struct RandomUniformBody final : Drawing<RandomUniformBody, UniformOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "RandomUniform", kAlias = "uniform";
  static constexpr std::string_view kText = "Uniform in [minval, maxval).";
  Tensor value(const Shape& shape, DType dtype) const override {
    return draws.uniform(shape, options.minval, options.maxval, dtype);
  }
};

}  // namespace

namespace initializers {

Zeros::Zeros() : Initializer(make_configurable<ZerosBody>()) {}
Ones::Ones() : Initializer(make_configurable<OnesBody>()) {}
Constant::Constant(double value) : Initializer(make_configurable<ConstantBody>(ConstantOptions{value})) {}
Identity::Identity(double gain) : Initializer(make_configurable<IdentityBody>(IdentityOptions{gain})) {}
RandomNormal::RandomNormal(double mean, double stddev, Seed seed)
    : Initializer(make_configurable<RandomNormalBody>(NormalOptions{mean, stddev, seed})) {}
TruncatedNormal::TruncatedNormal(double mean, double stddev, Seed seed)
    : Initializer(make_configurable<TruncatedNormalBody>(NormalOptions{mean, stddev, seed})) {}
RandomUniform::RandomUniform(double minval, double maxval, Seed seed)
    : Initializer(make_configurable<RandomUniformBody>(UniformOptions{minval, maxval, seed})) {}

}  // namespace initializers

std::vector<const ClassInfo*> detail::initializer_classes() {
  std::vector<const ClassInfo*> all = {&ZerosBody::info(),        &OnesBody::info(),
                                       &ConstantBody::info(),     &IdentityBody::info(),
                                       &RandomNormalBody::info(), &TruncatedNormalBody::info(),
                                       &RandomUniformBody::info()};
  const std::vector<const ClassInfo*> scaled = variance_scaling_classes();
  all.insert(all.end(), scaled.begin(), scaled.end());
  all.push_back(&orthogonal_class());
  all.push_back(&stft_initializer_class());
  return all;
}

}  // namespace capstan
