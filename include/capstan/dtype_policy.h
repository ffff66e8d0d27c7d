// Which dtype a layer keeps its weights in, and which one it computes in.
#pragma once

#include <string>
#include <string_view>

#include "capstan/dtype.h"
#include "capstan/registry.h"

namespace capstan {

/// The dtypes of a layer. Mostly one dtype for everything; "mixed_bfloat16" computes in bfloat16 and keeps weights in
/// float32, so that small updates are not rounded away. Errors: DTypeError for a dtype that is not floating, ValueError
/// for a name that is neither "mixed_bfloat16" nor a dtype's.
///
///     layers::Dense(64, {.dtype = float64});
///     layers::Dense(64, {.dtype = "mixed_bfloat16"});
class CAPSTAN_EXPORT DTypePolicy {
 public:
  /// That of layers that are given none: dtype_policy().
  DTypePolicy();
  DTypePolicy(DType dtype);
  DTypePolicy(const char* name) : DTypePolicy(std::string_view(name)) {}
  DTypePolicy(const std::string& name) : DTypePolicy(std::string_view(name)) {}
  DTypePolicy(std::string_view name);

  /// "float32", "mixed_bfloat16".
  std::string name() const;
  /// The dtype of inputs and results.
  DType compute_dtype() const { return compute_; }
  /// The dtype of weights.
  DType variable_dtype() const { return variable_; }

 private:
  friend CAPSTAN_EXPORT DTypePolicy dtype_policy();
  friend CAPSTAN_EXPORT void set_dtype_policy(const DTypePolicy& policy);
  DType compute_ = DType::kFloat32;
  DType variable_ = DType::kFloat32;
};

/// The policy of layers that are given none: that of floatx() until set_dtype_policy() changes it, for the whole
/// process.
///
///     dtype_policy().name();  // "float32"
CAPSTAN_EXPORT DTypePolicy dtype_policy();
/// Changes dtype_policy(), as keras.config.set_dtype_policy and keras.mixed_precision.set_global_policy do; layers that
/// exist keep theirs. From then on floatx() has no part in it.
///
///     set_dtype_policy("mixed_bfloat16");
///     layers::Dense(2).compute_dtype();  // bfloat16
///     set_dtype_policy("float32");
CAPSTAN_EXPORT void set_dtype_policy(const DTypePolicy& policy);

/// A policy in configurations: a name, or as Keras writes it: {"module": "keras", "class_name": "DTypePolicy",
/// "config":
/// {"name": "float32"}, "registered_name": null}. Errors: ValueError for anything else and for policies that there are
/// not, naming the option.
CAPSTAN_EXPORT void set_field(DTypePolicy& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const DTypePolicy& field);

}  // namespace capstan
