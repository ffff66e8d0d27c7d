// Dtype policies.
#include "capstan/dtype_policy.h"

#include "src/core/check.h"

namespace capstan {

DTypePolicy::DTypePolicy(DType dtype) : compute_(dtype), variable_(dtype) {
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, "layer: the dtype of a layer must be floating, not ", dtype);
}

DTypePolicy::DTypePolicy(std::string_view name)
    : DTypePolicy(name == "mixed_bfloat16" ? DType::kBFloat16 : dtype_from_name(name)) {
  if (name == "mixed_bfloat16") variable_ = DType::kFloat32;
}

}  // namespace capstan
