// Dtype policies.
#include "capstan/dtype_policy.h"

#include <atomic>
#include <cstdint>

#include "capstan/fields.h"
#include "src/core/check.h"

namespace capstan {

namespace {

// Both dtypes in one number, or none if nothing was set.
constexpr std::uint32_t kNone = UINT32_MAX;
std::atomic<std::uint32_t> default_policy{kNone};

}  // namespace

DTypePolicy::DTypePolicy() : DTypePolicy(dtype_policy()) {}

DTypePolicy dtype_policy() {
  const std::uint32_t set = default_policy.load(std::memory_order_relaxed);
  DTypePolicy policy = floatx();
  if (set != kNone) {
    policy.compute_ = static_cast<DType>(set >> 8);
    policy.variable_ = static_cast<DType>(set & 0xFF);
  }
  return policy;
}

void set_dtype_policy(const DTypePolicy& policy) {
  const auto number = [](DType dtype) { return static_cast<std::uint32_t>(dtype); };
  default_policy.store(number(policy.compute_) << 8 | number(policy.variable_), std::memory_order_relaxed);
}

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
