// Attention of several heads.
//
// Projected tensors are [batch, other axes, attention axes, heads, depth]. For the product they become [batch, other
// axes, heads, attention axes as one, depth].
#include <algorithm>
#include <cmath>

#include "capstan/ops/array.h"
#include "src/train/common.h"
#include "src/train/layers/attention_inputs.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/projection.h"

namespace capstan::layers {

namespace {

using detail::AttentionInputs;

struct MultiHeadAttentionConfig : MultiHeadAttentionOptions {
  std::int64_t num_heads = 0;
  std::int64_t key_dim = 0;
  static std::span<const OptionField> fields() {
    using O = MultiHeadAttentionConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::num_heads>("num_heads", true).at_least(1), option<&O::key_dim>("key_dim", true).at_least(1),
         option<&O::value_dim, O>("value_dim").at_least(1), option<&O::dropout, O>("dropout"),
         option<&O::use_bias, O>("use_bias"), option<&O::output_shape, O>("output_shape"),
         option<&O::attention_axes, O>("attention_axes"), option<&O::kernel_initializer, O>("kernel_initializer"),
         option<&O::bias_initializer, O>("bias_initializer"), option<&O::kernel_regularizer, O>("kernel_regularizer"),
         option<&O::bias_regularizer, O>("bias_regularizer"),
         option<&O::activity_regularizer, O>("activity_regularizer"),
         option<&O::kernel_constraint, O>("kernel_constraint"), option<&O::bias_constraint, O>("bias_constraint"),
         option<&O::seed, O>("seed")});
    return all;
  }
};

class MultiHeadAttentionBody final
    : public ConfiguredLayer<MultiHeadAttentionBody, MultiHeadAttentionConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "MultiHeadAttention", kText[] = "Attention of several heads with projections.";
  explicit MultiHeadAttentionBody(const MultiHeadAttentionConfig& given);

 protected:
  void build(const std::vector<Shape>& shapes) override;
  Nest call(const Nest& inputs, const CallOptions& call_options) override;
  Nest compute_mask(const Nest& inputs, const Nest&) override { return mask_of(inputs[0].tensor()); }
  AttributeValue get_config() const override;

 private:
  std::int64_t value_dim() const { return options.value_dim.value_or(options.key_dim); }
  // The attended axes of inputs of this rank, positive.
  std::vector<int> axes_for(int rank) const;
  void check_shapes(const Shape& query, const Shape& value, const Shape& key) const;
  Tensor mask_for(const AttentionInputs& in, const CallOptions& call_options, std::size_t axes, int rank) const;

  Layer dropout_;
  Layer query_;
  Layer key_;
  Layer value_;
  Layer output_;
};

MultiHeadAttentionBody::MultiHeadAttentionBody(const MultiHeadAttentionConfig& given)
    : ConfiguredLayer(given), dropout_(detail::score_dropout(*this, kName, given.dropout, given.seed, given.dtype)) {
  takes_each_tensor();
  // It is that of the projections.
  set_activity_regularizer({});
  if (!given.output_shape) return;
  CAPSTAN_CHECK(!given.output_shape->empty(), ValueError, kName, ": the option \"output_shape\" must not be empty");
  for (const std::int64_t length : *given.output_shape) {
    CAPSTAN_CHECK(length >= 1, ValueError, kName, ": the option \"output_shape\" must have lengths of at least 1, not ",
                  length);
  }
}

AttributeValue MultiHeadAttentionBody::get_config() const {
  AttributeValue config = ConfiguredLayer::get_config();
  config.set("value_dim", value_dim());
  return config;
}

