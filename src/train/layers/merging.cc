// Layers that merge a list of tensors element by element.
#include "src/train/layers/merging.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/layers/classes.h"

namespace capstan {

namespace {

// Keras's order: what comes later holds what comes before.
constexpr DType kByWidth[] = {bool_, uint8, int32, int64, bfloat16, float32, float64, complex64, complex128};

}  // namespace

std::vector<Tensor> detail::with_one_dtype(std::vector<Tensor> tensors) {
  const auto width = [](const Tensor& x) { return std::find(std::begin(kByWidth), std::end(kByWidth), x.dtype()); };
  const auto widest = width(*std::max_element(tensors.begin(), tensors.end(),
                                              [&](const Tensor& a, const Tensor& b) { return width(a) < width(b); }));
  for (Tensor& x : tensors) {
    if (x.dtype() != *widest) x = cast(x, *widest);
  }
  return tensors;
}

std::vector<Tensor> detail::merge_inputs(const std::string& layer, const Nest& inputs) {
  CAPSTAN_CHECK(inputs.is_list() && inputs.size() > 0, ValueError, layer, ": the input must be a list of tensors, not ",
                inputs.form(), help("write layer({a, b})"));
  std::vector<Tensor> tensors;
  for (const Nest& item : inputs.items()) {
    CAPSTAN_CHECK(item.is_tensor(), ValueError, layer, ": the input must be a list of tensors, not ", inputs.form());
    const Tensor& first = tensors.empty() ? item.tensor() : tensors[0];
    CAPSTAN_CHECK(item.tensor().rank() >= 1, ShapeError, layer, ": inputs must have a batch axis, not be scalars");
    CAPSTAN_CHECK(item.tensor().dim(0) == first.dim(0), ValueError, layer, ": inputs have batches of ", first.dim(0),
                  " and ", item.tensor().dim(0), arguments({{"first", first}, {"other", item.tensor()}}));
    tensors.push_back(item.tensor());
  }
  return with_one_dtype(std::move(tensors));
}

std::vector<Tensor> detail::merge_masks(const std::string& layer, const Nest& mask, std::size_t count) {
  std::vector<Tensor> masks(count);
  if (!mask.has_value()) return masks;
  CAPSTAN_CHECK(mask.is_list() && mask.size() == count, ValueError, layer, ": the mask must be a list of ", count,
                " masks, one for each input, not ", mask.form());
  for (std::size_t i = 0; i < count; ++i) masks[i] = mask[i].tensor_or_empty();
  return masks;
}

namespace layers {

namespace {

using Tensors = std::vector<Tensor>;

// Puts axes of length 1 after the batch of what has fewer than `rank`.
Tensor with_rank(Tensor x, int rank) {
  while (x.rank() < rank) x = expand_dims(x, 1);
  return x;
}

template <class Derived>
class Elementwise : public ConfiguredLayer<Derived, detail::NoOptions, LayerBodyOf<Nest(Nest)>> {
 public:
  using ConfiguredLayer<Derived, detail::NoOptions, LayerBodyOf<Nest(Nest)>>::ConfiguredLayer;

 protected:
  Nest call(const Nest& inputs, const CallOptions& options) override {
    Tensors x = detail::merge_inputs(this->name(), inputs);
    Tensors masks = detail::merge_masks(this->name(), options.mask, x.size());
    Derived::check_count(this->name(), x.size());
    int rank = 0;
    for (const Tensor& tensor : x) rank = std::max(rank, tensor.rank());
    for (std::size_t i = 0; i < x.size(); ++i) {
      // The mask goes over the same axes as its tensor, and over all features.
      if (masks[i].has_value()) {
        while (masks[i].rank() < x[i].rank()) masks[i] = expand_dims(masks[i], -1);
        masks[i] = with_rank(masks[i], rank);
      }
      x[i] = with_rank(x[i], rank);
    }
    return x.size() == 1 && !masks[0].has_value() ? x[0] : Derived::merge(x, masks);
  }

  Nest compute_mask(const Nest& inputs, const Nest& mask) override {
    const Tensors masks = detail::merge_masks(this->name(), mask, inputs.size());
    int rank = 0, longest = 0;
    for (std::size_t i = 0; i < masks.size(); ++i) {
      if (!masks[i].has_value()) return {};
      rank = std::max(rank, inputs[i].tensor().rank());
      longest = std::max(longest, masks[i].rank());
    }
    Tensor any;
    for (std::size_t i = 0; i < masks.size(); ++i) {
      Tensor own = masks[i];
      while (own.rank() < std::min(longest, inputs[i].tensor().rank())) own = expand_dims(own, -1);
      own = with_rank(own, longest);
      any = any.has_value() ? logical_or(any, own) : own;
    }
    return any;
  }

