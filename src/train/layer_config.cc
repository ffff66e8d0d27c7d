// Configurations of layers: what they were made with, by name, and which of it can be changed.
#include "capstan/layer.h"
#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/layer_state.h"
#include "src/train/op_layer.h"

namespace capstan {

using detail::LayerState;

AttributeValue LayerBase::get_config() const {
  const ClassInfo& info = class_info();
  CAPSTAN_CHECK(options_data() != nullptr, ValueError, "get_config: ", name(),
                " is of a class without a table of options", help("derive it from ConfiguredLayer"));
  AttributeValue config = config_of(info, options_data());
  config.set("name", name());
  // Some classes of Keras do not take it.
  if (config.find("trainable") != nullptr) config.set("trainable", trainable());
  return config;
}

AttributeValue Layer::get_config() const { return body().get_config(); }

void Layer::set_option(std::string_view name, const AttributeValue& value) const {
  const ClassInfo& info = body().class_info();
  void* const options = body().changeable_options();
  const OptionField* found = nullptr;
  for (const OptionField& field : info.options()) {
    if (options != nullptr && field.name == name) found = &field;
  }
  CAPSTAN_CHECK(found != nullptr, ValueError, "set_option: ", info.name, " has no option \"", name, "\"");
  CAPSTAN_CHECK(found->can_change, ValueError, "set_option: the option \"", name, "\" of ", info.name,
                " is fixed when the layer is made",
                help("make another layer with it, and give that the weights: set_weights(old.get_weights())"));
  const AttributeValue before = found->get(options);
  try {
    found->set(options, value, info.name);
    check_options(info, options);
  } catch (...) {
    found->set(options, before, info.name);
    throw;
  }
}

AttributeValue serialize(const Layer& layer) { return serialize(LayerState::body_of(layer), layer.get_config()); }

Layer layer_from(const AttributeValue& value) {
  if (detail::is_op_node(value)) return detail::op_layer(value);
  return Layer(std::static_pointer_cast<LayerBase>(deserialize("layer", value)));
}

void set_field(Layer& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = Layer();
  if (!value.has_value()) return;
  field = Layer(std::static_pointer_cast<LayerBase>(detail::object_of_option("layer", value, owner, name)));
}

AttributeValue get_field(const Layer& field) { return field.has_value() ? serialize(field) : AttributeValue(); }

}  // namespace capstan
