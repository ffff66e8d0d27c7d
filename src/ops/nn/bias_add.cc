// bias_add: a vector added to the axis of the channels, wherever that is.

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

bool channels_stand_first(std::string_view data_format) {
  const bool first = data_format.starts_with("NC");
  CAPSTAN_CHECK(first || data_format.ends_with("C"), ValueError,
                "bias_add: the data format must begin with \"NC\" or end with \"C\", not \"", data_format, "\"");
  return first;
}
}  // namespace

constinit const OpDef kBiasAdd = composite<&bias_add, "x, bias, data_format", NameList{"N...C"}>(
    "bias_add", "Adds a vector to the axis of the channels.");

Tensor bias_add(Operand x, Operand bias, std::string_view data_format) try {
  const bool first = channels_stand_first(data_format);
  const Tensor value = to_tensor(x);
  const Tensor vector = to_tensor(bias);
  CAPSTAN_CHECK(value.rank() >= 2, ShapeError, "bias_add: the input needs rank 2 or more, not ", value.rank(),
                arguments({{"x", value}, {"bias", vector}}));
  CAPSTAN_CHECK(vector.rank() == 1, ShapeError, "bias_add: the bias must be a vector, not of rank ", vector.rank(),
                arguments({{"x", value}, {"bias", vector}}));
  const std::int64_t channels = value.dim(first ? 1 : -1);
  CAPSTAN_CHECK(vector.dim(0) == channels, ShapeError, "bias_add: ", vector.dim(0), " values for ", channels,
                " channels", arguments({{"x", value}, {"bias", vector}}));
  if (!first || value.rank() == 2) return add(value, vector);
  Shape column{channels};
  for (int i = 2; i < value.rank(); ++i) column.push_back(1);
  return add(value, reshape(vector, column));
} catch (const Error&) {
  rethrow_as("bias_add");
}

CAPSTAN_OPS(bias_add, &kBiasAdd);

}  // namespace capstan
