// The numbers of tables.
#pragma once

#include <string_view>

namespace capstan::io {

/// Reads a number, with spaces around it: the nearest one of type T. Nothing for what is none, or none of this type.
/// T is std::int32_t, std::int64_t, float or double.
template <class T>
bool parse_number(std::string_view field, T& value);

}  // namespace capstan::io