std::vector<int> MultiHeadAttentionBody::axes_for(int rank) const {
  std::vector<int> axes;
  if (!options.attention_axes) {
    for (int axis = 1; axis + 1 < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  for (const int given : *options.attention_axes) {
    // Counted from the end without the depth, as Keras does.
    const int axis = given >= 0 ? given : rank + given;
    CAPSTAN_CHECK(axis >= 1 && axis + 1 < rank, IndexError, name(), ": attention axis ", given,
                  " is out of range for inputs of rank ", rank, ", whose batch and depth do not count");
    CAPSTAN_CHECK(std::find(axes.begin(), axes.end(), axis) == axes.end(), ValueError, name(), ": attention axis ",
                  given, " is given twice");
    axes.push_back(axis);
  }
  return axes;
}

void MultiHeadAttentionBody::check_shapes(const Shape& query, const Shape& value, const Shape& key) const {
  const int rank = query.rank();
  const auto shapes = [&] { return detail::join(": query ", query, ", value ", value, ", key ", key); };
  CAPSTAN_CHECK(rank >= 3, ShapeError, name(), ": the query must have rank 3 or more, not ", rank, shapes());
  CAPSTAN_CHECK(value.rank() == rank && key.rank() == rank, ShapeError, name(), ": ranks differ", shapes());
  const std::vector<int> axes = axes_for(rank);
  for (int axis = 0; axis + 1 < rank; ++axis) {
    const bool attended = std::find(axes.begin(), axes.end(), axis) != axes.end();
    CAPSTAN_CHECK(value[axis] == key[axis], ShapeError, name(), ": value and key differ in axis ", axis, shapes());
    CAPSTAN_CHECK(attended || value[axis] == query[axis], ShapeError, name(), ": query and value differ in axis ", axis,
                  shapes());
  }
}

void MultiHeadAttentionBody::build(const std::vector<Shape>& shapes) {
  CAPSTAN_CHECK(shapes.size() == 2 || shapes.size() == 3, ValueError, name(),
                ": the inputs must be a list of query and value, or of query, value and key, not ", shapes.size(),
                shapes.size() == 1 ? " tensor" : " tensors");
  const Shape& query = shapes[0];
  const Shape& value = shapes[1];
  const Shape& key = shapes.back();
  check_shapes(query, value, key);
  const detail::ProjectionOptions o = detail::projection_options(options, trainable());
  query_ = detail::make_projection("query", 1, {options.num_heads, options.key_dim}, o);
  query_.build(query);
  key_ = detail::make_projection("key", 1, {options.num_heads, options.key_dim}, o);
  key_.build(key);
  value_ = detail::make_projection("value", 1, {options.num_heads, value_dim()}, o);
  value_.build(value);
  Shape heads = query;
  heads.set(-1, options.num_heads);
  heads.push_back(value_dim());
  output_ = detail::make_projection("attention_output", 2,
                                    options.output_shape.value_or(std::vector<std::int64_t>{query[-1]}), o);
  output_.build(heads);
}

// The order of axes that puts heads before the attended axes of [batch, others, attended, heads, depth].
std::vector<int> heads_first(const std::vector<int>& axes, int rank) {
  std::vector<int> order;
  for (int axis = 0; axis < rank - 2; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  }
  order.push_back(rank - 2);
  order.insert(order.end(), axes.begin(), axes.end());
  order.push_back(rank - 1);
  return order;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return result;
}

// Joins `count` axes in front of the last one, which stays, or at the end.
Tensor join_axes(const Tensor& x, std::size_t count, bool at_end) {
  if (count == 1) return x;
  const int first = x.rank() - static_cast<int>(count) - (at_end ? 0 : 1);
  Shape shape;
  for (int axis = 0; axis < first; ++axis) shape.push_back(axis == 0 ? -1 : x.dim(axis));
  std::int64_t joined = 1;
  for (int axis = first; axis < first + static_cast<int>(count); ++axis) joined *= x.dim(axis);
  shape.push_back(joined);
  if (!at_end) shape.push_back(x.dim(-1));
  return reshape(x, shape);
}

// [batch, others, heads, attended axes of the query, those of the key].
Shape shape_of_scores(const Tensor& q, const Tensor& k, std::size_t axes) {
  Shape shape;
  for (int axis = 0; axis + 1 < q.rank(); ++axis) shape.push_back(q.dim(axis));
  for (int axis = k.rank() - 1 - static_cast<int>(axes); axis + 1 < k.rank(); ++axis) shape.push_back(k.dim(axis));
  return shape;
}

Tensor MultiHeadAttentionBody::mask_for(const AttentionInputs& in, const CallOptions& call_options, std::size_t axes,
                                        int rank) const {
  const int pairs = 2 * static_cast<int>(axes);
  const int scores = rank - 1 + static_cast<int>(axes);
  const auto aligned = [&](Tensor mask) {
    while (mask.rank() < scores) mask = expand_dims(mask, -pairs - 1);
    return mask;
  };
  Tensor result;
  const auto add = [&](const Tensor& mask) { result = detail::both_masks(result, aligned(mask)); };
  if (in.query_mask.has_value()) add(expand_dims(in.query_mask, -1));
  if (in.value_mask.has_value()) add(expand_dims(in.value_mask, -2));
  if (in.key_mask.has_value()) add(expand_dims(in.key_mask, -2));
  CAPSTAN_CHECK((!result.has_value() && !call_options.use_causal_mask) || axes == 1, ValueError, name(),
                ": causal masks and masks of query, value and key need one attention axis, not ", axes,
                help("give attention_mask"));
  if (call_options.attention_mask.has_value()) {
    const Tensor& mask = call_options.attention_mask;
    CAPSTAN_CHECK(mask.rank() >= pairs && mask.rank() <= scores, ShapeError, name(), ": attention_mask must have rank ",
                  pairs, " to ", scores, ", not ", mask.rank(), ": ", mask.shape());
    add(detail::as_mask(mask));
  }
  return result;
}

Nest MultiHeadAttentionBody::call(const Nest& inputs, const CallOptions& call_options) {
  AttentionInputs in = detail::attention_inputs(name(), inputs, call_options.mask);
  // Keras's layer takes the one that the query carries.
  in.query_mask = mask_of(in.query);
  check_shapes(in.query.shape(), in.value.shape(), in.key.shape());
  const int rank = in.query.rank() + 1;
  const std::vector<int> axes = axes_for(in.query.rank());
  const std::vector<int> order = heads_first(axes, rank);
  const Tensor mask = mask_for(in, call_options, axes.size(), rank);
  const auto heads = [&](const Layer& projection, const Tensor& x) { return transpose(projection(x), order); };
  const Tensor q = heads(query_, in.query);
  const Tensor k = heads(key_, in.key);
  const Tensor v = heads(value_, in.value);
  Tensor pairs = mask;
  if (axes.size() > 1 && mask.has_value()) {
    Shape full = shape_of_scores(q, k, axes.size());
    for (int axis = 0; axis <= rank - 2 - static_cast<int>(axes.size()); ++axis) full.set(axis, mask.dim(axis));
    pairs = broadcast_to(mask, full);
    // Of the keys, then of the queries.
    pairs = join_axes(pairs, axes.size(), true);
    pairs = join_axes(pairs, axes.size(), false);
  }
  detail::Attended attended = detail::attend(join_axes(q, axes.size(), false), join_axes(k, axes.size(), false),
                                             join_axes(v, axes.size(), false), pairs,
                                             {.scale = 1 / std::sqrt(static_cast<double>(options.key_dim)),
                                              .causal = call_options.use_causal_mask,
                                              .wants_scores = call_options.return_attention_scores,
                                              .dropout = call_options.training ? dropout_ : Layer()});
  Tensor context = std::move(attended.context);
  if (axes.size() > 1) {
    Shape shape = q.shape();
    shape.set(-1, value_dim());
    if (shape.size() > 0) shape.set(0, -1);
    context = reshape(context, shape);
  }
  Tensor y = output_(transpose(context, inverse(order)));
  if (!call_options.return_attention_scores) return y;
  Tensor scores = std::move(attended.scores);
  if (axes.size() > 1) {
    Shape shape = shape_of_scores(q, k, axes.size());
    if (shape.size() > 0) shape.set(0, -1);
    scores = reshape(scores, shape);
  }
  return Nest{std::move(y), detail::with_score_mask(scores, mask, call_options.use_causal_mask)};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim,
                                       const MultiHeadAttentionOptions& options)
    : Layer(make_configurable<MultiHeadAttentionBody>(MultiHeadAttentionConfig{options, num_heads, key_dim})) {}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& value, const CallOptions& options) const {
  return (*this)(Nest{query, value}, options).tensor();
}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::multi_head_attention_class() {
  return layers::MultiHeadAttentionBody::info();
}