 public:
  static void check_count(const std::string&, std::size_t) {}
};

Tensor sum_of(const Tensors& x) {
  Tensor sum = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) sum = sum + x[i];
  return sum;
}

struct AddBody final : Elementwise<AddBody> {
  static constexpr char kName[] = "Add", kText[] = "The sum of tensors.";
  using Elementwise::Elementwise;
  static Tensor merge(const Tensors& x, const Tensors&) { return sum_of(x); }
};

struct SubtractBody final : Elementwise<SubtractBody> {
  static constexpr char kName[] = "Subtract", kText[] = "The difference of two tensors.";
  using Elementwise::Elementwise;
  static void check_count(const std::string& layer, std::size_t count) {
    CAPSTAN_CHECK(count == 2, ValueError, layer, ": it takes two tensors, not ", count);
  }
  static Tensor merge(const Tensors& x, const Tensors&) { return x[0] - x[1]; }
};

struct AverageBody final : Elementwise<AverageBody> {
  static constexpr char kName[] = "Average", kText[] = "The mean of tensors.";
  using Elementwise::Elementwise;
  static Tensor merge(const Tensors& x, const Tensors&) {
    Tensor sum = sum_of(x);
    if (is_integer(sum.dtype())) sum = cast(sum, sum.dtype() == uint8 ? float32 : float64);  // as Keras divides
    return sum / static_cast<double>(x.size());
  }
};

struct MultiplyBody final : Elementwise<MultiplyBody> {
  static constexpr char kName[] = "Multiply", kText[] = "The product of tensors.";
  using Elementwise::Elementwise;
  static Tensor merge(const Tensors& x, const Tensors& masks) {
    Tensor product, any;
    bool all_masked = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Tensor factor = masks[i].has_value() ? where(masks[i], x[i], ones_like(x[i])) : x[i];
      product = product.has_value() ? product * factor : factor;
      all_masked = all_masked && masks[i].has_value();
      if (all_masked) any = any.has_value() ? logical_or(any, masks[i]) : masks[i];
    }
    return all_masked ? where(any, product, zeros_like(product)) : product;
  }
};

// There is no number that never wins, so what is masked is replaced by what it is compared with.
Tensor extreme_of(const Tensors& x, const Tensors& masks, Tensor (*op)(Operand, Operand)) {
  Tensor result = x[0], mask = masks[0];
  for (std::size_t i = 1; i < x.size(); ++i) {
    const Tensor other = masks[i].has_value() ? where(masks[i], x[i], result) : x[i];
    if (mask.has_value()) result = where(mask, result, other);
    mask = mask.has_value() && masks[i].has_value() ? logical_or(mask, masks[i]) : Tensor();
    result = op(result, other);
  }
  return result;
}

struct MaximumBody final : Elementwise<MaximumBody> {
  static constexpr char kName[] = "Maximum", kText[] = "The largest of tensors.";
  using Elementwise::Elementwise;
  static Tensor merge(const Tensors& x, const Tensors& masks) { return extreme_of(x, masks, maximum); }
};

struct MinimumBody final : Elementwise<MinimumBody> {
  static constexpr char kName[] = "Minimum", kText[] = "The smallest of tensors.";
  using Elementwise::Elementwise;
  static Tensor merge(const Tensors& x, const Tensors& masks) { return extreme_of(x, masks, minimum); }
};

}  // namespace

Add::Add(const LayerOptions& options) : MergingLayer(make_configurable<AddBody>(detail::NoOptions{options})) {}
Subtract::Subtract(const LayerOptions& options)
    : MergingLayer(make_configurable<SubtractBody>(detail::NoOptions{options})) {}
Multiply::Multiply(const LayerOptions& options)
    : MergingLayer(make_configurable<MultiplyBody>(detail::NoOptions{options})) {}
Average::Average(const LayerOptions& options)
    : MergingLayer(make_configurable<AverageBody>(detail::NoOptions{options})) {}
Maximum::Maximum(const LayerOptions& options)
    : MergingLayer(make_configurable<MaximumBody>(detail::NoOptions{options})) {}
Minimum::Minimum(const LayerOptions& options)
    : MergingLayer(make_configurable<MinimumBody>(detail::NoOptions{options})) {}

}  // namespace layers

const ClassInfo& detail::add_class() { return layers::AddBody::info(); }
const ClassInfo& detail::subtract_class() { return layers::SubtractBody::info(); }
const ClassInfo& detail::multiply_class() { return layers::MultiplyBody::info(); }
const ClassInfo& detail::average_class() { return layers::AverageBody::info(); }
const ClassInfo& detail::maximum_class() { return layers::MaximumBody::info(); }
const ClassInfo& detail::minimum_class() { return layers::MinimumBody::info(); }

}  // namespace capstan
