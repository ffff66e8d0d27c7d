// What Keras's layers call the weights and layers that they hold.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/layer.h"

namespace capstan::detail {

/// "group/name", or the one of them that is not empty.
std::string name_within(const std::string& group, const std::string& name);

/// The layers within one of these classes, in their order here. Of all other classes they are a list, or attributes of
/// a class of the program.
std::span<const std::string_view> sublayer_attributes(std::string_view type);

/// The attribute that holds a weight of this name.
std::string weight_attribute(std::string_view type, const std::string& weight);
/// The attribute of a layer within, as TensorFlow knows it: that of MultiHeadAttention begins with an underscore.
std::string tensorflow_attribute(std::string_view type, std::string_view attribute);

/// The class of a layer as names of layers begin: "dense". One class of Keras is called otherwise than in its modules.
std::string keras_class_name(const Layer& layer);

/// A class of the program: it has no name that the library gave it, or a table of options of its own.
bool is_own_class(const Layer& layer);

/// Whether a layer was given a name, and not one that it was numbered by: "dense_2".
bool has_given_name(const Layer& layer);

}  // namespace capstan::detail
