// Attention whose query heads share heads of key and value.
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/utils.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/attention_inputs.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/projection.h"

namespace capstan::layers {

namespace {

using detail::AttentionInputs;

struct GroupQueryAttentionConfig : GroupQueryAttentionOptions {
  std::int64_t head_dim = 0;
  std::int64_t num_query_heads = 0;
  std::int64_t num_key_value_heads = 0;
  static std::span<const OptionField> fields() {
    using O = GroupQueryAttentionConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::head_dim>("head_dim", true).at_least(1),
         option<&O::num_query_heads>("num_query_heads", true).at_least(1),
         option<&O::num_key_value_heads>("num_key_value_heads", true).at_least(1), option<&O::dropout, O>("dropout"),
         option<&O::use_bias, O>("use_bias"), option<&O::kernel_initializer, O>("kernel_initializer"),
         option<&O::bias_initializer, O>("bias_initializer"), option<&O::kernel_regularizer, O>("kernel_regularizer"),
         option<&O::bias_regularizer, O>("bias_regularizer"),
         option<&O::activity_regularizer, O>("activity_regularizer"),
         option<&O::kernel_constraint, O>("kernel_constraint"), option<&O::bias_constraint, O>("bias_constraint"),
         option<&O::seed, O>("seed")});
    return all;
  }
};

// Keras's class is named GroupedQueryAttention, under which its layers get their names.
GroupQueryAttentionConfig named(GroupQueryAttentionConfig given) {
  if (given.name.empty()) given.name = auto_name("grouped_query_attention");
  return given;
}

class GroupQueryAttentionBody final
    : public ConfiguredLayer<GroupQueryAttentionBody, GroupQueryAttentionConfig, LayerBodyOf<Nest(Nest)>> {
 public:
  static constexpr char kName[] = "GroupQueryAttention", kText[] = "Attention with heads of key and value for groups.";
  explicit GroupQueryAttentionBody(const GroupQueryAttentionConfig& given)
      : ConfiguredLayer(named(given)),
        dropout_(detail::score_dropout(*this, kName, given.dropout, given.seed, given.dtype)) {
    takes_each_tensor();
    // It is that of the projections.
    set_activity_regularizer({});
    CAPSTAN_CHECK(given.num_query_heads % given.num_key_value_heads == 0, ValueError, kName,
                  ": num_query_heads must be a multiple of num_key_value_heads, but they are ", given.num_query_heads,
                  " and ", given.num_key_value_heads);
  }

 protected:
  void build(const std::vector<Shape>& shapes) override;
  Nest call(const Nest& inputs, const CallOptions& call_options) override;
  Nest compute_mask(const Nest& inputs, const Nest&) override { return mask_of(inputs[0].tensor()); }

 private:
  void check_shapes(const Shape& query, const Shape& value, const Shape& key) const;

  Layer dropout_;
  Layer query_;
  Layer key_;
  Layer value_;
  Layer output_;
};

void GroupQueryAttentionBody::check_shapes(const Shape& query, const Shape& value, const Shape& key) const {
  const auto shapes = [&] { return detail::join(": query ", query, ", value ", value, ", key ", key); };
  CAPSTAN_CHECK(query.rank() == 3 && value.rank() == 3 && key.rank() == 3, ShapeError, name(),
                ": query, value and key must have rank 3", shapes());
  CAPSTAN_CHECK(query[0] == value[0] && value[0] == key[0], ShapeError, name(), ": the batches differ in length",
                shapes());
  CAPSTAN_CHECK(value[1] == key[1], ShapeError, name(), ": value and key differ in axis 1", shapes());
}

void GroupQueryAttentionBody::build(const std::vector<Shape>& shapes) {
  CAPSTAN_CHECK(shapes.size() == 2 || shapes.size() == 3, ValueError, name(),
                ": the inputs must be a list of query and value, or of query, value and key, not ", shapes.size(),
                shapes.size() == 1 ? " tensor" : " tensors");
  check_shapes(shapes[0], shapes[1], shapes.back());
  const detail::ProjectionOptions o = detail::projection_options(options, trainable());
  query_ = detail::make_projection("query", 1, {options.num_query_heads, options.head_dim}, o);
  query_.build(shapes[0]);
  key_ = detail::make_projection("key", 1, {options.num_key_value_heads, options.head_dim}, o);
  key_.build(shapes.back());
  value_ = detail::make_projection("value", 1, {options.num_key_value_heads, options.head_dim}, o);
  value_.build(shapes[1]);
  output_ = detail::make_projection("attention_output", 2, {shapes[0][-1]}, o);
  output_.build({shapes[0][0], shapes[0][1], options.num_query_heads, options.head_dim});
}

Nest GroupQueryAttentionBody::call(const Nest& inputs, const CallOptions& call_options) {
  const AttentionInputs in = detail::attention_inputs(name(), inputs, call_options.mask);
  check_shapes(in.query.shape(), in.value.shape(), in.key.shape());
  Tensor mask;
  const auto add = [&](Tensor more) {
    while (more.rank() < 4) more = expand_dims(more, -3);
    mask = detail::both_masks(mask, more);
  };
  if (in.query_mask.has_value()) add(expand_dims(in.query_mask, -1));
  if (in.value_mask.has_value()) add(expand_dims(in.value_mask, -2));
  if (in.key_mask.has_value()) add(expand_dims(in.key_mask, -2));
  if (const Tensor& given = call_options.attention_mask; given.has_value()) {
    CAPSTAN_CHECK(given.rank() >= 2 && given.rank() <= 4, ShapeError, name(),
                  ": attention_mask must have rank 2 to 4, not ", given.rank(), ": ", given.shape());
    add(detail::as_mask(given));
  }
  // [batch, heads, length, depth], with a head of key and value for each of the query.
  const std::int64_t group = options.num_query_heads / options.num_key_value_heads;
  const auto heads = [&](const Layer& projection, const Tensor& x, std::int64_t times) {
    const Tensor y = transpose(projection(x), {0, 2, 1, 3});
    return times > 1 ? repeat(y, times, 1) : y;
  };
  const Tensor q = heads(query_, in.query, 1);
  const Tensor k = heads(key_, in.key, group);
  const Tensor v = heads(value_, in.value, group);
  detail::Attended attended = detail::attend(q, k, v, mask,
                                             {.scale = 1 / std::sqrt(static_cast<double>(options.head_dim)),
                                              .causal = call_options.use_causal_mask,
                                              .wants_scores = call_options.return_attention_scores,
                                              .dropout = call_options.training ? dropout_ : Layer()});
  Tensor y = output_(transpose(attended.context, {0, 2, 1, 3}));
  if (!call_options.return_attention_scores) return y;
  return Nest{std::move(y), detail::with_score_mask(attended.scores, mask, call_options.use_causal_mask)};
}

}  // namespace

GroupQueryAttention::GroupQueryAttention(std::int64_t head_dim, std::int64_t num_query_heads,
                                         std::int64_t num_key_value_heads, const GroupQueryAttentionOptions& options)
    : Layer(make_configurable<GroupQueryAttentionBody>(
          GroupQueryAttentionConfig{options, head_dim, num_query_heads, num_key_value_heads})) {}

Tensor GroupQueryAttention::operator()(const Tensor& query, const Tensor& value, const CallOptions& options) const {
  return (*this)(Nest{query, value}, options).tensor();
}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::group_query_attention_class() {
  return layers::GroupQueryAttentionBody::info();
}
