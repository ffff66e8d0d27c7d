#include "tests/support/golden_json.h"

#include <cmath>
#include <complex>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

namespace capstan::testing {

namespace {

// Numbers that JSON cannot write are texts.
double number_of(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::runtime_error("not a number: " + text);
}

template <class T>
T element_of(const Json& json) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(number_of(json)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number_of(json));
  } else {
    return json.get<T>();
  }
}

// Pairs of a real and an imaginary part.
template <class T>
Tensor make_complex(const Json& data, const Shape& shape) {
  std::vector<std::complex<T>> values;
  for (std::size_t i = 0; i + 1 < data.size(); i += 2) {
    values.emplace_back(element_of<T>(data[i]), element_of<T>(data[i + 1]));
  }
  return constant(values, shape);
}

template <class T>
Tensor make(const Json& data, const Shape& shape) {
  // Not a vector: that of bool has no elements to point at.
  const auto values = std::make_unique<T[]>(data.size() + 1);
  for (std::size_t i = 0; i < data.size(); ++i) values[i] = element_of<T>(data[i]);
  return constant(std::span<const T>(values.get(), data.size()), shape);
}

}  // namespace

Json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return Json::parse(file);
}

Tensor tensor_from_json(const Json& json) {
  if (json.is_null()) return {};
  const auto& dtype = json.at("dtype").get_ref<const std::string&>();
  const auto lengths = json.at("shape").get<std::vector<std::int64_t>>();
  const Shape shape{std::span<const std::int64_t>(lengths)};
  const Json& data = json.at("data");
  if (dtype == "float32") return make<float>(data, shape);
  if (dtype == "float64") return make<double>(data, shape);
  if (dtype == "bfloat16") return make<BFloat16>(data, shape);
  if (dtype == "int32") return make<std::int32_t>(data, shape);
  if (dtype == "int64") return make<std::int64_t>(data, shape);
  if (dtype == "uint8") return make<std::uint8_t>(data, shape);
  if (dtype == "bool") return make<bool>(data, shape);
  if (dtype == "complex64") return make_complex<float>(data, shape);
  if (dtype == "complex128") return make_complex<double>(data, shape);
  throw Lacking{"dtype " + dtype};
}

AttributeValue attribute_from_json(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      std::vector<AttributeValue> list;
      for (const Json& item : json) list.push_back(attribute_from_json(item));
      return list;
    }
    default:
      throw std::runtime_error("an attribute cannot be " + json.dump());
  }
}

AttributeMap attributes_from_json(const Json& json) {
  AttributeMap attributes;
  for (const auto& [name, value] : json.items()) attributes.emplace(name, attribute_from_json(value));
  return attributes;
}

}  // namespace capstan::testing
