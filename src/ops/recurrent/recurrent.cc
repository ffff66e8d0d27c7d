#include "src/ops/recurrent/recurrent.h"

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/batching.h"

namespace capstan {

namespace {
constexpr Slice kAll = slice(0);
}

Steps check_steps(const Call& call, int i, std::string_view name, std::int64_t gates) {
  const TensorRef& x = call.input(i);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{name, x}}));
  CAPSTAN_CHECK(x.rank() == 3 && x.dim(2) % gates == 0, ShapeError, call.op.name, ": ", name,
                " must be [batch, steps, ", gates, " * units], not ", x.shape());
  CAPSTAN_CHECK(x.dim(1) > 0 && x.dim(2) > 0, ShapeError, call.op.name,
                ": there must be at least one step and one unit", arguments({{name, x}}));
  return {x.dim(0), x.dim(1), x.dim(2) / gates};
}

void check_input(const Call& call, int i, std::string_view name, const Shape& shape) {
  const TensorRef &first = call.input(0), &x = call.input(i);
  CAPSTAN_CHECK(x.dtype() == first.dtype(), DTypeError, call.op.name, ": dtypes differ, ", first.dtype(), " and ",
                x.dtype(), arguments({{"the first", first}, {name, x}}));
  CAPSTAN_CHECK(x.shape() == shape, ShapeError, call.op.name, ": ", name, " has shape ", x.shape(), ", not ", shape,
                arguments({{"the first", first}, {name, x}}));
}

void check_mask(const Call& call, int i, const Steps& steps) {
  const TensorRef& mask = call.input(i);
  CAPSTAN_CHECK(mask.dtype() == DType::kBool, DTypeError, call.op.name, ": the mask must be bool, not ", mask.dtype());
  const Shape shape = {steps.batch, steps.steps};
  CAPSTAN_CHECK(mask.shape() == shape || mask.shape() == Shape({0, 0}), ShapeError, call.op.name,
                ": the mask has shape ", mask.shape(), ", not ", shape, help("[0, 0] means none"));
}

const bool* mask_of_steps(const Call& call, int i) {
  return call.input(i).size() == 0 ? nullptr : call.input(i).data<bool>();
}

Tensor all_steps() { return zeros({0, 0}, DType::kBool); }

Tensor step_before(const Tensor& first, const Tensor& states) {
  return concat({expand_dims(first, 1), states(kAll, slice(0, -1))}, 1);
}
Tensor step_behind(const Tensor& x) { return concat({x(kAll, slice(1)), zeros_like(x(kAll, slice(0, 1)))}, 1); }
Tensor first_step(const Tensor& x) { return x(kAll, 0); }

Tensor rows_product(const Tensor& a, const Tensor& b) {
  return matmul(reshape(a, {-1, a.dim(-1)}), reshape(b, {-1, b.dim(-1)}), {.transpose_a = true});
}

bool join_sequences(const BatchCall& call, int kernel, int mask, int bias, std::vector<Tensor>& outputs) {
  if (call.is_batched(kernel) || (bias >= 0 && call.is_batched(bias))) return false;
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) {
    const bool as_it_is = i == kernel || i == bias || (i == mask && !call.is_batched(i) && call.input(i).size() == 0);
    inputs.push_back(as_it_is ? call.input(i) : merge_items(with_items(call, i)));
  }
  call_again(call, std::move(inputs), call.attribute_data, outputs);
  for (Tensor& output : outputs) output = split_items(output, call.size);
  return true;
}

}  // namespace capstan
