// Activation functions by name.
//
// The library's own are a table: a name, a formula, and which of the shared settings are its options. One class serves
// all of them.
#include "capstan/activations.h"

#include <array>
#include <limits>

#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/remembered_logits.h"

namespace capstan {

namespace {

// What the formulas of the table take; each uses some of it.
struct Settings {
  double number = 0;
  double second = 0;
  std::optional<double> most = {};
  int axis = -1;
  bool truth = false;
};

using S = Settings;

constexpr OptionField kRelu[] = {option<&S::number>("negative_slope").at_least(0),
                                 option<&S::most>("max_value").at_least(0),
                                 option<&S::second>("threshold").at_least(0)};
constexpr OptionField kSlope[] = {option<&S::number>("negative_slope")};
constexpr OptionField kAlpha[] = {option<&S::number>("alpha")};
constexpr OptionField kB[] = {option<&S::number>("b")};
constexpr OptionField kShrink[] = {option<&S::number>("threshold")};
constexpr OptionField kThreshold[] = {option<&S::number>("threshold", true), option<&S::second>("default_value", true)};
constexpr OptionField kApproximate[] = {option<&S::truth>("approximate")};
constexpr OptionField kAxis[] = {option<&S::axis>("axis")};

struct Row {
  std::string_view name;
  std::string_view text;
  Tensor (*plain)(const Tensor& x);  // with the defaults
  Tensor (*apply)(Tensor x, const Settings& settings);
  std::span<const OptionField> options = {};
  Settings defaults = {};
  std::string_view alias = {};
};

Tensor general(Tensor x, const S& s) {
  if (!s.most && s.second == 0) return s.number == 0 ? relu(std::move(x)) : leaky_relu(std::move(x), s.number);
  return general_relu(std::move(x), s.number, s.most.value_or(std::numeric_limits<double>::infinity()), s.second);
}

namespace a = activations;

constexpr Row kRows[] = {
    {"linear", "The result as it is.", a::linear, [](Tensor x, const S&) { return x; }},
    {"relu", "The larger of x and 0.", a::relu, general, kRelu},
    {"softmax", "Probabilities along an axis.", a::softmax, [](Tensor x, const S& s) { return a::softmax(x, s.axis); },
     kAxis},
    {"sigmoid", "1 / (1 + exp(-x)).", a::sigmoid, [](Tensor x, const S&) { return a::sigmoid(x); }},
    {"tanh", "The hyperbolic tangent.", a::tanh, [](Tensor x, const S&) { return tanh(std::move(x)); }},
    {"elu",
     "x where it is positive, `alpha * (exp(x) - 1)` elsewhere.",
     a::elu,
     [](Tensor x, const S& s) { return elu(std::move(x), s.number); },
     kAlpha,
     {.number = 1}},
    {"selu", "Elu with the two constants for which activations keep mean 0 and variance 1 from layer to layer.",
     a::selu, [](Tensor x, const S&) { return selu(std::move(x)); }},
    {"gelu", "x times the probability that a normal number is below x: 0.5 x (1 + erf(x / sqrt(2))).", a::gelu,
     [](Tensor x, const S& s) { return gelu(std::move(x), {.approximate = s.truth}); }, kApproximate},
    {"silu", "x * sigmoid(x).", a::silu, [](Tensor x, const S&) { return silu(std::move(x)); }, {}, {}, "swish"},
    {"relu6", "x limited to the range from 0 to 6.", a::relu6, [](Tensor x, const S&) { return relu6(std::move(x)); }},
    {"leaky_relu",
     "x where it is positive, `negative_slope * x` elsewhere.",
     a::leaky_relu,
     [](Tensor x, const S& s) { return leaky_relu(std::move(x), s.number); },
     kSlope,
     {.number = 0.2}},
    {"softplus", "log(1 + exp(x)).", a::softplus, [](Tensor x, const S&) { return softplus(std::move(x)); }},
    {"softsign", "x / (1 + |x|).", a::softsign, [](Tensor x, const S&) { return softsign(std::move(x)); }},
    {"log_sigmoid", "log(sigmoid(x)).", a::log_sigmoid, [](Tensor x, const S&) { return log_sigmoid(std::move(x)); }},
    {"exponential", "The exponential function.", a::exponential, [](Tensor x, const S&) { return exp(std::move(x)); }},
    {"log_softmax", "Logarithms of probabilities along an axis, the last one unless given.", a::log_softmax,
     [](Tensor x, const S& s) { return log_softmax(std::move(x), s.axis); }, kAxis},
    {"hard_sigmoid", "x / 6 + 0.5 limited to the range from 0 to 1.", a::hard_sigmoid,
     [](Tensor x, const S&) { return hard_sigmoid(std::move(x)); }},
    {"hard_silu",
     "x * hard_sigmoid(x).",
     a::hard_silu,
     [](Tensor x, const S&) { return hard_silu(std::move(x)); },
     {},
     {},
     "hard_swish"},
    {"hard_tanh", "x limited to the range from -1 to 1.", a::hard_tanh,
     [](Tensor x, const S&) { return hard_tanh(std::move(x)); }},
    {"hard_shrink",
     "x where |x| is more than the threshold, 0 elsewhere.",
     a::hard_shrink,
     [](Tensor x, const S& s) { return hard_shrink(std::move(x), s.number); },
     kShrink,
     {.number = 0.5}},
    {"soft_shrink",
     "sign(x) * max(|x| - threshold, 0).",
     a::soft_shrink,
     [](Tensor x, const S& s) { return soft_shrink(std::move(x), s.number); },
     kShrink,
     {.number = 0.5}},
    {"tanh_shrink", "x - tanh(x).", a::tanh_shrink, [](Tensor x, const S&) { return tanh_shrink(std::move(x)); }},
    {"threshold", "x where it is more than the threshold, another value elsewhere.", nullptr,
     [](Tensor x, const S& s) { return threshold(std::move(x), s.number, s.second); }, kThreshold},
    {"mish", "x * tanh(softplus(x)).", a::mish, [](Tensor x, const S&) { return mish(std::move(x)); }},
    {"celu",
     "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).",
     a::celu,
     [](Tensor x, const S& s) { return celu(std::move(x), s.number); },
     kAlpha,
     {.number = 1}},
    {"glu", "Halves an axis, the last one unless given, into a and b, and gives a * sigmoid(b).", a::glu,
     [](Tensor x, const S& s) { return glu(std::move(x), s.axis); }, kAxis},
    {"squareplus",
     "(x + sqrt(x^2 + b)) / 2.",
     a::squareplus,
     [](Tensor x, const S& s) { return squareplus(std::move(x), s.number); },
     kB,
     {.number = 4}},
    {"sparse_plus", "0 up to -1, (x + 1)^2 / 4 up to 1, x from there.", a::sparse_plus,
     [](Tensor x, const S&) { return sparse_plus(std::move(x)); }},
    {"sparse_sigmoid", "(x + 1) / 2 limited to the range from 0 to 1.", a::sparse_sigmoid,
     [](Tensor x, const S&) { return sparse_sigmoid(std::move(x)); }},
    {"sparsemax", "The nearest point of the simplex: probabilities along an axis of which many are 0.", a::sparsemax,
     [](Tensor x, const S& s) { return sparsemax(std::move(x), s.axis); }, kAxis},
};

constexpr std::size_t kCount = std::size(kRows);
constexpr std::size_t kLinear = 0;

const ClassInfo& info_of(std::size_t row);

class TableActivation final : public ActivationBody {
 public:
  TableActivation(std::size_t row, const Settings& settings) : row_(row), settings_(settings) {
    check_options(info_of(row), &settings_);
  }
  const ClassInfo& class_info() const override { return info_of(row_); }
  const void* options_data() const override { return &settings_; }
  Tensor call(Tensor x) const override { return kRows[row_].apply(std::move(x), settings_); }

