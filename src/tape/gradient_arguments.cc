#include "src/tape/gradient_arguments.h"

#include "src/core/check.h"

namespace capstan {

[[gnu::cold]] void throw_missing(std::string_view call, const char* what) {
  throw ValueError(detail::join(call, ": ", what, " is an empty tensor"));
}

bool same_source(const Source& a, const Source& b) {
  if (a.variable() != nullptr && b.variable() != nullptr) return *a.variable() == *b.variable();
  if (a.tensor() != nullptr && b.tensor() != nullptr) return same_tensor(*a.tensor(), *b.tensor());
  return false;
}

void check_output_gradients(std::span<const Source> targets, std::span<const Tensor> weights) {
  if (weights.empty()) return;
  CAPSTAN_CHECK(weights.size() == targets.size(), ValueError, "gradient: ", weights.size(), " output gradients for ",
                targets.size(), " targets");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i].has_value()) continue;
    check_live("gradient", weights[i]);
    const TensorRef target = value_of(targets[i]);
    CAPSTAN_CHECK(weights[i].shape() == target.shape(), ShapeError, "gradient: output gradient ", i, " has shape ",
                  weights[i].shape(), ", its target ", target.shape());
    CAPSTAN_CHECK(weights[i].dtype() == target.dtype(), DTypeError, "gradient: output gradient ", i, " is ",
                  weights[i].dtype(), ", its target ", target.dtype(), help("convert it with cast(x, dtype)"));
  }
}

}  // namespace capstan
