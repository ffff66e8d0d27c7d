// Discretization: numbers to the numbers of bins.
//
// Boundaries are found as Keras does it, so that they are the same: a batch becomes a summary, sorted values with
// weights, of which there are about 1 / epsilon; summaries are merged and compressed by linear interpolation along the
// sums of their weights. Weights and sums are float32, as there.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/sort.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/category_encoding.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"

namespace capstan::layers {

namespace {

// Values in ascending order and how much each stands for.
struct Summary {
  std::vector<float> values, weights;
};

Summary summarize(std::vector<float> values, double epsilon) {
  std::sort(values.begin(), values.end());
  const double step = std::max(static_cast<double>(values.size()) * epsilon, 1.0);
  Summary summary;
  for (auto i = static_cast<std::size_t>(step - 1); i < values.size(); i += static_cast<std::size_t>(step)) {
    summary.values.push_back(values[i]);
    summary.weights.push_back(static_cast<float>(step));
  }
  return summary;
}

// f(x) of the line through the points, whose places ascend; beyond the ends that of the end.
double interpolate(double x, const std::vector<double>& places, const std::vector<double>& values) {
  const auto after = std::upper_bound(places.begin(), places.end(), x);
  if (after == places.begin()) return values.front();
  const auto i = static_cast<std::size_t>(after - places.begin()) - 1;
  if (i + 1 == places.size() || places[i] == x) return values[i];
  return (values[i + 1] - values[i]) / (places[i + 1] - places[i]) * (x - places[i]) + values[i];
}

Summary compressed(Summary summary, double epsilon) {
  if (static_cast<double>(summary.values.size()) * epsilon < 1) return summary;
  std::vector<float> sums(summary.weights.size());
  std::partial_sum(summary.weights.begin(), summary.weights.end(), sums.begin());
  std::vector<double> parts;
  for (const float sum : sums) parts.push_back(double{sum / sums.back()});
  const std::vector<double> values(summary.values.begin(), summary.values.end());
  const std::vector<double> all(sums.begin(), sums.end());
  Summary result;
  double before = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ceil(1 / epsilon)); ++i) {
    const double place = epsilon + static_cast<double>(i) * epsilon;
    const double sum = interpolate(place, parts, all);
    result.values.push_back(static_cast<float>(interpolate(place, parts, values)));
    result.weights.push_back(static_cast<float>(sum - std::exchange(before, sum)));
  }
  return result;
}

Summary merged(const Summary& a, const Summary& b, double epsilon) {
  Summary both = a;
  both.values.insert(both.values.end(), b.values.begin(), b.values.end());
  both.weights.insert(both.weights.end(), b.weights.begin(), b.weights.end());
  std::vector<std::size_t> order(both.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return both.values[i] < both.values[j]; });
  Summary sorted;
  for (const std::size_t i : order) {
    sorted.values.push_back(both.values[i]);
    sorted.weights.push_back(both.weights[i]);
  }
  return compressed(std::move(sorted), epsilon);
}

struct DiscretizationConfig : DiscretizationOptions {
  bool sparse = false;
  static std::span<const OptionField> fields() {
    using O = DiscretizationConfig;
    // Without "trainable", which Keras's class does not take.
    static constexpr OptionField all[] = {
        option<&O::name, O>("name"), option<&O::dtype, O>("dtype"), option<&O::bin_boundaries, O>("bin_boundaries"),
        // So many that a list of them can be held.
        option<&O::num_bins, O>("num_bins").at_least(1).at_most(1 << 24),
        option<&O::epsilon, O>("epsilon").at_least(1e-7).at_most(1),
        option<&O::output_mode, O>("output_mode").one_of(detail::kHashModes), option<&O::sparse>("sparse")};
    return all;
  }
};

class DiscretizationBody final : public ConfiguredLayer<DiscretizationBody, DiscretizationConfig> {
 public:
  static constexpr char kName[] = "Discretization", kText[] = "Numbers of the bins that numbers lie in.";
  // With boundaries and a number of bins it is one that has learned.
  explicit DiscretizationBody(const DiscretizationConfig& given) : ConfiguredLayer(given) {
    const std::vector<double>& boundaries = given.bin_boundaries;
    CAPSTAN_CHECK(!boundaries.empty() || given.num_bins, ValueError,
                  "Discretization: either bin_boundaries or num_bins must be given");
    detail::check_not_sparse(kName, given.sparse);
    for (std::size_t i = 0; i < boundaries.size(); ++i) {
      CAPSTAN_CHECK(i == 0 ? boundaries[i] == boundaries[i] : boundaries[i] >= boundaries[i - 1], ValueError,
                    "Discretization: bin_boundaries must ascend, but ", boundaries[i], " follows ",
                    boundaries[i == 0 ? 0 : i - 1]);
    }
    if (!boundaries.empty()) set_boundaries(boundaries);
  }

