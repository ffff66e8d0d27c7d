// Regularizers.
#include "capstan/regularizers.h"

#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/train/classes.h"

namespace capstan {

namespace {

class FunctionRegularizer final : public detail::OfFunction<RegularizerBody> {
 public:
  explicit FunctionRegularizer(std::function<Tensor(const Tensor&)> function) : function_(std::move(function)) {}
  Tensor penalty(const Tensor& weight) const override { return function_(weight); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

std::shared_ptr<const RegularizerBody> as_body(std::shared_ptr<Configurable> object) {
  return std::static_pointer_cast<RegularizerBody>(std::move(object));
}

// Keras 2 had a function of this name with other factors than the class L1L2 has.
void check_name(const AttributeValue& value) {
  CAPSTAN_CHECK(value.text != "l1_l2", ValueError, "regularizer: there is none with the name \"l1_l2\"",
                help("\"l1l2\" is the class L1L2, whose factors are 0 unless given"));
}

}  // namespace

// --- The handle ---

Regularizer::Regularizer(std::string_view name) : Regularizer(regularizers::get(std::string(name))) {}

std::shared_ptr<const RegularizerBody> Regularizer::of_function(std::function<Tensor(const Tensor&)> function) {
  return function ? make_configurable<FunctionRegularizer>(std::move(function)) : nullptr;
}

Regularizer regularizers::get(const AttributeValue& value) {
  check_name(value);
  return value.has_value() ? Regularizer(as_body(deserialize("regularizer", value))) : Regularizer();
}

void set_field(Regularizer& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  check_name(value);
  field = value.has_value() ? Regularizer(as_body(detail::object_of_option("regularizer", value, owner, name)))
                            : Regularizer();
}

AttributeValue get_field(const Regularizer& field) {
  return field.has_value() ? serialize(*field.body()) : AttributeValue();
}

// --- The classes ---

namespace {

// Neither negative nor infinite.
template <auto Member>
constexpr OptionField factor_option(std::string_view name) {
  return option<Member>(name).at_least(0).at_most(std::numeric_limits<double>::max());
}

struct L1Options {
  double l1 = 0.01;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {factor_option<&L1Options::l1>("l1")};
    return all;
  }
};

struct L1Body final : Configured<L1Body, RegularizerBody, L1Options> {
  using Configured::Configured;
  static constexpr std::string_view kName = "L1", kText = "`l1` times the sum of absolute values.";
  Tensor penalty(const Tensor& w) const override { return options.l1 * reduce_sum(abs(w)); }
};

struct L2Options {
  double l2 = 0.01;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {factor_option<&L2Options::l2>("l2")};
    return all;
  }
};

struct L2Body final : Configured<L2Body, RegularizerBody, L2Options> {
  using Configured::Configured;
  static constexpr std::string_view kName = "L2", kText = "`l2` times the sum of squares.";
  Tensor penalty(const Tensor& w) const override { return options.l2 * reduce_sum(square(w)); }
};

struct L1L2Options {
  double l1 = 0;
  double l2 = 0;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {factor_option<&L1L2Options::l1>("l1"), factor_option<&L1L2Options::l2>("l2")};
    return all;
  }
};

struct L1L2Body final : Configured<L1L2Body, RegularizerBody, L1L2Options> {
  using Configured::Configured;
  static constexpr std::string_view kName = "L1L2";
  static constexpr std::string_view kText = "`l1` times the sum of absolute values and `l2` times that of squares.";
  Tensor penalty(const Tensor& w) const override {
    const auto& [l1, l2] = options;
    if (l1 == 0 && l2 == 0) return zeros({}, w.dtype());
    if (l1 == 0) return l2 * reduce_sum(square(w));
    if (l2 == 0) return l1 * reduce_sum(abs(w));
    return l1 * reduce_sum(abs(w)) + l2 * reduce_sum(square(w));
  }
};

struct OrthogonalOptions {
  double factor = 0.01;
  std::string mode = "rows";
  static std::span<const OptionField> fields() {
    static constexpr std::string_view modes[] = {"rows", "columns"};
    static constexpr OptionField all[] = {factor_option<&OrthogonalOptions::factor>("factor"),
                                          option<&OrthogonalOptions::mode>("mode").one_of(modes)};
    return all;
  }
};

struct OrthogonalBody final : Configured<OrthogonalBody, RegularizerBody, OrthogonalOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "OrthogonalRegularizer";
  static constexpr std::string_view kText = "Costs what the rows or the columns of a matrix have in common.";
  Tensor penalty(const Tensor& w) const override {
    CAPSTAN_CHECK(w.rank() == 2, ShapeError, "regularizer: the orthogonal one takes a matrix",
                  arguments({{"weight", w}}));
    const bool rows = options.mode == "rows";
    const Tensor unit = l2_normalize(w, rows ? 1 : 0);
    const std::int64_t n = unit.dim(rows ? 0 : 1);
    const Tensor products =
        rows ? matmul(unit, unit, {.transpose_b = true}) : matmul(unit, unit, {.transpose_a = true});
    const Tensor between = products * (1 - eye(n, {}, w.dtype()));
    // A single row makes no pair, and 0 / 0 is no penalty.
    const double pairs = n > 1 ? static_cast<double>(n) * static_cast<double>(n - 1) / 2 : 1;
    return options.factor * 0.5 * reduce_sum(abs(between)) / pairs;
  }
};

}  // namespace

namespace regularizers {

Regularizer L1(double factor) { return Regularizer(make_configurable<L1Body>(L1Options{factor})); }
Regularizer L2(double factor) { return Regularizer(make_configurable<L2Body>(L2Options{factor})); }
Regularizer L1L2(double l1, double l2) { return Regularizer(make_configurable<L1L2Body>(L1L2Options{l1, l2})); }
Regularizer OrthogonalRegularizer(double factor, std::string_view mode) {
  return Regularizer(make_configurable<OrthogonalBody>(OrthogonalOptions{factor, std::string(mode)}));
}

}  // namespace regularizers

std::vector<const ClassInfo*> detail::regularizer_classes() {
  return {&L1Body::info(), &L2Body::info(), &L1L2Body::info(), &OrthogonalBody::info()};
}

}  // namespace capstan
