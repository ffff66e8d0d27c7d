// Dtype policies.
#include "capstan/dtype_policy.h"

#include "capstan/fields.h"
#include "src/core/check.h"

namespace capstan {

DTypePolicy::DTypePolicy(DType dtype) : compute_(dtype), variable_(dtype) {
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, "layer: the dtype of a layer must be floating, not ", dtype);
}

DTypePolicy::DTypePolicy(std::string_view name)
    : DTypePolicy(name == "mixed_bfloat16" ? DType::kBFloat16 : dtype_from_name(name)) {
  if (name == "mixed_bfloat16") variable_ = DType::kFloat32;
}

std::string DTypePolicy::name() const {
  return compute_ == variable_ ? get_field(compute_).text : "mixed_" + get_field(compute_).text;
}

void set_field(DTypePolicy& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  const AttributeValue* const config = value.find("config");
  const AttributeValue* const inner = config == nullptr ? nullptr : config->find("name");
  const AttributeValue& policy = inner == nullptr ? value : *inner;
  CAPSTAN_CHECK(policy.kind == AttributeValue::Kind::kString, ValueError, owner, ": option \"", name,
                "\" must be a dtype policy: a name, or a map with \"config\" and a \"name\" in it, not ",
                value.to_string());
  try {
    field = DTypePolicy(policy.text);
  } catch (const Error& error) {
    throw ValueError(detail::join(owner, ": option \"", name, "\" must be a dtype policy, not ", policy.to_string(),
                                  "; ", error.what()));
  }
}

AttributeValue get_field(const DTypePolicy& field) {
  AttributeValue config = AttributeValue::map();
  config.set("name", field.name());
  AttributeValue value = AttributeValue::map();
  value.set("module", "keras");
  value.set("class_name", "DTypePolicy");
  value.set("config", std::move(config));
  value.set("registered_name", {});
  return value;
}

}  // namespace capstan