  void check_adapts() const {
    CAPSTAN_CHECK(options.num_bins, ValueError, name(), ": adapt: the layer was given its boundaries and learns none");
  }
  void add(const Tensor& data, Summary& all) const {
    CAPSTAN_CHECK(data.has_value(), ValueError, name(), ": adapt: the data are an empty tensor");
    std::vector<float> values = cast(data, float32).to_vector<float>();
    for (const float value : values) {
      CAPSTAN_CHECK(std::isfinite(value), ValueError, name(), ": adapt: the data must be finite, but hold ", value);
    }
    all = merged(summarize(std::move(values), options.epsilon), all, options.epsilon);
  }
  void finish(const Summary& all) {
    CAPSTAN_CHECK(!all.values.empty(), ValueError, name(), ": adapt: there are no elements");
    std::vector<float> values = compressed(all, 1.0 / static_cast<double>(*options.num_bins)).values;
    values.pop_back();
    set_boundaries(std::vector<double>(values.begin(), values.end()));
  }

  const std::vector<double>& boundaries() const { return boundaries_; }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    // A model may be made of it before it learns: there will be as many bins.
    if (!is_known_ && detail::ExampleScope::is_open()) return encoded(zeros_like(cast(x, int32)), *options.num_bins);
    CAPSTAN_CHECK(is_known_, ValueError, name(), ": the layer has no boundaries yet",
                  help("call adapt() with data before, or give bin_boundaries"));
    // Integers are compared without being rounded.
    const DType dtype = is_floating(x.dtype()) ? detail::working_dtype(x.dtype()) : float64;
    const Tensor values = detail::in_dtype(x, dtype);
    const Tensor bins = reshape_like(searchsorted(cast(boundaries_tensor_, dtype), reshape(values, {-1}), "right"), x);
    // What is no number lies after all boundaries.
    const Tensor numbers = where(not_equal(values, values), static_cast<int>(boundaries_.size()), bins);
    return encoded(numbers, static_cast<std::int64_t>(boundaries_.size()) + 1);
  }

  AttributeValue get_config() const override {
    AttributeValue config = ConfiguredLayer::get_config();
    config.set("bin_boundaries", get_field(OptionalList<double>(boundaries_)));
    return config;
  }

 private:
  Tensor encoded(const Tensor& bins, std::int64_t depth) const {
    return detail::encode_ids(bins, options.output_mode, depth, options.output_mode == "int" ? int32 : compute_dtype());
  }
  void set_boundaries(const std::vector<double>& boundaries) {
    boundaries_ = boundaries;
    boundaries_tensor_ = constant(boundaries, Shape{static_cast<std::int64_t>(boundaries.size())});
    is_known_ = true;
  }

  bool is_known_ = false;
  std::vector<double> boundaries_;
  Tensor boundaries_tensor_;
};

DiscretizationConfig config_of_program(const DiscretizationOptions& options) {
  CAPSTAN_CHECK(options.bin_boundaries.empty() || !options.num_bins, ValueError,
                "Discretization: bin_boundaries and num_bins cannot be given together");
  return {options};
}

}  // namespace

Discretization::Discretization(const DiscretizationOptions& options)
    : Layer(make_configurable<DiscretizationBody>(config_of_program(options))) {}
Discretization Discretization::of(const Layer& layer) {
  return Discretization(detail::body_as<DiscretizationBody>(layer));
}

void Discretization::adapt(const Tensor& data) const {
  auto& layer = static_cast<DiscretizationBody&>(body());
  layer.check_adapts();
  Summary all;
  layer.add(data, all);
  layer.finish(all);
}

void Discretization::adapt(const BatchSource& data, std::optional<std::int64_t> steps) const {
  auto& layer = static_cast<DiscretizationBody&>(body());
  layer.check_adapts();
  Summary all;
  detail::for_each_batch(data, steps, [&](const Tensor& x) { layer.add(x, all); });
  layer.finish(all);
}

std::vector<double> Discretization::bin_boundaries() const {
  return static_cast<DiscretizationBody&>(body()).boundaries();
}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::discretization_class() { return layers::DiscretizationBody::info(); }
