#include "src/saved_model/node_attributes.h"

#include <cstddef>
#include <utility>

namespace capstan::saved_model {

AttributeValue attributes_form(const OpDef& op, const void* attributes) {
  AttributeValue form = AttributeValue::map();
  const AttributeType* const type = op.attributes;
  if (type == nullptr) return form;
  alignas(std::max_align_t) std::byte defaults[64];
  type->construct(defaults);
  for (int i = 0; i < type->field_count; ++i) {
    const AttributeField& field = type->fields[i];
    AttributeValue value = field.get(attributes);
    const bool is_default = !field.required && value.to_json() == field.get(defaults).to_json();
    if (!is_default) form.set(field.name, std::move(value));
  }
  return form;
}

}  // namespace capstan::saved_model