 private:
  const std::size_t row_;
  Settings settings_;
};

std::shared_ptr<Configurable> make(std::size_t row, const AttributeValue& config) {
  Settings settings = kRows[row].defaults;
  set_options(info_of(row), &settings, config);
  return make_configurable<TableActivation>(row, settings);
}

template <std::size_t... Rows>
std::array<ClassInfo, kCount> all_infos(std::index_sequence<Rows...>) {
  using B = ActivationBody;
  return {ClassInfo{B::kKind, B::kModule, kRows[Rows].name, kRows[Rows].text, [] { return kRows[Rows].options; },
                    [](const ClassInfo&, const AttributeValue& config) { return make(Rows, config); },
                    kRows[Rows].alias,
                    [](const ClassInfo& info) { return optional_config_of(info, &kRows[Rows].defaults); }}...};
}

const ClassInfo& info_of(std::size_t row) {
  static const std::array<ClassInfo, kCount> infos = all_infos(std::make_index_sequence<kCount>());
  return infos[row];
}

class FunctionActivation final : public detail::OfFunction<ActivationBody> {
 public:
  explicit FunctionActivation(std::function<Tensor(Tensor)> function) : function_(std::move(function)) {}
  Tensor call(Tensor x) const override { return function_(std::move(x)); }

 private:
  std::function<Tensor(Tensor)> function_;
};

std::shared_ptr<const ActivationBody> as_body(std::shared_ptr<Configurable> object) {
  return std::static_pointer_cast<ActivationBody>(std::move(object));
}

// Keras has written the name of a function like this, too.
const AttributeValue& without_wrapping(const AttributeValue& value) {
  const AttributeValue* const type = value.find("class_name");
  const AttributeValue* const name = value.find("config");
  const bool is_function = type != nullptr && type->text == "function" && name != nullptr;
  return is_function && name->kind == AttributeValue::Kind::kString ? *name : value;
}

}  // namespace

// --- The handle ---

ActivationFunction::ActivationFunction(std::string_view name)
    : ActivationFunction(as_body(deserialize("activation", std::string(name)))) {}

ActivationFunction::ActivationFunction(std::string_view name, const AttributeMap& options) {
  AttributeValue config = AttributeValue::map();
  for (const auto& [key, value] : options) config.set(key, value);
  AttributeValue value = AttributeValue::map();
  value.set("class_name", std::string(name));
  value.set("config", std::move(config));
  *this = activations::get(value);
}

ActivationFunction::ActivationFunction(Tensor (*function)(const Tensor&)) {
  if (function == nullptr || function == kRows[kLinear].plain) return;
  for (std::size_t i = 0; i < kCount && body_ == nullptr; ++i) {
    if (kRows[i].plain == function) body_ = make_configurable<TableActivation>(i, kRows[i].defaults);
  }
  if (body_ == nullptr) body_ = make_configurable<FunctionActivation>(function);
}

ActivationFunction::ActivationFunction(std::shared_ptr<const ActivationBody> body) : body_(std::move(body)) {
  if (body_ != nullptr && &body_->class_info() == &info_of(kLinear)) body_ = nullptr;
}

std::shared_ptr<const ActivationBody> ActivationFunction::of_function(std::function<Tensor(Tensor)> function) {
  return function ? make_configurable<FunctionActivation>(std::move(function)) : nullptr;
}

std::string ActivationFunction::name() const {
  return std::string(body_ == nullptr ? kRows[kLinear].name : body_->class_info().name);
}

void set_field(ActivationFunction& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field =
      value.has_value()
          ? ActivationFunction(as_body(detail::object_of_option("activation", without_wrapping(value), owner, name)))
          : ActivationFunction();
}

AttributeValue get_field(const ActivationFunction& field) {
  if (!field.has_value()) return std::string(kRows[kLinear].name);
  AttributeValue value = serialize(*field.body());
  for (const Row& row : kRows) {
    if (row.name != field.name() || value.find("module")->text != ActivationBody::kModule) continue;
    const AttributeValue defaults = config_of(field.body()->class_info(), &row.defaults);
    if (value.find("config")->to_json() == defaults.to_json()) return std::string(row.name);
  }
  return value;
}

std::vector<const ClassInfo*> detail::activation_classes() {
  std::vector<const ClassInfo*> all;
  for (std::size_t i = 0; i < kCount; ++i) all.push_back(&info_of(i));
  return all;
}

// --- The functions ---

namespace activations {

ActivationFunction get(const AttributeValue& value) {
  if (!value.has_value()) return {};
  return ActivationFunction(as_body(deserialize("activation", without_wrapping(value))));
}

Tensor linear(const Tensor& x) { return x; }
Tensor relu(const Tensor& x) { return capstan::relu(x); }
Tensor relu(const Tensor& x, const ReluOptions& options) {
  const double most = options.max_value.value_or(std::numeric_limits<double>::infinity());
  return general_relu(x, options.negative_slope, most, options.threshold);
}
Tensor exponential(const Tensor& x) { return exp(x); }
Tensor relu6(const Tensor& x) { return capstan::relu6(x); }
Tensor leaky_relu(const Tensor& x) { return capstan::leaky_relu(x); }
Tensor leaky_relu(const Tensor& x, double negative_slope) { return capstan::leaky_relu(x, negative_slope); }
Tensor elu(const Tensor& x) { return capstan::elu(x); }
Tensor elu(const Tensor& x, double alpha) { return capstan::elu(x, alpha); }
Tensor selu(const Tensor& x) { return capstan::selu(x); }
Tensor celu(const Tensor& x) { return capstan::celu(x); }
Tensor celu(const Tensor& x, double alpha) { return capstan::celu(x, alpha); }
Tensor gelu(const Tensor& x) { return capstan::gelu(x); }
Tensor gelu(const Tensor& x, const GeluOptions& options) { return capstan::gelu(x, options); }
Tensor silu(const Tensor& x) { return capstan::silu(x); }
Tensor hard_sigmoid(const Tensor& x) { return capstan::hard_sigmoid(x); }
Tensor hard_silu(const Tensor& x) { return capstan::hard_silu(x); }
Tensor hard_tanh(const Tensor& x) { return capstan::hard_tanh(x); }
Tensor softplus(const Tensor& x) { return capstan::softplus(x); }
Tensor softsign(const Tensor& x) { return capstan::softsign(x); }
Tensor squareplus(const Tensor& x) { return capstan::squareplus(x); }
Tensor squareplus(const Tensor& x, double b) { return capstan::squareplus(x, b); }
Tensor sparse_plus(const Tensor& x) { return capstan::sparse_plus(x); }
Tensor sparse_sigmoid(const Tensor& x) { return capstan::sparse_sigmoid(x); }
Tensor soft_shrink(const Tensor& x) { return capstan::soft_shrink(x); }
Tensor soft_shrink(const Tensor& x, double threshold) { return capstan::soft_shrink(x, threshold); }
Tensor hard_shrink(const Tensor& x) { return capstan::hard_shrink(x); }
Tensor hard_shrink(const Tensor& x, double threshold) { return capstan::hard_shrink(x, threshold); }
Tensor tanh_shrink(const Tensor& x) { return capstan::tanh_shrink(x); }
Tensor tanh(const Tensor& x) { return capstan::tanh(x); }
Tensor mish(const Tensor& x) { return capstan::mish(x); }
Tensor log_sigmoid(const Tensor& x) { return capstan::log_sigmoid(x); }
Tensor log_softmax(const Tensor& x) { return capstan::log_softmax(x); }
Tensor log_softmax(const Tensor& x, int axis) { return capstan::log_softmax(x, axis); }
Tensor sparsemax(const Tensor& x) { return capstan::sparsemax(x); }
Tensor sparsemax(const Tensor& x, int axis) { return capstan::sparsemax(x, axis); }
Tensor glu(const Tensor& x) { return capstan::glu(x); }
Tensor glu(const Tensor& x, int axis) { return capstan::glu(x, axis); }
Tensor threshold(const Tensor& x, double threshold, double default_value) {
  return capstan::threshold(x, threshold, default_value);
}

Tensor softmax(const Tensor& logits) { return softmax(logits, -1); }
Tensor softmax(const Tensor& logits, int axis) {
  const Tensor probabilities = capstan::softmax(logits, axis);
  return detail::remember_logits(probabilities, logits, axis < 0 ? axis + logits.rank() : axis);
}

Tensor sigmoid(const Tensor& logits) {
  return detail::remember_logits(capstan::sigmoid(logits), logits, detail::kSigmoidAxis);
}

}  // namespace activations
}  // namespace capstan
