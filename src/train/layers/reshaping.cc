// Layers that only move elements: Flatten, Reshape, Permute, RepeatVector.
//
// The length of the batch is left open where it can be, for functions that serve several.
#include <algorithm>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

std::int64_t elements_of_example(const Tensor& x) {
  std::int64_t count = 1;
  for (int i = 1; i < x.rank(); ++i) count *= x.dim(i);
  return count;
}

// With no elements in an example the batch cannot be derived.
std::int64_t batch_of(const Tensor& x) { return elements_of_example(x) == 0 ? x.dim(0) : -1; }

struct FlattenConfig : FlattenOptions {
  static std::span<const OptionField> fields() {
    using O = FlattenConfig;
    static constexpr auto all = with_layer_options<O>({detail::data_format_option<O>()});
    return all;
  }
};

class FlattenBody final : public ConfiguredLayer<FlattenBody, FlattenConfig> {
 public:
  static constexpr char kName[] = "Flatten", kText[] = "All axes but the batch become one.";
  using ConfiguredLayer::ConfiguredLayer;

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    CAPSTAN_CHECK(x.rank() >= 1, ShapeError, name(), ": the input must have a batch axis, not be a scalar");
    if (x.rank() == 1) return expand_dims(x, 1);
    const Shape shape{batch_of(x), elements_of_example(x)};
    if (options.data_format == "channels_last" || x.rank() == 2) return reshape(x, shape);
    std::vector<int> order{0};
    for (int i = 2; i < x.rank(); ++i) order.push_back(i);
    order.push_back(1);
    return reshape(transpose(x, Axes(order)), shape);
  }
};

struct ReshapeConfig : LayerOptions {
  Shape target_shape;
  static std::span<const OptionField> fields() {
    using O = ReshapeConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::target_shape>("target_shape", true).at_least(-1)});
    return all;
  }
};

class ReshapeBody final : public ConfiguredLayer<ReshapeBody, ReshapeConfig> {
 public:
  static constexpr char kName[] = "Reshape", kText[] = "Gives each example another shape.";
  explicit ReshapeBody(const ReshapeConfig& given) : ConfiguredLayer(given) {
    int open = 0;
    for (const std::int64_t length : given.target_shape) open += length < 0 ? 1 : 0;
    CAPSTAN_CHECK(open <= 1, ValueError, "reshape: target_shape ", given.target_shape, " has ", open,
                  " lengths of -1, and may have one");
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    CAPSTAN_CHECK(x.rank() >= 1, ShapeError, name(), ": the input must have a batch axis, not be a scalar");
    const std::int64_t elements = elements_of_example(x);
    std::int64_t known = 1;
    bool is_open = false;
    for (const std::int64_t length : options.target_shape) {
      is_open = is_open || length < 0;
      known *= length < 0 ? 1 : length;
    }
    const bool fits = is_open ? known > 0 && elements % known == 0 : known == elements;
    CAPSTAN_CHECK(fits, ShapeError, name(), ": the ", elements, " elements of an example do not fit target_shape ",
                  options.target_shape, arguments({{"x", x}}));
    Shape shape{batch_of(x)};
    for (const std::int64_t length : options.target_shape) shape.push_back(length < 0 ? elements / known : length);
    return reshape(x, shape);
  }
};

struct PermuteConfig : LayerOptions {
  std::vector<std::int64_t> dims;
  static std::span<const OptionField> fields() {
    using O = PermuteConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::dims>("dims", true)});
    return all;
  }
};

class PermuteBody final : public ConfiguredLayer<PermuteBody, PermuteConfig> {
 public:
  static constexpr char kName[] = "Permute", kText[] = "Exchanges the axes of each example.";
  explicit PermuteBody(const PermuteConfig& given) : ConfiguredLayer(given) {
    const auto count = static_cast<std::int64_t>(given.dims.size());
    CAPSTAN_CHECK(count >= 1 && count < kMaxRank, ValueError, "permute: dims must be 1 to ", kMaxRank - 1,
                  " axes, not ", count);
    for (std::int64_t axis = 1; axis <= count; ++axis) {
      CAPSTAN_CHECK(std::count(given.dims.begin(), given.dims.end(), axis) == 1, ValueError,
                    "permute: dims must have each number from 1 to ", count, " once, but are ", Shape(given.dims));
    }
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    const auto rank = static_cast<int>(options.dims.size()) + 1;
    CAPSTAN_CHECK(x.rank() == rank, ShapeError, name(), ": the input must have rank ", rank, " for dims ",
                  Shape(options.dims), ", not ", x.rank(), arguments({{"x", x}}));
    std::vector<std::int64_t> order{0};
    order.insert(order.end(), options.dims.begin(), options.dims.end());
    return transpose(x, Axes(order));
  }
};

struct RepeatVectorConfig : LayerOptions {
  std::int64_t n = 1;
  static std::span<const OptionField> fields() {
    using O = RepeatVectorConfig;
    static constexpr auto all = with_layer_options<O>({option<&O::n>("n", true).at_least(1)});
    return all;
  }
};

class RepeatVectorBody final : public ConfiguredLayer<RepeatVectorBody, RepeatVectorConfig> {
 public:
  static constexpr char kName[] = "RepeatVector", kText[] = "Each example becomes a sequence of copies.";
  using ConfiguredLayer::ConfiguredLayer;

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    CAPSTAN_CHECK(x.rank() == 2, ShapeError, name(), ": the input must have rank 2, not ", x.rank(),
                  arguments({{"x", x}}));
    return repeat(expand_dims(x, 1), options.n, 1);
  }
};

}  // namespace

Flatten::Flatten(const FlattenOptions& options) : Layer(make_configurable<FlattenBody>(FlattenConfig{options})) {}
Reshape::Reshape(const Shape& target_shape, const LayerOptions& options)
    : Layer(make_configurable<ReshapeBody>(ReshapeConfig{options, target_shape})) {}
Permute::Permute(std::vector<std::int64_t> dims, const LayerOptions& options)
    : Layer(make_configurable<PermuteBody>(PermuteConfig{options, std::move(dims)})) {}
RepeatVector::RepeatVector(std::int64_t n, const LayerOptions& options)
    : Layer(make_configurable<RepeatVectorBody>(RepeatVectorConfig{options, n})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::flatten_class() { return layers::FlattenBody::info(); }
const capstan::ClassInfo& capstan::detail::reshape_class() { return layers::ReshapeBody::info(); }
const capstan::ClassInfo& capstan::detail::permute_class() { return layers::PermuteBody::info(); }
const capstan::ClassInfo& capstan::detail::repeat_vector_class() { return layers::RepeatVectorBody::info(); }
