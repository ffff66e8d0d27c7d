// CategoryEncoding, and how other layers of ids give vectors.
#include "src/train/layers/category_encoding.h"

#include "capstan/debugging.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/common.h"
#include "src/train/layer_state.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/preprocessing.h"

namespace capstan {

namespace {

// How often each id appears in each row: ids and weights [rows, n] to [rows, depth]. Counts are scattered, for one-hot
// vectors of all ids would take `depth` times the memory; and no length of the input is in the ops as a number, so
// that a traced function serves batches of any size.
Tensor counts_of(const Tensor& ids, std::int64_t depth, DType dtype, const Tensor& weights) {
  const Tensor is_kept = logical_and(greater_equal(ids, 0), less(ids, depth));
  const Tensor rows = cumsum(ones_like(ids), 0) - 1;
  const Tensor places = stack({rows, where(is_kept, ids, zeros_like(ids))}, -1);
  const Tensor ones = weights.has_value() ? detail::in_dtype(weights, dtype) : cast(ones_like(ids), dtype);
  const Tensor none = cast(reduce_sum(zeros_like(ids), -1, {.keepdims = true}), dtype) + zeros({1, depth}, dtype);
  return tensor_scatter_nd_add(none, places, where(is_kept, ones, zeros_like(ones)));
}

}  // namespace

Tensor detail::encode_ids(const Tensor& given, std::string_view mode, std::int64_t depth, DType dtype,
                          const Tensor& weights) {
  if (mode == "int") return in_dtype(given, dtype);
  Tensor ids = in_dtype(given, int64);
  if (mode == "one_hot") {
    if (ids.rank() == 0) ids = expand_dims(ids, 0);
    if (ids.rank() > 1 && ids.dim(-1) == 1) ids = squeeze(ids, -1);
    return one_hot(ids, depth, 1, 0, -1, dtype);
  }
  // As [rows, ids].
  const Shape shape = ids.rank() == 0 ? Shape{1} : ids.shape();
  std::int64_t rows = 1;
  for (int axis = 0; axis < shape.rank() - 1; ++axis) rows *= shape[axis];
  const auto as_rows = [&](const Tensor& x) { return shape.rank() == 2 ? x : reshape(x, {rows, shape[-1]}); };
  // Not in bfloat16, which does not count beyond 256.
  Tensor result =
      counts_of(as_rows(ids), depth, working_dtype(dtype), weights.has_value() ? as_rows(weights) : Tensor());
  result = in_dtype(mode == "multi_hot" ? cast(greater(result, 0), dtype) : result, dtype);
  if (shape.rank() == 2) return result;
  Shape result_shape = shape;
  result_shape.set(-1, depth);
  return reshape(result, result_shape);
}

Tensor detail::filled_up(const std::vector<double>& weights, std::int64_t depth, DType dtype) {
  const Tensor given = cast(constant(weights), dtype);
  return given.size() == depth ? given : pad(given, {{0, depth - given.size()}});
}

void detail::check_result_dtype(std::string_view layer, DType dtype, std::string_view mode) {
  const bool is_id = dtype == DType::kInt32 || dtype == DType::kInt64;
  CAPSTAN_CHECK(is_id || (mode != "int" && is_floating(dtype)), DTypeError, layer, ": dtype must be int32 or int64",
                mode == "int" ? "" : " or floating", " for output_mode \"", mode, "\", not ", dtype);
}

namespace layers {

namespace {

struct CategoryEncodingConfig : CategoryEncodingOptions {
  std::int64_t num_tokens = 0;
  bool sparse = false;
  static std::span<const OptionField> fields() {
    using O = CategoryEncodingConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::num_tokens>("num_tokens", true).at_least(1),
         option<&O::output_mode, O>("output_mode").one_of(std::span(detail::kHashModes).subspan(1)),
         option<&O::sparse>("sparse")});
    return all;
  }
};

class CategoryEncodingBody final
    : public ConfiguredLayer<CategoryEncodingBody, CategoryEncodingConfig, LayerBodyOf<Tensor(Nest)>> {
 public:
  static constexpr char kName[] = "CategoryEncoding", kText[] = "Ids as vectors of zeros and ones, or of counts.";
  explicit CategoryEncodingBody(const CategoryEncodingConfig& given) : ConfiguredLayer(given) {
    detail::check_not_sparse(kName, given.sparse);
    // Ids that come as numbers must not be rounded.
    detail::LayerState::of(*this).converts_input = false;
  }

 protected:
  Tensor call(const Nest& inputs, const CallOptions&) override {
    const bool has_weights = inputs.is_list() && inputs.size() == 2;
    CAPSTAN_CHECK(inputs.is_tensor() || has_weights, ValueError, name(),
                  ": it takes ids, or a list of ids and weights, not ", inputs.form());
    const Tensor& given = inputs.is_tensor() ? inputs.tensor() : inputs[0].tensor();
    const Tensor weights = has_weights ? inputs[1].tensor() : Tensor();
    CAPSTAN_CHECK(!has_weights || options.output_mode == "count", ValueError, name(),
                  ": weights are for output_mode \"count\", not \"", options.output_mode, "\"");
    CAPSTAN_CHECK(!has_weights || weights.shape() == given.shape(), ShapeError, name(),
                  ": ids and weights must have the same shape", arguments({{"ids", given}, {"weights", weights}}));
    const Tensor ids = detail::in_dtype(given, int64);
    const std::string message = detail::join(name(), ": an id must be from 0 to num_tokens - 1");
    debugging::assert_non_negative(ids, {.message = message});
    debugging::assert_less(ids, options.num_tokens, {.message = message});
    return detail::encode_ids(ids, options.output_mode, options.num_tokens, compute_dtype(), weights);
  }
};

}  // namespace

CategoryEncoding::CategoryEncoding(std::int64_t num_tokens, const CategoryEncodingOptions& options)
    : Layer(make_configurable<CategoryEncodingBody>(CategoryEncodingConfig{options, num_tokens})) {}

}  // namespace layers

const ClassInfo& detail::category_encoding_class() { return layers::CategoryEncodingBody::info(); }

}  // namespace capstan
